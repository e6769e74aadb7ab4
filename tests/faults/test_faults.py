"""The tools of `make faults` notice what they are there to notice."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import httpx
import pytest

from benchmarks.soak.slopes import slope_of
from store.nights import Nights
from tests.faults.found import Found
from tests.faults.truth import Truth
from tests.screener.command import environment
from tests.service import Service, copy_night


def client_of(service: Service) -> httpx.Client:
    """A client with the key of a service."""
    headers = {"Authorization": f"Bearer {service.key}"}
    return httpx.Client(base_url=service.url, headers=headers, timeout=60)


def test_an_answer_with_one_other_byte_is_not_the_truth(service: Service) -> None:
    truth, path = Truth(), "/api/v1/families"
    with client_of(service) as client:
        truth.learn(client)
        body = client.get(path).content

    assert truth.wrong(path, body) is None
    assert truth.wrong(path, body.replace(b"1", b"2", 1)) is not None
    assert truth.wrong("/api/v1/unheard", body) is not None


def test_whatever_is_lost_or_wrong_fails_the_row_and_stands_in_it() -> None:
    good, lost, wrong = Found(seen=Counter(answered=3)), Found(lost=["a key"]), Found(wrong=["12"])

    assert not good.failed
    assert "nothing" in good.cells("kill")
    assert lost.failed
    assert "LOST a key" in lost.cells("kill")
    assert wrong.failed
    assert "WRONG 12" in wrong.cells("kill")


def test_a_nightly_is_killed_before_the_change_that_is_named(night: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    copy_night(night, data)
    before = Nights(data).check_active()
    killed = [sys.executable, "-m", "tests.faults.killed"]
    done = subprocess.run(
        [*killed, str(data), "1", "night", "activate", before.data_version],
        env=environment(data),
        capture_output=True,
        timeout=120,
    )

    assert done.returncode == -9
    assert Nights(data).check_active() == before


@pytest.mark.parametrize("per_hour", [0.0, 7.5, -3600.0])
def test_the_slope_of_a_line_is_found_without_an_error(per_hour: float) -> None:
    times = [0.0, 10.0, 20.0, 50.0]
    slope = slope_of(times, [100 + per_hour * at / 3600 for at in times])

    assert slope.per_hour == pytest.approx(per_hour, abs=1e-9)
    assert slope.error == pytest.approx(0, abs=1e-6)


def test_noise_gives_a_slope_that_its_error_covers() -> None:
    times = [float(at) for at in range(200)]
    slope = slope_of(times, [50 + (at * 7919 % 13 - 6) for at in range(200)])

    assert abs(slope.per_hour) < 3 * slope.error
