"""Providers: bars are fetched up to the last finished day, appended, and never mixed up.

Each test asks the real client of the provider, which asks a local server in the provider's shape.
"""

from __future__ import annotations

import datetime as dt
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from screener.nightly.fetching.bar_store import BarStore, Origin, symbol_of
from screener.nightly.fetching.fetch import GIVE_UP, WAITS, Fetched, FetchRun, Updater
from screener.nightly.fetching.provider import SCHEMA, Provider, ProviderError, open_provider
from tests.screener.nightly.exchange_floor import Floor, serving

# Deprecation warnings from a client's own libraries do not concern this project.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

FIRST = dt.date(2024, 1, 2)
LAST = dt.date(2024, 3, 8)
"""A Friday."""
DURING = dt.datetime(2024, 3, 8, 17, tzinfo=dt.UTC)
"""While New York trades, on the last day that the server has."""


def bars(first: dt.date = FIRST, last: dt.date = LAST, *, crypto: bool) -> pl.DataFrame:
    days = [first + dt.timedelta(day) for day in range((last - first).days + 1)]
    days = [day for day in days if crypto or day.weekday() < 5]
    random = np.random.default_rng(len(days))
    close = np.round(100 + np.cumsum(random.normal(0, 1, len(days))), 2)
    numbers = {"open": close - 0.25, "high": close + 1, "low": close - 1, "close": close}
    numbers = {name: np.round(values, 2) for name, values in numbers.items()}
    frame = pl.DataFrame({"date": days, **numbers, "volume": np.full(len(days), 1000.0)})
    return frame.cast(dict(SCHEMA))  # type: ignore[arg-type]


@dataclass
class Desk:
    """A provider whose client asks the server, a store, and the waits that were requested."""

    floor: Floor
    provider: Provider
    store: BarStore
    symbols: tuple[str, str]
    served: tuple[str, str]
    waited: list[float] = field(default_factory=list)

    @property
    def crypto(self) -> bool:
        return self.provider.name != "yfinance"

    def fetch(
        self, *symbols: str, now: dt.datetime = DURING, since: dt.date | None = FIRST
    ) -> list[Fetched]:
        updater = Updater(self.provider, self.store, now, self.waited.append, since)
        run = FetchRun(updater, symbols or self.symbols)
        return [*run.results(), *run.end()]

    def kept(self, place: int = 0) -> pl.DataFrame:
        kept = self.store.read(self.served[place])
        assert kept is not None
        return kept.bars

    def finished(self, place: int = 0) -> pl.DataFrame:
        """The server's bars without its unfinished last day."""
        return self.floor.series[self.symbols[place]].filter(pl.col("date") < LAST)


