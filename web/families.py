"""The family pages: the record of each pattern family, and what it is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from store.nights.book import Book
from store.wire.families import Family
from store.wire.method import FEW_HALF_YEARS, Measure, Method
from store.wire.records import AsServed, FamilyEntry, TrackRecord
from store.wire.words import FEW, VERDICTS
from web.histogram import Histogram
from web.night_head import NightPages
from web.pages import Context, Page
from web.refusals import Refusal
from web.site import Site
from web.visit import Visit
from web.whiskers import Picture, whiskers

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
    "descending. It is traded in the direction in which the price closes beyond a line.",
}
"""What each family looks like."""


@dataclass(frozen=True, slots=True)
class Table:
    """Measures under one caption, each with its name."""

    caption: str
    head: str
    rows: list[tuple[str, Measure]]
    tested: bool = True


@dataclass(frozen=True, slots=True)
class ShownFamily:
    """Everything that a night says of one family."""

    family: Family
    record: TrackRecord | None
    as_served: AsServed | None
    tables: list[Table]
    picture: Picture | None
    histogram: Histogram | None
    sealed: bool
    """Whether the night counted the results of its trades."""

    @property
    def measures(self) -> list[tuple[str, Measure]]:
        """The named measures of all tables."""
        return [row for table in self.tables for row in table.rows]


class FamilyPages:
    """The pages, the same for everybody."""

    def __init__(self, site: Site, pages: NightPages) -> None:
        self._site = site
        self._pages = pages

    async def show_all(self, visit: Visit, refusal: Refusal | None = None) -> Page:
        """The five families, each with its record."""
        with self._site.services.active_night.pin() as book:
            return self._pages.show("families.html", visit, book, _all, refusal=refusal)

    async def show(self, visit: Visit) -> Page:
        """The page of one family."""
        name: str = visit.request.path_params["family"]
        if name not in set(Family):
            return await self.show_all(visit, Refusal(404, "There is no such family of patterns."))
        with self._site.services.active_night.pin() as book:
            return self._pages.show("family.html", visit, book, _one, family=Family(name))


def _all(book: Book) -> Context:
    families = [(entry_of(book, family), SHAPES[family]) for family in Family]
    return {"families": families, "few": FEW}


def _one(book: Book, family: Family) -> Context:
    method = book.method()
    return {
        "shown": shown(book, method, family),
        "shape": SHAPES[family],
        "families": list(Family),
        "method": method,
        "words": VERDICTS,
        "few": FEW,
        "few_half_years": FEW_HALF_YEARS,
    }


def shown(book: Book, method: Method | None, family: Family) -> ShownFamily:
    """What a night says of a family."""
    entry = entry_of(book, family)
    tables = tables_of(method, family) if method else []
    counted = method.distribution(family) if method else None
    found = [row for table in tables for row in table.rows]
    return ShownFamily(
        family=family,
        record=entry.track_record,
        as_served=entry.as_served,
        tables=tables,
        picture=whiskers(found),
        histogram=Histogram.of(counted) if counted else None,
        sealed=counted is not None,
    )


def entry_of(book: Book, family: Family) -> FamilyEntry:
    """The entry of a family in a book."""
    return FamilyEntry.model_validate_json(book.family(family))


def tables_of(method: Method, family: Family) -> list[Table]:
    """The measures of a family: by direction, by decade and by what the market did."""

    def mine(measures: list[Measure]) -> list[Measure]:
        return [measure for measure in measures if measure.family == family]

    found = [
        Table(
            "By direction",
            "Direction",
            [((m.direction or "both").capitalize(), m) for m in mine(method.by_family())],
        ),
        Table(
            "By decade of entry",
            "Entered in",
            [(f"{m.decade}s", m) for m in mine(method.by_family_and_decade())],
        ),
        Table(
            "By state of the market at entry",
            "Market",
            [(f"{(m.regime or '').capitalize()} market", m) for m in mine(method.untested)],
            tested=False,
        ),
    ]
    return [table for table in found if table.rows]
