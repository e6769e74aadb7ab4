"""Fixtures of the contract: a market of 300 setups behind a live service, and the document."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import orjson
import pytest

from tests.contract.market import Market, active_book, evidence_of, write_market
from tests.service import Service, serving


@pytest.fixture(scope="session")
def market(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Market]:
    """A live service over the market of 300 setups; its account tracks the sample's symbols."""
    folder = tmp_path_factory.mktemp("market")
    write_market(night, folder)
    numbers, labels = evidence_of(folder)
    book = active_book(folder)
    rows = [orjson.loads(body) for body in book.evidence.bodies]
    book.close()
    with serving(folder) as live, keyed(live) as client:
        yield Market(live, client, rows, numbers, labels)


@pytest.fixture(scope="session")
def sample(service: Service, night: Path) -> Iterator[Market]:
    """The sample night as a market: real setups, real evidence."""
    numbers, labels = evidence_of(night)
    book = active_book(night)
    rows = [orjson.loads(body) for body in book.evidence.bodies]
    book.close()
    with keyed(service) as client:
        yield Market(service, client, rows, numbers, labels)


def keyed(service: Service) -> httpx.Client:
    """A client of the REST routes with the service's own key, for many calls in a row."""
    headers = {"Authorization": f"Bearer {service.key}"}
    return httpx.Client(base_url=service.base, headers=headers, timeout=30)