@pytest.fixture(params=["yfinance", "ccxt:binance"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    extra = request.param.partition(":")[0]
    if find_spec(extra) is None:
        pytest.skip(f"{extra} is not installed; make install-providers installs it")
    crypto = extra == "ccxt"
    symbols = ("BTC/USDT", "ETH/USDT") if crypto else ("AAPL", "BRK-B")
    served = ("BTCUSDT", "ETHUSDT") if crypto else ("AAPL", "BRK.B")
    if not crypto:
        import yfinance

        yfinance.set_tz_cache_location(str(tmp_path / "cache"))
    with serving() as floor:
        floor.series = {symbol: bars(crypto=crypto) for symbol in symbols}
        provider = open_provider(request.param, floor.url)
        store = BarStore(tmp_path / "bars")
        store.prepare()
        yield Desk(floor, provider, store, symbols, served)


def test_a_new_symbol_is_kept_up_to_the_last_finished_day(desk: Desk) -> None:
    for place, fetched in enumerate(desk.fetch()):
        assert (fetched.symbol, fetched.status) == (desk.served[place], "new")
        assert desk.kept(place).equals(desk.finished(place))
        assert (fetched.first, fetched.added) == (FIRST, len(desk.finished(place)))
        assert fetched.last == dt.date(2024, 3, 7)


def test_without_a_first_day_all_that_there_is_comes(desk: Desk) -> None:
    old = bars(dt.date(2019, 1, 2), crypto=desk.crypto)
    desk.floor.series[desk.symbols[0]] = old
    (fetched,) = desk.fetch(desk.symbols[0], since=None)
    assert fetched.first == dt.date(2019, 1, 2)
    assert desk.kept().equals(desk.finished())


def test_only_what_is_missing_is_asked_for_and_appended(desk: Desk) -> None:
    desk.fetch(now=dt.datetime(2024, 2, 16, 12, tzinfo=dt.UTC))
    assert desk.kept()["date"][-1] == dt.date(2024, 2, 15)
    desk.floor.asked.clear()

    fetched = desk.fetch()

    assert {item.status for item in fetched} == {"appended"}
    assert all(day >= dt.date(2024, 2, 4) for _, day in desk.floor.asked)
    assert desk.kept().equals(desk.finished())
    assert fetched[0].added == len(desk.finished().filter(pl.col("date") > dt.date(2024, 2, 15)))


def test_what_is_current_is_not_asked_for_again(desk: Desk) -> None:
    desk.fetch()
    desk.floor.asked.clear()
    assert {item.status for item in desk.fetch()} == {"current"}
    assert desk.floor.asked == []


def test_a_moved_history_is_fetched_anew_as_a_whole(desk: Desk) -> None:
    desk.fetch(now=dt.datetime(2024, 2, 16, 12, tzinfo=dt.UTC))
    whole = desk.floor.series[desk.symbols[0]]
    prices = pl.col("open", "high", "low", "close") / 2
    desk.floor.series[desk.symbols[0]] = whole.with_columns(prices)

    split, other = desk.fetch()

    assert (split.status, other.status) == ("refetched", "appended")
    assert desk.kept().equals(desk.finished())


def test_a_hole_between_what_is_kept_and_what_comes_is_not_left(desk: Desk) -> None:
    desk.fetch(now=dt.datetime(2024, 2, 16, 12, tzinfo=dt.UTC))
    later = bars(dt.date(2024, 2, 20), crypto=desk.crypto)
    desk.floor.series[desk.symbols[0]] = later
    fetched, _ = desk.fetch()
    assert fetched.status == "refetched"
    assert desk.kept().equals(desk.finished())


def test_an_earlier_first_day_brings_the_older_bars(desk: Desk) -> None:
    desk.fetch(since=dt.date(2024, 2, 1))
    assert {item.status for item in desk.fetch()} == {"refetched"}
    assert desk.kept().equals(desk.finished())


def test_patience_is_asked_for_and_given(desk: Desk) -> None:
    desk.floor.busy = 4 if desk.provider.name == "yfinance" else 2  # Yahoo's client asks twice
    (fetched,) = desk.fetch(desk.symbols[0])
    assert fetched.status == "new"
    assert desk.waited == list(WAITS[:2])


def test_patience_ends_and_what_was_kept_stays(desk: Desk) -> None:
    desk.fetch(now=dt.datetime(2024, 2, 16, 12, tzinfo=dt.UTC))
    before = desk.kept()
    desk.floor.busy = 1000
    (fetched,) = desk.fetch(desk.symbols[0])
    assert fetched.status == "failed"
    assert fetched.reason
    assert desk.waited == list(WAITS)
    assert desk.kept().equals(before)


def test_a_symbol_that_fails_leaves_the_others_alone(desk: Desk) -> None:
    unknown = "NONE/USDT" if desk.crypto else "NONE"
    sound, absent, odd = desk.fetch(desk.symbols[0], unknown, "../../etc/passwd")
    assert sound.status == "new"
    assert (absent.status, odd.status) == ("failed", "failed")
    assert "\n" not in absent.reason
    assert "letters, digits" in odd.reason
    assert desk.store.symbols() == [desk.served[0]]
    assert desk.waited == []


def test_an_answer_that_no_client_expects_is_a_failure_of_its_symbol(desk: Desk) -> None:
    desk.floor.garbled = {desk.symbols[0]}
    odd, sound = desk.fetch()
    assert (odd.status, odd.cause, sound.status) == ("failed", "symbol", "new")
    assert odd.reason.isprintable()
    assert desk.store.symbols() == [desk.served[1]]


def test_an_exchange_that_says_how_long_to_wait_is_waited_for_so_long(desk: Desk) -> None:
    if not desk.crypto:
        pytest.skip("Yahoo's client does not show what Yahoo says")
    desk.floor.busy, desk.floor.after = 2, "7"
    (fetched,) = desk.fetch(desk.symbols[0])
    assert fetched.status == "new"
    assert desk.waited == [7.0, 7.0]


def test_an_exchange_that_wants_to_be_left_alone_is(desk: Desk) -> None:
    if not desk.crypto:
        pytest.skip("Yahoo's client does not show what Yahoo says")
    desk.floor.busy, desk.floor.after = 1000, "3600"
    (fetched,) = desk.fetch(desk.symbols[0])
    assert (fetched.status, fetched.cause) == ("failed", "busy")
    assert "3600 seconds" in fetched.reason
    assert desk.waited == []


def test_a_provider_that_refuses_everything_is_not_asked_on(desk: Desk) -> None:
    desk.floor.busy = 100_000
    names = [f"{letter}/USDT" if desk.crypto else letter for letter in "ABCDEFGHIJKL"]
    desk.floor.series = dict.fromkeys(names, bars(crypto=desk.crypto))
    updater = Updater(desk.provider, desk.store, DURING, desk.waited.append, FIRST)
    run = FetchRun(updater, names)

    results = list(run.results())

    assert [one.cause for one in results] == ["busy"] * GIVE_UP
    assert f"{GIVE_UP} symbols in a row failed: " in run.gave_up
    left = run.end()
    assert [one.symbol for one in left] == names[GIVE_UP:]
    assert {one.status for one in left[desk.provider.parallel :]} == {"untried"}
    assert left[-1].reason == run.gave_up


def test_failures_of_single_symbols_never_end_a_run(desk: Desk) -> None:
    unknown = [f"NONE{number}/USDT" if desk.crypto else f"NONE{number}" for number in range(5)]
    results = desk.fetch(*unknown, desk.symbols[0])
    assert [one.status for one in results] == ["failed"] * 5 + ["new"]


def test_a_store_that_cannot_be_written_ends_the_run(desk: Desk) -> None:
    shutil.rmtree(desk.store.folder)
    desk.store.folder.write_text("a file in its place")
    names = list(desk.symbols) * 4
    results = desk.fetch(*names)
    assert [one.cause for one in results[:GIVE_UP]] == ["store"] * GIVE_UP
    assert results[-1].status == "untried"


def test_a_symbol_of_another_provider_is_never_mixed_in(desk: Desk) -> None:
    desk.store.write(desk.served[0], desk.finished(), Origin("other", "x"))
    (fetched,) = desk.fetch(desk.symbols[0])
    assert fetched.status == "failed"
    assert "another --store" in fetched.reason


def test_a_damaged_file_is_fetched_anew(desk: Desk) -> None:
    desk.fetch()
    (desk.store.folder / f"{desk.served[0]}.parquet").write_bytes(b"PAR1 cut short")
    assert [item.status for item in desk.fetch()] == ["new", "current"]
    assert desk.kept().equals(desk.finished())


def test_what_a_killed_run_left_is_cleared_away(desk: Desk) -> None:
    left = desk.store.folder / ".AAPL.parquet.x1y2"
    for age, stays in ((0, True), (7200, False)):
        left.write_bytes(b"half")
        written = left.stat().st_mtime - age
        os.utime(left, (written, written))
        desk.store.prepare()
        assert left.exists() == stays


def test_a_crypto_pair_of_yahoo_follows_utc(desk: Desk) -> None:
    if desk.crypto:
        pytest.skip("an exchange has nothing else")
    desk.floor.series["BTC-USD"] = bars(crypto=True)
    sunday = dt.datetime(2024, 3, 4, 1, tzinfo=dt.UTC)
    (fetched,) = desk.fetch("BTC-USD", now=sunday)
    assert (fetched.symbol, fetched.last) == ("BTCUSD", dt.date(2024, 3, 3))


def test_a_perpetual_future_has_a_symbol_of_its_own(desk: Desk) -> None:
    del desk
    assert symbol_of("BTC/USDT:USDT") == "BTCUSDT.P"
    assert symbol_of("BTC/USDT") == "BTCUSDT"


def test_the_session_of_a_closed_exchange_is_whole(desk: Desk) -> None:
    evening = dt.datetime(2024, 3, 8, 22, tzinfo=dt.UTC)
    (fetched,) = desk.fetch(desk.symbols[0], now=evening)
    assert fetched.last == (LAST - dt.timedelta(days=1) if desk.crypto else LAST)


@pytest.mark.parametrize("name", ["nobody", "ccxt", "ccxt:nobody", "yfinance:x"])
def test_a_provider_that_does_not_exist_is_an_error(desk: Desk, name: str) -> None:
    del desk
    with pytest.raises(ProviderError, match=r"No provider|has no exchange|not installed"):
        open_provider(name)
