"""Kinds: forms of public files that could be read wrong are read right, or refused by name."""

from __future__ import annotations

import bz2
import datetime as dt
import json
import lzma
import zoneinfo
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from screener.nightly.bars import to_day
from screener.nightly.errors import SourceError
from screener.nightly.reading.formats import read_bars
from screener.nightly.reading.opening import open_source
from tests.screener.nightly.kinds import HEADER, LAST, bars, kept, lines, look, sessions, write
from tests.screener.nightly.workbooks import workbook


@pytest.mark.parametrize(
    ("name", "calendar", "hour"),
    [
        ("8306.T", "XTKS", 15),
        ("TCS.NS", "XBOM", 18),
        ("SAP.DE", "XETR", 22),
        ("CBA.AX", "XASX", 14),
    ],
)
def test_midnight_of_an_exchange_in_utc_is_the_day_that_begins(
    name: str, calendar: str, hour: int, tmp_path: Path
) -> None:
    days = sessions(calendar)
    rows = lines(days, dated=lambda day: f"{day - dt.timedelta(1)}T{hour}:00:00Z")
    write(tmp_path / "bars" / f"{name}.csv", rows)
    assert kept(look(tmp_path / "bars")) == {name: (260, LAST)}


@pytest.mark.parametrize("hour", [16, 17, 18])
def test_an_evening_of_new_york_in_utc_is_of_its_own_day(hour: int, tmp_path: Path) -> None:
    york = zoneinfo.ZoneInfo("America/New_York")

    def moment(day: dt.date) -> str:
        return dt.datetime.combine(day, dt.time(hour), york).astimezone(dt.UTC).isoformat()

    write(tmp_path / "bars" / "IBM.csv", lines(sessions(), dated=moment))
    assert kept(look(tmp_path / "bars")) == {"IBM": (260, LAST)}


@pytest.mark.parametrize("days", [(6, 0, 1, 2, 3), (5, 6, 0, 1, 2)])
def test_a_week_that_holds_a_sunday_and_no_friday_is_refused_and_never_crypto(
    days: tuple[int, ...], tmp_path: Path
) -> None:
    every = [LAST - dt.timedelta(back) for back in range(400, -1, -1)]
    write(tmp_path / "bars" / "ABC.csv", lines([day for day in every if day.weekday() in days]))
    write(tmp_path / "bars" / "IBM.csv", lines(sessions()))
    checked = look(tmp_path / "bars")
    assert kept(checked) == {"IBM": (260, LAST)}
    assert "trading days of such markets" in checked.refused["foreign_listing"]["ABC"]


def test_moments_of_an_unknown_exchange_name_those_that_fit(tmp_path: Path) -> None:
    berlin = zoneinfo.ZoneInfo("Europe/Berlin")

    def moment(day: dt.date) -> str:
        return dt.datetime.combine(day, dt.time(), berlin).astimezone(dt.UTC).isoformat()

    write(tmp_path / "bars" / "SAP.csv", lines(sessions("XETR"), dated=moment))
    checked = look(tmp_path / "bars")
    (fitting,) = checked.as_dict()["assumed"]["unclear_markets"]
    assert "XETR" in fitting.split(", ")
    assert "XNYS" not in fitting
    assert kept(look(tmp_path / "bars", exchange="XETR")) == {"SAP": (260, LAST)}


def test_symbols_under_an_unknown_column_are_series_of_their_own(tmp_path: Path) -> None:
    rows = [f"HINDALCOIND,{line}" for line in lines(sessions("XBOM"), 1)]
    rows += [f"GRASIM,{line}" for line in lines(sessions("XBOM"), 2)]
    path = write(tmp_path / "bars" / "papers.csv", rows, f"Papier,{HEADER}")
    assert kept(look(path, "XNSE")) == {"HINDALCOIND": (260, LAST), "GRASIM": (260, LAST)}


