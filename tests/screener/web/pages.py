"""Pages: the one table of every page, which the walks over all of them and the pictures read.

A page is a row for each kind of visitor who sees another page at its address.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from store.accounts.keys import Principal
from store.accounts.usage import UsageLog
from store.database.database import Database
from tests.contract.market import active_book
from tests.screener.web.browser import Browser
from tests.screener.web.people import authorize_address, new_app, new_person, signed_in
from tests.service import Service, copy_night, on_database, serving

Who = Literal["stranger", "member", "open"]
"""Nobody in particular, who is signed in, or anybody where `SCREENER_OPEN_PAGES` is set."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page as one kind of visitor sees it."""

    route: str
    """The path of its route in the web app; empty if there is none, as of a mistyped address."""
    who: Who
    address: str = ""
    """Where it is, if not at the path of its route; {app} becomes the query of a consent, {newest}
    and {oldest} a past trade of the symbol."""
    status: int = 200
    night: bool = False
    """Whether it shows numbers of a night, so that it must name the session."""

    @property
    def path(self) -> str:
        """The address that a visitor opens."""
        return self.address or self.route

    @property
    def name(self) -> str:
        """What a test calls it."""
        return f"{self.who} {self.path}"


TRADE = "/symbols/{symbol}/trades/{trade}"
ENDS = {"newest": 0, "oldest": -1}

PAGES = (
    Page("/", "stranger", night=True),
    Page("/", "member", night=True),
    Page("/screen", "member", night=True),
    Page("/screen", "open", "/screen?status=all", night=True),
    Page("/screen", "open", "/screen?status=all&view=charts", night=True),
    Page("/symbols", "stranger"),
    Page("/symbols/{symbol}", "stranger", "/symbols/MSFT", night=True),
    Page("/symbols/{symbol}", "member", "/symbols/GOOG", night=True),
    Page("/symbols/{symbol}", "open", "/symbols/IBM", night=True),
    Page(TRADE, "stranger", "/symbols/MSFT/trades/{newest}", night=True),
    Page(TRADE, "member", "/symbols/GOOG/trades/{newest}", night=True),
    Page(TRADE, "open", "/symbols/MSFT/trades/{oldest}", night=True),
    Page("/families", "stranger", night=True),
    Page("/families/{family}", "stranger", "/families/triangle", night=True),
    Page("/families/{family}", "stranger", "/families/bearish_pennant", night=True),
    Page("/method", "stranger", night=True),
    Page("/connect", "stranger"),
    Page("/status", "stranger", night=True),
    Page("/docs", "stranger"),
    Page("/privacy", "stranger"),
    Page("/terms", "stranger"),
    Page("/sign-in", "stranger"),
    Page("/sign-up", "stranger"),
    Page("/watchlist", "member", night=True),
    Page("/screens", "member", night=True),
    Page("/screens/{number}", "member", "/screens/1", night=True),
    Page("/changes", "member", night=True),
    Page("/changes", "open", night=True),
    Page("/keys", "member"),
    Page("/usage", "member"),
    Page("/account", "member"),
    Page("/account/activity", "member"),
    Page("/account/password", "member"),
    Page("/oauth/authorize", "member", "{app}"),
    Page("/oauth/authorize", "stranger", status=400),
    Page("", "stranger", "/nowhere", status=404),
    Page("", "member", "/sign-out", status=405),
)

NOT_PAGES = {
    "/sign-out": "takes a form, and leads to the home page",
    "/robots.txt": "for programs",
    "/screen.csv": "a sheet for spreadsheets",
    "/feeds/{secret}": "for programs that read feeds",
    "/symbols.json": "what the search suggests, for its script",
    "/events": "a stream of news for open pages",
    "/symbols/{symbol}/chart.png": "a picture",
    "/watchlist/export": "a file",
    "/symbols/{symbol}/chart.json": "the data of the interactive chart",
}
"""The routes of the web app that show no page, with the reason; assets are none either."""


@dataclass(frozen=True, slots=True)
class Walk:
    """A service with something on every page, and the visitors who walk over it."""

    services: dict[Who, Service]
    browsers: dict[Who, Browser]
    app: str
    """The address of a consent page."""
    trades: dict[str, dict[str, str]]
    """The newest and the oldest past trade of each symbol with any."""

    def address(self, page: Page) -> str:
        """The whole address of a page."""
        path = page.path.replace("{app}", self.app)
        _, _, symbol, *_ = f"{path}//".split("/", 3)
        for name, trade in self.trades.get(symbol, {}).items():
            path = path.replace(f"{{{name}}}", trade)
        return self.services[page.who].url + path


@contextmanager
def walk_over(night: Path, folder: Path) -> Iterator[Walk]:
    """Serve copies of a night, one of them with open pages, to a stranger and to a member."""
    for name in ("closed", "open"):
        copy_night(night, folder / name)
    limits: dict[str, Any] = {"other_per_minute": 100_000, "sign_up": True}
    with (
        serving(folder / "closed", **limits) as closed,
        serving(folder / "open", open_pages=True, **limits) as opened,
    ):
        account = new_person(closed, tracked=("AAPL", "MSFT", "GOOG", "ZZZZ"))
        key, _ = closed.keys(lambda keys: keys.create(account.email, "laptop"))
        member = signed_in(closed, account)
        member.submit(member.form("/screen?status=all", "/screens"), name="Everything")
        on_database(closed, lambda database: _use(database, Principal(account, key)))
        yield Walk(
            {"stranger": closed, "member": closed, "open": opened},
            {"stranger": Browser(closed), "member": member, "open": Browser(opened)},
            authorize_address(new_app(closed)),
            _trades(night),
        )


def _trades(night: Path) -> dict[str, dict[str, str]]:
    with closing(active_book(night)) as book:
        rows = {symbol: stored.rows for symbol, stored in book.histories() if stored.rows}
    return {
        symbol: {name: json.loads(of[at])["lineage_id"] for name, at in ENDS.items()}
        for symbol, of in rows.items()
    }


async def _use(database: Database, principal: Principal) -> None:
    log = UsageLog(database)
    for operation in ("scan", "get_ticker_patterns"):
        log.record(principal, operation, "agent/1")
    await log.flush()
