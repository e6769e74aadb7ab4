"""The notebook runs from its first cell to its last on a sealed night, and compares honestly."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from screener.nightly.sample import SAMPLE_SESSION
from tests.examples.scripts import DISCLAIMER, EXAMPLES, NOTEBOOK

PATH = EXAMPLES / NOTEBOOK


def kept() -> Any:
    """The notebook as its reader gets it."""
    return nbformat.reads(PATH.read_text(encoding="utf-8"), as_version=4)  # type: ignore[no-untyped-call]


def executed(data: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The notebook after Jupyter's own kernel ran it on a data folder."""
    monkeypatch.setenv("SCREENER_DATA_DIR", str(data))
    notebook = kept()
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": EXAMPLES}}).execute()
    return notebook


def outputs(notebook: Any, kind: str) -> list[str]:
    """What its cells show in a form, such as text/plain; what they print is text too."""
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    printed = [output.text for output in shown if kind == "text/plain" and "text" in output]
    return printed + [output.data[kind] for output in shown if kind in output.get("data", {})]


def test_the_notebook_shows_the_night_a_chart_and_what_random_entries_did(
    product_night: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = executed(product_night, monkeypatch)

    first, *texts = outputs(notebook, "text/plain")
    assert first == f"As of session {SAMPLE_SESSION} (Pattern screener nightly). {DISCLAIMER}\n"
    (picture,) = outputs(notebook, "image/png")
    assert base64.b64decode(picture).startswith(b"\x89PNG")
    told = "\n".join(texts)
    assert (
        "Rising wedge: 14 resolved trades in the bars from 2000-05-25 to 2009-09-25, the first "
        "entered on 2001-04-04; 28.57% reached the " in told
    )
    assert "Better than random entries: no family." in told
    tables = outputs(notebook, "text/html")
    compared = next(table for table in tables if "placebo_win_rate_pct" in table)
    assert all(name in compared for name in ("sample_size", "avg_loss_pct", "lift_r_se", "verdict"))
    assert compared.count("too_few") == 3
    again = next(table for table in tables if "agrees" in table)
    assert again.count("<td>true</td>") == 3


def test_the_notebook_is_kept_without_what_it_showed() -> None:
    notebook = kept()

    nbformat.validate(notebook)
    for cell in notebook.cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
