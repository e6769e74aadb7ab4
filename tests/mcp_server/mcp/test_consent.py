"""A user is asked before the tracked list loses a ticker, where the client can ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mcp_types as types
import pytest

from tests.agent import call, connected, modern, texts
from tests.service import Service

MODERN = "2026-07-28"


class User:
    """Somebody who is asked, and always answers the same."""

    def __init__(self, action: str, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.action = action
        self.meanwhile = meanwhile
        self.questions: list[str] = []

    async def asked(
        self,
        context: Any,  # noqa: ARG002 - the SDK calls it with these names
        params: types.ElicitRequestParams,
    ) -> types.ElicitResult:
        self.questions.append(params.message)
        if len(self.questions) == 1:
            self.meanwhile()
        return types.ElicitResult.model_validate({"action": self.action, "content": {}})


@pytest.fixture
def key(service: Service) -> str:
    """A key of an account that tracks three tickers."""
    return service.new_key(tracked=("AAPL", "GOOG", "IBM"))


async def replace(
    service: Service, key: str, user: User, *symbols: str, tool: str = "set_tracked_tickers"
) -> types.CallToolResult:
    async with connected(service.extended_url, key, MODERN, ask=user.asked) as client:
        return await call(client, tool, symbols=list(symbols))


async def test_the_user_agrees_and_the_tickers_are_dropped(service: Service, key: str) -> None:
    user = User("accept")

    result = await replace(service, key, user, "AAPL", "MSFT")

    assert user.questions == [
        "This drops 2 of 3 tracked tickers: GOOG, IBM. The new list has 2. Continue?"
    ]
    assert result.structured_content is not None
    assert result.structured_content["removed"] == ["GOOG", "IBM"]
    assert service.tracked(key) == ["AAPL", "MSFT"]


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("decline", "The user does not want to drop these tickers; nothing changed."),
        ("cancel", "The question was closed without an answer; nothing changed."),
    ],
)
async def test_who_declines_and_who_closes_the_question_are_told_apart_and_nothing_changes(
    service: Service, key: str, action: str, words: str
) -> None:
    result = await replace(service, key, User(action), "MSFT")

    assert result.is_error
    assert texts(result)[0].startswith(f"precondition_failed: {words}")
    assert service.tracked(key) == ["AAPL", "GOOG", "IBM"]


@pytest.mark.parametrize(
    ("action", "left"), [("accept", ["AAPL", "IBM"]), ("decline", ["AAPL", "GOOG", "IBM"])]
)
async def test_the_user_is_asked_before_a_ticker_is_removed_by_name(
    service: Service, key: str, action: str, left: list[str]
) -> None:
    user = User(action)

    await replace(service, key, user, "GOOG", "FB", tool="remove_tickers")

    assert user.questions == [
        "This drops 1 of 3 tracked tickers: GOOG. The new list has 2. Continue?"
    ]
    assert service.tracked(key) == left


@pytest.mark.parametrize("symbols", [("IBM", "AAPL", "GOOG", "MSFT"), ("NOPE",)])
async def test_nobody_is_asked_about_a_list_that_loses_nothing_or_is_refused_anyway(
    service: Service, key: str, symbols: tuple[str, ...]
) -> None:
    user = User("decline")

    result = await replace(service, key, user, *symbols)

    assert user.questions == []
    assert result.is_error is (symbols == ("NOPE",))
    kept = ("AAPL", "GOOG", "IBM") if result.is_error else symbols
    assert service.tracked(key) == list(kept)


async def test_an_agreement_counts_for_the_change_that_was_asked_about_alone(
    service: Service, key: str
) -> None:
    """Another agent adds a ticker while the user reads the question."""

    def add() -> None:
        service.request("PATCH", "/tickers", key=key, json={"add": ["FB"]}).raise_for_status()

    user = User("accept", meanwhile=add)

    await replace(service, key, user, "AAPL")

    assert len(user.questions) == 2
    assert "drops 3 of 4 tracked tickers: GOOG, IBM, FB." in user.questions[1]
    assert service.tracked(key) == ["AAPL"]


@pytest.mark.parametrize(
    ("capabilities", "status"),
    [
        ({"elicitation": {}}, "input_required"),
        ({"elicitation": {"form": {}}}, "input_required"),
        ({"elicitation": {"url": {}}}, "complete"),
        ({}, "complete"),
    ],
)
def test_only_a_client_that_shows_forms_is_asked_and_others_are_answered_at_once(
    service: Service, key: str, capabilities: dict[str, Any], status: str
) -> None:
    call = {"name": "set_tracked_tickers", "arguments": {"symbols": ["AAPL"]}}

    result = modern(service.mcp_url, key, "tools/call", capabilities, **call)

    assert result["resultType"] == status
    assert service.tracked(key) == (["AAPL"] if status == "complete" else ["AAPL", "GOOG", "IBM"])
