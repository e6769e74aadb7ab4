"""Described: schemathesis over the OpenAPI document, single calls and whole sessions.

The document has no links, so those that a client follows are added here: from a list of setups to
the setups of its first symbol, and from these to their chart.
"""

from __future__ import annotations

import secrets
import time
from typing import Any, cast

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from mcp_server.operations.services import Offer
from rest_facade.openapi import openapi
from tests.fuzz.server import COSTLY, MOST_CPU, Target
from tests.fuzz.trial import SLOW, Trial

CHECKS: list[Any] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
ALLOWED = (429, 503)
"""Said of any call that comes at a bad time."""
FIRST = "$response.body#/setups/0/"
ONE = {"symbol": FIRST + "symbol"}
CHART = {**ONE, "setup_id": FIRST + "setup_id"}
LINKS: dict[tuple[str, str], dict[tuple[str, str], dict[str, str]]] = {
    ("get", "/scan"): {
        ("get", "/tickers/{symbol}/patterns"): ONE,
        ("get", "/tickers/{symbol}/history"): ONE,
        ("get", "/tickers/{symbol}/chart.png"): CHART,
    },
    ("put", "/tickers"): {
        ("get", "/tickers/{symbol}/patterns"): {"symbol": "$response.body#/tickers/0/symbol"},
    },
    ("get", "/tickers"): {
        ("get", "/tickers/{symbol}/history"): {"symbol": "$response.body#/tickers/0/symbol"},
    },
    ("get", "/tickers/{symbol}/patterns"): {("get", "/tickers/{symbol}/chart.png"): CHART},
    ("get", "/demo/{symbol}"): {("get", "/demo/{symbol}/chart.png"): CHART},
    ("get", "/families"): {
        ("get", "/families/{family}/stats"): {"family": "$response.body#/families/0/family"},
    },
}


def linked_document() -> dict[str, Any]:
    """The OpenAPI document with the links of `LINKS`."""
    document: dict[str, Any] = openapi(Offer("http://127.0.0.1:8000", ("AAPL",)))
    paths = document["paths"]
    for (method, path), followed in LINKS.items():
        links = {
            f"link {number}": {
                "operationRef": f"#/paths/{to.replace('/', '~1')}/{verb}",
                "parameters": given_by,
            }
            for number, ((verb, to), given_by) in enumerate(followed.items())
        }
        paths[path][method]["responses"]["200"]["links"] = links
    return document


class Described:
    """Calls that the document describes, with a key and without, as one trial."""

    def __init__(self, target: Target) -> None:
        self.trial = Trial("openapi")
        self._target = target
        self._document = schemathesis.openapi.from_dict(linked_document())
        self._operations = [
            cast("Any", found).ok() for found in self._document.get_all_operations()
        ]
        self._session = requests.Session()

    def run(self, until: float, start: int) -> None:
        """Try single calls and sessions in turns, until a moment of the monotonic clock."""
        number = 0
        while time.monotonic() < until:
            operation = self._operations[(start + number) % len(self._operations)]
            number += 1
            self._single(operation, start + number, until)
            if number % 4 == 0 and time.monotonic() < until:
                self._sessions()

    def _single(self, operation: Any, start: int, until: float) -> None:
        def one(data: st.DataObject) -> None:
            case = data.draw(operation.as_strategy())
            if time.monotonic() < until:
                self.call(case)

        _some(20)(seed(start)(given(data=st.data())(one)))()

    def _sessions(self) -> None:
        machine: Any = self._document.as_state_machine()
        described = self

        class Sessions(machine):  # type: ignore[misc]
            def call(self, case: Any, **_kwargs: Any) -> Any:
                return described.call(case)

            def validate_response(self, *_args: Any, **_kwargs: Any) -> None:
                """Was done with the call."""

        Sessions.run(settings=_some(5, stateful_step_count=8))

    def call(self, case: Any) -> Any:
        """One call, noted with its processor time and with what is wrong."""
        keyed = secrets.randbelow(4) > 0
        visitor = self._target.visitor
        headers = {"Authorization": f"Bearer {visitor.key}"} if keyed else {}
        base = f"http://{visitor.host}:{visitor.port}/api/v1"
        shown = case.as_curl_command().encode()
        before = self._target.server.cpu()
        try:
            response = case.call(base_url=base, headers=headers, session=self._session, timeout=30)
        except requests.RequestException as error:
            self.trial.note(shown, 0.0, [f"no response: {type(error).__name__}"])
            raise
        spent = self._target.server.cpu() - before
        self.trial.note(shown, spent, self._faults(case, response, shown, spent))
        return response

    def _faults(self, case: Any, response: Any, shown: bytes, spent: float) -> list[str]:
        found = []
        if spent > MOST_CPU and not any(word in shown for word in COSTLY):
            found.append(SLOW)
        if response.status_code in ALLOWED:
            return found
        try:
            case.validate_response(response, checks=CHECKS)
        except FailureGroup as group:
            found += [f"{case.operation.label}: {failure.title}" for failure in group.exceptions]
        return found


def _some(examples: int, **options: Any) -> Any:
    return settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        **options,
    )
