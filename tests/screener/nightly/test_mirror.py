"""The mirror law: bars upside down in log price give the same patterns upside down."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from research.chartist.curve import read_market
from research.planted.measures import plants, walks
from screener.nightly.bars import Bars
from screener.nightly.detector.detector import detect
from screener.nightly.detector.events import EventLog, PatternType
from screener.nightly.detector.parameters import Parameters
from screener.nightly.sample import sample_source

SHARED = Path(os.environ.get("SCREENER_SHARED", Path(__file__).parents[4] / "shared"))
SOUND = SHARED / "data" / "bars.parquet"

MIRRORED = {
    PatternType.RISING_WEDGE: PatternType.FALLING_WEDGE,
    PatternType.FALLING_WEDGE: PatternType.RISING_WEDGE,
    PatternType.SYMMETRICAL_TRIANGLE: PatternType.SYMMETRICAL_TRIANGLE,
    PatternType.ASCENDING_TRIANGLE: PatternType.DESCENDING_TRIANGLE,
    PatternType.DESCENDING_TRIANGLE: PatternType.ASCENDING_TRIANGLE,
    PatternType.BULLISH_SQUEEZE: PatternType.BEARISH_SQUEEZE,
    PatternType.BEARISH_SQUEEZE: PatternType.BULLISH_SQUEEZE,
}
LENIENT = Parameters(quality_min=20.0)
"""Lets many more drawings compete."""


def upside_down(bars: Bars) -> Bars:
    """The bars mirrored in log price, in the same range of prices."""
    middle = bars.low.min() * bars.high.max()
    return replace(
        bars,
        open=middle / bars.open,
        high=middle / bars.low,
        low=middle / bars.high,
        close=middle / bars.close,
    )


def drawings(log: EventLog, *, mirrored: bool = False) -> list[tuple[int, ...]]:
    """Every version with its trade, in whole numbers; of a mirrored log, turned back."""
    turn, upper, lower = (-1, "lower", "upper") if mirrored else (1, "upper", "lower")
    entries = dict(zip(log.trades["version"].tolist(), log.trades, strict=True))
    return [
        (
            MIRRORED[PatternType(version["type"])] if mirrored else version["type"],
            turn * version["direction"],
            *(
                version[f"{side}_{name}"]
                for side in (upper, lower)
                for name in ("start", "touches")
            ),
            *(version[name] for name in ("first_served", "end", "end_reason", "attempt")),
            *(
                [turn * trade["direction"], trade["entry"], trade["exit"], trade["outcome"]]
                if (trade := entries.get(row)) is not None
                else []
            ),
        )
        for row, version in enumerate(log.versions)
    ]


def made() -> list[Bars]:
    """Random walks, planted patterns, and the real bars that the project ships."""
    shipped = sample_source().load(list(sample_source().names()))
    series = [bars for _, bars in walks("test", 2)]
    series += [plant.bars for plant in plants("test", 2)]
    return series + [loaded.bars for loaded in shipped]


@pytest.mark.parametrize("parameters", [Parameters(), LENIENT], ids=["default", "lenient"])
def test_bars_upside_down_give_the_same_drawings_and_trades_upside_down(
    parameters: Parameters,
) -> None:
    served = 0
    for bars in made():
        log, turned = detect(bars, parameters), detect(upside_down(bars), parameters)
        assert drawings(log) == drawings(turned, mirrored=True)
        assert turned.versions["quality"] == pytest.approx(log.versions["quality"], abs=1e-6)
        served += len(log.versions)
    assert served > 20


def test_a_breakout_upside_down_has_its_trigger_stop_and_target_upside_down() -> None:
    for bars in made():
        middle = bars.low.min() * bars.high.max()
        trades, turned = detect(bars, LENIENT).trades, detect(upside_down(bars), LENIENT).trades
        for name in ("entry_price", "stop_price", "target_price"):
            assert middle / turned[name] == pytest.approx(trades[name], rel=1e-9)


@pytest.mark.skipif(not SOUND.exists(), reason="the real bars are not here")
def test_nearly_all_formations_of_real_bars_turn_with_them() -> None:
    both = either = 0
    for bars in read_market(SOUND, lambda symbol: symbol.startswith("C")).values():
        one = set(drawings(detect(bars)))
        other = set(drawings(detect(upside_down(bars)), mirrored=True))
        both, either = both + len(one & other), either + len(one | other)
    assert either > 100
    assert both >= 0.995 * either
