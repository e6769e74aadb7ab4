"""Backups and restores that are killed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import anyio

from screener.commands.backup import DRAFT
from screener.server.serving import check_active_night
from screener.settings.settings import Settings, load_settings
from store.folder.layout import READY, STAGE
from tests.qa.process.moments import digest, moments
from tests.screener.command import COMMAND, check_refusal, environment, run
from tests.screener.installation import (
    State,
    options,
    state_of,
)
from tests.screener.installation import backup as backup
from tests.screener.installation import new_url as new_url
from tests.screener.installation import sealed as sealed
from tests.service import apart, new_key


def ended_by_a_start(settings: Settings) -> State:
    apart(lambda: anyio.to_thread.run_sync(check_active_night, settings))
    return state_of(settings)


def test_a_restore_that_is_killed_anywhere_leaves_the_old_state_or_the_new_one(
    night: Path, sealed: Path, backup: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    shutil.copytree(night, data)
    new_key(Settings(data_dir=data), "other@example.com")
    (data / "charts" / "x").mkdir(parents=True)
    old, new = (state_of(Settings(data_dir=each)) for each in (data, sealed))
    seen, backed_up = list[tuple[bool, bool]](), set[str]()
    for moment in moments(data, tmp_path / "moments", "restore", str(backup), "--replace"):
        pending = (moment / STAGE / READY).exists()
        shutil.copytree(moment, outside := moment.with_suffix(".outside"))
        shutil.rmtree(outside / STAGE, ignore_errors=True)
        if (without_stage := f"{digest(outside)} {pending}") not in backed_up:
            backed_up.add(without_stage)
            check_backs_up_one_state(moment, [old, new])

        ended = Path(shutil.copytree(moment, moment.with_suffix(".ended")))
        served = ended_by_a_start(Settings(data_dir=ended))
        assert served in (old, new), moment
        seen.append((pending, served == new))
        assert run(moment, "restore", str(backup), "--replace").returncode == 0, moment
        assert state_of(Settings(data_dir=moment)) == new
        assert not (moment / STAGE).exists()
        assert not (moment / "charts").exists()
    # Prepared, ready but not committed, committed but not in place, and at its end.
    assert list(dict.fromkeys(seen)) == [(False, False), (True, False), (True, True), (False, True)]


def check_backs_up_one_state(data: Path, states: list[State]) -> None:
    """Check that a backup over a restore that was killed is of one state, or is refused."""
    file, taken = data.with_suffix(".tar.zst"), data.with_suffix(".taken")
    done = run(data, "backup", str(file))
    if (data / STAGE / READY).exists():
        assert done.returncode == 3
        assert "screener restore" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    assert run(taken, "restore", str(file)).returncode == 0
    held, rows = state_of(Settings(data_dir=taken))
    assert any(rows == its and held.items() <= files.items() for files, its in states)


def test_a_killed_restore_is_ended_with_its_own_database_alone(
    night: Path, sealed: Path, backup: Path, tmp_path: Path, new_url: Callable[[], str | None]
) -> None:
    data, another = tmp_path / "data", f"sqlite+aiosqlite:///{tmp_path / 'another.sqlite'}"
    shutil.copytree(night, data)
    own = options(new_url())
    command = ("restore", str(backup), "--replace")
    killed = [
        moment
        for moment in moments(data, tmp_path / "moments", *command, **own)
        if (moment / STAGE / READY).exists()
    ][-1]  # the rows are committed, and not all files are in their places

    for words in (("serve",), command):
        refused = run(killed, *words, SCREENER_DATABASE_URL=another)
        check_refusal(refused, "name that database again")
    assert (killed / STAGE / READY).exists()
    settings = load_settings(data_dir=killed, database_url=own.get("SCREENER_DATABASE_URL"))
    assert ended_by_a_start(settings) == state_of(Settings(data_dir=sealed))


def test_a_backup_that_is_killed_anywhere_leaves_no_file_that_looks_whole(
    sealed: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    shutil.copytree(sealed, data)
    found = moments(data, tmp_path / "moments", "backup", str(data / "b.tar.zst"))
    whole = (data / "b.tar.zst").read_bytes()
    for moment in found:
        target = moment / "b.tar.zst"
        drafts = [draft.read_bytes() for draft in moment.glob(f".*{DRAFT}")]
        if target.exists():  # it is whole, or reserves the name for a draft that is
            assert [*drafts, target.read_bytes()] in ([whole], [whole, b""])
    assert len(found) > 3
    assert run(found[-2], "backup", str(found[-2] / "b.tar.zst"), "--force").returncode == 0


def test_a_backup_to_a_pipe_is_the_same(sealed: Path, tmp_path: Path) -> None:
    with (tmp_path / "piped").open("wb") as file:
        subprocess.run(
            [*COMMAND, "backup", "-"], env=environment(sealed), stdout=file, check=True, timeout=60
        )

    assert run(sealed, "restore", "--check", str(tmp_path / "piped")).returncode == 0
