"""A night over real bars of many markets, served on both surfaces."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from screener.commands.bars_options import BarsOptions
from screener.commands.nightly import Work, make_and_publish, order_of
from screener.settings.settings import Settings
from store.nights.nights import Nights
from tests.conftest import CROWDED
from tests.service import Service, new_key, serving

SHARED = Path(os.environ.get("SCREENER_SHARED", Path(__file__).parents[3] / "shared"))
BARS = SHARED / "data" / "bars.parquet"
SYMBOLS = ("AAPL", "MSFT", "SPY", "TLT", "BTCUSDT", "ETHUSDT", "XOM", "GME", "GYRO", "KO", "JPM")

pytestmark = [
    pytest.mark.engine,  # a night of so many symbols takes both cores for half a minute
    pytest.mark.skipif(not BARS.exists(), reason="the research bars are not beside it"),
]


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service over 1,856 symbols, as of a session on which its crypto symbols still traded.

    Its rules are lenient and find many more setups than the default's.
    """
    folder = tmp_path_factory.mktemp("market")
    reference = SHARED / "data" / "reference.parquet"
    session = dt.date(2024, 3, 8)
    order = order_of(
        Settings(data_dir=folder),
        BarsOptions(str(BARS), reference=reference, session=session),
        work=Work(folder / "work"),
    )
    make_and_publish(Settings(data_dir=folder), replace(order, parameters=CROWDED))
    with serving(folder) as live:
        yield live


def test_what_is_left_out_is_not_covered_and_what_is_live_is(market: Service) -> None:
    key = new_key(market.settings, "cover@example.com", tracked=SYMBOLS)
    listed = market.get("/tickers", key=key).json()["tickers"]
    covered = {ticker["symbol"]: ticker["covered"] for ticker in listed}

    assert covered["BTCUSDT"]
    assert covered["AAPL"]
    assert covered["GME"], "news that doubles a price is no split"
    assert not covered["GYRO"]
    body = market.get("/tickers/GYRO/patterns", key=key).json()
    assert (body["available"], body["reason"]) == (False, "not_covered")


def test_every_setup_of_a_full_scan_is_sound(market: Service) -> None:
    page = market.get("/scan", params={"status": "all", "limit": 200}).json()

    assert page["count"] > 300
    for setup in page["setups"]:
        plan = setup["plans"][0]
        sign = 1 if plan["direction"] == "bullish" else -1
        assert sign * (plan["target_price"] - plan["trigger_price"]) > 0
        assert sign * (plan["trigger_price"] - plan["stop_price"]) > 0
        assert setup["track_record"]["family"]["avg_loss_pct"] < 0
        assert setup["win_rate_trades"] > 0
        assert setup["pattern_start"] < setup["pattern_end"] <= "2024-03-08"


def test_a_night_of_1856_symbols_knows_them_all(market: Service) -> None:
    manifest = Nights(market.settings.data_dir).active()

    assert manifest is not None
    assert manifest.counts.known == 1856
    assert manifest.counts.covered > 1300
