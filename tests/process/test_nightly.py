"""The nightly as a process: killed anywhere, and a wait that somebody ends."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

from store.chain import Chain
from store.ledger import Ledger
from store.nights import Nights
from tests.process.moments import moments
from tests.screener import command
from tests.screener.market import bars as bars
from tests.screener.market import book_of
from tests.screener.market import data as data
from tests.screener.market import first as first
from tests.screener.market import sealed as sealed
from tests.screener.process import until
from tests.zygote import start

PUBLISHED, NOTHING_NEW = 0, 5


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


def test_a_wait_says_until_when_and_can_be_interrupted(tmp_path: Path) -> None:
    data, errors = tmp_path / "data", tmp_path / "stderr"
    words = ("nightly", "--wait-for-session", "--settle-minutes", "99999999")
    given = command.environment(data)
    process = start(*words, environment=given, stdout=tmp_path / "stdout", stderr=errors)
    until(lambda: errors.exists() and "\n" in errors.read_text())
    assert process.pid is not None
    os.kill(process.pid, signal.SIGINT)
    process.join(60)

    assert re.match(r"Waiting until \d{4}-\d\d-\d\d \d\d:\d\d UTC", errors.read_text())
    assert process.exitcode not in (0, 2)
    assert not [path for path in data.rglob("*") if path.is_file()]