def test_of_two_series_of_a_share_the_main_one_is_taken(tmp_path: Path) -> None:
    days = sessions("XBOM")
    rows = [f"ITC,EQ,{line}" for line in lines(days, 1)]
    rows += [f"ITC,N7,{line}" for line in lines(days[::2], 2, scale=9)]
    path = write(tmp_path / "bars" / "cm.csv", rows, f"SYMBOL,SERIES,{HEADER}")
    (one,) = look(path, "XNSE").symbols
    assert (one.bars, one.refusal) == (260, None)


def test_publishers_of_which_none_is_the_main_one_are_named(tmp_path: Path) -> None:
    rows = [f"{who},{line}" for who in (7, 8) for line in lines(sessions(), who)]
    write(tmp_path / "bars" / "IBM.csv", rows, f"publisher_id,{HEADER}")
    (reason,) = look(tmp_path / "bars").refused["unreadable_file"].values()
    assert "publisher_id tells apart (7, 8)" in reason


@pytest.mark.parametrize(("place", "refused"), [(-3, True), (20, False)])
def test_a_date_with_two_prices_is_used_from_no_row(
    place: int, refused: bool, tmp_path: Path
) -> None:
    rows = lines(sessions())
    day, *_ = rows[place].split(",")
    write(tmp_path / "bars" / "IBM.csv", [*rows, f"{day},50,51,49,50,100"])
    (one,) = look(tmp_path / "bars").symbols
    assert (one.refusal is not None and one.refusal.code == "differing_rows") == refused
    assert one.bars == (0 if refused else 259)


def test_of_minutes_and_days_the_days_are_read(tmp_path: Path) -> None:
    write(tmp_path / "bars" / "IBM_1d.csv", lines(sessions()))
    minutes = [f"2024-06-14 {9 + n // 60:02}:{n % 60:02}:00,1,2,1,2,{n}" for n in range(300)]
    write(tmp_path / "bars" / "IBM_01m.csv", minutes)
    assert kept(look(tmp_path / "bars")) == {"IBM": (260, LAST)}


@pytest.mark.parametrize("end", ["14/06/2024", "soon"])
def test_a_newest_row_without_a_date_refuses_its_series(end: str, tmp_path: Path) -> None:
    write(tmp_path / "bars" / "IBM.csv", [*lines(sessions())[:-1], f"{end},1,2,1,2,3"])
    assert list(look(tmp_path / "bars").refused) == ["undated_rows"]


def test_a_file_that_ends_within_a_row_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "bars" / "IBM.csv", lines(sessions()))
    path.write_text(path.read_text(encoding="utf-8")[:-14], encoding="utf-8")
    (reason,) = look(tmp_path / "bars").refused["unreadable_file"].values()
    assert "ends in the middle of a row" in reason


@pytest.mark.parametrize("year", ["0001", "0300", "2069", "9999"])
@pytest.mark.parametrize("calendar", ["XNYS", "XTKS"])
def test_a_bar_of_any_year_stops_no_night(year: str, calendar: str, tmp_path: Path) -> None:
    write(tmp_path / "bars" / "AAA.csv", [*lines(sessions(calendar)), f"{year}-05-02,1,2,1,2,3"])
    write(tmp_path / "bars" / "IBM.csv", lines(sessions(), 1))
    assert kept(look(tmp_path / "bars"))["IBM"] == (260, LAST)


def test_years_of_persia_are_no_dates_of_bars(tmp_path: Path) -> None:
    rows = lines(sessions(), dated=lambda day: f"{day.year - 621}/{day:%m/%d}")
    write(tmp_path / "bars" / "FOLD.csv", rows)
    write(tmp_path / "bars" / "IBM.csv", lines(sessions(), 1))
    assert list(kept(look(tmp_path / "bars"))) == ["IBM"]


def test_a_night_older_than_the_last_session_says_how_many_series_end_before_it(
    tmp_path: Path,
) -> None:
    write(tmp_path / "bars" / "IBM.csv", lines(sessions()[:-4]))
    said = look(tmp_path / "bars").as_dict()["overdue"]
    assert f"The last session of XNYS was {LAST}: 1 of 1 series" in said


