"""`screener ledger` and `night withdraw`: what an operator sees of what was served."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from nightly.plan import silent
from screener.commands.nights.backfill import replay
from screener.server.serving import check_active_night
from screener.settings.settings import Settings
from store.errors import LedgerError
from store.ledger.ledger import Ledger
from store.ledger.served import Line
from store.nights.nights import Nights
from tests.nightly.series import daily, walk
from tests.nightly.test_night import write_csv
from tests.nightly.test_served import market, publish, sessions_before
from tests.nightly.test_served import order_of as lenient
from tests.screener import command
from tests.screener.command import check_refusal

LAST = dt.date(2024, 3, 28)
SESSIONS = sessions_before(LAST, 6)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with bars, and a data folder with a night of each session."""
    folder = tmp_path_factory.mktemp("published")
    order = lenient(market(folder / "bars", 12))
    for session in SESSIONS:
        publish(order, folder / "data", session)
    return folder


@pytest.fixture
def data(published: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(published / "data", tmp_path / "data"))


def versions(data: Path) -> list[str]:
    return [name.version for name in Ledger(data).names()]


def test_verify_says_what_is_unchanged_and_names_what_is_not(data: Path) -> None:
    done = command.run(data, "ledger", "verify")
    assert (done.returncode, done.stdout) == (0, "6 nights and 0 withdrawals are unchanged.\n")

    name = Ledger(data).names()[2].file
    path = data / "ledger" / name
    path.write_bytes(path.read_bytes()[:-9])
    done = command.run(data, "ledger", "verify")

    check_refusal(done, "The ledger is not what was written")
    assert name in done.stdout


def test_a_ledger_before_the_first_night_is_empty_and_sound(tmp_path: Path) -> None:
    assert command.run(tmp_path, "ledger", "verify").returncode == 0
    assert command.run(tmp_path, "ledger", "list").stdout.count("\n") == 1
    check_refusal(command.run(tmp_path, "ledger", "show", "1"), "no object '1'")
    check_refusal(command.run(tmp_path, "ledger", "grade"), "run `screener nightly` first")


def test_list_and_show_tell_of_every_object(data: Path) -> None:
    listed = command.run(data, "ledger", "list").stdout.splitlines()
    assert len(listed) == 7
    second = listed[2].split()
    assert second[:5] == ["2", "night", versions(data)[1], str(SESSIONS[1]), "1"]

    for which in ("2", versions(data)[1]):
        head, *lines = command.run(data, "ledger", "show", which).stdout.splitlines()
        assert json.loads(head)["number"] == 2
        assert {json.loads(line)["record"] for line in lines} >= {"setup"}


def test_grade_prints_both_sides_and_exits_with_0(data: Path) -> None:
    done = command.run(data, "ledger", "grade")
    assert done.returncode == 0
    assert "as served" in done.stdout
    assert f"entered after {SESSIONS[0]}, up to {LAST}, from 6 nights" in done.stdout

    found = json.loads(command.run(data, "ledger", "grade", "--json").stdout)
    assert found["nights"] == 6
    assert set(found["served"]) == set(found["history"])
    assert found["disagreements"] == []


def test_a_withdrawn_night_is_marked_and_gone_for_good(data: Path, published: Path) -> None:
    night = Nights(data).check_active().data_version
    done = command.run(data, "night", "withdraw", night, "--reason", "Two splits were missing.")
    assert done.returncode == 0, done.stderr
    before = versions(data)[-3]
    assert f"{before} is active now" in done.stdout

    listed = command.run(data, "night", "list").stdout.splitlines()
    marks = {line.split()[1]: line.split()[0] for line in listed if line[0] in "*-"}
    assert marks == {night: "-", before: "*"}
    refused = command.run(data, "night", "activate", night)
    check_refusal(refused, "Two splits were missing.")
    assert command.run(data, "ledger", "verify").stdout.startswith("6 nights and 1 withdrawals")
    shown = command.run(data, "ledger", "show", "7").stdout
    assert json.loads(shown)["reason"] == "Two splits were missing."
    with pytest.raises(Exception, match="Two splits were missing"):
        publish(lenient(published / "bars"), data, LAST)
    assert night in command.run(data, "night", "prune", "--keep", "9").stdout


