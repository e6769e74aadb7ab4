"""The data of the chart page: every number where the sealed night has it, and bounded."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from typing import Any

import numpy as np
import orjson

from mcp_server.charts.chart_data import chart_data
from mcp_server.charts.charts import chart_view
from store.nights.book import Book, StoredSetup
from tests.contract.market import setups_of

MAX_KILOBYTES = 40


def setups(book: Book) -> list[StoredSetup]:
    return [setup for setup, _ in setups_of(book)]


def data_of(book: Book, setup: StoredSetup) -> dict[str, Any]:
    data: dict[str, Any] = orjson.loads(chart_data(book, setup) or b"")
    return data


def test_it_shows_the_bars_and_levels_that_the_picture_shows(book: Book) -> None:
    for setup, prices in setups_of(book):
        view, data = chart_view(book, setup, prices), data_of(book, setup)
        days = [(date - dt.date(1970, 1, 1)).days for date in view.dates]
        assert data["bars"]["day"] == days
        for name in ("open", "high", "low", "close"):
            shown = np.array(data["bars"][name], np.float32)
            np.testing.assert_array_equal(shown, np.array(getattr(view, name), np.float32))
        assert data["plans"][0]["trigger_price"] == view.trigger
        assert (data["entry"] is None) is (view.entry is None)
        ends = [(end["date"], end["price"]) for end in data["pole"] or ()]
        assert ends == [(day.isoformat(), price) for day, price in view.pole or ()]
        assert data["disclaimer"] == view.disclaimer
        assert data["next_session"] == "2012-10-04"


def test_every_point_of_a_line_names_its_session_by_index(book: Book) -> None:
    for setup in setups(book):
        data = data_of(book, setup)
        days = data["bars"]["day"]
        for line in data["lines"].values():
            for point in (line["start"], line["end"], *line["touches"]):
                day = (dt.date.fromisoformat(point["date"]) - dt.date(1970, 1, 1)).days
                assert days[round(point["index"])] == day


def test_a_line_that_begins_before_the_bars_has_an_index_before_them(book: Book) -> None:
    setup = setups(book)[0]
    upper = setup.fields["lines"]["upper"]
    early = {**upper, "start": {"date": "2010-01-04", "price": 500.0}}
    lines = {**setup.fields["lines"], "upper": early}

    data = data_of(book, dataclasses.replace(setup, fields={**setup.fields, "lines": lines}))

    assert data["lines"]["upper"]["start"]["index"] < -100


def test_each_record_comes_with_its_sample_and_its_average_loss(book: Book) -> None:
    for setup in setups(book):
        for scope, record in data_of(book, setup)["records"].items():
            sealed = setup.fields["track_record"][scope]
            assert record["summary"] == sealed["summary"]
            assert record["sample_size"] == sealed["sample_size"]
            assert record["avg_loss_pct"] == sealed["avg_loss_pct"]
        unknown = {**setup.fields, "track_record": {"family": None, "ticker": None}}
        bare = data_of(book, dataclasses.replace(setup, fields=unknown))
        assert set(bare["records"].values()) == {None}


def test_it_is_bounded(book: Book) -> None:
    sizes = [len(chart_data(book, setup) or b"") for setup in setups(book)]
    assert max(sizes) <= MAX_KILOBYTES * 1024
    # The longest numbers there are, beside the texts and lines that these setups have.
    longest = np.array([math.pi * 1e-7], np.float32)
    number = len(orjson.dumps(longest, option=orjson.OPT_SERIALIZE_NUMPY)) - 1
    texts = max(sizes) - 320 * 30
    assert 320 * (5 * number + 6) + texts <= MAX_KILOBYTES * 1024


def test_a_symbol_without_stored_bars_has_no_chart_data(book: Book) -> None:
    setup = setups(book)[0]

    assert (
        chart_data(book, dataclasses.replace(setup, fields={**setup.fields, "symbol": "NONE"}))
        is None
    )
