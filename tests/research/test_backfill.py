"""Replayed nights: they serve what published ones did, and what the last one's history says."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from research.backfill import compare, replay
from store.errors import LedgerError
from store.ledger.ledger import Ledger
from store.ledger.served import Line
from store.ledger.verify import verify
from store.nights.nights import Nights
from tests.screener.commands.nights.ledgers import LAST, SESSIONS, published
from tests.screener.nightly.nights import order_of as lenient
from tests.screener.nightly.series import daily, walk, write_csv

__all__ = ["published"]


@pytest.fixture(scope="module")
def replayed(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a replayed night of each session."""
    folder, order = tmp_path_factory.mktemp("replayed"), lenient(published / "bars")
    made = replay(folder, order, (SESSIONS[0], LAST))
    assert (made.new, made.known) == (6, 0)
    return folder


@pytest.fixture
def begun(published: Path, tmp_path: Path) -> Path:
    """A folder with replayed nights of the fourth session and the fifth."""
    replay(tmp_path / "begun", lenient(published / "bars"), (SESSIONS[3], SESSIONS[4]))
    return tmp_path / "begun"


def test_replayed_nights_serve_what_nights_published_one_by_one_did(
    replayed: Path, published: Path
) -> None:
    nights = Nights(replayed, simulated=True)

    assert lines(replayed) == lines(published / "data")
    assert [night.as_of_session for night in nights.sealed()] == [LAST]
    verified = verify(nights.ledger)
    assert (verified.faults, len(verified.nights)) == ([], 6)
    assert all(head.simulated for head in verified.nights.values())


def test_what_replayed_nights_served_is_what_the_last_one_computes(replayed: Path) -> None:
    graded = compare(replayed)

    assert (graded.nights, graded.disagreements) == (6, [])
    assert graded.served == graded.history


def test_nothing_is_replayed_among_published_nights(published: Path, tmp_path: Path) -> None:
    data = shutil.copytree(published / "data", tmp_path / "data")

    with pytest.raises(LedgerError, match="holds published nights; choose another folder"):
        replay(data, lenient(published / "bars"), (LAST, LAST))
    assert len(Ledger(data).names()) == 6


def lines(data: Path) -> list[list[Line]]:
    ledger = Ledger(data)
    return [ledger.read(name).lines() for name in ledger.names()]


def test_a_replay_goes_on_where_another_one_stopped(
    published: Path, replayed: Path, tmp_path: Path
) -> None:
    order = lenient(published / "bars")

    def interrupt(name: str, done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replay(tmp_path, order, (SESSIONS[0], LAST), interrupt)
    (tmp_path / "manifest.json").unlink()  # as if it was killed before activating
    made = replay(tmp_path, order, (SESSIONS[0], LAST))

    assert (made.new, made.known) == (4, 2)
    assert lines(tmp_path) == lines(replayed)
    assert Nights(tmp_path).check_active() == Nights(replayed).check_active()


def test_a_replay_of_changed_inputs_is_refused_before_any_night_is_made(
    published: Path, begun: Path, tmp_path: Path
) -> None:
    order = lenient(published / "bars")
    changed = shutil.copytree(published / "bars", tmp_path / "changed")
    (changed / "S0.csv").unlink()
    others = {
        "of bars": replace(order, name="other"),
        "made from other bars": lenient(changed),
        "made from other parameters": replace(order, running_sessions=order.running_sessions + 1),
        "made from other reference data": replace(order, reference_sha256="0" * 64),
    }

    for words, other in others.items():
        with pytest.raises(LedgerError, match=f"{words}; remove that folder"):
            replay(begun, other, (SESSIONS[3], LAST))
    assert len(Ledger(begun).names()) == 2


def test_no_night_is_replayed_in_front_of_others(published: Path, begun: Path) -> None:
    order = lenient(published / "bars")

    with pytest.raises(LedgerError, match=f"begin with {SESSIONS[3]}; choose --from"):
        replay(begun, order, (SESSIONS[0], LAST))
    made = replay(begun, order, (SESSIONS[4], LAST))
    assert (made.new, made.known) == (1, 1)


def test_crypto_alone_is_replayed_every_day_of_the_week(tmp_path: Path) -> None:
    bars = walk(300, seed=1)
    every_day = replace(
        daily(300, LAST),
        **{name: getattr(bars, name) for name in ("open", "high", "low", "close", "volume")},
    )
    write_csv(tmp_path / "bars" / "BTCUSDT.csv", every_day)

    done = run(tmp_path, "--from", "2024-03-22", "--to", "2024-04-30")

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("7 nights replayed, 0 were there already.")
    days = [name.day for name in Ledger(tmp_path / "replayed").names()]
    assert days == [f"202403{day}" for day in range(22, 29)]


def test_a_range_that_is_none_is_one_line(published: Path, tmp_path: Path) -> None:
    (tmp_path / "bars").symlink_to(published / "bars")

    done = run(tmp_path, "--from", "2024-03-28", "--to", "2024-03-01")

    assert (done.returncode, done.stderr) == (1, "--from must not be later than --to.\n")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The program over the bars of a folder."""
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "research.backfill",
        folder / "bars",
        folder / "replayed",
    ]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
