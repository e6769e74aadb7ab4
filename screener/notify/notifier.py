"""The notifier: sends a message to the addresses of `SCREENER_NOTIFY`, in a bounded time.

An address is a secret, since it holds passwords and tokens. It is named by its place in the setting
and by the service that it is of, and goes to the messenger on its stdin alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from screener.notify.news import News
from screener.settings.extras import how_to_install
from screener.settings.settings import SettingsError

SECONDS: Final = 15.0
"""For which one address may take; all are sent to at once."""

SECONDS_IN_ALL: Final = 30.0
"""For which the messenger may take, with its start."""

MESSENGER: Final = (sys.executable, "-P", "-m", "screener.notify.messenger")

WORDS: Final = {
    "sent": "sent",
    "refused": "refused or unreachable",
    "late": "no answer in time",
    "unusable": "not an address that Apprise can use",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a message to one address."""

    place: int
    """Of the address in the setting, from 1."""
    service: str | None
    """The name of what the address is of, such as Slack, if it is known."""
    state: Literal["usable", "unusable", "sent", "refused", "late"]

    @property
    def words(self) -> str:
        """The outcome in words, without the address."""
        return f"{self.name}: {WORDS[self.state]}"

    @property
    def name(self) -> str:
        """The address by its place."""
        return f"address {self.place}" + (f" ({self.service})" if self.service else "")


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)

    place: int
    service: str | None
    outcome: Literal["usable", "unusable", "sent", "refused"]


class Notifier:
    """Sends to some addresses; `seconds` for each of them, `in_all` for all with the start."""

    def __init__(
        self, addresses: Sequence[str], seconds: float = SECONDS, in_all: float = SECONDS_IN_ALL
    ) -> None:
        self._addresses = addresses
        self._seconds = seconds
        self._in_all = in_all

    def check(self) -> None:
        """Look whether the addresses can be used; nothing is sent.

        Raises:
            SettingsError: Apprise is not installed, or it cannot use an address.
        """
        if self._addresses and find_spec("apprise") is None:
            raise SettingsError(
                "SCREENER_NOTIFY needs Apprise, which is not installed; "
                f"{how_to_install('apprise')}, or unset it."
            )
        # An address of which nothing is said within the time is found out when it is sent to.
        bad = [str(o.place) for o in self._ask(None) if o.state == "unusable"]
        if bad:
            which = f"address {bad[0]}" if len(bad) == 1 else f"addresses {', '.join(bad)}"
            raise SettingsError(
                f"SCREENER_NOTIFY: Apprise cannot use {which} of {len(self._addresses)}; see "
                "https://appriseit.com/services/ for their form."
            )

    def send(self, news: News) -> list[Outcome]:
        """Send a message to all addresses; one outcome for each, in their order.

        Raises:
            OSError: the messenger cannot be started.
        """
        return self._ask({"kind": news.kind, "title": news.title, "body": news.body})

    def _ask(self, message: dict[str, str] | None) -> list[Outcome]:
        if not self._addresses:
            return []
        task = {"addresses": self._addresses, "seconds": self._seconds, "message": message}
        try:
            # What it writes on stderr may hold secrets, and goes nowhere.
            said = subprocess.run(  # noqa: S603 - a module of this program
                MESSENGER,
                input=json.dumps(task).encode(),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=self._in_all,
                check=False,
            ).stdout
        except subprocess.TimeoutExpired as error:  # it was killed; some may have answered
            said = error.stdout or b""
        found = _read(said)
        return [found.get(n, Outcome(n, None, "late")) for n in range(1, len(self._addresses) + 1)]


def _read(said: bytes) -> dict[int, Outcome]:
    """The outcomes by place. A line that a library printed is passed over."""
    found = {}
    for line in said.splitlines():
        try:
            answer = _Answer.model_validate_json(line)
        except ValidationError:
            continue
        place = answer.place + 1
        found[place] = Outcome(place, answer.service, answer.outcome)
    return found
