"""Policies: what the privacy page and the terms say where the operator has no text of their own.

Every number is that of the setting or of the store which acts by it.
"""

from __future__ import annotations

from dataclasses import dataclass

from mcp_server.presentation.identity import TITLE, host_of
from mcp_server.presentation.markdown import render_markdown
from mcp_server.presentation.offer import Offer
from store.accounts.clients import UNAPPROVED_LIFETIME, UNUSED_LIFETIME
from store.accounts.credentials import LIFETIMES, CredentialKind
from store.accounts.retention import Periods
from store.accounts.sessions import BROWSER_LIFETIME, BROWSERS_PER_ACCOUNT


@dataclass(frozen=True, slots=True)
class Policies:
    """The two texts, as Markdown."""

    privacy: str
    terms: str


def default_privacy(offer: Offer, periods: Periods) -> str:
    """What the service stores of people, who sees it, for how long, and how it is deleted."""
    return _rendered(
        "privacy.md.j2",
        offer,
        periods=periods,
        browser_days=BROWSER_LIFETIME.days,
        browsers_per_account=BROWSERS_PER_ACCOUNT,
        access_days=LIFETIMES[CredentialKind.ACCESS].days,
        refresh_days=LIFETIMES[CredentialKind.REFRESH].days,
        unused_days=UNUSED_LIFETIME.days,
        unapproved_days=UNAPPROVED_LIFETIME.days,
    )


def default_terms(offer: Offer, disclaimer: str) -> str:
    """Terms that promise nothing more than the licence and the disclaimer do."""
    return _rendered("terms.md.j2", offer, disclaimer=disclaimer)


def _rendered(template: str, offer: Offer, **values: object) -> str:
    operator = offer.operator or f"the operator of {host_of(offer)}"
    shown = {"title": TITLE, "offer": offer, "operator": operator, **values}
    return render_markdown(__package__, template, **shown)