def test_a_service_does_not_start_on_a_withdrawn_night_that_another_can_replace(
    data: Path,
) -> None:
    nights = Nights(data)
    before, withdrawn = versions(data)[-2:]
    nights.ledger.withdraw(nights.get(withdrawn), "wrong", dt.datetime.now(dt.UTC))  # then killed

    check_active_night(Settings(data_dir=data))

    assert nights.check_active().data_version == before


def test_a_service_starts_on_its_night_whatever_became_of_the_ledger(data: Path) -> None:
    active = Nights(data).check_active()
    shutil.rmtree(data / "ledger")
    (data / "ledger").write_text("in the way")

    check_active_night(Settings(data_dir=data))

    assert Nights(data).check_active() == active


@pytest.fixture(scope="module")
def replayed(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a replayed night of each session."""
    folder, order = tmp_path_factory.mktemp("replayed"), lenient(published / "bars")
    made = replay(folder, order, (SESSIONS[0], LAST), silent)
    assert (made.new, made.known) == (6, 0)
    return folder


@pytest.fixture
def begun(published: Path, tmp_path: Path) -> Path:
    """A folder with replayed nights of the fourth session and the fifth."""
    replay(tmp_path / "begun", lenient(published / "bars"), (SESSIONS[3], SESSIONS[4]), silent)
    return tmp_path / "begun"


def test_replayed_nights_serve_what_nights_published_one_by_one_did(
    replayed: Path, data: Path
) -> None:
    active = Nights(data).check_active()
    shutil.copytree(replayed, data / "simulated")

    assert lines(data / "simulated") == lines(data)
    assert Nights(data).check_active() == active
    assert [night.as_of_session for night in Nights(data / "simulated").sealed()] == [LAST]
    done = command.run(data, "ledger", "verify", "--simulated")
    assert (done.returncode, done.stdout[:8]) == (0, "6 nights")
    (head, *_) = command.run(data, "ledger", "show", "1", "--simulated").stdout.splitlines()
    assert json.loads(head)["simulated"] is True
    assert command.run(data, "ledger", "grade", "--simulated").returncode == 0


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
    made = replay(tmp_path, order, (SESSIONS[0], LAST), silent)

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
            replay(begun, other, (SESSIONS[3], LAST), silent)
    assert len(Ledger(begun).names()) == 2


def test_no_night_is_replayed_in_front_of_others(published: Path, begun: Path) -> None:
    order = lenient(published / "bars")

    with pytest.raises(LedgerError, match=f"begin with {SESSIONS[3]}; choose --from"):
        replay(begun, order, (SESSIONS[0], LAST), silent)
    made = replay(begun, order, (SESSIONS[4], LAST), silent)
    assert (made.new, made.known) == (1, 1)


def test_crypto_alone_is_replayed_every_day_of_the_week(tmp_path: Path) -> None:
    bars = walk(300, seed=1)
    every_day = replace(
        daily(300, LAST),
        **{name: getattr(bars, name) for name in ("open", "high", "low", "close", "volume")},
    )
    write_csv(tmp_path / "bars" / "BTCUSDT.csv", every_day)

    done = command.run(
        tmp_path / "data",
        *("ledger", "backfill", "--bars", str(tmp_path / "bars")),
        *("--from", "2024-03-22", "--to", "2024-04-30", "--jobs", "1"),
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("7 nights replayed, 0 were there already.")
    days = [name.day for name in Ledger(tmp_path / "data" / "simulated").names()]
    assert days == [f"202403{day}" for day in range(22, 29)]
    assert not (tmp_path / "data" / "ledger").exists()
    assert not (tmp_path / "data" / "manifest.json").exists()


@pytest.mark.parametrize(
    ("first", "words"),
    [
        ("2024-03-28", "--from must not be later than --to"),
        ("monday", "--from 'monday' is not a date"),
    ],
)
def test_a_range_that_is_none_is_one_line(
    published: Path, tmp_path: Path, first: str, words: str
) -> None:
    given = ("--bars", str(published / "bars"), "--from", first, "--to", "2024-03-01")

    check_refusal(command.run(tmp_path, "ledger", "backfill", *given), words)
