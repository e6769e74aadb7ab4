"""The family pages: the record of each pattern family, and what it is worth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from mcp_server.calls.errors import PageRefusal
from screener.web.market.figures import error_bars, histogram
from screener.web.site.pages import Context, Page
from screener.web.site.services import WebServices
from screener.web.site.visit import Visit
from store.nights.book import Book
from store.wire.families import Family
from store.wire.method import Measure, Method
from store.wire.records import FamilyEntry

PATH, ONE_PATH = "/families", "/families/{family}"

SHAPES: Mapping[Family, str] = {
    Family.RISING_WEDGE: "Two rising lines that converge, the lower one steeper: buyers pay more "
    "each time, but by less and less. It is traded when the price closes below the lower line.",
    Family.FALLING_WEDGE: "Two falling lines that converge, the upper one steeper. It is traded "
    "when the price closes above the upper line.",
    Family.BULLISH_PENNANT: "A short pause between converging lines after a steep rise, the pole. "
    "It is traded when the price closes above the upper line.",
    Family.BEARISH_PENNANT: "A short pause between converging lines after a steep fall, the pole. "
    "It is traded when the price closes below the lower line.",
    Family.TRIANGLE: "Converging lines of which at most one is level: symmetrical, ascending or "
    "descending. An ascending one is traded when the price closes above the upper line, a "
    "descending one when it closes below the lower line, and a symmetrical one either way.",
}
"""What each family looks like."""


@dataclass(frozen=True, slots=True)
class MeasureTable:
    """Measures under one caption, each with its name."""

    caption: str
    head: str
    rows: list[tuple[str, Measure]]
    tested: bool = True


async def show_all(visit: Visit, web: WebServices, refusal: PageRefusal | None = None) -> Page:
    """The five families, each with its record."""
    with web.services.active_night.pin() as book:
        return web.pages.show("families.html", visit, book, _all, refusal=refusal)


async def show(visit: Visit, web: WebServices) -> Page:
    """The page of one family."""
    name: str = visit.request.path_params["family"]
    if name not in set(Family):
        return await show_all(visit, web, PageRefusal(404, "There is no such family of patterns."))
    with web.services.active_night.pin() as book:
        return web.pages.show("family.html", visit, book, _one, family=Family(name))


def _all(book: Book) -> Context:
    return {"families": [(_entry(book, family), SHAPES[family]) for family in Family]}


def _one(book: Book, family: Family) -> Context:
    method, entry = book.method(), _entry(book, family)
    tables = _tables(method, family) if method else []
    measures = [row for table in tables for row in table.rows]
    results = method.distribution(family) if method else None
    return {
        "record": entry.track_record,
        "as_served": entry.as_served,
        "shape": SHAPES[family],
        "examples": book.examples().get(family),
        "families": list(Family),
        "method": method,
        "tables": tables,
        "measures": measures,
        "picture": error_bars(measures),
        "results": results,
        "results_picture": histogram(results) if results else None,
    }


def _entry(book: Book, family: Family) -> FamilyEntry:
    return FamilyEntry.model_validate_json(book.family(family))


def _tables(method: Method, family: Family) -> list[MeasureTable]:
    """The measures of a family: by direction, by decade and by what the market did."""

    def rows(
        measures: Iterable[Measure], name: Callable[[Measure], str]
    ) -> list[tuple[str, Measure]]:
        return [(name(measure), measure) for measure in measures if measure.family == family]

    directions = rows(method.by_family(), lambda one: (one.direction or "both").capitalize())
    decades = rows(method.by_family_and_decade(), lambda one: f"{one.decade}s")
    markets = rows(method.untested, lambda one: f"{(one.regime or '').capitalize()} market")
    tables = [
        MeasureTable("By direction", "Direction", directions),
        MeasureTable("By decade of entry", "Entered in", decades),
        MeasureTable("By state of the market at entry", "Market", markets, tested=False),
    ]
    return [table for table in tables if table.rows]
