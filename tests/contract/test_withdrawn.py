"""A withdrawn night is not served from a cache: every answer of a night is asked for again."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from rest_facade.routes import ROUTES
from store.nights.nights import Nights
from tests.screener import command
from tests.screener.nightly.nights import order_of
from tests.screener.nightly.published import market, publish, sessions_before
from tests.screener.process import until
from tests.screener.web.browser import Browser
from tests.service import Service, serving

SESSIONS = sessions_before(dt.date(2024, 3, 28), 2)
SYMBOLS = tuple(f"S{seed}" for seed in range(12))
DOCUMENTS = ("/llms.txt", "/skill.md", "/openapi.json")


@dataclass
class Reader:
    """A reader with a key, and what its cache holds of each path."""

    service: Service
    symbol: str
    setup_id: str

    def paths(self) -> list[str]:
        """Every path that answers GET with what a night says."""
        routes = [route.path for route in ROUTES if route.method == "GET"]
        named = [path.format(symbol=self.symbol, family="triangle") for path in routes]
        return ["", *(f"{path}?setup_id={self.setup_id}" for path in named)]

    def read(self, path: str, etag: str = "") -> httpx.Response:
        return self.service.get(path, headers={"If-None-Match": etag} if etag else {})

    def version(self) -> str:
        return str(self.service.get("/families").json()["data_version"])


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """A live service over the second of two nights, read by somebody who tracks all tickers.

    The last test withdraws that night.
    """
    folder = tmp_path_factory.mktemp("withdrawn")
    order = order_of(market(folder / "bars", len(SYMBOLS)))
    for session in SESSIONS:
        publish(order, folder / "data", session)
    with serving(folder / "data", demo_symbols=SYMBOLS) as live:
        live.request("PUT", "/tickers", json={"symbols": SYMBOLS}).raise_for_status()
        first = live.get("/scan").json()["setups"][0]
        yield Reader(live, first["symbol"], first["setup_id"])


def test_documents_that_may_be_kept_for_an_hour_say_nothing_of_a_night(reader: Reader) -> None:
    for path in DOCUMENTS:
        answer = reader.read(path)
        assert answer.headers["cache-control"] == "public, max-age=3600"
        assert reader.version() not in answer.text
        assert str(SESSIONS[-1]) not in answer.text


def test_errors_are_never_kept(reader: Reader) -> None:
    for path, key in (("/me", ""), ("/nothing", None), ("/families/x/stats", ""), ("/scan", "bad")):
        answer = reader.service.get(path, key=key)
        assert answer.status_code >= 400
        assert answer.headers["cache-control"] == "no-store"
        assert "etag" not in answer.headers


@pytest.mark.proves("RULE-2", "SETUP-setup_id", "VER-3", "LIM-freshness", "EVENT-poll")
def test_what_was_kept_of_a_withdrawn_night_is_replaced_by_the_night_that_follows(
    reader: Reader,
) -> None:
    kept = {path: reader.read(path) for path in reader.paths()}
    page = Browser(reader.service).get("/method")
    withdrawn = reader.version()
    before = reader.read("/scan?status=all").json()
    for path, answer in kept.items():
        assert answer.status_code == 200, path
        assert reader.read(path, answer.headers["etag"]).status_code == 304, path
        # A chart is cacheable for an hour, as the contract has it; its URL names one setup.
        ending = "max-age=3600" if "chart.png" in path else "no-cache"
        assert answer.headers["cache-control"].endswith(ending), path

    data = reader.service.settings.data_dir
    done = command.run(data, "night", "withdraw", withdrawn, "--reason", "Bars were wrong.")
    assert done.returncode == 0, done.stderr
    successor = Nights(data).check_active().data_version
    until(lambda: reader.version() == successor)

    for path, answer in kept.items():
        again = reader.read(path, answer.headers["etag"])
        if "chart.png" not in path:
            assert again.status_code == 200, path
            assert again.json()["data_version"] == successor, path
            assert again.headers["etag"] != answer.headers["etag"], path
    check_another_night(reader, before, reader.read("/scan?status=all").json())
    again = Browser(reader.service).get("/method", headers={"If-None-Match": page.headers["etag"]})
    assert again.status_code == 200


def check_another_night(reader: Reader, before: Any, now: Any) -> None:
    """Check that a night has ids of its own, and serves no setup of another."""
    ids, others = ({setup["setup_id"] for setup in scan["setups"]} for scan in (before, now))
    lineages, same = ({setup["lineage_id"] for setup in scan["setups"]} for scan in (before, now))
    assert ids
    assert others
    assert ids.isdisjoint(others)
    assert lineages & same
    assert [scan["as_of_session"] for scan in (now, before)] == [str(day) for day in SESSIONS]
    for setup in before["setups"]:
        path = f"/demo/{setup['symbol']}/chart.png?setup_id={setup['setup_id']}"
        assert reader.read(path).json()["error"] == "setup_not_found"
