"""Parts that fail: a loop is started again, and a lost account costs nobody else an answer."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import anyio
from prometheus_client import REGISTRY

from screener.supervisor import MOST_FAILURES, Loop, Supervisor
from tests.screener.process import until
from tests.service import new_key, serving


async def test_a_loop_that_failed_is_started_again() -> None:
    runs = list[int]()
    well = anyio.Event()
    restarts = partial(REGISTRY.get_sample_value, "screener_loop_restarts_total", {"loop": "test"})

    async def loop() -> None:
        assert restarts() == len(runs)  # 0 is told before the first one
        runs.append(len(runs))
        if len(runs) < MOST_FAILURES:
            raise ValueError("a fault of this run")
        well.set()
        await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        supervised = Loop("test", "under test", loop)
        group.start_soon(Supervisor(first_delay=0.001).keep_running, supervised)
        with anyio.fail_after(30):
            await well.wait()
        group.cancel_scope.cancel()

    assert len(runs) == MOST_FAILURES


async def test_failures_that_lie_far_apart_never_end_the_process() -> None:
    times = iter(range(0, 10_000, 100))
    runs = list[int]()
    well = anyio.Event()

    async def loop() -> None:
        runs.append(len(runs))
        if len(runs) > 3 * MOST_FAILURES:
            well.set()
            await anyio.sleep_forever()
        raise ValueError("now and then")

    async with anyio.create_task_group() as group:
        supervisor = Supervisor(first_delay=0.001, clock=lambda: next(times))
        group.start_soon(supervisor.keep_running, Loop("far_apart", "under test", loop))
        with anyio.fail_after(30):
            await well.wait()
        group.cancel_scope.cancel()


DELETE_ACCOUNT = """
    CREATE TEMP TABLE doomed AS SELECT id FROM accounts WHERE email = 'doomed@example.com';
    DELETE FROM keys WHERE account_id IN doomed;
    DELETE FROM watchlist WHERE account_id IN doomed;
    DELETE FROM usage WHERE account_id IN doomed;
    DELETE FROM accounts WHERE id IN doomed;
"""


def test_an_account_deleted_under_a_pending_usage_record_costs_nobody_an_answer(
    data_dir: Path,
) -> None:
    with serving(data_dir) as live:
        doomed = new_key(live.settings, "doomed@example.com")
        live.get("/me", key=doomed).raise_for_status()
        with closing(sqlite3.connect(data_dir / "accounts.sqlite")) as database:
            database.executescript(DELETE_ACCOUNT)
            database.commit()
        live.get("/me").raise_for_status()

        until(lambda: "me" in counted(data_dir))
        live.get("/me").raise_for_status()
        assert live.get("/me", key=doomed).status_code == 401


def counted(folder: Path) -> set[str]:
    """The operations in the usage log."""
    with closing(sqlite3.connect(folder / "accounts.sqlite")) as database:
        return {row[0] for row in database.execute("SELECT operation FROM usage")}
