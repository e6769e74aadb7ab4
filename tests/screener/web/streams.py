"""Streams: reads server-sent events as a browser does."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from store.nights.nights import Nights
from tests.service import copy_night


class Event(NamedTuple):
    """One event: its name, and what its data says."""

    name: str
    data: Any


@contextmanager
def stream(url: str, **options: Any) -> Iterator[Iterator[Event]]:
    """The events of a service within the block."""
    options = {"timeout": 60, **options}
    with httpx.stream("GET", f"{url}/events", **options) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        news = events(response.iter_lines())
        yield news  # kept until the block ends: a generator that is dropped closes its response


def events(lines: Iterator[str]) -> Iterator[Event]:
    """The events of lines; comments and the time of a retry are none."""
    name, data = "", list[str]()
    for line in lines:
        field, _, value = line.partition(":")
        if field == "event":
            name = value.removeprefix(" ")
        elif field == "data":
            data.append(value.removeprefix(" "))
        elif not line and data:
            yield Event(name, json.loads("\n".join(data)))
            name, data = "", []


def publish(night: Path, data_dir: Path) -> str:
    """Publish the night of another data folder; its version."""
    copy_night(night, data_dir.parent / "aside")
    shutil.copytree(night / "nights", data_dir / "nights", dirs_exist_ok=True)
    (data_dir.parent / "aside" / "manifest.json").replace(data_dir / "manifest.json")
    manifest = Nights(data_dir).active()
    assert manifest is not None
    return manifest.data_version
