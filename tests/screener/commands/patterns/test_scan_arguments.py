"""Filters as they are written on the command line give the rows that the API gives."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mcp_server.filters.kinds import KINDS, FilterKind
from screener.commands.patterns.scan_arguments import example, filters_of
from tests.screener.command import check_refusal, run
from tests.service import Service


def predicates_of(kind: FilterKind) -> list[tuple[str, dict[str, Any]]]:
    """Filters of a kind, as text and as the API takes them: for two periods, with two operators."""
    made = []
    for period in kind.periods[:2] or (None,):
        name = kind.name if period is None else f"{kind.name}:{period}"
        fields = {"kind": kind.name} | ({} if period is None else {"period": period})
        if kind.takes == "number":
            made += [(f"{name}{op}1.5", {**fields, "op": op, "value": 1.5}) for op in (">", "<=")]
        elif kind.takes == "boolean":
            made.append((f"{name} = true", {**fields, "value": True}))
        else:
            made += [
                (f"{name}={value.lower()}", {**fields, "value": value})
                for value in kind.choices[:3]
            ]
    return made


def sent_as(filters: Sequence[str]) -> str:
    """Filters as a client of the API sends them."""
    return json.dumps([one.canonical for one in filters_of(filters)])


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_kind_can_be_written_and_is_what_the_api_takes(kind: FilterKind) -> None:
    for text, predicate in predicates_of(kind):
        assert [one.canonical for one in filters_of([text])] == [predicate]


def test_filters_give_the_rows_of_the_api_and_several_must_all_match(
    service: Service, night: Path
) -> None:
    def rows(*filters: str) -> list[str]:
        given = (part for text in filters for part in ("--filter", text))
        typed = run(night, "scan", "--status", "all", *given, "--json")
        sent = {"status": "all"} | ({"filters": sent_as(filters)} if filters else {})
        assert json.loads(typed.stdout) == service.get("/scan", params=sent).json(), typed.stderr
        return [row["setup_id"] for row in json.loads(typed.stdout)["setups"]]

    everything, high, wedges = rows(), rows("price>100"), rows("rsi<50")

    assert 0 < len(high) < len(everything)
    assert 0 < len(wedges) < len(everything)
    assert rows("price>100", "rsi<50") == [row for row in high if row in wedges]


def test_the_list_of_kinds_shows_how_each_is_written(night: Path) -> None:
    listed = run(night, "scan", "--kinds").stdout.splitlines()

    for kind in KINDS.values():
        assert example(kind) in listed
        assert filters_of([example(kind)])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rsi", "--filter 'rsi>0', since a shell reads < and > as files"),
        ("", "--filter 'rsi<40'"),
        ("rssi<40", "there is no filter 'rssi' (did you mean rsi?)"),
        ("distance<2", "distance_from_low"),
        ("rsi<forty", "value must be a number"),
        ("rsi<nan", "value must be a number"),
        ("rsi==40", "value must be a number"),
        ("rsi:14<40", "rsi takes no period"),
        ("sma_distance>0", "write it as sma_distance:20>0"),
        ("sma_distance:51>0", "period must be one of 20, 50, 200"),
        ("industry=Softwear", "(did you mean Software?)"),
        ("industry>Software", "industry takes = and no >"),
        ("sma_cross=yes", "value must be true or false"),
        ("rsi<" + "4" * 300, "may have 200 characters, not 304"),
    ],
)
def test_a_filter_that_is_none_is_refused_with_what_would_be_right(
    night: Path, text: str, words: str
) -> None:
    check_refusal(run(night, "scan", "--filter", text), words)


def test_too_many_filters_are_refused_as_the_api_does(night: Path) -> None:
    given = [part for number in range(51) for part in ("--filter", f"rsi>{number}")]

    check_refusal(run(night, "scan", *given), "at most 50 filters")
