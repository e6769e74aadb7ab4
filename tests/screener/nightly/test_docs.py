"""The detector's document, and that of its score: numbers and names are those of the code."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from research.chartist.parts import PARTS, UNUSED
from screener import nightly
from screener.nightly.cleaning.cleaning import CONTRADICTIONS
from screener.nightly.cleaning.rules import RULES
from screener.nightly.detector.events import EndReason, PatternType, Rule
from screener.nightly.detector.kernel.shape import Shape
from screener.nightly.detector.parameters import Parameters
from screener.nightly.results.features import COLUMNS
from screener.nightly.results.views import FAMILIES, type_name
from screener.nightly.statistics.summary import R_CLIP
from store.wire.labels import DRAWING_RULES

CODE = Path(nightly.__file__).parent
DOCUMENT = CODE.parents[1] / "docs" / "detector.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")
SCORE = (CODE.parents[1] / "research" / "chartist" / "README.md").read_text(encoding="utf-8")
NAMES = frozenset(re.findall(r"`([^`\n]+)`", TEXT))
INGEST = [
    *(CODE / f"{name}.py" for name in ("analysis", "symbols")),
    *(path for room in ("cleaning", "reading", "tables") for path in (CODE / room).glob("*.py")),
]


def section(number: int) -> str:
    """The words of a section, without its heading and line breaks."""
    found = re.search(rf"^## {number}\. .*?\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    assert found, f"the document has no section {number}"
    return " ".join(found[1].split())


def stated_parameters(head: str) -> Iterator[tuple[str, float]]:
    """The names and values of the tables with this head; a row may have several of both."""
    tables = re.findall(rf"^\| {head} .*\n\|-.*\n((?:\|.*\n)+)", TEXT, re.MULTILINE)
    for row in "".join(tables).splitlines():
        names, defaults = row.removesuffix(" |").split(" | ")[:2]
        values = (float(default) for default in defaults.split(", "))
        yield from zip(re.findall(r"`(\w+)`", names), values, strict=True)


def constant_of(name: str) -> float:
    """The value of a constant that the document names as `module.NAME`."""
    module, _, constant = name.rpartition(".")
    path = module if module.startswith("store.") else f"screener.nightly.{module}"
    return float(getattr(importlib.import_module(path), constant))


def test_every_parameter_is_documented_once_with_its_default() -> None:
    stated = list(stated_parameters(r"name \| default"))
    assert sorted(name for name, _ in stated) == sorted(Parameters._fields)
    assert dict(stated) == Parameters()._asdict()


def test_every_number_of_the_score_is_documented_in_order() -> None:
    """A row for each number of a shape, with what more of it does on both scales."""
    stated = re.findall(r"^\| `(\w+)` \| [^|]* \| ([^|]*) \| ([^|]*) \|$", SCORE, re.M)
    parts = [part for part in stated if part[0] in Shape._fields]
    assert [name for name, _, _ in parts] == list(Shape._fields)
    for part, (name, long, squeeze) in zip(PARTS, parts, strict=True):
        assert part.name == name
        assert long.strip() == cell(part.long)
        assert squeeze.strip() == cell(part.squeeze)


def signed(number: float, sign: str = "") -> str:
    """A number with the typographic minus that the document uses."""
    return f"{number:{sign}g}".replace("-", "\N{MINUS SIGN}")


def cell(sign: int) -> str:
    """How the document states a sign; nothing if the number does not count."""
    return {1: "+", -1: "\N{MINUS SIGN}", 0: "\N{PLUS-MINUS SIGN}", UNUSED: ""}[sign]


@pytest.mark.parametrize(
    ("name", "value"), re.findall(r"`((?:[a-z_]+\.)+[A-Z_]+)` = (-?[\d.]*\d)", TEXT + SCORE)
)
def test_constants_have_the_value_that_the_document_states(name: str, value: str) -> None:
    assert constant_of(name) == float(value)


def test_every_constant_that_the_document_names_is_compared() -> None:
    named = {name for name in NAMES if re.fullmatch(r"(?:[a-z_]+\.)+[A-Z_]+", name)}
    assert "cleaning.gates.MIN_BARS" in named
    assert {name for name in named if f"`{name}` = " not in TEXT} == set()


def test_every_refusal_and_finding_is_explained() -> None:
    """Every code that is written in the code of reading and cleaning is one of the rules."""
    text = "".join(path.read_text(encoding="utf-8") for path in INGEST)
    calls = re.findall(r'(?:RefusedInput|_count|note|count|drop)\([^"\n]*\n?\s*"(\w+)"', text)
    codes = {*calls, *re.findall(r'findings\["(\w+)"\]', text)} - {"bars", "symbol", "refusal"}
    assert codes == set(RULES)
    assert set(CONTRADICTIONS) <= codes


def test_the_document_names_every_data_rule() -> None:
    assert [code for code in RULES if f"`{code}`" not in section(12)] == []


def test_every_rule_that_a_drawing_can_fail_is_told_in_the_words_of_the_document() -> None:
    assert list(DRAWING_RULES) == [rule.name.lower() for rule in Rule if rule is not Rule.NONE]
    told = f"{section(3)} {section(4)} {section(5)}".lower()
    assert [words for words in DRAWING_RULES.values() if words.lower() not in told] == [
        "score, in percent"  # the heading of the section
    ]


def test_every_kind_of_feature_has_its_formula() -> None:
    kinds = {re.sub(r"_(\d+[wm]?|ytd)$", "", name) for name in COLUMNS}
    assert sorted(kinds - set(re.findall(r"`(\w+)`", section(11)))) == []
    assert f"{len(COLUMNS)} columns" in section(11)


def test_every_pattern_type_family_and_end_of_a_version_is_named() -> None:
    ends = {reason.name.lower() for reason in EndReason if reason is not EndReason.FORMING}
    types = {type_name(kind) for kind in PatternType}
    assert sorted((ends | types | {family.value for family in FAMILIES}) - NAMES) == []


def test_the_range_that_is_told_in_words_is_that_of_the_code() -> None:
    assert f"clipped to {signed(R_CLIP[0])}..{signed(R_CLIP[1], '+')}" in section(9)
