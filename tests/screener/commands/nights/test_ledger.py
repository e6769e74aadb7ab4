"""`screener ledger` and `night withdraw`: what an operator sees of what was served."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from screener.server.serving import check_active_night
from screener.settings.settings import Settings
from store.ledger.ledger import Ledger
from store.nights.nights import Nights
from tests.screener import command
from tests.screener.command import check_refusal
from tests.screener.commands.nights.ledgers import LAST, SESSIONS, published
from tests.screener.nightly.nights import order_of as lenient
from tests.screener.nightly.published import publish
from tests.store.ledger.ledgers import withdraw

__all__ = ["published"]


@pytest.fixture
def data(published: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(published / "data", tmp_path / "data"))


def versions(data: Path) -> list[str]:
    return [name.version for name in Ledger(data).names()]


def test_verify_says_what_is_unchanged_and_names_what_is_not(data: Path) -> None:
    done = command.run(data, "ledger", "verify")
    assert (done.returncode, done.stdout) == (0, "Unchanged: 6 nights, 0 withdrawals.\n")

    name = Ledger(data).names()[2].file
    path = data / "ledger" / name
    path.write_bytes(path.read_bytes()[:-9])
    done = command.run(data, "ledger", "verify")

    check_refusal(done, "The ledger has changed")
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
    assert "live" in done.stdout
    assert f"entered after {SESSIONS[0]}, up to {LAST}, from 6 nights" in done.stdout

    found = json.loads(command.run(data, "ledger", "grade", "--json").stdout)
    assert found["nights"] == 6
    assert set(found["served"]) == set(found["history"])
    assert found["disagreements"] == []


def test_a_withdrawn_night_is_marked_and_gone_for_good(data: Path, published: Path) -> None:
    night = Nights(data).check_active().data_version
    done = command.succeed(data, "night", "withdraw", night, "--reason", "Two splits were missing.")
    before = versions(data)[-3]
    assert f"{before} is active now" in done.stdout

    listed = command.run(data, "night", "list").stdout.splitlines()
    marks = {line.split()[1]: line.split()[0] for line in listed if line[0] in "*-"}
    assert marks == {night: "-", before: "*"}
    refused = command.run(data, "night", "activate", night)
    check_refusal(refused, "Two splits were missing.")
    assert command.run(data, "ledger", "verify").stdout == "Unchanged: 6 nights, 1 withdrawal.\n"
    for which in ("7", night):  # of a version the newest object
        shown = command.run(data, "ledger", "show", which).stdout
        assert json.loads(shown)["reason"] == "Two splits were missing."
    with pytest.raises(Exception, match="Two splits were missing"):
        publish(lenient(published / "bars"), data, LAST)
    assert night in command.run(data, "night", "prune", "--keep", "9").stdout


def test_a_service_does_not_start_on_a_withdrawn_night_that_another_can_replace(
    data: Path,
) -> None:
    nights = Nights(data)
    before, withdrawn = versions(data)[-2:]
    withdraw(nights.ledger, nights.get(withdrawn), "wrong")  # then killed

    check_active_night(Settings(data_dir=data))

    assert nights.check_active().data_version == before


def test_a_service_starts_on_its_night_whatever_became_of_the_ledger(data: Path) -> None:
    active = Nights(data).check_active()
    shutil.rmtree(data / "ledger")
    (data / "ledger").write_text("in the way")

    check_active_night(Settings(data_dir=data))

    assert Nights(data).check_active() == active
