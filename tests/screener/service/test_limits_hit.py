"""Limits: each that refuses is counted, by its own name and once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import anyio
import pytest
from prometheus_client import REGISTRY

from mcp_server.calls.callers import Caller
from mcp_server.calls.errors import ApiError
from mcp_server.charts import charts as charts_module
from mcp_server.charts.charts import Charts
from mcp_server.http.application import Application
from mcp_server.http.responses import response
from mcp_server.limits.limits import Limiter, Quotas
from screener.server.connection_limiter import ConnectionLimiter, ConnectionLimits
from screener.telemetry.metrics import LIMITS
from screener.web.site.login_limits import LoginLimits, TooManyRefusal
from tests.contract.market import active_book
from tests.counting import keyed
from tests.mcp_server.http.edges import ask, scope_of
from tests.screener.server.visitors import Visitor

KEYLESS = Caller("192.0.2.1")
OFTEN = 50

Ask = Callable[[], object]


async def several_keys(limiter: Limiter) -> None:
    for prefix in ("a", "b"):
        await limiter.count(keyed(prefix), "rest")


def of_limiter() -> dict[str, Ask]:
    """What the limiter of calls refuses sooner or later."""
    one, wide = Limiter(Quotas(1, 100, 1, 1, 1)), Limiter(Quotas(100, 1, 1, 1, 1))
    return {
        "key_minute": partial(anyio.run, Limiter(Quotas(1, 100)).count, keyed("a"), "rest"),
        "key_day": partial(anyio.run, Limiter(Quotas(100, 1)).count, keyed("a"), "rest"),
        "account_minute": partial(anyio.run, several_keys, one),
        "account_day": partial(anyio.run, several_keys, wide),
        "address_minute": partial(anyio.run, one.count, KEYLESS, "rest"),
        "list": partial(anyio.run, one.count_other, keyed("a"), "list"),
        "refused": partial(anyio.run, one.count_other, KEYLESS, "refused"),
        "page": partial(anyio.run, one.count_page, "192.0.2.1", None),
        "pictures": partial(anyio.run, one.count_picture, "192.0.2.1", None),
        "apps": partial(anyio.run, Limiter(Quotas(apps_per_minute=1)).count_app, "192.0.2.1"),
    }


@pytest.fixture
def asks(night: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Ask]]:
    """What to ask for until a limit refuses it, by the limit."""
    monkeypatch.setattr(charts_module, "QUEUE_LIMIT", 0)
    edge = Application(
        response(200), at_once=0, is_https=False, docs_url="https://example.com/docs"
    )
    full = ConnectionLimits(connections=0)
    with closing(active_book(night)) as book:
        setup = book.setup(
            *next(iter(sorted((view.symbol, view.setup_id) for view in book.scan.rows)))
        )
        assert setup is not None
        yield of_limiter() | {
            "passwords": partial(anyio.run, LoginLimits().count, "ada@example.com", "192.0.2.1"),
            "connections": partial(ConnectionLimiter(full, trusted=["*"]).admit, Visitor()),
            "connections_of_network": partial(ConnectionLimiter(full).admit, Visitor()),
            "requests_at_once": partial(anyio.run, ask, edge, scope_of()),
            "drawings": partial(anyio.run, Charts(tmp_path).png, book, setup),
        }


@pytest.mark.parametrize("limit", LIMITS)
def test_each_limit_is_counted_by_its_name(asks: dict[str, Ask], limit: str) -> None:
    def hits() -> dict[str, float]:
        name = "screener_limits_hit_total"
        return {each: REGISTRY.get_sample_value(name, {"limit": each}) or 0 for each in LIMITS}

    before = hits()
    for _ in range(OFTEN):
        if hits() == before:
            with suppress(ApiError, TooManyRefusal):
                asks[limit]()

    assert hits() == {**before, limit: before[limit] + 1}
