"""The manifest of requirements and the tests that prove them, compared in both directions."""

from __future__ import annotations

import pytest

from tests.contract.requirements import (
    IDENTIFIER,
    Chapter,
    Section,
    chapters,
    proofs,
    requirements,
    sections,
    specification,
)

SECTIONS = sections()

pinned = pytest.mark.skipif(
    not specification().exists(),
    reason="the interface specification is not beside the checkout (SCREENER_SHARED)",
)


def chapter_of(section: Section) -> Chapter:
    """The section of the specification that a section of the manifest was read from."""
    found = [c for c in chapters(specification()) if c.heading.startswith(section.heading)]
    exact = [c for c in found if c.heading == section.heading]
    return (exact or found)[0]


def test_every_requirement_has_an_id_of_its_own() -> None:
    ids = [name for section in SECTIONS for name in section.requirements]

    assert len(ids) == len(set(ids))
    assert all(IDENTIFIER.fullmatch(name) for name in ids)
    assert all(says.endswith(".") for says in requirements().values())


def test_every_requirement_is_proven_by_a_test() -> None:
    assert sorted(requirements().keys() - proofs().keys()) == []


def test_every_id_that_a_test_names_is_a_requirement() -> None:
    unknown = {name: places for name, places in proofs().items() if name not in requirements()}

    assert unknown == {}


@pinned
def test_every_section_of_the_specification_is_in_the_manifest_in_its_order() -> None:
    assert [chapter_of(section).heading for section in SECTIONS] == [
        chapter.heading for chapter in chapters(specification())
    ]


@pinned
@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.heading)
def test_a_section_of_the_specification_is_as_it_was_read(section: Section) -> None:
    assert section.read == chapter_of(section).digest, "read the section again, then note this"


@pinned
@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.heading)
def test_whatever_a_section_writes_as_code_stands_in_its_requirements(section: Section) -> None:
    assert chapter_of(section).codes - section.codes == set()


@pinned
@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.heading)
def test_a_section_has_a_requirement_for_each_table_row_and_each_numbered_item(
    section: Section,
) -> None:
    chapter = chapter_of(section)
    ids = list(section.requirements)

    assert len(ids) >= len(chapter.rows) + len(chapter.numbered)
    assert set(map(str, chapter.numbered)) <= {name.split("-")[1] for name in ids}
