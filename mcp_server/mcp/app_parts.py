"""The parts of the interactive chart: the files of `app/`, and the script that pages share."""

from __future__ import annotations

from importlib import resources
from typing import Final

LIBRARY: Final = "vendor/lightweight-charts.js"

_SHARED: Final = ("words.js", "values.js", "drawing.js", "chart.js")
"""In this order: a file uses those before it."""


def app_part(file: str) -> str:
    """The text of a file of `app/`."""
    return resources.files("mcp_server.mcp").joinpath("app", *file.split("/")).read_text("utf-8")


def chart_script(page: str) -> str:
    """A script that holds the library and the chart of setups, and runs the script of a page that
    shows it: `new SetupChart(element, data, onBar)` draws chart data into an element.
    """
    parts = "\n".join([*map(app_part, _SHARED), page])
    return f'{app_part(LIBRARY)}\n(() => {{\n"use strict";\n{parts}\n}})();\n'
