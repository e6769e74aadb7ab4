"""Parts that fail: a loop is started again."""

from __future__ import annotations

from functools import partial
from itertools import count

import anyio
import pytest
from prometheus_client import REGISTRY

from screener.service.supervisor import MAX_FAILURES, Loop, Supervisor


@pytest.mark.parametrize(
    ("seconds_apart", "failures"), [(0, MAX_FAILURES - 1), (100, 3 * MAX_FAILURES)]
)
async def test_a_loop_that_failed_is_started_again(seconds_apart: int, failures: int) -> None:
    """So often at once, and for ever if its failures lie far apart."""
    runs, well, times = list[int](), anyio.Event(), count(0, seconds_apart)
    name = f"test_{failures}"
    restarts = partial(REGISTRY.get_sample_value, "screener_loop_restarts_total", {"loop": name})

    async def loop() -> None:
        assert restarts() == len(runs)  # 0 is told before the first one
        runs.append(len(runs))
        if len(runs) <= failures:
            raise ValueError("a fault of this run")
        well.set()
        await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        supervisor = Supervisor(first_delay=0.001, clock=lambda: next(times))
        group.start_soon(supervisor.keep_running, Loop(name, "under test", loop))
        with anyio.fail_after(30):
            await well.wait()
        group.cancel_scope.cancel()
