"""The detector's document: its numbers and names are those of the code."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import nightly
from nightly.events import EndReason, PatternType
from nightly.features import COLUMNS
from nightly.judgement import BASES, PARTS, UNUSED, Weight
from nightly.kernel.shape import Shape
from nightly.parameters import Parameters
from nightly.patterns import FAMILIES, type_name
from nightly.rules import FINDINGS, REFUSALS
from nightly.sieve import CONTRADICTIONS
from nightly.statistics import R_CLIP

CODE = Path(nightly.__file__).parent
DOCUMENT = CODE.parent / "docs" / "detector.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")
NAMES = frozenset(re.findall(r"`([^`\n]+)`", TEXT))
SOURCES = tuple(sorted(f"sources/{path.name}" for path in (CODE / "sources").glob("*.py")))
INGEST = ("analysis.py", "cleaning.py", "sieve.py", "doubt.py", "symbols.py", *SOURCES)


def section_text(number: int) -> str:
    """A section without its heading."""
    found = re.search(rf"^## {number}\. .*?\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    assert found, f"the document has no section {number}"
    return found[1]


def section(number: int) -> str:
    """The words of a section, without its heading and line breaks."""
    return " ".join(section_text(number).split())


def stated_parameters() -> Iterator[tuple[str, float]]:
    """The names and defaults of the document's tables; a row may have several of both."""
    tables = re.findall(r"^\| name \| default .*\n\|-.*\n((?:\|.*\n)+)", TEXT, re.MULTILINE)
    for row in "".join(tables).splitlines():
        names, defaults, _ = row.split(" | ", 2)
        values = (float(default) for default in defaults.split(", "))
        yield from zip(re.findall(r"`(\w+)`", names), values, strict=True)


def constant_of(name: str) -> float:
    """The value of a constant that the document names as `module.NAME`."""
    module, _, constant = name.rpartition(".")
    path = module if module.startswith("store.") else f"nightly.{module}"
    return float(getattr(importlib.import_module(path), constant))


