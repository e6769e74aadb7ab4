"""The messenger: a process of its own that gives a message to Apprise, and says what became of it.

What hangs in a library ends only with its process, and what a library logs of an address may hold a
secret: so the notifier runs this one, bounds it, and reads nothing of it but its answers.

It reads a task as JSON from stdin: `addresses`, `seconds` for which one of them may take, and the
`message` (`kind`, `title`, `body`), or null to look at the addresses alone. For each address it
writes a line of JSON when its outcome is known: `place` (from 0), `service` (the name of what the
address is of, null if it is none) and `outcome`.
"""

from __future__ import annotations

import json
import os
import queue
import resource
import signal
import sys
import time
from threading import Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from apprise import Apprise

    Answers = queue.Queue[tuple[int, bool]]

MOST_MEMORY = 1024 * 1024 * 1024
"""Bytes; a thread for each address takes some MB."""

END_SECONDS = 60
"""After which the process ends whoever still waits for it."""


def main() -> None:
    """Do the task on stdin."""
    signal.alarm(END_SECONDS)
    # A library may read an endless answer into memory, on the machine that makes the night.
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    task = json.load(sys.stdin)
    services = {place: _service(address) for place, address in enumerate(task["addresses"])}
    if task["message"] is None:
        for place, service in services.items():
            _answer(place, service, "unusable" if service is None else "usable")
    else:
        _send(services, task["message"], task["seconds"])
    os._exit(0)  # a thread that hangs in a library would hold up the usual end


def _service(address: str) -> Apprise | None:
    """What sends to an address; None if it cannot be used."""
    from apprise import Apprise, AppriseAsset

    # Without limits of its own Apprise sends in the thread that asks, and in no pool of a few.
    asset = AppriseAsset(
        app_id="Pattern screener",
        app_desc="Pattern screener",
        app_url="",
        image_url_mask="",
        image_url_logo="",
        async_mode=False,
        service_timeout=0,
    )
    service = Apprise.instantiate(address, asset=asset)
    return None if service is None else Apprise(service, asset=asset)


def _send(services: dict[int, Apprise | None], message: dict[str, str], seconds: float) -> None:
    """Send to all at once; who does not answer in time has no outcome."""
    answers: Answers = queue.Queue()
    waiting = {place: service for place, service in services.items() if service is not None}
    for place in services.keys() - waiting.keys():
        _answer(place, None, "unusable")
    for place, service in waiting.items():
        Thread(target=_send_to, args=(service, message, place, answers), daemon=True).start()
    deadline = time.monotonic() + seconds
    for _ in waiting:
        try:
            place, sent = answers.get(timeout=max(0, deadline - time.monotonic()))
        except queue.Empty:
            return
        _answer(place, waiting[place], "sent" if sent else "refused")


def _send_to(service: Apprise, message: dict[str, str], place: int, answers: Answers) -> None:
    from apprise import NotifyFormat, NotifyType

    try:
        result: Any = service.notify(
            body=message["body"],
            title=message["title"],
            notify_type=NotifyType(message["kind"]),
            body_format=NotifyFormat.TEXT,
        )
    except Exception:  # whatever a service raises: it did not send
        result = False
    answers.put((place, bool(result)))


def _answer(place: int, service: Apprise | None, outcome: str) -> None:
    name = None if service is None else str(service[0].service_name)
    line = json.dumps({"place": place, "service": name, "outcome": outcome})
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
