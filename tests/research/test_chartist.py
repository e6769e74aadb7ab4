"""The chartist's benchmark draws charts blind, and keeps and counts what their readers said."""

from __future__ import annotations

import datetime as dt
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from research.chartist.charts import Chart, DrawnLine, charts_of, is_among, sample
from research.chartist.controls import SLACK, controls
from research.chartist.fit import is_set_aside
from research.chartist.pictures import BLUE, HEIGHT, WIDTH, frame_of, picture, read_key, write_set
from research.chartist.ratings import (
    FOLDER,
    checked,
    join,
    read_ratings,
    read_readings,
    table,
    write_ratings,
)
from screener.nightly.bars import Bars, to_date
from screener.nightly.detector.kernel.shape import Shape
from tests.screener.nightly import series


def walk(seed: int) -> Bars:
    """A random walk of 400 sessions."""
    return series.walk(400, seed)


def a_record(bars: Bars, **changes: Any) -> dict[str, Any]:
    """What `screener detect` writes of one version, as far as a chart needs it."""
    day = [to_date(number).isoformat() for number in bars.date]
    return {
        "symbol": "AAA",
        "pattern_type": "falling_wedge",
        "direction": "bullish",
        "attempt": 1,
        "lineage": "one",
        "last_served": day[150],
        "upper": {
            "start": {"date": day[100], "price": 60.0},
            "end": {"date": day[150], "price": 50.0},
        },
        "lower": {
            "start": {"date": day[104], "price": 50.0},
            "end": {"date": day[150], "price": 45.0},
        },
    } | changes


def a_chart(seed: int = 1, symbol: str = "AAA", last: int = 150) -> Chart:
    bars = walk(seed)
    upper = DrawnLine(100, math.log(bars.high[100]) + 0.1, -0.001)
    lower = DrawnLine(104, math.log(bars.low[104]) - 0.1, 0.001)
    return Chart("default", symbol, "symmetrical triangle", bars, upper, lower, last)


def test_a_third_of_symbols_is_set_aside_and_stays_so() -> None:
    names = [f"S{number:05d}" for number in range(3000)]
    assert 0.30 < np.mean([is_set_aside(name) for name in names]) < 0.36
    names = ["AAPL", "MSFT", "KO", "PSKY", "BTCUSDT"]
    assert [name for name in names if is_set_aside(name)] == ["PSKY"]


def test_a_chart_is_the_last_version_of_a_first_attempt() -> None:
    bars = walk(1)
    older = a_record(bars, last_served=to_date(bars.date[140]).isoformat())
    second = a_record(bars, lineage="two", attempt=2)
    unknown = a_record(bars, lineage="three", symbol="BBB")
    odd = a_record(bars, lineage="four", last_served="1999-01-04")  # a day without a bar
    records = [older, a_record(bars), second, unknown, odd]
    (chart,) = charts_of(records, {"AAA": bars}, "default")
    assert (chart.by, chart.symbol, chart.kind) == ("default", "AAA", "falling wedge")
    assert (chart.start, chart.upper.start, chart.lower.start, chart.last) == (100, 100, 104, 150)
    assert math.exp(chart.upper.at(125)) == pytest.approx(math.sqrt(60 * 50))
    assert math.exp(chart.lower.at(150)) == pytest.approx(45)


def test_random_lines_converge_and_hold_the_closes() -> None:
    market = {f"S{seed}": walk(seed) for seed in range(12)}
    since = dt.date(2020, 6, 1)
    charts = controls(market, 8, np.random.default_rng(5), since)
    assert len({chart.symbol for chart in charts}) == 8
    for chart in charts:
        assert chart.date(chart.last) >= since
        assert chart.upper.slope < chart.lower.slope
        assert chart.upper.at(chart.last) > chart.lower.at(chart.last)
        for bar in range(chart.start, chart.last + 1):
            close = math.log(chart.bars.close[bar])
            assert chart.lower.at(bar) - SLACK <= close <= chart.upper.at(bar) + SLACK


def test_a_sample_has_one_chart_of_a_symbol() -> None:
    charts = [a_chart(symbol=f"S{n % 5}", last=150 + n) for n in range(40)]
    drawn = sample(charts, 4, np.random.default_rng(1))
    assert len({chart.symbol for chart in drawn}) == len(drawn) == 4
    assert len(sample(charts, 9, np.random.default_rng(1))) == 5


def test_a_chart_that_shares_a_day_with_a_rated_one_of_its_symbol_is_not_fresh() -> None:
    chart = a_chart()  # of bars 100 to 150
    day = [to_date(number).isoformat() for number in chart.bars.date]

    assert is_among(chart, {"AAA": [(day[150], day[170])]})
    assert is_among(chart, {"AAA": [(day[90], day[100])]})
    assert is_among(chart, {"AAA": [(day[120], day[120])]})
    assert not is_among(chart, {"AAA": [(day[50], day[99]), (day[151], day[160])]})
    assert not is_among(chart, {"BBB": [(day[100], day[150])]})


