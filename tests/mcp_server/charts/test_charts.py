"""Charts: what a setup's picture shows of its night, and the process that draws it."""

from __future__ import annotations

import dataclasses
import datetime as dt
import io
import logging
import sys
from pathlib import Path

import anyio
import pytest
from PIL import Image

from mcp_server.charts.charts import Charts, chart_view
from mcp_server.drawing.view import LOOKS
from store.nights.book import Book
from tests.contract.market import setups_of


@pytest.mark.proves("PAT-chart-once")
def test_every_look_of_a_chart_is_drawn_once_and_kept_by_itself(book: Book, tmp_path: Path) -> None:
    setup, _ = next(setups_of(book))
    looks = list(LOOKS.values())

    async def run() -> list[bytes]:
        charts = Charts(tmp_path)
        await charts.warm()
        return [await charts.png(book, setup, look) for look in looks]

    drawn = anyio.run(run)
    for file in tmp_path.rglob("*.png"):
        Image.new("L", (1, 1)).save(file)
    kept = [file.read_bytes() for file in tmp_path.rglob("*.png")]

    assert set(anyio.run(run)) == set(kept)
    assert [Image.open(io.BytesIO(png)).size for png in drawn] == [
        (look.width, look.height) for look in looks
    ]
    assert len(set(drawn)) == len(looks) == len(list(tmp_path.rglob("*.png")))


def test_a_process_for_charts_that_cannot_start_is_a_warning_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    charts = Charts(tmp_path)
    with caplog.at_level(logging.WARNING), monkeypatch.context() as patch:
        patch.setattr(sys, "executable", str(tmp_path / "none"))
        anyio.run(charts.warm)
    assert "No process for charts yet" in caplog.text
    assert charts.is_broken

    anyio.run(charts.warm)
    assert not charts.is_broken


def test_a_chart_shows_the_type_the_attempt_and_the_record_of_its_own_direction(
    book: Book,
) -> None:
    for setup, prices in setups_of(book):
        fields, view = setup.fields, chart_view(book, setup, prices, "Acme Inc.")
        assert view.name == "Acme Inc."
        assert view.attempt == fields["attempt"]["number"]
        assert view.pattern.lower().endswith(fields["family_label"].lower())
        assert (view.pole is not None) is ("squeeze" in fields["pattern_type"])
        assert view.next_session == book.next_session
        record = fields["track_record"]["family"]
        own = (record["by_direction"] or {}).get(fields["direction"], record)
        assert view.record is not None
        figures = view.record.figures
        assert figures.sample_size == own["sample_size"]
        assert figures.win_rate_pct == own["win_rate_pct"]
        assert figures.avg_loss_pct == own["avg_loss_pct"]
        assert figures.placebo_win_rate_pct == own["placebo_win_rate_pct"]


def test_a_chart_names_the_session_that_the_trigger_of_its_symbol_is_for(book: Book) -> None:
    """That of crypto is the next day, before the next session of stocks."""
    setup, prices = next(setups_of(book))
    crypto = dataclasses.replace(setup, evidence={"trigger_session": "2012-10-06"})
    older = dataclasses.replace(setup, evidence={})

    assert chart_view(book, crypto, prices).next_session == dt.date(2012, 10, 6)
    assert chart_view(book, older, prices).next_session == book.next_session


def test_a_setup_without_a_record_is_drawn_without_one(book: Book) -> None:
    setup, prices = next(setups_of(book))
    unknown = dataclasses.replace(setup, view=dataclasses.replace(setup.view, record=None))

    assert chart_view(book, unknown, prices).record is None
