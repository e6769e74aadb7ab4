"""Bars on the command line: fetched, listed, and made into a night in whatever form they lie."""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import Any

import polars as pl
import pytest

from nightly.bars import to_date
from nightly.providers.kept import BarStore
from nightly.sample import sample_source
from screener.cli import app
from store.manifest import Manifest
from store.nights import Nights
from tests.nightly import shelves
from tests.nightly.exchange_floor import Floor, serving
from tests.screener.command import COMMAND, environment, run

SESSION = "2012-10-03"
TICKERS = ("AAPL", "MSFT")

needs_yfinance = pytest.mark.skipif(
    find_spec("yfinance") is None,
    reason="yfinance is not installed; make install-providers installs it",
)


def sample_series() -> dict[str, pl.DataFrame]:
    """Two years of the sample, whose splits lie before."""
    found = {}
    for loaded in sample_source().load(TICKERS):
        bars = loaded.bars
        frame = pl.DataFrame(
            {
                "date": [to_date(day) for day in bars.date],
                **{name: getattr(bars, name) for name in shelves.NUMBERS},
            }
        )
        found[loaded.name] = frame.filter(
            pl.col("date").is_between(dt.date(2010, 10, 1), dt.date(2012, 10, 31))
        )
    return found


def night_of(data: Path, bars: Path) -> tuple[Manifest, dict[str, Any]]:
    """The night of some bars, and its report."""
    done = run(data, "nightly", "--bars", str(bars), "--session", SESSION)
    assert done.returncode == 0, done.stderr
    nights = Nights(data)
    manifest = nights.check_active()
    report = nights.report(manifest)
    assert report is not None
    return manifest, report


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[Manifest, dict[str, Any]]:
    """The night of a plain folder of CSV files, beside what a killed night left."""
    folder = tmp_path_factory.mktemp("plain")
    left = folder / "data" / "nights" / ".999999999.work" / "bars"
    left.mkdir(parents=True)
    (left / "run-00000.parquet").write_bytes(b"half")
    night = night_of(folder / "data", shelves.yahoo(folder / "bars", sample_series()))
    assert not list(left.parent.parent.glob(".*.work"))
    return night


@pytest.mark.parametrize(
    ("write", "form"),
    [
        (shelves.stooq_zip, "Stooq"),
        (shelves.massive, "Massive day file"),
        (shelves.yfinance, "yfinance CSV"),
    ],
    ids=["stooq", "massive", "yfinance"],
)
def test_the_same_bars_make_the_same_night_in_every_form(
    tmp_path: Path,
    plain: tuple[Manifest, dict[str, Any]],
    write: Callable[[Path, shelves.Series], Path],
    form: str,
) -> None:
    manifest, report = night_of(tmp_path / "data", write(tmp_path / "bars", sample_series()))

    assert manifest.counts == plain[0].counts
    assert form in report["source"]["forms"]
    assert {**report, "source": None} == {**plain[1], "source": None}
    assert not list((tmp_path / "data" / "nights").glob(".*.work"))


def test_the_report_tells_what_was_renamed_and_ignored(
    plain: tuple[Manifest, dict[str, Any]],
) -> None:
    told = plain[1]["source"]
    assert told["forms"] == {"CSV": 2}
    assert "not for dividends" in told["columns"]["Adj Close"]
    assert told["renamed"] == {}


@pytest.fixture
def floor() -> Iterator[Floor]:
    with serving() as floor:
        floor.series = sample_series()
        yield floor


@needs_yfinance
def test_fetched_bars_become_a_night(tmp_path: Path, floor: Floor) -> None:
    asked = ("--provider", "yfinance", "--symbols", "AAPL,MSFT", "--url", floor.url)
    store = tmp_path / "kept"
    first = run(tmp_path / "data", "bars", "fetch", *asked, "--store", str(store))
    assert first.returncode == 0, first.stderr
    assert "2 new" in first.stdout

    listed = run(tmp_path / "data", "bars", "list", "--store", str(store)).stdout
    rows = [line.split() for line in listed.splitlines()[1:]]
    assert [row[:3] for row in rows] == [[name, "yfinance", name] for name in TICKERS]
    assert all(row[4:] == ["2010-10-01", "2012-10-31"] for row in rows)

    manifest, report = night_of(tmp_path / "data", store)
    assert manifest.counts.covered == 2
    assert report["source"]["forms"] == {"Parquet": 2}