def test_a_picture_shows_both_lines_from_their_own_start_to_the_last_bar() -> None:
    chart = a_chart()
    image, frame = picture(chart, 17), frame_of(chart)
    assert image.size == (WIDTH, HEIGHT)
    assert (frame.first, frame.last) == (100 - 40, 150)
    pixels = np.asarray(image, np.int64)
    blue = tuple(int(BLUE[place : place + 2], 16) for place in (1, 3, 5))
    for line in (chart.upper, chart.lower):
        for bar in (line.start + 1, 125, 149):
            x, y = round(frame.x(bar)), frame.y(line.at(bar))
            rows = range(int(y) - 2, int(y) + 3)
            nearest = [abs(np.subtract(pixels[row, x], blue)).max() for row in rows]
            assert min(nearest) < 60


def test_a_set_is_numbered_pictures_and_a_key_that_stays_apart(tmp_path: Path) -> None:
    made_up = Chart("planted", "", "rising wedge", *parts(a_chart(9)), plant="wedge 4")
    charts = [a_chart(seed, f"S{seed}") for seed in range(4)] + [made_up]
    write_set(charts, tmp_path / "set", seed=3)
    names = sorted(path.name for path in (tmp_path / "set" / "pictures").iterdir())
    assert names == [f"00{n}.png" for n in range(5)] + ["sheet-000.png", "sheet-001.png"]
    with Image.open(tmp_path / "set" / "pictures" / "sheet-001.png") as sheet:
        assert sheet.size == (2 * WIDTH, 2 * HEIGHT)
    key = read_key(tmp_path / "set" / "key.json")
    assert sorted(str(entry["symbol"]) for entry in key.values()) == [
        "None",
        "S0",
        "S1",
        "S2",
        "S3",
    ]
    with pytest.raises(FileExistsError):
        write_set(charts, tmp_path / "set", seed=4)


def parts(chart: Chart) -> tuple[Bars, DrawnLine, DrawnLine, int]:
    return chart.bars, chart.upper, chart.lower, chart.last


@pytest.mark.parametrize(
    ("answer", "refusal"),
    [
        ([{"chart": 0, "score": 2, "reason": ""}], "Not rated: 1"),
        ([{"chart": 0, "score": 2}, {"chart": 0, "score": 2}], "rated twice"),
        ([{"chart": n, "score": 2} for n in range(3)], "No such chart: 2"),
        ([{"chart": 0, "score": 4}], "score"),
        ([{"chart": 0, "score": True}], "score"),
        ([{"chart": 0, "score": 1, "reason": "TS"}], "reason"),
        ([{"chart": "0", "score": 1}], "integer"),
        ([{"score": 1}], "chart"),
    ],
)
def test_readings_that_do_not_rate_every_chart_once_are_refused(
    answer: list[dict[str, Any]], refusal: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=refusal):
        checked(answer, (0, 1))
    (tmp_path / "A.json").write_text(json.dumps(answer))
    with pytest.raises(ValueError, match=r"A\.json"):
        read_readings(tmp_path / "A.json", (0, 1))


def test_ratings_are_kept_without_a_price(tmp_path: Path) -> None:
    write_set([a_chart(1, "S1"), a_chart(2, "S2")], tmp_path, seed=1)
    key = read_key(tmp_path / "key.json")
    one = checked([{"chart": 0, "score": 3}, {"chart": 1, "score": 1, "reason": "T"}], key)
    other = checked([{"chart": 0, "score": 2}, {"chart": 1, "score": 2}], key)
    ratings = join(key, (one, other), "9", "two models")
    write_ratings(ratings, tmp_path / "kept.json")
    assert read_ratings(tmp_path / "kept.json") == ratings
    assert [(rating.scores, rating.reasons) for rating in ratings] == [
        ((3, 2), ("", "")),
        ((1, 2), ("T", "")),
    ]
    rows = json.loads((tmp_path / "kept.json").read_text())
    assert {type(value) for row in rows for value in row.values()} <= {str, list, dict, type(None)}
    assert {name for row in rows for name in row["shape"]} == set(Shape._fields)
    (tmp_path / "priced.json").write_text(json.dumps([rows[0] | {"upper": [1.0, 2.0]}]))
    with pytest.raises(ValueError, match="upper"):
        read_ratings(tmp_path / "priced.json")


def test_the_kept_rounds_are_the_ones_that_were_reported() -> None:
    ratings = read_ratings(FOLDER / "rounds-1-2.json")
    assert len(ratings) == 188
    lines = list(table([one for one in ratings if (one.round, one.by) == ("1", "default")]))
    said = "35 31 [19, 48] 34 [21, 51] 40 [26, 56] 14 [6, 29] 89 [74, 95] 1.30 T16 N10 G6 O5"
    assert lines[1].split() == ["all", *said.split()]
    assert [line[:34].strip() for line in lines[3:5]] == ["default", "rising wedge"]
