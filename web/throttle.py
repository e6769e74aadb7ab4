"""Throttle: how often a password may be guessed, by account and by address.

An attempt is counted before its password is verified, so that simultaneous guesses count too. It is
given back if it succeeds. Unknown accounts count like known ones.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from pathlib import Path

from mcp_server.operations.counters import Counters, Moment, moment
from store.accounts import hash_secret
from web.refusals import Refusal

WINDOW_MINUTES = 15
PER_ACCOUNT = 20
PER_ADDRESS = 100
SIGN_UPS_PER_ADDRESS = 20

log = logging.getLogger(__name__)


class Throttle:
    """Counts the attempts of the last quarter of an hour.

    With a folder, the counts are kept in files there, which several processes share.
    """

    def __init__(
        self,
        per_account: int = PER_ACCOUNT,
        per_address: int = PER_ADDRESS,
        clock: Callable[[], Moment] = moment,
        folder: Path | None = None,
    ) -> None:
        seconds = WINDOW_MINUTES * 60
        self._accounts = Counters(per_account, seconds, file=folder and folder / "accounts")
        self._addresses = Counters(per_address, seconds, file=folder and folder / "visitors")
        self._clock = clock

    def count(self, email: str, address: str) -> None:
        """Count an attempt.

        Raises:
            Refusal: 429, there were too many attempts for the account or from the address.
        """
        now, account = self._clock(), _account(email)
        hit = self._accounts.hit(account, now)
        if hit.counted:
            hit = self._addresses.hit(address, now)
            if hit.counted:
                return
            self._accounts.take_back(account, now)
        log.warning("Password attempts from %s are refused for now: too many.", address)
        wait = max(1, math.ceil(hit.reset))
        minutes = math.ceil(wait / 60)
        raise Refusal(429, f"Too many attempts. Wait {minutes} min and try again.", wait)

    def give_back(self, email: str, address: str) -> None:
        """Undo the count of an attempt that succeeded."""
        now = self._clock()
        self._accounts.take_back(_account(email), now)
        self._addresses.take_back(address, now)


def _account(email: str) -> str:
    return hash_secret(email.strip().lower())
