"""A service as a process with `/metrics`, and what it exposes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.screener.process import Server, free_port, serving_process, until
from tests.service import copy_night


@dataclass(frozen=True)
class Measured:
    """A running service, and where its numbers are."""

    server: Server
    port: int

    def text(self) -> str:
        """What `/metrics` answers."""
        answer = httpx.get(f"http://127.0.0.1:{self.port}/metrics", timeout=30)
        return answer.raise_for_status().text

    def value(self, name: str, **labels: str) -> float:
        """The sum of the samples of a name that have these labels."""
        return sum(
            sample.value
            for family in text_string_to_metric_families(self.text())
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    def until(self, wanted: float, name: str, **labels: str) -> None:
        """Wait until a sum is what is wanted: the end of an answer is counted after its last byte.

        Raises:
            AssertionError: it was not so in time.
        """
        until(lambda: self.value(name, **labels) == wanted)

    def until_least(self, wanted: float, name: str, **labels: str) -> None:
        """Wait until a sum is so much, or more by what other tests did."""
        until(lambda: self.value(name, **labels) >= wanted)


@contextmanager
def measured(folder: Path, *options: str, **settings: str) -> Iterator[Measured]:
    """Run `screener serve` on a data folder, with a port for its numbers."""
    port = free_port()
    with serving_process(
        folder, *options, **{"SCREENER_METRICS_PORT": str(port), **settings}
    ) as server:
        yield Measured(server, port)


@pytest.fixture(scope="module")
def service(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    """A measured service of one process over the sample night."""
    folder = tmp_path_factory.mktemp("measured")
    copy_night(night, folder / "data")
    settings = {"SCREENER_KEYLESS_PER_MINUTE": "1000", "SCREENER_CHARTS_WARM": "false"}
    with measured(folder, **settings) as live:
        yield live
