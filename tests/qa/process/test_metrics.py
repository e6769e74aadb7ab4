"""Several workers: they are told of as one service, and say when they cannot count together."""

from __future__ import annotations

import shutil
from pathlib import Path

import httpx
import psutil
import pytest

from tests.screener.process import parts, serving_process, until
from tests.screener.scraping import measured


def test_workers_are_added_up_and_what_one_that_died_has_counted_stays(data_dir: Path) -> None:
    calls = {"name": "screener_requests_total", "operation": "demo"}
    settings = {"SCREENER_KEYLESS_PER_MINUTE": "1000", "SCREENER_CHARTS_WARM": "false"}
    with measured(data_dir.parent, "--workers", "2", **settings) as service:

        def get(path: str) -> httpx.Response:
            return httpx.get(service.server.url + path, timeout=60)

        service.until(2, "screener_workers")
        setups = get("/api/v1/demo/MSFT").json()["setups"]
        get(f"/api/v1/demo/MSFT/chart.png?setup_id={setups[0]['setup_id']}")
        for _ in range(19):
            get("/api/v1/demo/MSFT").raise_for_status()
        service.until(20, **calls)

        workers = service.server.workers()
        assert len(workers) == 2
        for worker in map(psutil.Process, workers):
            worker.kill()
            worker.wait(90)  # the parent may be asking it how it is, for 30 s
            service.until(2, "screener_workers")
        assert service.value(**calls) == 20
        get("/api/v1/demo/MSFT").raise_for_status()

        service.until(21, **calls)
        service.until(0, "screener_connections_open")
        assert service.value("screener_night_session_timestamp_seconds") > 0
        assert service.value("process_resident_memory_bytes") > 0


@pytest.mark.usefixtures("data_dir")
def test_workers_that_cannot_count_with_new_ones_say_so(tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with serving_process(tmp_path, "--workers", "2", TMPDIR=str(temporary)) as server:
        until(lambda: parts(server.url) == set())
        (counters,) = temporary.glob("screener-counters-*")
        assert {path.stat().st_mode & 0o777 for path in counters.iterdir()} == {0o600}
        shutil.move(counters, tmp_path / "away")
        until(lambda: parts(server.url) == {"counters"})
        shutil.move(tmp_path / "away", counters)
        until(lambda: parts(server.url) == set())
