"""Login limits: how often a password may be guessed, by account and by network.

A browser in which the account signed in before has a bucket of its own, so that nothing strangers
do keeps it out. All others count for the pair of account and network, for the network and for the
account. Unknown accounts count like known ones. An attempt is counted before its password is
verified, so that simultaneous guesses count too.
"""

from __future__ import annotations

import logging
import math
from contextlib import suppress
from typing import NamedTuple

from mcp_server.calls.errors import PageRefusal
from mcp_server.limits.counting import Asked, Counting, Hits, RateWindow, UncountedError
from mcp_server.limits.local_counting import LocalCounting
from screener.telemetry.metrics import limits_hit
from store.accounts.accounts import hash_secret

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


class Guess(NamedTuple):
    """An attempt that was counted, and where."""

    account: str
    buckets: tuple[Asked, ...]


class TooManyRefusal(PageRefusal):
    """429: there were too many attempts."""

    def __init__(self, wait: int, *, first: bool) -> None:
        message = f"Too many attempts. Wait {math.ceil(wait / 60)} min and try again."
        super().__init__(429, message, wait)
        self.first = first
        """Whether it is the first in the window for its account, or for a network over its own
        limit, which may name any account."""


class LoginLimits:
    """Counts the attempts of the last quarter of an hour; in the memory of this process by default.

    Limits that share a counting have different names.
    """

    def __init__(
        self,
        guesses: Guesses = GUESSES,
        counting: Counting | None = None,
        name: str = "sign-in",
    ) -> None:
        self._counting = LocalCounting() if counting is None else counting

        def window(size: int, what: str) -> RateWindow:
            return self._counting.open(RateWindow(f"{name}-{what}", size, WINDOW_MINUTES * 60))

        self._pairs = window(guesses.pair, "pairs")
        self._networks = window(guesses.network, "networks")
        self._accounts = window(guesses.account, "accounts")
        self._browsers = window(guesses.browser, "browsers")
        self._right = window(guesses.right, "right")
        self._refused = window(1, "refused")

    async def count(self, email: str, network: str, browser: str | None = None) -> Guess:
        """Count an attempt; `browser` names a known browser of the account.

        Raises:
            TooManyRefusal: there were too many attempts.
            PageRefusal: 503, it cannot be counted now, so no password is verified.
        """
        account = hash_secret(email.strip().lower())
        buckets: tuple[Asked, ...] = (
            (self._pairs, f"{account} {network}"),
            (self._networks, network),
            (self._accounts, account),
        )
        if browser is not None:
            buckets = ((self._browsers, f"{account} {browser}"),)
        hits = await self._hit(*buckets)
        if not hits.counted:
            who = network if hits.full(buckets) == self._networks else account
            first = (await self._hit((self._refused, who))).counted
            limits_hit.labels("passwords").inc()
            log.warning("Password attempts from %s are refused for now: too many.", network)
            raise TooManyRefusal(hits.wait, first=first)
        return Guess(account, buckets)

    async def give_back(self, attempt: Guess) -> None:
        """Undo the count of an attempt whose password was not verified."""
        await self._counting.take_back(*attempt.buckets)

    async def succeed(self, attempt: Guess) -> None:
        """Undo the count of an attempt whose password was right, unless there were many of them."""
        with suppress(UncountedError):  # else it stays counted
            if (await self._counting.hit((self._right, attempt.account))).counted:
                await self._counting.take_back(*attempt.buckets)

    async def _hit(self, *asked: Asked) -> Hits:
        try:
            return await self._counting.hit(*asked)
        except UncountedError as error:
            words = f"This cannot be tried right now. Wait {error.wait} s and try again."
            raise PageRefusal(503, words, error.wait) from error
