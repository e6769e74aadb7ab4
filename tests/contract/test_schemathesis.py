"""Schemathesis over the whole OpenAPI document: no call fails; each response fits its schema."""

from __future__ import annotations

from typing import Any, cast

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from mcp_server.presentation.offer import Offer
from rest_facade.openapi import openapi
from tests.service import Service

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
DOCUMENT = schemathesis.openapi.from_dict(openapi(Offer("http://127.0.0.1:8000", ("AAPL",))))
DESCRIBED: list[Any] = [cast("Any", found).ok() for found in DOCUMENT.get_all_operations()]
CALLS = [
    pytest.param(operation, keyed, id=f"{operation.label} {'with' if keyed else 'without'} a key")
    for operation in DESCRIBED
    for keyed in (True, False)
    # Without a key, an operation that needs one reads nothing of its call.
    if keyed or {} in operation.definition.raw["security"]
]


@pytest.fixture(scope="module")
def key(service: Service) -> str:
    """A key of a separate account, because the calls change its watchlist arbitrarily."""
    return service.new_key()


@pytest.mark.parametrize(("operation", "keyed"), CALLS)
@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(data=st.data())
def test_any_call_is_answered_as_described(
    service: Service, key: str, operation: Any, keyed: bool, data: st.DataObject
) -> None:
    case = data.draw(operation.as_strategy())
    headers = {"Authorization": f"Bearer {key}"} if keyed else {}

    case.call_and_validate(base_url=service.base, headers=headers, checks=CHECKS, timeout=30)
