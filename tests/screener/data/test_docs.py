"""The page of a night's tables explains the columns that people use as the code does.

Run with `UPDATE_DOCS=1` to write the table of docs/data.md again.
"""

from __future__ import annotations

import re
from pathlib import Path

from screener.data.columns import TABLES, columns_of
from tests.documents import check_page, row

PAGE = Path(__file__).parents[3] / "docs" / "data.md"

USED = [
    "symbol",
    "pattern_type",
    "direction",
    "status",
    "quality_pct",
    "trigger_price",
    "stop_price",
    "target_price",
    "distance_to_trigger_pct",
    "reward_to_risk",
    "win_rate_pct",
    "win_rate_trades",
    "expected_r",
    "placebo_avg_r",
    "verdict",
]


def used() -> str:
    """The columns of setups that people use, as a table of Markdown."""
    columns = {column.name: column for column in columns_of("setups")}
    cells = (columns[name] for name in USED)
    return "\n".join(
        [
            row("column", "type", "unit", "meaning"),
            "|---|---|---|---|",
            *(row(f"`{c.name}`", c.type, c.unit, c.meaning) for c in cells),
        ]
    )


def test_the_page_has_the_columns_that_people_use_with_their_units() -> None:
    check_page(PAGE, {"columns": used()})


def test_the_page_names_every_table() -> None:
    named = re.findall(
        r"^\| `(\w+)` \| ", PAGE.read_text(encoding="utf-8").split("## The")[0], re.M
    )
    assert tuple(named) == TABLES


def test_every_column_has_a_meaning_that_is_a_sentence() -> None:
    columns = [column for table in TABLES for column in columns_of(table)]
    assert [column.name for column in columns if not column.meaning.endswith(".")] == []