def test_a_bad_stretch_of_the_past_condemns_no_later_bar(tmp_path: Path) -> None:
    rows = lines(sessions(number=700))
    empty = [f"{row[:10]},0,{row.split(',', 2)[2]}" for row in rows[:300]]
    write(tmp_path / "bars" / "IBM.csv", [*empty, *rows[300:]])
    assert kept(look(tmp_path / "bars")) == {"IBM": (400, LAST)}


def test_pounds_beside_pence_become_pence(tmp_path: Path) -> None:
    days = sessions("XLON")
    whole, pounds = lines(days), lines(days, scale=0.01)
    write(tmp_path / "bars" / "VOD.L.csv", [*whole[:150], *pounds[150:]])
    (one,) = look(tmp_path / "bars").symbols
    assert (one.bars, one.refusal, one.findings["unit_changed"]) == (260, None, 110)


def test_calendar_days_that_were_filled_in_are_no_bars(tmp_path: Path) -> None:
    rows = {row[:10]: row for row in lines(sessions())}
    filled, last = [], ""
    for back in range((LAST - sessions()[0]).days, -1, -1):
        day = str(LAST - dt.timedelta(back))
        last = rows.get(day, last)
        filled.append(f"{day}{last[10:]}")
    write(tmp_path / "bars" / "IBM.csv", filled)
    assert kept(look(tmp_path / "bars")) == {"IBM": (260, LAST)}


