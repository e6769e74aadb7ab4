"""A clock that tests set."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass


@dataclass
class SetClock:
    """Gives the time that the test has set."""

    now: dt.datetime

    def __call__(self) -> dt.datetime:
        return self.now