@needs_yfinance
def test_symbols_that_fail_are_told_by_name_and_exit_code(tmp_path: Path, floor: Floor) -> None:
    words = tmp_path / "symbols.txt"
    words.write_text("# mine\nAAPL\nNONE, MSFT\n")
    asked = ("--provider", "yfinance", "--url", floor.url, "--since", "2012-01-02")
    some = run(tmp_path, "bars", "fetch", *asked, "--symbols", f"@{words}")
    assert some.returncode == 1
    assert "Failed: NONE: " in some.stderr
    assert "1 failed, 2 new" in some.stdout
    none = run(tmp_path, "bars", "fetch", *asked, "--symbols", "NONE")
    assert none.returncode == 2
    again = run(tmp_path, "bars", "fetch", *asked)
    assert again.returncode == 0
    assert "2 current" in again.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nobody", "--symbols", "A"), "No provider is called nobody"),
        (("ccxt", "--symbols", "A"), "such as ccxt:binance"),
        (("yfinance", "--symbols", ","), "names no symbol"),
        (("yfinance", "--symbols", "@absent.txt"), "absent.txt cannot be read"),
        (("yfinance", "--since", "soon"), "--since 'soon' is not a date"),
        (("yfinance",), "No symbol of yfinance is stored yet"),
    ],
)
def test_a_mistake_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    words: str,
) -> None:
    monkeypatch.setenv("SCREENER_DATA_DIR", str(tmp_path))
    with pytest.raises(SystemExit) as ended:
        app(["bars", "fetch", "--provider", *arguments])
    said = capfd.readouterr().err
    assert ended.value.code == 2
    assert said.startswith("screener: ")
    assert len(said.strip().splitlines()) == 1
    assert words in said


@needs_yfinance
def test_a_fetch_that_is_killed_is_taken_up_where_it_ended(tmp_path: Path, floor: Floor) -> None:
    names = [f"S{number}" for number in range(8)]
    whole = floor.series["AAPL"]
    floor.series = dict.fromkeys(names, whole)
    floor.held = {name: Event() for name in names[4:]}
    asked = [*COMMAND, "bars", "fetch", "--provider", "yfinance", "--url", floor.url]
    asked += ["--symbols", ",".join(names), "--store", str(tmp_path / "kept")]
    with subprocess.Popen(asked, env=environment(tmp_path), start_new_session=True) as process:
        assert floor.reached.wait(120)
        os.killpg(process.pid, signal.SIGKILL)
    store = BarStore(tmp_path / "kept")
    kept = store.symbols()
    assert set(kept) <= set(names[:4])
    assert kept
    for symbol in kept:
        found = store.read(symbol)
        assert found is not None
        assert found.bars.height == whole.height
    for event in floor.held.values():
        event.set()

    again = run(tmp_path, *asked[1:])

    assert again.returncode == 0, again.stderr
    assert f"{len(kept)} current, {8 - len(kept)} new" in again.stdout
    assert store.symbols() == names


@needs_yfinance
def test_an_interrupted_fetch_keeps_what_came_and_names_what_is_missing(
    tmp_path: Path, floor: Floor
) -> None:
    names = [f"S{number}" for number in range(9)]
    floor.series = dict.fromkeys(names, floor.series["AAPL"])
    floor.held = {name: Event() for name in names[2:]}
    asked = [*COMMAND, "bars", "fetch", "--provider", "yfinance", "--url", floor.url]
    asked += ["--symbols", ",".join(names), "--store", str(tmp_path / "kept"), "--json"]
    with subprocess.Popen(
        asked,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert floor.reached.wait(120)
        process.send_signal(signal.SIGINT)
        assert process.stderr.readline() == "Stopping, once the requests under way are finished.\n"
        for event in floor.held.values():
            event.set()
        told = json.loads(process.stdout.read())

    assert process.returncode == 130
    results = {one["symbol"]: one["status"] for one in told["symbols"]}
    assert list(results) == names
    assert set(results.values()) == {"new", "untried"}
    new = [name for name, status in results.items() if status == "new"]
    assert BarStore(tmp_path / "kept").symbols() == new


@pytest.mark.skipif(
    find_spec("ccxt") is None, reason="ccxt is not installed; make install-providers installs it"
)
def test_an_exchange_that_refuses_everything_is_left_alone_and_the_rest_is_named(
    tmp_path: Path, floor: Floor
) -> None:
    pairs = [f"{letter}/USDT" for letter in "ABCDEFGH"]
    floor.series = dict.fromkeys(pairs, floor.series["AAPL"])
    floor.busy, floor.after = 100_000, "3600"
    asked = ["--provider", "ccxt:binance", "--url", floor.url, "--since", "2012-01-02"]
    asked += ["--symbols", ",".join(pairs)]

    done = run(tmp_path, "bars", "fetch", *asked)

    assert done.returncode == 2
    assert done.stderr.count("Failed: ") <= 4
    assert "Ended early: 3 symbols in a row failed: " in done.stderr
    assert "a pause of 3600 seconds" in done.stderr
    assert "E/USDT, F/USDT, G/USDT, H/USDT" in done.stderr
    assert 3 <= 100_000 - floor.busy <= 4
    told = json.loads(run(tmp_path, "bars", "fetch", *asked, "--json").stdout)
    assert told["ended_early"].startswith("3 symbols in a row failed: ")
    assert told["symbols"][-1]["status"] == "untried"
