"""Fixtures of the contract: a market of 300 setups behind a live service, and the document."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.contract.market import Market, evidence_of, write_market
from tests.contract.oldest_night import put_oldest
from tests.service import Service, serving


@pytest.fixture(scope="session")
def market(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Market]:
    """A live service over the market of 300 setups; its account tracks the sample's symbols."""
    folder = tmp_path_factory.mktemp("market")
    write_market(night, folder)
    with serving(folder) as live, keyed(live) as client:
        yield Market(live, client, *evidence_of(folder))


@pytest.fixture(scope="session")
def sample(service: Service, night: Path) -> Iterator[Market]:
    """The sample night as a market: real setups, real evidence."""
    with keyed(service) as client:
        yield Market(service, client, *evidence_of(night))


@pytest.fixture(scope="session")
def oldest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A live service over the oldest night, whose pages are open to everybody."""
    with serving(put_oldest(tmp_path_factory.mktemp("oldest")), open_pages=True) as live:
        yield live


def keyed(service: Service) -> httpx.Client:
    """A client of the REST routes with the service's own key, for many calls in a row."""
    headers = {"Authorization": f"Bearer {service.key}"}
    return httpx.Client(base_url=service.base, headers=headers, timeout=30)
