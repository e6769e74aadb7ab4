"""The nightly as a scheduler runs it: exit codes, dry runs, kills, dead workers, a cluster.

Longer than other modules, because all of it needs one market with broken and forming patterns.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from nightly.bars import Bars
from nightly.checkpoint import decoded, encoded
from nightly.sessions import settled_at
from screener import console
from store.chain import Chain
from store.checkpoints import Checkpoints
from store.ledger import Ledger
from store.lock import locked
from store.nights import Nights
from tests.nightly.series import walk, weekdays
from tests.nightly.shapes import joined, random_walk, wedge_or_triangle
from tests.nightly.test_night import write_csv
from tests.screener import command
from tests.screener.cluster import cluster, dask_workers, needs_dask

SYMBOLS, BARS = 30, 600
PUBLISHED, USAGE, BUSY, HELD_BACK, NOTHING_NEW, DRIFT, WORKERS_DIED = 0, 2, 3, 4, 5, 6, 7
ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.timeout(900)  # dozens of processes, each of which loads the detector


def begin(data: Path, *arguments: str) -> psutil.Popen:
    return psutil.Popen(
        [*command.COMMAND, "nightly", *arguments],
        env=command.environment(data),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(data: Path, *arguments: str) -> tuple[int, str, str]:
    done = command.run(data, "nightly", *arguments)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def bars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of bars of so many symbols that worker processes do the work, some with patterns."""
    folder = tmp_path_factory.mktemp("bars") / "market"
    for number in range(SYMBOLS):
        made = patterned(number) if number % 7 == 0 else walk(BARS, seed=number)
        write_csv(folder / f"S{number:02}.csv", made)
    return folder


def patterned(seed: int) -> Bars:
    """A random walk, a triangle that broke out, and one that forms at the last bar."""
    over, now = (wedge_or_triangle(-0.3, 0.3, approach=1, broken=broken) for broken in (1, -1))
    forming = now.bars.take(slice(0, now.break_bar(-1)))
    before = random_walk(seed, BARS - len(over.bars) - len(forming))
    bars = joined(before, over.bars, forming)
    return replace(bars, date=weekdays(len(bars)))


