"""The units of systemd: well formed, and exposed little."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.deploy.activated import managed
from tests.node import ROOT

UNITS = ROOT / "deploy" / "systemd"
SERVICES = sorted(UNITS.glob("*.service"))
MAX_EXPOSED = 2.5

MEMORY_DENY_WRITE_EXECUTE = """
import ctypes
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0):
    sys.exit("this kernel has no PR_SET_MDWE")
print("PR_SET_MDWE", file=sys.stderr)
"""
"""What MemoryDenyWriteExecute= asks of the kernel, from Linux 6.3 on (PR_SET_MDWE)."""

ANALYZE = shutil.which("systemd-analyze")
needs_systemd = pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not here")


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """The units, with programs that are on this machine."""
    program = tmp_path / "screener"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for unit in UNITS.iterdir():
        text = unit.read_text().replace("/opt/pattern-screener/.venv/bin/screener", str(program))
        (tmp_path / unit.name).write_text(text)
    return tmp_path


def analyze(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    assert ANALYZE is not None
    return subprocess.run(
        [ANALYZE, *arguments], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("name", sorted(unit.name for unit in UNITS.iterdir()))
@needs_systemd
@pytest.mark.engine
def test_a_unit_is_well_formed(units: Path, name: str) -> None:
    done = analyze("verify", "--man=no", units / name)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("service", SERVICES, ids=lambda path: path.name)
@needs_systemd
@pytest.mark.engine
def test_a_service_is_exposed_little(service: Path) -> None:
    done = analyze("security", "--offline=true", "--no-pager", service)

    overall = re.search(r"Overall exposure level for \S+: ([0-9.]+)", done.stdout)
    assert overall, done.stderr
    assert float(overall[1]) <= MAX_EXPOSED


def test_only_what_compiles_code_may_have_memory_that_is_writable_and_executable() -> None:
    strict = {unit.name for unit in SERVICES if "MemoryDenyWriteExecute=yes" in unit.read_text()}

    assert strict == {"screener.service", "screener-backup.service"}


def test_no_service_is_ended_for_a_notice_that_it_does_not_send() -> None:
    assert [unit.name for unit in SERVICES if "\nWatchdogSec=" in unit.read_text()] == []


@pytest.mark.engine
@pytest.mark.skipif(sys.platform != "linux", reason="a restriction of Linux")
def test_the_service_does_all_its_work_under_that_restriction(data_dir: Path) -> None:
    """It draws a chart, and hashes a password of nobody."""
    with managed(data_dir.parent, restriction=MEMORY_DENY_WRITE_EXECUTE) as manager:
        url = f"http://127.0.0.1:{manager.port}"
        with httpx.Client(base_url=url, timeout=60, headers={"Origin": url}) as client:
            demo = client.get("/api/v1/demo/MSFT").json()
            chart = f"/api/v1/demo/MSFT/chart.png?setup_id={demo['setups'][0]['setup_id']}"
            form = {"email": "nobody@example.com", "password": "a wrong password"}
            signed = client.post("/sign-in", data=form)

            assert client.get(chart).headers["content-type"] == "image/png"
            assert signed.status_code in (200, 400, 401, 403, 422), signed.text
    assert "MDWE" in (data_dir.parent / "service.log").read_text()


def test_every_timer_has_its_service() -> None:
    timers = {timer.stem for timer in UNITS.glob("*.timer")}

    assert timers == {"screener-nightly", "screener-check", "screener-backup"}
    assert timers < {service.stem for service in SERVICES}
