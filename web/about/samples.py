"""Samples: a request and its answer for each route and tool, as the sample night answers them.

The file is written by a test that asks a live service; long lists and texts are cut short in it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

HOME = "https://screener.example.com"
"""The address in the file, which that of the service takes the place of."""

FILE = "samples.json"


@dataclass(frozen=True, slots=True)
class Sample:
    """One request and its answer."""

    surface: str
    """`rest` or `mcp`."""
    name: str
    """`GET /scan`, or the name of a tool."""
    request: str
    answer: str

    @property
    def id(self) -> str:
        """Its anchor on the page."""
        words = "".join(c if c.isalnum() else " " for c in self.name.lower()).split()
        return "-".join(["sample", self.surface, *words])


def load_samples(public_url: str) -> Sequence[Sample]:
    """The samples of a service at its address."""
    text = resources.files("web").joinpath(FILE).read_text(encoding="utf-8")
    return [Sample(**row) for row in json.loads(text.replace(HOME, public_url))]
