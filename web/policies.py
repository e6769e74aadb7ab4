"""Policies: what the privacy page and the terms say where the operator has no text of their own.

Every number is that of the setting or of the store which acts by it.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from mcp_server.operations.identity import TITLE, host_of
from mcp_server.operations.offer import Offer
from store.accounts.clients import UNAPPROVED_LIFETIME, UNUSED_LIFETIME
from store.accounts.credentials import LIFETIMES, Kind
from store.accounts.sessions import BROWSER_LIFETIME, BROWSERS_PER_ACCOUNT


@dataclass(frozen=True, slots=True)
class Retention:
    """Days for which the service keeps what it stores of people."""

    usage_days: int
    audit_days: int
    session_idle_days: int
    session_days: int


@dataclass(frozen=True, slots=True)
class Policies:
    """The two texts, as Markdown."""

    privacy: str
    terms: str


def default_privacy(offer: Offer, retention: Retention) -> str:
    """What the service stores of people, who sees it, for how long, and how it is deleted."""
    return (
        f"# Privacy\n\n{TITLE} at {offer.public_url} is run by {_operator(offer)}. This page is "
        "rendered from the settings of this service. It says what the software stores, not what "
        "the machine, the proxy or the network around it may log.\n\n"
        "## What is stored\n\n"
        f"{_table(retention)}\n\n"
        "Only the network of an IPv6 address (its first 64 bits) is stored. "
        "Charts, patterns and track records are about markets and hold nothing about people. There "
        "is no advertising, no analytics and no cookie except for signing in, and nothing comes "
        "from another site. What an agent host does with the answers is for that host to say.\n\n"
        "## Without an account\n\n"
        "Calls, sign-ins and registrations of apps are counted by network address, for as long as "
        "their limits need and no longer than the service runs. A line of the service's log may "
        "name an address. Nothing else is kept.\n\n"
        "## Who sees it\n\n"
        "You, on the pages of your account; the operator, who has the database and its commands. "
        "The service sends it to nobody else. An app that you approve may make calls with your "
        "account and sees their answers: your tracked tickers among them, never your password.\n\n"
        "## How it is deleted\n\n"
        "You end keys, apps and browsers yourself, on the keys page and in your account. Ask the "
        "operator to delete the account: `screener account delete` removes it with everything "
        "above that belongs to it; the audit log still shows the number of the deleted account. "
        "The operator's copies of the database last until the operator deletes them.\n"
    )


def default_terms(offer: Offer, disclaimer: str) -> str:
    """Terms that promise nothing more than the licence and the disclaimer do."""
    return (
        f"# Terms\n\n{TITLE} at {offer.public_url} is run by {_operator(offer)}.\n\n"
        f"- **{disclaimer}** Repeat this where you act on the data. No edge is implied: track "
        "records describe the past, without costs, and say themselves how they compare with "
        "random entries.\n"
        "- The data changes once a night and may be late, incomplete or wrong. Nights may be "
        "withdrawn.\n"
        "- Show the data as the content rules of the "
        f"[documentation]({offer.docs_url}) require: no win rate without its sample and the "
        "average loss, the session's date, the disclaimer.\n"
        "- Keep your keys and your password to yourself. Calls are limited by key, account and "
        "address; do not go around the limits, and do not attack the service or other accounts.\n"
        "- The operator may limit, suspend or end access, and the service, at any time.\n"
        "- The service is provided as it is, without warranty of any kind, as far as the law "
        "allows.\n"
        f"- What is stored about you: [privacy]({offer.privacy_url}).\n"
    )


def _operator(offer: Offer) -> str:
    return offer.operator or f"the operator of {host_of(offer)}"


def _table(retention: Retention) -> str:
    rows = (
        (
            "your account",
            "e-mail address, plan, day of creation; the password as an Argon2id hash, which cannot "
            "be reversed",
            "until it is deleted",
        ),
        ("tracked tickers", "their symbols, in your order", "until you change them"),
        (
            "API keys",
            "name, the first 16 characters, rights, times; the key itself as a hash",
            f"until revoked or expired, and then {_days(retention.usage_days)} for the usage log",
        ),
        (
            "sign-ins of browsers",
            "times, browser's name for itself, network address; the cookie as a hash",
            f"{_days(retention.session_idle_days)} without a visit, at most "
            f"{_days(retention.session_days)}",
        ),
        (
            "browsers that are known",
            "when one last signed in, as a hash, so that others cannot lock you out",
            f"{_span(BROWSER_LIFETIME)} without a sign-in, "
            f"at most {BROWSERS_PER_ACCOUNT} per account",
        ),
        (
            "apps that you approve",
            "name, addresses, when you approved; codes and tokens as hashes",
            f"access {_span(LIFETIMES[Kind.ACCESS])}, refresh {_span(LIFETIMES[Kind.REFRESH])}; "
            f"the app {_span(UNUSED_LIFETIME)} without use",
        ),
        (
            "apps that registered and nobody approved",
            "name, addresses, and the network address that registered them",
            f"{_span(UNAPPROVED_LIFETIME)}",
        ),
        (
            "usage log",
            "calls per day by key, operation, and the name that the program or host gives itself; "
            "no arguments, no network address",
            _days(retention.usage_days),
        ),
        (
            "audit log",
            "sign-ins, successful and failed (even if they name no account), and changes of keys, "
            "apps and account: time, network address, browser's name for itself",
            _days(retention.audit_days),
        ),
    )
    lines = [("what", "which data", "for how long"), ("---", "---", "---"), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def _span(span: dt.timedelta) -> str:
    return _days(span.days)


def _days(days: int) -> str:
    return "1 day" if days == 1 else f"{days:,} days"
