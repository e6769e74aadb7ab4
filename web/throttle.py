"""Throttle: how often a password may be guessed, by account and by network.

A browser in which the account signed in before has a bucket of its own, so that nothing strangers
do keeps it out. All others count for the pair of account and network, for the network and for the
account. Unknown accounts count like known ones. An attempt is counted before its password is
verified, so that simultaneous guesses count too.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from mcp_server.operations.counters import Counters, Moment, moment
from store.accounts import hash_secret
from telemetry.metrics import limits_hit
from web.refusals import Refusal

WINDOW_MINUTES = 15

log = logging.getLogger(__name__)


class Guesses(NamedTuple):
    """How many attempts each bucket has in a quarter of an hour."""

    pair: int = 20
    """For one account from one network."""
    network: int = 100
    """From one network, for all accounts."""
    account: int = 200
    """For one account, from all networks."""
    browser: int = 20
    """For one account, from one browser in which it signed in before."""
    right: int = 100
    """Attempts for one account that succeed and so do not count; further ones do."""


GUESSES = Guesses()

SIGN_UPS = Guesses(network=20)
"""How many accounts may be asked for."""


class Attempt(NamedTuple):
    """An attempt that was counted, and where."""

    account: str
    buckets: tuple[tuple[Counters, str], ...]


class TooManyRefusal(Refusal):
    """429: there were too many attempts."""

    def __init__(self, message: str, retry_after: int, *, first: bool) -> None:
        super().__init__(429, message, retry_after)
        self.first = first
        """Whether it is the first in the window for its account, or for a network over its own
        limit, which may name any account."""


class Throttle:
    """Counts the attempts of the last quarter of an hour.

    With a folder, the counts are kept in files there, which several processes share.
    """

    def __init__(
        self,
        guesses: Guesses = GUESSES,
        clock: Callable[[], Moment] = moment,
        folder: Path | None = None,
    ) -> None:
        def counters(size: int, name: str) -> Counters:
            return Counters(size, WINDOW_MINUTES * 60, file=folder and folder / name)

        self._pairs = counters(guesses.pair, "pairs")
        self._networks = counters(guesses.network, "networks")
        self._accounts = counters(guesses.account, "accounts")
        self._browsers = counters(guesses.browser, "browsers")
        self._right = counters(guesses.right, "right")
        self._refused = counters(1, "refused")
        self._clock = clock

    def count(self, email: str, network: str, browser: str | None = None) -> Attempt:
        """Count an attempt; `browser` names a known browser of the account.

        Raises:
            TooManyRefusal: there were too many attempts.
        """
        now, account = self._clock(), hash_secret(email.strip().lower())
        buckets = (
            (self._pairs, f"{account} {network}"),
            (self._networks, network),
            (self._accounts, account),
        )
        attempt = Attempt(account, buckets)
        if browser is not None:
            attempt = Attempt(account, ((self._browsers, f"{account} {browser}"),))
        for place, (counters, bucket) in enumerate(attempt.buckets):
            hit = counters.hit(bucket, now)
            if not hit.counted:
                _take_back(attempt.buckets[:place], now)
                refused = network if counters is self._networks else account
                first = self._refused.hit(refused, now).counted
                raise _refusal(network, hit.wait, first=first)
        return attempt

    def give_back(self, attempt: Attempt) -> None:
        """Undo the count of an attempt whose password was not verified."""
        _take_back(attempt.buckets, self._clock())

    def succeed(self, attempt: Attempt) -> None:
        """Undo the count of an attempt whose password was right, unless there were many of them."""
        now = self._clock()
        if self._right.hit(attempt.account, now).counted:
            _take_back(attempt.buckets, now)


def _refusal(network: str, wait: int, *, first: bool) -> TooManyRefusal:
    limits_hit.labels("passwords").inc()
    log.warning("Password attempts from %s are refused for now: too many.", network)
    minutes = math.ceil(wait / 60)
    message = f"Too many attempts. Wait {minutes} min and try again."
    return TooManyRefusal(message, wait, first=first)


def _take_back(buckets: Iterable[tuple[Counters, str]], now: Moment) -> None:
    for counters, bucket in buckets:
        counters.take_back(bucket, now)
