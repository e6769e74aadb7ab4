"""Grade: what nights served, beside what the recomputed history of a later night says of it.

Both sides hold the first attempts that were entered after the first night of the ledger's path.
Where they differ, bars were revised since, a symbol is left out now, or no night served a trade
that the history has.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final, Literal

import orjson

from store.errors import DamageError, LedgerError
from store.ledger.ledger import Ledger
from store.ledger.objects import Name, NightHead, decoded
from store.ledger.served import FollowedTrade, ServedOutcome, ServedSetup, line_of
from store.ledger.verify import walk
from store.nights.book import Book
from store.wire.families import Family

CLOSE: Final = 1e-5
"""Prices that differ by a smaller share are the same."""

DisagreementKind = Literal["missing_from_history", "differs", "never_served"]
Pair = tuple[str, str]
"""Symbol and lineage: of a lineage there is one first attempt."""
Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Side:
    """The trades of a family on one side."""

    trades: int
    """Resolved ones."""
    wins: int
    losses: int
    open: int
    win_rate_pct: float | None
    avg_r: float | None

    @classmethod
    def of(cls, rows: Iterable[Values]) -> Side:
        known = list(rows)
        r = [row["r_multiple"] for row in known if row["outcome"] != "open"]
        wins = sum(row["outcome"] == "win" for row in known)
        return cls(
            trades=len(r),
            wins=wins,
            losses=len(r) - wins,
            open=len(known) - len(r),
            win_rate_pct=round(100 * wins / len(r), 2) if r else None,
            avg_r=round(math.fsum(r) / len(r), 3) if r else None,
        )


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A trade of which the nights and the history say different things."""

    kind: DisagreementKind
    symbol: str
    lineage_id: str
    family: str
    why: str
    """The fields that differ, or why one side lacks the trade."""
    served: Values | None
    history: Values | None


@dataclass(frozen=True, slots=True)
class Grade:
    """Both sides by family, and every disagreement."""

    first_session: dt.date
    last_session: dt.date
    nights: int
    served: Mapping[Family, Side]
    history: Mapping[Family, Side]
    earlier: int
    """Resolved first attempts that were already running on the first night; on neither side."""
    later_attempts: int
    """Resolved trades of later attempts; on neither side."""
    disagreements: list[Disagreement]


@dataclass(slots=True)
class ServedTrades:
    """The trades on the path of nights that leads to one of them."""

    heads: list[NightHead] = field(default_factory=list)
    trades: dict[Pair, Values] = field(default_factory=dict)
    """First attempts entered after the first night, as first served, with their outcome."""
    formed: set[Pair] = field(default_factory=set)
    """Those that a night served while forming."""
    earlier: int = 0
    later_attempts: int = 0

    @classmethod
    def of(cls, ledger: Ledger, version: str) -> ServedTrades:
        """Read the nights that lead to one, oldest first.

        Raises:
            LedgerError: the night is not in the ledger, or an object is damaged.
        """
        record, path = cls(), set(_path(ledger, version))
        for name, body in walk(ledger):
            if name not in path:
                continue
            written = decoded(name, body)
            try:
                assert isinstance(written.head, NightHead)  # noqa: S101 - the path has nights alone
                record.heads.append(written.head)
                for row in written.rows:
                    record._add(row)
            except (KeyError, TypeError, ValueError) as error:
                raise DamageError(name.file, "a line is not one of the ledger") from error
        return record

    def _add(self, row: Values) -> None:
        pair = (row["symbol"], row["lineage_id"])
        if row["record"] == "setup" and row["attempt"] == 1:
            if row["status"] == "forming":
                self.formed.add(pair)
            elif pair not in self.trades and self._is_new(row["entry_date"]):
                setup = line_of(row)
                assert isinstance(setup, ServedSetup)  # noqa: S101 - as its kind says
                trade = setup.trade()
                assert trade is not None  # noqa: S101 - it runs
                self.trades[pair] = _values(trade)
        elif row["record"] == "followed" and row["attempt"] == 1:
            if pair not in self.trades and self._is_new(row["terms"]["entry_date"]):
                self.trades[pair] = _values(line_of(row))
        elif row["record"] == "outcome":
            if row["attempt"] > 1:
                self.later_attempts += 1
            elif pair not in self.trades:
                self.earlier += 1
            else:
                self.trades[pair] = _values(line_of(row))

    def _is_new(self, entered: str) -> bool:
        return dt.date.fromisoformat(entered) > self.heads[0].as_of_session


