"""Presets: each is a screen that the page offers, and shows what its sentence says."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from mcp_server.filters.scan_order import NEARNESS
from screener.web.market.presets import PRESETS, Preset
from store.wire.words import plural
from tests.screener.web.browser import Browser
from tests.screener.web.market import evidence_of
from tests.screener.web.tree import words
from tests.service import Service

Row = Mapping[str, Any]

HOLDS: Mapping[str, Callable[[Row, Row], bool]] = {
    "Fresh breakouts": lambda row, _: row["sessions_since_trigger"] < 5,
    "Close to trigger": lambda row, _: row["distance_to_trigger_pct"] <= 2,
    "Bullish, own record": lambda row, known: (
        row["direction"] == "bullish" and known["min_win_rate"] >= 0
    ),
    "High reward": lambda row, known: row["status"] == "forming" and known["min_rr"] >= 3,
    "In profit": lambda row, _: row["gain_pct"] > 0,
    "In an uptrend": lambda row, known: (
        row["direction"] == "bullish" and known["price_above_sma_200"] == known["sma_cross"] == 1
    ),
    "Large caps": lambda _, known: known["market_cap"] >= 10_000_000_000,
}
"""What each row of a preset is, by its fields and by the numbers that the night has of it."""


def parameters(address: str) -> list[tuple[str, str]]:
    return parse_qsl(urlsplit(address).query, strict_parsing=True)


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_a_preset_shows_what_its_sentence_says(market: Service, preset: Preset) -> None:
    asked = {"sort": NEARNESS, **dict(parameters(preset.address))}
    rows = market.get("/scan", params=asked).json()["setups"]
    page = Browser(market).get(preset.address).text

    numbers = evidence_of(market.settings.data_dir)
    known = [{name: of[row["rank"] - 1] for name, of in numbers.items()} for row in rows]
    if preset.name in HOLDS:
        assert all(map(HOLDS[preset.name], rows, known))
    assert re.findall(r'#setup-([^"]+)" data-row', page) == [row["setup_id"] for row in rows]
    current = re.findall(r'<a href="([^"]+)" aria-current="true">([^<]+)</a> <span>', page)
    assert [(html.unescape(address), name) for address, name in current] == [
        (preset.address, preset.name)
    ]


def test_the_screen_offers_every_preset_with_its_sentence(market: Service) -> None:
    page = Browser(market).get("/screen").text

    for preset in PRESETS:
        assert f'href="{html.escape(preset.address)}"' in page
        assert f"{preset.name} {preset.sentence}" in words(page)


def test_a_win_rate_of_a_ticker_stands_beside_its_trades_and_its_help_is_there_once(
    market: Service,
) -> None:
    (preset,) = (one for one in PRESETS if one.name == "Bullish, own record")
    rows = market.get("/scan", params=dict(parameters(preset.address))).json()["setups"]
    page = Browser(market).get(preset.address).text
    text = words(page)

    assert rows
    for row in rows:
        own = row["track_record"]["ticker"]
        own = (own["by_direction"] or {}).get(row["direction"]) or own
        loss = "no loss" if own["avg_loss_pct"] is None else f"{own['avg_loss_pct']:+.2f}%"
        assert f"% ({plural(own['sample_size'], 'trade')}, avg loss {loss})" in text
    assert text.count("Win rate of this pattern on this ticker only") == 1
    assert "min_win_rate: " not in text
    assert re.search(r'aria-sort="descending"[^>]*><a [^>]*>Expectancy', page)
