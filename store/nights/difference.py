"""Difference: what readers would see change from one sealed night to another."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import orjson

from store.ledger.manifest import Manifest
from store.nights.nights import Nights
from store.wire.families import Family

Record = Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Shown:
    """A setup, identified by the fields that stay the same from night to night."""

    symbol: str
    family: str
    lineage: str


@dataclass(frozen=True, slots=True)
class Difference:
    """The changes from an old night, if there is one, to a new one."""

    counts: Mapping[str, tuple[int, int]]
    """The manifest's counts, before and now."""
    gained: Sequence[str]
    """Symbols covered now but not before."""
    lost: Mapping[str, str]
    """Symbols covered before but not now, each with the reason."""
    new: Sequence[Shown]
    gone: Sequence[Shown]
    moved: Mapping[Shown, tuple[str, str]]
    """Setups whose status changed, with the statuses before and now."""
    records: Mapping[Family, tuple[Record, Record]]
    """Track records of families that changed, before and now."""


def difference(old: tuple[Nights, Manifest] | None, new: tuple[Nights, Manifest]) -> Difference:
    """Compare a new night with an old one; None stands for the book before the first night."""
    before = _Contents.of(*old) if old else _Contents({}, {}, {}, {})
    now = _Contents.of(*new)
    both = sorted(before.statuses.keys() & now.statuses.keys(), key=_order)
    lost = sorted(before.covered.keys() - now.covered.keys())
    return Difference(
        counts={name: (_count(old, name), number) for name, number in new[1].counts},
        gained=sorted(now.covered.keys() - before.covered.keys()),
        lost={symbol: now.reasons.get(symbol, "not among the bars") for symbol in lost},
        new=sorted(now.statuses.keys() - before.statuses.keys(), key=_order),
        gone=sorted(before.statuses.keys() - now.statuses.keys(), key=_order),
        moved={
            shown: (before.statuses[shown], now.statuses[shown])
            for shown in both
            if before.statuses[shown] != now.statuses[shown]
        },
        records={
            family: (before.records.get(family), now.records.get(family))
            for family in Family
            if before.records.get(family) != now.records.get(family)
        },
    )


@dataclass(frozen=True, slots=True)
class _Contents:
    covered: Mapping[str, bool]
    reasons: Mapping[str, str]
    statuses: Mapping[Shown, str]
    records: Mapping[str, Record]

    @classmethod
    def of(cls, nights: Nights, manifest: Manifest) -> _Contents:
        path = nights.folder / manifest.book.file
        address = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
        with closing(sqlite3.connect(address, uri=True)) as book:
            known = book.execute("SELECT symbol, covered, reason FROM symbols").fetchall()
            setups = [orjson.loads(body) for (body,) in book.execute("SELECT body FROM setups")]
            families = [orjson.loads(body) for (body,) in book.execute("SELECT body FROM families")]
        statuses: dict[Shown, str] = {}
        for setup in sorted(setups, key=lambda setup: str(setup["status"])):
            shown = Shown(setup["symbol"], setup["family"], setup["lineage_id"])
            earlier = statuses.get(shown)
            statuses[shown] = f"{earlier}, {setup['status']}" if earlier else setup["status"]
        return cls(
            covered={symbol: True for symbol, covered, _ in known if covered},
            reasons={symbol: reason for symbol, _, reason in known if reason},
            statuses=statuses,
            records={entry["family"]: entry["track_record"] for entry in families},
        )


def _order(shown: Shown) -> tuple[str, str, str]:
    return shown.symbol, shown.family, shown.lineage


def _count(night: tuple[Nights, Manifest] | None, name: str) -> int:
    return int(getattr(night[1].counts, name)) if night else 0