@pytest.fixture(scope="module")
def older(bars: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder whose active night is two days older than the bars."""
    data = tmp_path_factory.mktemp("older")
    code, _, errors = run(data, "--bars", str(bars), "--session", "2024-03-26", "--jobs", "1")
    assert code == PUBLISHED, errors
    return data


@pytest.fixture(scope="module")
def sealed(bars: Path, older: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the night of those bars, walked from scratch after the older night."""
    data = tmp_path_factory.mktemp("sealed")
    shutil.copytree(older / "ledger", data / "ledger")
    code, _, errors = run(data, "--bars", str(bars), "--jobs", "2")
    assert code == PUBLISHED, errors
    counts = Nights(data).check_active().counts
    assert min(counts.setups, counts.resolved) > 3, "a book with nothing in it proves nothing"
    return data


@pytest.fixture
def data(older: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(older, tmp_path / "data"))


def book_of(data: Path) -> bytes:
    nights = Nights(data)
    return (nights.folder / nights.check_active().book.file).read_bytes()


def contents(data: Path) -> set[str]:
    return {str(path.relative_to(data)) for path in data.rglob("*") if path.is_file()}


def test_the_same_bars_again_are_nothing_new(bars: Path, sealed: Path) -> None:
    code, _, errors = run(sealed, "--bars", str(bars))

    assert code == NOTHING_NEW
    assert "Nothing new: the night of" in errors


def test_a_second_run_on_a_folder_is_told_of_the_first(bars: Path, tmp_path: Path) -> None:
    with locked(tmp_path, dt.datetime.now(dt.UTC)):
        code, _, errors = run(tmp_path, "--bars", str(bars))

    assert code == BUSY
    assert f"process {os.getpid()}, since" in errors


def test_names_that_cannot_be_symbols_are_told_and_stop_no_other(tmp_path: Path) -> None:
    names = ["The Price History of Apple", "[bold]", "S" * 200]
    if sys.platform == "linux":
        names.append(os.fsdecode(b"\xff"))  # a name in another encoding than the machine's
    for name in ["GOOD", *names]:
        write_csv(tmp_path / "bars" / f"{name}.csv", walk(BARS, seed=125))

    code, output, errors = run(tmp_path / "data", "--bars", str(tmp_path / "bars"), "--jobs", "1")

    assert code == PUBLISHED, errors
    assert "symbols covered 1," in output
    (line,) = (line for line in output.splitlines() if line.startswith("Left out"))
    names[0] += ".csv"  # of such a name no part is the symbol
    told = {name.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for name in names}
    assert set(line.removeprefix("Left out, bad_symbol: ").removesuffix(".").split(", ")) == told
    nights = Nights(tmp_path / "data")
    refused = nights.report(nights.check_active())["refused"]
    assert set(refused["bad_symbol"]) == told
    assert "24 at most; rename it." in refused["bad_symbol"]["S" * 200]


def test_a_table_and_a_reference_may_hold_names_that_cannot_be_symbols(tmp_path: Path) -> None:
    long = "APPLE.STOCK.PRICE.HISTORY"
    write_csv(tmp_path / "one.csv", walk(BARS, seed=125))
    header, *rows = (tmp_path / "one.csv").read_text().splitlines()
    named = [f"{symbol},{row}" for symbol in ("GOOD", long) for row in rows]
    (tmp_path / "bars.csv").write_text("\n".join([f"Symbol,{header}", *named]))
    (tmp_path / "known.csv").write_text(f"symbol,name\n{long},Apple\nGOOD,Good\n")

    code, output, errors = run(
        *(tmp_path / "data", "--bars", str(tmp_path / "bars.csv"), "--jobs", "1"),
        *("--reference", str(tmp_path / "known.csv")),
    )

    assert code == PUBLISHED, errors
    assert f"Left out, bad_symbol: {long}." in output


def test_a_night_tells_who_is_behind_its_session_who_ahead_and_who_in_days_to_come(
    tmp_path: Path,
) -> None:
    ends = {f"S{number:02}": "2024-03-27" for number in range(16)}
    ends |= {"LATE": "2024-03-25", "EARLY": "2024-03-28", "AHEAD": "2099-03-27"}
    for symbol, last in ends.items():
        bars = walk(BARS, seed=125, last=dt.date.fromisoformat(last))
        write_csv(tmp_path / "bars" / f"{symbol}.csv", bars)

    code, output, errors = run(tmp_path / "data", "--bars", str(tmp_path / "bars"), "--jobs", "1")

    assert code == PUBLISHED, errors
    assert "session 2024-03-27: symbols covered 17" in output
    assert "Left out, too_few_bars: AHEAD." in output
    assert "Found, future_date: bars 1, symbols 1." in output
    assert "Left out, behind: LATE." in output
    assert re.search(r"Warning: later sessions of 1 symbols are not used, .* \(EARLY\)", output)


def test_a_night_that_falls_far_behind_has_an_exit_code_of_its_own(
    bars: Path, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    fewer = tmp_path_factory.mktemp("fewer") / bars.name
    shutil.copytree(bars, fewer, ignore=shutil.ignore_patterns("S[01]*.csv"))
    before = contents(data)

    tried = run(data, "--bars", str(fewer), "--dry-run")
    code, _, errors = run(data, "--bars", str(fewer))

    assert (tried[0], code) == (HELD_BACK, HELD_BACK)
    assert "would be held back" in tried[2]
    assert "--accept-fall" in errors
    assert contents(data) == before


def test_a_dry_run_tells_the_difference_and_leaves_no_file(
    bars: Path, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    one_less = tmp_path_factory.mktemp("less") / bars.name
    shutil.copytree(bars, one_less, ignore=shutil.ignore_patterns("S07.csv"))
    write_csv(one_less / "S08.csv", walk(50, seed=8))
    write_csv(one_less / "NEW.csv", patterned(1))
    before = contents(data)

    code, output, errors = run(data, "--bars", str(one_less), "--dry-run")

    assert code == 0, errors
    assert "Covered now, 1: NEW." in output
    assert "No longer covered, 2: S07 (not among the bars), S08 (too_few_bars)." in output
    assert "covered: 30 -> 29 (-1)" in output
    assert re.search(r"New setups, \d+: .*NEW", output)
    assert re.search(r"[\d.]+% of [\d,]+ reached the target.* -> [\d.]+% of", output)
    assert contents(data) == before


def draft(data: Path) -> bool:
    return any((data / "nights").glob(".*.draft"))


def workers(data: Path) -> bool:
    return draft(data) and len(psutil.Process().children(recursive=True)) > 2


def second(suffix: str) -> Callable[[Path], bool]:
    return lambda data: len(list((data / "nights").glob(f"*{suffix}"))) > 1


def recorded(data: Path) -> bool:
    return len(Ledger(data).names()) > 1


@pytest.mark.parametrize(
    "point",
    [draft, workers, second(".book"), second(".json"), recorded],
    ids=["draft", "work", "book", "sealed", "recorded"],
)
def test_a_killed_nightly_leaves_the_old_or_the_new_night(
    point: Callable[[Path], bool], bars: Path, data: Path, sealed: Path
) -> None:
    old = Nights(data).check_active()
    process = begin(data, "--bars", str(bars), "--jobs", "2")
    while process.poll() is None and not point(data):
        pass
    family = process.children(recursive=True) if process.is_running() else []
    process.kill()
    process.communicate(timeout=60)

    assert psutil.wait_procs(family, timeout=60)[1] == []
    assert Nights(data).check_active() in (old, Nights(sealed).active())
    code, _, errors = run(data, "--bars", str(bars), "--jobs", "1")
    assert code in (PUBLISHED, NOTHING_NEW), errors
    assert book_of(data) == book_of(sealed)
    assert not any(".draft" in name for name in contents(data))
    assert len(list((data / "nights").glob("[!.]*"))) == 4
    chain = Chain.of(Ledger(data))
    assert (chain.faults, len(chain.nights), chain.unnoted) == ([], 2, False)


def test_a_killed_worker_is_one_line_and_the_old_night_stays(bars: Path, data: Path) -> None:
    old = Nights(data).check_active()
    process = begin(data, "--bars", str(bars), "--jobs", "2")
    while not (pool := [p for p in process.children() if "spawn_main" in " ".join(p.cmdline())]):
        assert process.poll() is None
    pool[-1].kill()
    _, errors = process.communicate(timeout=120)

    assert process.returncode == WORKERS_DIED
    assert errors.count("\n") == 1
    assert "fewer --jobs" in errors
    assert Nights(data).check_active() == old


def test_a_wait_says_until_when_and_can_be_interrupted(tmp_path: Path) -> None:
    process = begin(tmp_path, "--wait-for-session", "--settle-minutes", "99999999")
    assert process.stderr is not None
    line = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)

    assert re.match(r"Waiting until \d{4}-\d\d-\d\d \d\d:\d\d UTC", line)
    assert process.returncode not in (PUBLISHED, USAGE)
    assert contents(tmp_path) == set()


@pytest.mark.parametrize(
    ("now", "until"),
    [
        ("2024-03-08T15:00", "2024-03-08T22:00"),  # while the exchange is open
        ("2024-03-08T21:30", "2024-03-08T22:00"),  # after its close
        ("2024-03-08T13:00", "2024-03-07T22:00"),  # before it opens
        ("2024-03-09T18:00", "2024-03-08T22:00"),  # on a Saturday
        ("2024-07-03T16:00", "2024-07-03T18:00"),  # before a holiday it closes early
        ("2024-07-04T16:00", "2024-07-03T18:00"),  # on a holiday
    ],
)
def test_a_session_is_settled_so_long_after_its_close(now: str, until: str) -> None:
    moment = dt.datetime.fromisoformat(now).replace(tzinfo=dt.UTC)

    settled = settled_at(moment, dt.timedelta(hours=1))

    assert settled == dt.datetime.fromisoformat(until).replace(tzinfo=dt.UTC)


def test_an_executor_that_cannot_be_had_is_one_line(tmp_path: Path) -> None:
    for address, reason in (("ray://here", "dask://HOST:PORT"), ("dask://127.0.0.1:9", "Dask")):
        code, _, errors = run(tmp_path, "--executor", address)
        assert code == USAGE
        assert reason in errors
        assert errors.count("\n") == 1


@needs_dask
def test_a_cluster_that_loses_a_worker_half_way_seals_the_same_night(
    bars: Path, data: Path, sealed: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with cluster(tmp_path_factory.mktemp("cluster"), 2) as (address, nannies):
        process = begin(data, "--bars", str(bars), "--executor", address)
        while process.poll() is None and not (draft(data) and dask_workers(nannies[0])):
            pass
        dask_workers(nannies[0])[0].kill()
        _, errors = process.communicate(timeout=240)

    assert process.returncode == PUBLISHED, errors
    assert book_of(data) == book_of(sealed)


def spoil(data: Path, symbol: str) -> None:
    """Let the walk that was kept of a symbol differ a little from what its bars give."""
    checkpoints = Checkpoints(data)
    names = [f"S{number:02}" for number in range(SYMBOLS)]
    kept = dict(checkpoints.read(names))
    found = decoded(kept[symbol])
    assert found is not None
    earlier, digest = found
    state = earlier.state.copy()
    state["lineage_count"] += 1
    kept[symbol] = encoded(replace(earlier, state=state), digest)
    with checkpoints.replacing() as keep:
        for name, body in kept.items():
            keep(name, body)


def test_a_full_run_raises_the_alarm_on_a_resumed_walk_that_drifted(
    bars: Path, data: Path, sealed: Path
) -> None:
    spoil(data, "S05")

    code, _, errors = run(data, "--bars", str(bars), "--full", "--jobs", "1")

    assert code == DRIFT
    assert "1 of the stored walks (S05)" in errors
    assert book_of(data) == book_of(sealed)
    assert run(data, "--bars", str(bars), "--full", "--jobs", "1")[0] == PUBLISHED


def test_every_exit_code_is_documented_and_those_that_pass_by_themselves_are_tried_again() -> None:
    page = (ROOT / "docs" / "scheduling.md").read_text()
    unit = (ROOT / "deploy" / "systemd" / "screener-nightly.service").read_text()

    codes = {PUBLISHED, console.USAGE, console.DRIFT, *console.EXITS.values()}
    assert {int(code) for code in re.findall(r"^\| (\d) \|", page, re.MULTILINE)} == codes
    told = dict(re.findall(r"^(\w+ExitStatus)=(.+)$", unit, re.MULTILINE))
    assert told["SuccessExitStatus"] == str(NOTHING_NEW)
    settled = {int(code) for code in told["RestartPreventExitStatus"].split()}
    assert codes - settled == {PUBLISHED, NOTHING_NEW, WORKERS_DIED}
