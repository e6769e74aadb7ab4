"""`screener db copy`: what it says, and that nobody writes where the accounts were."""

from __future__ import annotations

from pathlib import Path

from screener.settings.settings import Settings
from tests.screener.command import check_refusal, run, succeed
from tests.screener.commands.copies import COPY, rows_at
from tests.service import new_key


def test_the_settings_name_one_side_and_a_path_is_one(tmp_path: Path) -> None:
    data, old = tmp_path / "data", tmp_path / "old.sqlite"
    data.mkdir()
    new_key(Settings(data_dir=data))
    url = f"sqlite+aiosqlite:///{old}"
    before = rows_at(Settings(data_dir=data).accounts_url)
    done = succeed(data, *COPY, "-", str(old))

    assert "Copied and compared" in done.stdout
    assert rows_at(url) == before
    assert old.stat().st_mode & 0o777 == 0o600
    succeed(data, *COPY, f"sqlite:///{old}", "-", SCREENER_DATABASE_URL=f"{url}2")
    assert rows_at(f"{url}2") == before


def test_the_operator_is_told_that_the_accounts_moved_until_they_are_taken_back(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    new_key(Settings(data_dir=data))
    assert run(data, "db", "check").returncode == 0
    file = tmp_path / "b"
    assert run(data, "backup", str(file)).returncode == 0
    assert run(data, *COPY, "-", str(tmp_path / "new.sqlite")).returncode == 0

    check_refusal(run(data, "restore", "--replace", str(file)), "db reopen")
    check_refusal(run(data, "backup", str(tmp_path / "empty")), "have moved")
    assert not (tmp_path / "empty").exists()
    check_refusal(run(data, "db", "check"), "have moved", code=1)
    assert "have moved" in run(data, "doctor").stdout
    for command in (("account", "list"), ("purge",)):
        check_refusal(run(data, *command), "db reopen")
    assert "again" in run(data, "db", "reopen", "-").stdout
    assert "already" in run(data, "db", "reopen", "-").stdout
    assert run(data, "account", "add", "--plan", "none", "b@example.com").returncode == 0
    assert run(data, "db", "check").returncode == 0


def test_what_cannot_be_copied_is_one_line(tmp_path: Path) -> None:
    data, new = tmp_path / "data", str(tmp_path / "new.sqlite")
    data.mkdir()
    new_key(Settings(data_dir=data))

    check_refusal(run(data, *COPY, "-", "-"), "the same database")
    check_refusal(run(data, *COPY, str(tmp_path / "none"), new), "does not exist")
    check_refusal(run(data, *COPY, "-", "mysql://host/x"), "cannot be used")
    check_refusal(run(data, *COPY, "-", str(tmp_path / "no" / "new")), "make it", code=8)
    assert run(data, *COPY, "-", new, "--leave-open").returncode == 0
    check_refusal(run(data, *COPY, "-", new), "holds rows already")
    assert run(data, "db", "check").returncode == 0


def test_a_password_among_the_arguments_is_warned_of_and_never_shown(tmp_path: Path) -> None:
    new_key(Settings(data_dir=tmp_path))
    url = "postgresql+asyncpg://user:hunter22@127.0.0.1:1/accounts"
    done = run(tmp_path, *COPY, "-", url)

    assert "others on this machine can see the password" in done.stderr
    assert "hunter22" not in done.stderr + done.stdout
    assert done.returncode == 8
