"""The nightly as processes: kills, dead workers, and a wait that somebody ends."""

from __future__ import annotations

import os
import re
import shutil
import signal
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import psutil
import pytest

from nightly.pool import INLINE
from store.chain import Chain
from store.ledger import Ledger
from store.nights import Nights
from tests.process.moments import moments
from tests.screener import command
from tests.screener.market import bars as bars
from tests.screener.market import book_of, nightly, write_market
from tests.screener.market import data as data
from tests.screener.market import first as first
from tests.screener.market import sealed as sealed
from tests.screener.process import until
from tests.zygote import start

PUBLISHED, NOTHING_NEW, WORKERS_DIED = 0, 5, 7


def test_a_nightly_that_is_killed_anywhere_leaves_the_old_or_the_new_night(
    bars: Path, data: Path, sealed: Path, tmp_path: Path
) -> None:
    old, new = Nights(data).check_active(), Nights(sealed).check_active()
    words = ("nightly", "--bars", str(bars), "--jobs", "1")
    seen = list[str]()
    for moment in moments(data, tmp_path / "moments", *words):
        nights = Nights(moment)
        active = nights.check_active()
        assert active in (old, new)
        recorded = len(nights.ledger.names()) > 1
        seen.append(f"{'new' if active == new else 'old'}, {recorded}")

        done = command.run(moment, *words)
        assert done.returncode in (PUBLISHED, NOTHING_NEW), done.stderr
        assert book_of(moment) == book_of(sealed)
        assert not any(".draft" in path.name for path in moment.rglob("*"))
        assert len(list((moment / "nights").glob("[!.]*"))) == 4
        chain = Chain.of(Ledger(moment))
        assert (chain.faults, len(chain.nights), chain.unnoted) == ([], 2, False)
    assert list(dict.fromkeys(seen)) == ["old, False", "old, True", "new, True"]


def begin(data: Path, *arguments: str) -> ForkServerProcess:
    """Start a nightly; what it writes goes beside its data folder."""
    out, err = data.with_name("stdout"), data.with_name("stderr")
    given = command.environment(data)
    return start("nightly", *arguments, environment=given, stdout=out, stderr=err)


def workers(process: ForkServerProcess) -> list[psutil.Process]:
    """The workers of a nightly that goes on; the run must not end before there are some."""
    assert process.is_alive()
    children = psutil.Process(process.pid).children()
    return [child for child in children if "spawn_main" in " ".join(child.cmdline())]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bars of so many symbols that worker processes do the work."""
    return write_market(tmp_path_factory.mktemp("many") / "market", INLINE + 1)


def test_a_nightly_that_is_killed_takes_its_workers_along(
    many: Path, data: Path, tmp_path: Path
) -> None:
    old, alone = Nights(data).check_active(), Path(shutil.copytree(data, tmp_path / "alone"))
    nightly(alone, many)
    process = begin(data, "--bars", str(many), "--jobs", "2")
    until(lambda: len(workers(process)) == 2)
    family = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.join(60)

    assert psutil.wait_procs(family, timeout=60)[1] == []
    assert Nights(data).check_active() == old
    again = command.run_process(data, "nightly", "--bars", str(many), "--jobs", "2")
    assert again.returncode == PUBLISHED, again.stderr
    assert book_of(data) == book_of(alone)


def test_a_killed_worker_is_one_line_and_the_old_night_stays(many: Path, data: Path) -> None:
    old = Nights(data).check_active()
    process = begin(data, "--bars", str(many), "--jobs", "2")
    until(lambda: bool(workers(process)))
    workers(process)[-1].kill()
    process.join(120)

    assert process.exitcode == WORKERS_DIED
    errors = data.with_name("stderr").read_text()
    assert errors.count("\n") == 1
    assert "fewer --jobs" in errors
    assert Nights(data).check_active() == old


def test_a_wait_says_until_when_and_can_be_interrupted(tmp_path: Path) -> None:
    data, errors = tmp_path / "data", tmp_path / "stderr"
    process = begin(data, "--wait-for-session", "--settle-minutes", "99999999")
    until(lambda: errors.exists() and "\n" in errors.read_text())
    assert process.pid is not None
    os.kill(process.pid, signal.SIGINT)
    process.join(60)

    assert re.match(r"Waiting until \d{4}-\d\d-\d\d \d\d:\d\d UTC", errors.read_text())
    assert process.exitcode not in (0, 2)
    assert not [path for path in data.rglob("*") if path.is_file()]