def calls(file: str) -> Iterator[tuple[str, list[str]]]:
    """Every call in a file by the name of the function, with its string arguments."""
    for node in ast.walk(ast.parse((CODE / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            strings = [
                argument.value
                for argument in node.args
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
            ]
            called = node.func
            yield (called.id if isinstance(called, ast.Name) else called.attr), strings


def refusal_codes() -> set[str]:
    """The codes under which a symbol is left out."""
    named = (texts for file in INGEST for name, texts in calls(file) if name == "Refusal")
    return {texts[0] for texts in named if texts}


def finding_ids() -> set[str]:
    """The rules under which the bars of a symbol are counted."""
    counted = {
        text
        for file in ("cleaning.py", "sieve.py", *SOURCES)
        for name, texts in calls(file)
        for text in texts
        if name in ("_count", "note", "count") or (name == "drop" and file == "sieve.py")
    }
    source = "".join((CODE / file).read_text(encoding="utf-8") for file in SOURCES)
    return counted | set(re.findall(r'findings\["(\w+)"\]', source))


def test_every_parameter_is_documented_once_with_its_default() -> None:
    stated = list(stated_parameters())
    assert sorted(name for name, _ in stated) == sorted(Parameters._fields)
    assert dict(stated) == Parameters()._asdict()


def test_every_parameter_in_which_the_reference_differs_is_named_with_its_value() -> None:
    table = re.search(r"^\| parameter \| reference .*\n\|-.*\n((?:\|.*\n)+)", TEXT, re.MULTILINE)
    assert table
    stated: dict[str, float] = {}
    for row in table[1].splitlines():
        names, values, _ = row.split(" | ", 2)
        numbers = (float(value) for value in values.split(", "))
        stated |= dict(zip(re.findall(r"`(\w+)`", names), numbers, strict=True))
    default, reference = Parameters()._asdict(), Parameters.reference()._asdict()
    assert stated == {name: v for name, v in reference.items() if v != default[name]}


def test_every_weight_of_the_score_is_documented_in_order() -> None:
    """A row for each number of a shape, with its range and weight on both scales."""
    stated = re.findall(r"^\| `(\w+)` \| [^|]* \| ([^|]*) \| ([^|]*) \|$", section_text(5), re.M)
    parts = [part for part in stated if part[0] in Shape._fields]
    assert [name for name, _, _ in parts] == list(Shape._fields)
    for part, (name, long, squeeze) in zip(PARTS, parts, strict=True):
        assert part.name == name
        assert long.strip() == cell(part.long)
        assert squeeze.strip() == cell(part.squeeze)


def test_the_log_odds_of_every_type_are_documented() -> None:
    text = section(5)
    assert all(signed(base, "+") in text for base in BASES.values())


def signed(number: float, sign: str = "") -> str:
    """A number with the typographic minus that the document uses."""
    return f"{number:{sign}g}".replace("-", "\N{MINUS SIGN}")


def cell(weight: Weight) -> str:
    """How the document states a weight; nothing if the number does not count."""
    if weight == UNUSED:
        return ""
    return f"{signed(weight.low)} to {signed(weight.high)}, {signed(weight.each)}"


@pytest.mark.parametrize(
    ("name", "value"), re.findall(r"`((?:[a-z]+\.)+[A-Z_]+)` = (-?[\d.]*\d)", TEXT)
)
def test_constants_have_the_value_that_the_document_states(name: str, value: str) -> None:
    assert constant_of(name) == float(value)


def test_every_constant_that_the_document_names_is_compared() -> None:
    named = {name for name in NAMES if re.fullmatch(r"(?:[a-z]+\.)+[A-Z_]+", name)}
    assert "doubt.MIN_BARS" in named
    assert {name for name in named if f"`{name}` = " not in TEXT} == set()


def test_every_refusal_and_finding_is_explained() -> None:
    refusals, findings = refusal_codes(), finding_ids()
    assert {"stale", "no_bars", "price_jumps", "bad_symbol"} <= refusals
    assert {"bad_bar", "halted", "gap", "second_file", "undated_row"} <= findings
    assert refusals == {rule.code for rule in REFUSALS}
    # What a symbol is refused for may be counted too, under the code of its refusal.
    counted_refusals = {"other_interval"}
    assert findings - counted_refusals == {rule.code for rule in FINDINGS}
    assert set(CONTRADICTIONS) <= findings


def test_the_tables_of_data_rules_are_those_of_the_code() -> None:
    for rule in (*FINDINGS, *REFUSALS):
        assert f"| `{rule.code}` | {rule.when} | {rule.done} |" in section(13)


def test_every_kind_of_feature_has_its_formula() -> None:
    kinds = {column.kind for column in COLUMNS.values()}
    assert sorted(kinds - set(re.findall(r"`(\w+)`", section(11)))) == []
    assert f"{len(COLUMNS)} columns" in section(11)


def test_every_pattern_type_family_and_end_of_a_version_is_named() -> None:
    ends = {reason.name.lower() for reason in EndReason if reason is not EndReason.FORMING}
    types = {type_name(kind) for kind in PatternType}
    assert sorted((ends | types | {family.value for family in FAMILIES}) - NAMES) == []


def test_ranges_that_are_told_in_words_are_those_of_the_code() -> None:
    assert f"clipped to \N{MINUS SIGN}{-R_CLIP[0]:.0f}..+{R_CLIP[1]:.0f}" in section(9)


def test_the_document_says_what_its_numbers_are_not() -> None:
    assert "No pattern family beat the placebo" in TEXT
    assert "survivors" in TEXT
    assert "Costs and slippage are in no number" in TEXT


def test_comments_refer_to_sections_that_exist() -> None:
    headings = set(re.findall(r"^## (\d+)\. ", TEXT, re.MULTILINE))
    assert headings == {str(number) for number in range(1, 14)}
    referred = []
    for file in CODE.rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        assert not re.search(r"(?<!docs/)detector\.md", source, re.IGNORECASE), file.name
        referred += re.findall(r"docs/detector\.md sections? (\d+)(?: (?:to|and) (\d+))?", source)
    assert referred
    assert {number for pair in referred for number in pair if number} <= headings
