"""Saved screens keep what they ask, as JSON, in place of the address of a page that asks it."""

from __future__ import annotations

import contextlib
import math
from typing import Any
from urllib.parse import parse_qsl

import orjson
import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

DEFAULTS = {
    "family": "",
    "direction": "",
    "status": "",
    "max_distance_pct": "",
    "filters": "",
    "sort": "nearness",
    "limit": "50",
    "view": "table",
    "columns": "",
}
"""The parameters of an address in their order, and what each meant where it was left out."""


def upgrade() -> None:
    """Write each address as a query. One that cannot be read keeps the texts of its parameters: its
    screen cannot be run, as before, and opening it says why.
    """
    op.execute("ALTER TABLE screens RENAME COLUMN address TO query")
    screens = sa.table("screens", sa.column("id"), sa.column("query"))
    connection = op.get_bind()
    for number, address in connection.execute(sa.select(screens.c.id, screens.c.query)).all():
        change = screens.update().where(screens.c.id == number)
        connection.execute(change.values(query=query_of(address)))


def query_of(address: str) -> str:
    """The query of a page's address."""
    last = {name: text.strip() for name, text in parse_qsl(address.partition("?")[2])}
    # The order is kept always: without one, the API would take another than the page.
    asked = {"sort": DEFAULTS["sort"], **{name: text for name, text in last.items() if text}}
    if asked.get("max_distance_pct") and asked.get("status") == "all":
        asked["status"] = "forming"  # what the page showed of it
    kept = {
        name: _value(name, asked[name])
        for name, default in DEFAULTS.items()
        if name in asked and (name == "sort" or asked[name] != default)
    }
    return orjson.dumps(kept).decode()


def _value(name: str, text: str) -> Any:  # noqa: ANN401 - any JSON
    """The value of a parameter; its text if it is none."""
    with contextlib.suppress(ValueError, TypeError):  # TypeError: it nests too deep to be written
        if name == "filters":
            found = orjson.loads(text)
            return orjson.Fragment(orjson.dumps(found)) if isinstance(found, list) else text
        if name == "max_distance_pct" and repr(float(text)).removesuffix(".0") == text:
            return float(text) if math.isfinite(float(text)) else text
        if name == "limit" and str(int(text)) == text:
            return int(text)
    return text