def test_a_source_that_repeats_its_last_bar_is_behind(tmp_path: Path) -> None:
    days = sessions()
    rows = lines(days)
    stopped = [f"{day}{rows[-6][10:]}" for day in days[-5:]]
    write(tmp_path / "bars" / "IBM.csv", [*rows[:-5], *stopped])
    write(tmp_path / "bars" / "KO.csv", lines(days, 1))
    assert look(tmp_path / "bars").refused["behind"].keys() == {"IBM"}


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [(".xz", lzma.compress), (".bz2", bz2.compress), (".zst", zstandard.compress)],
)
def test_packed_text_is_read(suffix: str, pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = write(tmp_path / "IBM.csv", lines(sessions()))
    packed = tmp_path / "bars" / f"IBM.csv{suffix}"
    packed.parent.mkdir()
    packed.write_bytes(pack(path.read_bytes()))
    assert kept(look(tmp_path / "bars")) == {"IBM": (260, LAST)}


ROWS: list[dict[str, object]] = [
    {"date": str(day), **dict(zip(HEADER.split(",")[1:], numbers, strict=True))}
    for day, numbers in bars(sessions())
]


def test_packed_json_is_read(tmp_path: Path) -> None:
    (tmp_path / "bars").mkdir()
    packed = bz2.compress(json.dumps(ROWS).encode())
    (tmp_path / "bars" / "IBM.json.bz2").write_bytes(packed)
    assert kept(look(tmp_path / "bars")) == {"IBM": (260, LAST)}


@pytest.mark.parametrize(
    "written",
    [
        json.dumps(ROWS),
        "\n".join(map(json.dumps, ROWS)),
        json.dumps({name: [row[name] for row in ROWS] for name in ROWS[0]}),
        json.dumps({"status": "ok", "data": ROWS}),
        json.dumps({"meta": {"symbol": "IBM"}, "days": {str(row["date"]): row for row in ROWS}}),
        json.dumps({name: {str(row["date"]): row[name] for row in ROWS} for name in ROWS[0]}),
    ],
    ids=["records", "lines", "columns", "data", "by date", "columns by date"],
)
def test_json_is_read(written: str, tmp_path: Path) -> None:
    (tmp_path / "IBM.json").write_text(written, encoding="utf-8")
    assert kept(look(tmp_path / "IBM.json")) == {"IBM": (260, LAST)}


@pytest.mark.parametrize(
    "order",
    [
        "open high low close volume more",
        "low high open close volume",
        "open close high low volume more",
        "open high low close mean volume more",
    ],
)
def test_candles_are_read_in_the_order_of_their_exchange(order: str) -> None:
    rows = [
        [int(dt.datetime.fromisoformat(str(row["date"])).replace(tzinfo=dt.UTC).timestamp())]
        + [{**row, "mean": row["close"], "more": 1}[name] for name in order.split()]
        for row in ROWS
    ]
    written = json.dumps({"error": [], "result": {"list": rows, "last": 5}})
    read = read_bars(written.encode(), label="BTC-USD.json").frame
    assert read["date"][-1] == to_day(LAST)
    for name in HEADER.split(",")[1:]:
        assert read[name].to_list() == [row[name] for row in ROWS]


@pytest.mark.parametrize("name", ["Volume (000)", "Volume, thousands"])
def test_a_volume_in_thousands_is_not_read(name: str) -> None:
    written = f"date;open;high;low;close;{name}\n2024-01-02;1;2;1;2;500\n"
    assert read_bars(written.encode(), label="IBM.csv").frame["volume"].is_nan().all()


def test_a_quotation_mark_that_is_not_closed_refuses_a_table_of_many(tmp_path: Path) -> None:
    days = sessions()
    rows = [f"{symbol},{row}" for row in lines(days) for symbol in ("IBM", "KO", "PEP")]
    rows[400] = f'"{rows[400]}'
    table = write(tmp_path / "bars" / "all.csv", rows, f"symbol,{HEADER}")
    with pytest.raises(SourceError, match="not closed"):
        open_source(table, tmp_path / "work")


@pytest.mark.parametrize("dated", [str, lambda day: (day - dt.date(1899, 12, 30)).days])
def test_a_workbook_of_one_sheet_is_read(
    dated: Callable[[dt.date], str | int], tmp_path: Path
) -> None:
    rows: list[list[object]] = [[dated(day), *prices] for day, prices in bars(sessions())]
    rows.insert(0, [*HEADER.split(",")])
    (tmp_path / "bars").mkdir()
    path = tmp_path / "bars" / "IBM.xlsx"
    path.write_bytes(workbook([rows, []]))
    assert kept(look(tmp_path / "bars")) == {"IBM": (260, LAST)}
    path.write_bytes(workbook([rows, rows]))
    checked = look(tmp_path / "bars")
    assert "2 sheets with rows" in checked.refused["unreadable_file"]["IBM"]
    assert kept(checked) == {}


def test_a_workbook_without_its_reader_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("screener.nightly.reading.formats.find_spec", lambda _name: None)
    (tmp_path / "bars").mkdir()
    (tmp_path / "bars" / "IBM.xlsx").write_bytes(workbook([[HEADER.split(",")]]))
    (reason,) = look(tmp_path / "bars").refused["unreadable_file"].values()
    assert "pattern-screener[excel]" in reason


def test_a_file_of_an_unread_form_is_named(tmp_path: Path) -> None:
    write(tmp_path / "bars" / "IBM.csv", lines(sessions()))
    (tmp_path / "bars" / "KO.h5").write_bytes(b"\x89HDF")
    assert any("KO.h5 is of a form" in str(why) for why in look(tmp_path / "bars").refused.values())


@pytest.mark.parametrize(
    ("header", "encoding"),
    [
        ("日期,开盘,最高,最低,收盘,成交量", "gb18030"),
        ("日付け,始値,高値,安値,終値,出来高", "shift_jis"),
        ("2330 台積電 各日成交資訊\n日期,開盤價,最高價,最低價,收盤價,成交股數", "big5"),
        ("날짜,시가,고가,저가,종가,거래량", "cp949"),
        ("Data,Otwarcie,Najwyższy,Najniższy,Zamknięcie,Wolumen", "cp1250"),
        ("TradDt,OpnPric,HghPric,LwPric,ClsPric,TtlTradgVol", "utf-8"),
        ("<DTYYYYMMDD>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>", "utf-8"),
    ],
)
def test_headers_of_the_east_are_read_in_their_encodings(
    header: str, encoding: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "bars" / "IBM.csv", lines(sessions()), header)
    path.write_bytes(path.read_text(encoding="utf-8").encode(encoding))
    assert kept(look(tmp_path / "bars")) == {"IBM": (260, LAST)}
