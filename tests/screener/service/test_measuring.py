"""Measuring: what is looked up for `/metrics`, and what happens while it is away."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from prometheus_client import REGISTRY

from mcp_server.operations.services import Services
from screener.service.app import services_of
from screener.service.health import keep_measuring, measure, measure_disk
from screener.service.parts import AccountStore
from screener.settings.settings import Settings
from screener.telemetry.metrics import record
from screener.telemetry.request import Request
from store.accounts.accounts import AccountPlan, Accounts
from store.accounts.keys import Keys
from store.database.database import Database
from tests.conftest import NIGHT_SESSION
from tests.resealed import rename_bars, reseal


def value(name: str, **labels: str) -> float:
    """What this process has in an instrument."""
    found = REGISTRY.get_sample_value(name, labels)
    assert found is not None
    return found


def test_a_data_folder_that_is_away_ends_no_measuring(tmp_path: Path) -> None:
    measure_disk(tmp_path)
    assert 0 < value("screener_data_free_bytes") <= value("screener_data_size_bytes")

    measure_disk(tmp_path / "away")

    assert math.isnan(value("screener_data_free_bytes"))
    assert math.isnan(value("screener_data_size_bytes"))


@pytest.fixture
async def database(data_dir: Path) -> AsyncIterator[Database]:
    """The account database of the test's data folder."""
    async with Database(Settings(data_dir=data_dir).accounts_url) as database:
        await database.migrate()
        yield database


@pytest.fixture
async def services(data_dir: Path, database: Database) -> AsyncIterator[Services]:
    """The services over a night that is no sample."""
    reseal(data_dir, change_manifest=rename_bars)
    services = services_of(AccountStore(Settings(data_dir=data_dir), database))
    await services.active_night.poll()
    yield services
    services.active_night.close()


async def test_the_sessions_that_have_ended_since_the_night_are_told(services: Services) -> None:
    for days, behind in ((0, 0), (2, 1), (5, 2)):
        measure(services, NIGHT_SESSION + dt.timedelta(days=days))
        assert value("screener_night_sessions_behind") == behind


async def test_a_usage_log_that_waits_is_behind_only_once_it_could_not_be_written(
    services: Services, database: Database, data_dir: Path
) -> None:
    def told() -> tuple[float, float]:
        measure(services, NIGHT_SESSION)
        return value("screener_usage_rows_waiting"), value("screener_usage_behind")

    async def write() -> None:
        with anyio.move_on_after(0):  # it writes once more when it is stopped
            await services.usage.keep_writing()

    await Accounts(database).add("ada@example.com", AccountPlan.PREMIUM_PLUS)
    _, secret = await Keys(database).create("ada@example.com", "laptop")
    principal = await services.principals.find(secret)
    assert principal is not None
    for operation in ("scan", "me"):
        services.usage.record(principal, operation, "test")
    assert told() == (2, 0)

    await database.close()
    file, away = data_dir / "accounts.sqlite", data_dir / "away.sqlite"
    file.rename(away)
    file.mkdir()
    await write()
    assert told() == (2, 1)

    file.rmdir()
    away.rename(file)
    await write()
    assert told() == (0, 0)


async def test_what_was_answered_since_the_last_measure_is_counted_when_a_worker_ends(
    services: Services, tmp_path: Path
) -> None:
    last = Request(surface="rest", operation="last_words", code="ok")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(keep_measuring, services, tmp_path, lambda: dt.datetime.now(dt.UTC))
        await anyio.wait_all_tasks_blocked()
        record(last)
        tasks.cancel_scope.cancel()

    labels = {"surface": last.surface, "operation": last.operation, "code": last.code}
    assert value("screener_requests_total", **labels) == 1
