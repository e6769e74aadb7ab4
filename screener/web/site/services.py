"""Services: what the pages use, built once by the composition root and passed in."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from anyio import CapacityLimiter
from markupsafe import Markup

from mcp_server.charts.charts import QUEUE_LIMIT
from mcp_server.http.requests import Origins
from mcp_server.operations.screen_changes import ComparedScreens
from mcp_server.operations.services import Services
from oauth.authorization import Authorization
from screener.telemetry.metrics import Degraded
from screener.web.site.cookies import Cookies
from screener.web.site.live import News
from screener.web.site.login_limits import LoginLimits
from screener.web.site.pages import Pages
from screener.web.site.policies import Policies
from store.accounts.accounts import Accounts, utc_now
from store.accounts.audit import AuditLog
from store.accounts.grants import Grants
from store.accounts.keys import Keys
from store.accounts.passwords import Passwords
from store.accounts.screens import Screens
from store.accounts.sessions import Browsers, Sessions
from store.nights.book import PerBook

DRAWINGS = QUEUE_LIMIT // 2
"""Drawings of all pages at once. A page asks for fifty pictures in one moment, which wait here; the
rest of the queue is for programs."""


@dataclass(frozen=True, slots=True)
class WebServices:
    """Everything a page may use."""

    services: Services
    pages: Pages
    accounts: Accounts
    keys: Keys
    screens: Screens
    sessions: Sessions
    browsers: Browsers
    cookies: Cookies
    grants: Grants
    audit: AuditLog
    audit_days: int
    """Days for which events of the audit log are kept."""
    policies: Policies
    news: News
    origins: Origins
    """The names under which the service is known."""
    authorization: Authorization
    throttle: LoginLimits
    sign_up_throttle: LoginLimits
    """Separate from sign-in, so that sign-ups with an address do not lock its owner out."""
    passwords: Passwords = field(default_factory=Passwords)
    sign_up: bool = False
    """Whether visitors may make accounts."""
    open_pages: bool = False
    """Whether everybody who calls the service by a known name or an IP address may see the scan and
    all charts as pages."""
    behind_proxy: bool = False
    """Whether the operator named proxies that forward requests."""
    drawings: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(DRAWINGS))
    rows: PerBook[dict[tuple[str, str], Markup]] = field(
        default_factory=lambda: PerBook(lambda _: {})
    )
    """The rows of the screen as a night's pages have them, by the view and the setup."""
    compared: ComparedScreens = field(default_factory=ComparedScreens)
    clock: Callable[[], dt.datetime] = utc_now
    degraded: Callable[[], Sequence[Degraded]] = tuple
    """What the service does worse than it should."""
