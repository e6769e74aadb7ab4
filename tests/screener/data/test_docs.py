"""The page of a night's tables has the columns that the code has.

Run with `UPDATE_DOCS=1` to write the tables of docs/data.md again.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mcp_server.filters.kinds import KINDS
from screener.data.columns import TABLES, ExportColumn, columns_of
from tests.documents import check_page, row

PAGE = Path(__file__).parents[3] / "docs" / "data.md"


def table(columns: Iterable[ExportColumn]) -> str:
    """Columns as a table of Markdown."""
    head = [row("column", "type", "unit", "meaning"), "|---|---|---|---|"]
    cells = (row(f"`{c.name}`", c.type, c.unit, c.meaning) for c in columns)
    return "\n".join([*head, *cells])


def features() -> list[ExportColumn]:
    """The columns of features, those of a filter with periods as one."""
    shown: dict[str, ExportColumn] = {}
    for column in columns_of("features"):
        kind = next((k for k in KINDS.values() if column.name in _columns(k.name)), None)
        if kind is None or not kind.periods:
            shown[column.name] = column
        else:
            periods = f"{kind.meaning} Periods: {', '.join(map(str, kind.periods))}."
            shown[kind.name] = ExportColumn(
                f"{kind.name}_PERIOD", column.type, column.unit, periods
            )
    return list(shown.values())


def _columns(kind: str) -> set[str]:
    return {KINDS[kind].column(period) for period in KINDS[kind].periods or (None,)}


def test_the_page_has_every_column_with_its_unit() -> None:
    tables: dict[str, str] = {name: table(columns_of(name)) for name in TABLES if name != "columns"}

    check_page(PAGE, {**tables, "features": table(features())})