def grade(ledger: Ledger, book: Book) -> Grade:
    """Compare what the nights that lead to a book served with the history in it.

    Raises:
        LedgerError: the book's night is not in the ledger, or an object is damaged.
    """
    record = ServedTrades.of(ledger, book.data_version or "")
    first = record.heads[0].as_of_session
    rows = {pair: row for pair, row in _history(book) if row["entry_date"] > str(first)}
    return Grade(
        first_session=first,
        last_session=record.heads[-1].as_of_session,
        nights=len(record.heads),
        served=_by_family(record.trades.values()),
        history=_by_family(rows.values()),
        earlier=record.earlier,
        later_attempts=record.later_attempts,
        disagreements=list(_disagreements(record, rows, book)),
    )


def _path(ledger: Ledger, version: str) -> list[Name]:
    names = {name.number: name for name in ledger.names()}
    mine = [n for n in names.values() if n.version == version and not n.withdrawal]
    if not mine:
        raise LedgerError(
            f"Night {version or '(none)'} is not in the ledger; it holds what was published since "
            "it began. Run `screener nightly`."
        )
    path: list[Name] = []
    number: int | None = mine[-1].number
    while number is not None and number in names and len(path) < len(names):
        path.append(names[number])
        head = ledger.head(names[number])
        number = head.since if isinstance(head, NightHead) else None
    return path[::-1]


def _history(book: Book) -> Iterator[tuple[Pair, Values]]:
    for symbol, stored in book.histories():
        for body in stored.rows:
            row = orjson.loads(body)
            if row["lineage_id"] is not None and row["entry_date"] is not None:
                yield (symbol, row["lineage_id"]), row


def _values(trade: object) -> Values:
    """A served trade in the words of a history row."""
    assert isinstance(trade, FollowedTrade | ServedOutcome)  # noqa: S101 - no other line has terms
    over = trade if isinstance(trade, ServedOutcome) else None
    won = over is not None and over.exit_reason == "target"
    return {
        "family": trade.family.value,
        "direction": trade.direction,
        "entry_date": str(trade.terms.entry_date),
        "entry_price": trade.terms.entry_price,
        "stop_price": trade.terms.stop_price,
        "target_price": trade.terms.target_price,
        "outcome": "open" if over is None else "win" if won else "loss",
        "exit_date": str(over.exit_date) if over else None,
        "exit_price": over.exit_price if over else None,
        "r_multiple": over.r_multiple if over else None,
    }


def _by_family(rows: Iterable[Values]) -> dict[Family, Side]:
    known = list(rows)
    return {family: Side.of(r for r in known if r["family"] == family) for family in Family}


def _disagreements(
    record: ServedTrades, rows: Mapping[Pair, Values], book: Book
) -> Iterator[Disagreement]:
    for pair in sorted(record.trades.keys() | rows.keys()):
        served, row = record.trades.get(pair), rows.get(pair)
        known = served or row or {}
        if served is None:
            kind: DisagreementKind = "never_served"
            why = "served only while forming" if pair in record.formed else "not served"
        elif row is None:
            kind, why = "missing_from_history", _absence(book, pair[0])
        else:
            kind, why = "differs", ", ".join(_differences(served, row))
        if why:
            shown = {name: row[name] for name in _NAMES} if row else None
            yield Disagreement(kind, *pair, known["family"], why, served, shown)


_NAMES: Final = (
    *("family", "direction", "entry_date", "entry_price", "stop_price", "target_price"),
    *("outcome", "exit_date", "exit_price", "r_multiple"),
)


def _absence(book: Book, symbol: str) -> str:
    coverage = book.coverage(symbol)
    if coverage is None:
        return "the symbol is not among the bars"
    return f"left out: {coverage.reason}" if coverage.reason else "the bars show no such trade"


def _differences(served: Values, row: Values) -> Iterator[str]:
    """The fields that differ; prices at another scale alone, as after a split, are the same."""
    prices = ("entry_price", "stop_price", "target_price", "exit_price")
    ratios = {name: row[name] / served[name] for name in prices if row[name] and served[name]}
    scale = median(ratios[name] for name in prices[:3])
    for name in ("direction", "entry_date", "outcome", "exit_date"):
        if served[name] != row[name]:
            yield name
    for name, ratio in ratios.items():
        if abs(ratio / scale - 1) > CLOSE:
            yield name
