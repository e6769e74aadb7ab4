"""Every client of the table lists and calls all tools: without a key, by key, and signed in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_server.mcp.toolsets import EXTENDED, FULL
from store.accounts.credentials import LIFETIMES, CredentialKind
from tests.agent import connected, images, texts
from tests.oauth.conversation import LaterClock
from tests.qa.hosts.clients import CLIENTS, Era, HostClient
from tests.qa.hosts.conversation import speaking
from tests.qa.hosts.installed import Installed
from tests.qa.hosts.people import approve
from tests.screener.web.people import new_person, signed_in
from tests.service import TRACKED, Service, serving

pytestmark = pytest.mark.engine

SYMBOL = "MSFT"
MORE: dict[str, dict[str, Any]] = {
    "scan_setups": {"status": "all", "limit": 3},
    "add_tickers": {"symbols": list(TRACKED)},
    "remove_tickers": {"symbols": ["BRK.B"]},
    "get_universe": {"search": SYMBOL},
    "get_changes": {"limit": 3},
    "get_ticker_record": {"symbol": SYMBOL},
}
"""A call of every tool that the extended address has besides, which changes nothing."""
EACH = [
    pytest.param(client, era, id=f"{client.name}-{era}")
    for client in CLIENTS
    for era in client.eras
]


def calls(service: Service) -> list[tuple[str, dict[str, Any]]]:
    """A call of every tool, which leaves the tracked list as it is."""
    setups = service.get(f"/tickers/{SYMBOL}/patterns").json()["setups"]
    return [
        ("list_tracked_tickers", {}),
        ("set_tracked_tickers", {"symbols": list(TRACKED)}),
        ("get_ticker_patterns", {"symbol": SYMBOL}),
        ("get_pattern_history", {"symbol": SYMBOL, "limit": 3, "outcome": "resolved"}),
        ("get_pattern_chart", {"symbol": SYMBOL, "setup_id": setups[0]["setup_id"]}),
        ("get_family_track_record", {"family": "triangle"}),
        ("demo", {"symbol": SYMBOL}),
    ]


def order(service: Service, path: str, era: Era, **more: Any) -> dict[str, Any]:
    """What a program is to do at an endpoint."""
    given = {"url": service.url + path, "era": era, "calls": calls(service)}
    return {**given, "key": "", "sign_in": False, **more}


def expected(given: dict[str, Any], key: str = "") -> list[dict[str, Any]]:
    """What the calls answer the SDK that the service is built with."""

    async def ask() -> list[dict[str, Any]]:
        found = []
        async with connected(given["url"], key, given["era"]) as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            assert sorted(listed) == sorted(tool for tool, _ in given["calls"])
            for tool, arguments in given["calls"]:
                answer = await client.call_tool(tool, arguments)
                found.append(
                    {
                        "tool": tool,
                        "failed": bool(answer.is_error),
                        "said": next(iter(texts(answer)), None),
                        "images": len(images(answer)),
                    }
                )
        return found

    return anyio.run(ask)


def check(found: dict[str, Any], given: dict[str, Any], answers: list[dict[str, Any]]) -> None:
    """A round has all tools, and each of its calls has the answer's own data."""
    assert sorted(found["tools"]) == sorted(tool for tool, _ in given["calls"])
    assert [read(answer) for answer in found["results"]] == [read(answer) for answer in answers]
    if found["version"] is not None:
        assert (found["version"] == "2026-07-28") == (given["era"] == "2026-07-28")


def read(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer whose JSON is parsed: clients may write it in their own way."""
    said = answer["said"]
    return {**answer, "said": json.loads(said) if said and said.startswith("{") else said}


def nobody(address: str) -> str:
    """Nobody is there to sign in."""
    raise AssertionError(f"asked to visit {address}")


@pytest.mark.parametrize(("client", "era"), EACH)
def test_a_client_without_a_key_has_the_demo(
    client: HostClient, era: Era, service: Service, installed: Installed, tmp_path: Path
) -> None:
    given = order(service, "/mcp/demo", era)
    answers = expected(given)

    with speaking(client, installed, tmp_path, nobody, given) as program:
        check(program.round(), given, answers)

    assert [answer["tool"] for answer in answers if not answer["failed"]] == [
        "get_family_track_record",
        "demo",
    ]


@pytest.mark.parametrize(("client", "era"), EACH)
def test_a_client_with_a_key_has_all_tools(
    client: HostClient, era: Era, service: Service, installed: Installed, tmp_path: Path
) -> None:
    """Those of the extended address, which has the others too; who signs in calls those alone."""
    more = [(tool, MORE[tool]) for tool in EXTENDED.tools if tool not in FULL.tools]
    every = [*more, *calls(service)]
    given = order(service, "/mcp/extended", era, key=service.key, calls=every)
    answers = expected(given, service.key)

    with speaking(client, installed, tmp_path, nobody, given) as program:
        check(program.round(), given, answers)

    assert [answer for answer in answers if answer["failed"]] == []


@pytest.fixture
def clock() -> LaterClock:
    """The clock of a service whose tokens are to expire."""
    return LaterClock()


@pytest.fixture
def patient(data_dir: Path, clock: LaterClock) -> Iterator[Service]:
    """A service in which weeks can pass."""
    with serving(data_dir, clock=clock) as live:
        yield live


@pytest.mark.parametrize(("client", "era"), EACH)
def test_a_client_signs_in_and_goes_on_after_its_token_has_expired(
    client: HostClient,
    era: Era,
    patient: Service,
    clock: LaterClock,
    installed: Installed,
    tmp_path: Path,
) -> None:
    account = new_person(patient, tracked=TRACKED)
    given = order(patient, "/mcp", era, sign_in=True)
    answers = expected(given, patient.key)

    def person(address: str) -> str:
        return approve(signed_in(patient, account), address)

    visits = []
    week = LIFETIMES[CredentialKind.ACCESS] + timedelta(minutes=1)
    with speaking(client, installed, tmp_path, person, given) as program:
        check(program.round(), given, answers)
        visits.append(program.visits)
        for restart in (False, True):
            clock.later += week
            program.let_pass(week.total_seconds(), restart=restart)
            check(program.round(), given, answers[:1])
            visits.append(program.visits)

    assert visits == [1, 1, 1 if client.started_again == "refreshes" else 2]
