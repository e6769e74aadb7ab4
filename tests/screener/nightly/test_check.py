"""The check of bars: every row of every file is a usable bar, or lost by a rule that is named."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from screener.nightly.bars import Bars, to_date
from screener.nightly.check import check
from screener.nightly.plan import Order
from screener.nightly.reading import opening
from screener.nightly.reading.opening import open_source
from screener.nightly.reading.source import UNUSED
from screener.nightly.tables.names import read_name
from tests.screener.nightly.kinds import HEADER, write
from tests.screener.nightly.series import walk
from tests.screener.nightly.vendor_files import READ, REFUSED, Example

NOW = dt.datetime(2024, 4, 8, 12, tzinfo=dt.UTC)
SESSION = dt.date(2024, 3, 28)
STOOQ = "<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>"


def checked(path: Path, work: Path, symbol: str | None = None) -> dict[str, Any]:
    """What a check says: what was read is what is used and what is lost, in total and by symbol."""
    opened = open_source(path, work, symbol=symbol, unusable=True)
    order = Order(
        opened.source, "bars", told=opened.told, skipped=opened.skipped, rows=opened.rows, jobs=1
    )
    facts = check(order, NOW).as_dict()
    assert facts["rows"] == sum(facts["read"].values())
    assert facts["rows"] == facts["bars"] + sum(lost["rows"] for lost in facts["lost"].values())
    for name, one in facts["series"].items():
        assert one["rows"] == one["bars"] + sum(one["lost"].values()), name
    return facts


def lines(bars: Bars) -> list[str]:
    columns = zip(*bars.columns(), strict=True)
    return [f"{to_date(day)},{','.join(map(str, values))}" for day, *values in columns]


def rows_of(symbol: str, bars: Bars) -> list[str]:
    return [f"{symbol},{line}" for line in lines(bars)]


@pytest.mark.parametrize("example", [*READ, *REFUSED], ids=lambda example: example.what)
def test_every_row_of_a_vendors_file_is_used_or_lost_by_a_rule(
    tmp_path: Path, example: Example
) -> None:
    file = tmp_path / "bars" / example.name
    file.parent.mkdir()
    file.write_bytes(example.data)
    named = read_name(example.name)
    given = None if (named and named.symbol) or example.tickers else "GIVEN"
    facts = checked(file.parent, tmp_path / "work", given)
    if not example.refused:
        assert facts["read"] == {example.form: len(example.bars) * max(1, len(example.tickers))}


def odd_rows() -> Iterator[str]:
    """Two hundred bars, and rows that each break one rule."""
    sound = lines(walk(200, seed=3))
    yield from (f"{day},1,1,1,1,1" for day in ("soon", "later"))
    yield from sound
    yield from sound[-3:]
    days = ("2023-10-21", "2024-02-19", "2199-01-02", "2199-01-03")
    yield from (f"{day},1,1,1,1,1" for day in days)


def written(folder: Path) -> int:
    """The rows of all files, without their headers."""
    return sum(len(file.read_text().splitlines()) - 1 for file in folder.rglob("*.*"))


def test_rows_of_odd_files_are_lost_by_the_rules_that_they_break(tmp_path: Path) -> None:
    bars = tmp_path / "bars"
    for number in range(9):
        write(bars / f"GOOD{number}.csv", lines(walk(200, seed=number)))
    write(bars / "AHEAD.csv", lines(walk(200, seed=1, last=dt.date(2024, 4, 5))))
    write(bars / "ODD.csv", list(odd_rows()))
    halted = [f"{line[:10]},5,5,5,5,0" for line in lines(walk(6, last=dt.date(2023, 1, 31)))]
    write(bars / "HALTED.csv", [*halted, *lines(walk(200, seed=4))])
    sound = lines(walk(200, seed=5))
    outside = [f"{line[:10]},110,100,99,99.5,{1000 + n}" for n, line in enumerate(sound[150:])]
    write(bars / "OUTSIDE.csv", [*sound[:150], *outside])
    levels = [9.0 ** (place // 50) for place in range(150)]
    leaps = [
        f"{line[:10]},{price},{price * 1.01},{price * 0.99},{price},{1000 + place}"
        for place, (line, price) in enumerate(zip(sound, levels, strict=False))
    ]
    write(bars / "LEAPS.csv", leaps)
    write(bars / "LAST.csv", [*sound[:-1], f"{sound[-1][:10]},990,999,980,990,1000"])
    hours = [f"2024-01-{2 + hour // 24:02} {hour % 24:02}:00,1,1,1,1,1" for hour in range(48)]
    write(bars / "HOURS.csv", hours)
    write(bars / "EURO.csv", [f"{line},EUR" for line in lines(walk(30))], f"{HEADER},currency")
    write(bars / "again" / "GOOD1.csv", lines(walk(25)))
    write(bars / "daily-prices.csv", lines(walk(31)))
    table = [*rows_of("AAA", walk(100)), *rows_of("GOOD2", walk(12)), *rows_of("$VIX", walk(7))]
    write(bars / "table.csv", table, f"symbol,{HEADER}")
    nameless = [*rows_of("BBB", walk(99)), *rows_of("", walk(4))]
    write(bars / "table2.csv", nameless, f"symbol,{HEADER}")
    stooq = [f"AAPL.US,D,202401{day:02},0,1,2,1,2,{day},0" for day in range(2, 6)]
    stooq += [f"SAP.DE,D,202401{day:02},0,1,2,1,2,{day},0" for day in range(2, 13)]
    write(bars / "world.txt", stooq, STOOQ)
    write(bars / "BROKEN.csv", [], "nothing")

    facts = checked(bars, tmp_path / "work")

    assert facts["rows"] == written(bars)
    assert facts["read"][UNUSED] == 25 + 31
    assert facts["session"] == SESSION.isoformat()
    assert {rule: lost["rows"] for rule, lost in facts["lost"].items()} == {
        "after_session": 5,
        "bad_bars": 47,  # three contradictions are accepted
        "bad_symbol": 31 + 7 + 4,
        "duplicate_symbol": 25 + 12,
        "future_date": 2,
        "halted": 6,
        "holiday": 1,
        "other_interval": 48,
        "price_jumps": 50,
        "repeated_date": 3,
        "unconfirmed_close": 1,
        "undated_row": 2,
        "weekend": 1 + 2,
    }
    assert facts["lost"]["bad_symbol"]["symbols"] == 3
    assert facts["series"]["ODD"]["bars"] == 200


@pytest.mark.parametrize("path", ["scanned", "sorted"])
def test_a_table_of_many_symbols_loses_rows_without_a_usable_name(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if path == "sorted":
        monkeypatch.setattr(opening, "SMALL", 0)
    rows = [*rows_of("AAA", walk(100)), *rows_of("", walk(4)), *rows_of("$VIX", walk(7))]
    rows += ["BBB,soon,1,1,1,1,1", *rows_of("BBB", walk(99, seed=2)), *rows_of("bbb", walk(3))]
    write(tmp_path / "bars" / "table.csv", rows, f"symbol,{HEADER}")
    facts = checked(tmp_path / "bars" / "table.csv", tmp_path / "work")
    assert facts["rows"] == len(rows)
    lost = {rule: counts["rows"] for rule, counts in facts["lost"].items()}
    assert lost == {"bad_symbol": 4 + 7, "duplicate_symbol": 3, "undated_row": 1}


def test_rows_of_a_table_beside_files_of_its_symbols_are_lost_once(tmp_path: Path) -> None:
    bars = tmp_path / "bars"
    write(bars / "AAA.csv", lines(walk(100)))
    rows = [*rows_of("AAA", walk(20)), *rows_of("", walk(4)), *rows_of("zzz", walk(80))]
    write(bars / "table.csv", rows, f"symbol,{HEADER}")
    write(bars / "zzz.csv", lines(walk(60)))
    facts = checked(bars, tmp_path / "work")
    assert facts["rows"] == written(bars)
    assert facts["bars"] == 180
    reason = facts["refused"]["duplicate_symbol"]["table.csv"]
    assert "4 of its rows name no symbol" in reason
    assert "files of their own are read" in reason


def test_rows_that_are_all_of_the_future_are_lost_as_such(tmp_path: Path) -> None:
    ahead = lines(walk(100, last=dt.date(2199, 3, 27)))
    write(tmp_path / "bars" / "AAA.csv", ["soon,1,1,1,1,1", *ahead])
    facts = checked(tmp_path / "bars", tmp_path / "work")
    assert facts["session"] is None
    lost = {rule: counts["rows"] for rule, counts in facts["lost"].items()}
    assert lost == {"future_date": 100, "undated_row": 1}
