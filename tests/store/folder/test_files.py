"""Files: private to their owner, even if another program made them first."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from store.database.database import Database
from store.errors import StoreError
from store.folder.checkpoints import Checkpoints
from store.folder.files import (
    narrow,
    private_data_folder,
    private_file,
    private_folder,
    replace_file,
)
from store.nights.nights import Nights


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("is_there", [False, True])
def test_the_data_folder_is_closed_to_others_whoever_makes_it_first(
    tmp_path: Path, is_there: bool
) -> None:
    folder = tmp_path / "data"
    if is_there:
        folder.mkdir()
        folder.chmod(0o755)

    Nights(folder)

    assert (mode(folder), mode(folder / "nights")) == (0o700, 0o700)


@pytest.mark.parametrize(
    ("bits", "holds"),
    [
        (0o755, ["notes.txt"]),
        (0o750, ["bars", "README.md"]),
        (0o1777, []),
        (0o1777, ["nights"]),
    ],
)
def test_an_open_folder_that_is_not_ours_is_refused_and_left_alone(
    tmp_path: Path, bits: int, holds: list[str]
) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    for name in holds:
        (folder / name).mkdir(mode=0o755)
    folder.chmod(bits)

    with pytest.raises(StoreError, match=r"is not a data folder.*set SCREENER_DATA_DIR"):
        private_data_folder(folder)

    assert mode(folder) == bits
    assert all(mode(folder / name) == 0o755 for name in holds)


def test_the_current_folder_is_not_taken_unless_it_is_a_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match="is not a data folder"):
        private_data_folder(Path())
    assert mode(tmp_path) == 0o755

    (tmp_path / "accounts.sqlite").touch()

    assert mode(private_data_folder(Path())) == 0o700


@pytest.mark.parametrize("holds", ["lost+found", "bars", "ledger"])
def test_a_new_volume_and_an_older_data_folder_are_closed(tmp_path: Path, holds: str) -> None:
    folder = tmp_path / "data"
    (folder / holds).mkdir(parents=True)
    folder.chmod(0o777)

    assert mode(private_data_folder(folder)) == 0o700


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(StoreError, match="set SCREENER_DATA_DIR"):
        private_folder(tmp_path / "file")


async def test_nobody_else_can_read_the_account_database_or_its_log(tmp_path: Path) -> None:
    path = tmp_path / "accounts.sqlite"
    path.touch(mode=0o644)
    path.chmod(0o644)
    async with Database(f"sqlite+aiosqlite:///{path}") as database:
        await database.migrate()
        async with database.write():
            modes = {file.name: mode(file) for file in tmp_path.iterdir()}

    assert modes == {f"accounts.sqlite{end}": 0o600 for end in ("", "-shm", "-wal")}


def test_what_is_kept_for_the_next_night_is_private(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    with checkpoints.replacing() as keep:
        keep("AAPL", b"state")

    assert mode(checkpoints.path) == 0o600


def test_a_replaced_file_is_private_unless_it_is_meant_for_others(tmp_path: Path) -> None:
    replace_file(tmp_path / "manifest.json", b"{}")
    replace_file(tmp_path / "export.json", b"{}", 0o644)

    assert mode(tmp_path / "manifest.json") == 0o600
    assert mode(tmp_path / "export.json") == 0o644


def test_a_file_that_others_may_read_is_narrowed(tmp_path: Path) -> None:
    (tmp_path / "wide").touch()
    (tmp_path / "wide").chmod(0o666)

    assert mode(private_file(tmp_path / "wide")) == 0o600


def test_what_a_link_leads_to_keeps_its_permissions(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir(mode=0o755)
    (tmp_path / "file").touch(mode=0o644)
    for name, wide in (("folder", 0o755), ("file", 0o644)):
        (tmp_path / name).chmod(wide)
        (tmp_path / f"to {name}").symlink_to(tmp_path / name)

    private_folder(tmp_path / "to folder")
    private_file(tmp_path / "to file")
    narrow([tmp_path / "to folder", tmp_path / "to file", tmp_path / "missing"])

    assert (mode(tmp_path / "folder"), mode(tmp_path / "file")) == (0o755, 0o644)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root makes links of others"
)
def test_a_link_in_the_data_folder_that_another_user_made_is_refused(tmp_path: Path) -> None:
    link = tmp_path / "nights"
    link.symlink_to(tmp_path)
    narrow([link])

    os.chown(link, 65534, 65534, follow_symlinks=False)

    with pytest.raises(StoreError, match="nights is a link that another user made; remove it"):
        narrow([link])
