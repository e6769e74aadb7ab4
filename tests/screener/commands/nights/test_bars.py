"""Bars on the command line: fetched, listed, and made into a night in whatever form they lie."""

from __future__ import annotations

import datetime as dt
import json
import signal
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from threading import Event

import polars as pl
import pytest

from screener.nightly.bars import to_date
from screener.nightly.fetching.bar_store import BarStore
from screener.nightly.sample import sample_source
from store.nights.nights import Nights
from tests.screener.command import COMMAND, check_refusal, environment, run, succeed
from tests.screener.nightly import shelves
from tests.screener.nightly.exchange_floor import Floor, serving

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


@pytest.fixture
def floor() -> Iterator[Floor]:
    with serving() as floor:
        floor.series = sample_series()
        yield floor


@needs_yfinance
def test_fetched_bars_become_a_night(tmp_path: Path, floor: Floor) -> None:
    asked = ("--provider", "yfinance", "--symbols", "AAPL,MSFT", "--url", floor.url)
    store = tmp_path / "kept"
    first = succeed(tmp_path / "data", "bars", "fetch", *asked, "--store", str(store))
    assert "2 new" in first.stdout

    listed = run(tmp_path / "data", "bars", "list", "--store", str(store)).stdout
    rows = [line.split() for line in listed.splitlines()[1:]]
    assert [row[:3] for row in rows] == [[name, "yfinance", name] for name in TICKERS]
    assert all(row[4:] == ["2010-10-01", "2012-10-31"] for row in rows)

    left = tmp_path / "data" / "nights" / ".999999999.work" / "bars"  # by a killed night
    left.mkdir(parents=True)
    (left / "run-00000.parquet").write_bytes(b"half")
    succeed(tmp_path / "data", "nightly", "--bars", str(store), "--session", SESSION)
    nights = Nights(tmp_path / "data")
    manifest = nights.check_active()
    assert manifest.counts.covered == 2
    assert (nights.report(manifest) or {})["source"]["forms"] == {"Parquet": 2}
    assert not list(nights.folder.glob(".*.work"))


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
def test_a_mistake_is_one_line(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    check_refusal(run(tmp_path, "bars", "fetch", "--provider", *arguments), words)


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
    assert "Ended early: 3 symbols in a row failed: " in done.stderr
    assert "a pause of 3600 seconds" in done.stderr
    assert "E/USDT, F/USDT, G/USDT, H/USDT" in done.stderr
    told = json.loads(run(tmp_path, "bars", "fetch", *asked, "--json").stdout)
    assert told["ended_early"].startswith("3 symbols in a row failed: ")


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
