"""Nobody but its owner reads what is in the data folder, whichever command makes it first."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from store.folder.files import narrow
from tests.screener.command import run, succeed
from tests.service import serving

OTHERS = 0o077


def wide(folder: Path) -> list[str]:
    """What others than the owner may read, write or enter, the folder included."""
    return sorted(
        str(path.relative_to(folder.parent))
        for path in (folder, *folder.rglob("*"))
        if path.lstat().st_mode & OTHERS
    )


def open_up(folder: Path, folders: int = 0o755) -> None:
    """Let everybody read every file, and enter every folder or none."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(folders if path.is_dir() else 0o644)


@pytest.fixture(params=[0o022, 0], ids=oct)
def _umask(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a process may leave others of the files that it makes, within the test."""
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("_umask")
def test_whichever_command_comes_first_makes_nothing_that_others_read(tmp_path: Path) -> None:
    data = tmp_path / "new" / "data"

    succeed(data, "nightly")
    made = {path.relative_to(data).parts[0] for path in data.rglob("*")}
    assert {"nights", "ledger", "manifest.json", "nightly.lock"} <= made
    assert wide(data.parent) == []

    succeed(data, "night", "verify")
    for folder in (data, tmp_path / "other"):
        succeed(folder, "account", "add", "ada@example.com", "--plan", "premium")
        succeed(folder, "key", "create", "ada@example.com", "--name", "laptop")
        assert (folder / "accounts.sqlite").exists()
    assert wide(data.parent) == wide(tmp_path / "other") == []


@pytest.mark.usefixtures("_umask")
def test_a_service_that_draws_charts_keeps_nothing_that_others_read(data_dir: Path) -> None:
    open_up(data_dir)
    narrow(data_dir / name for name in ("nights", "manifest.json"))
    data_dir.chmod(0o700)

    with serving(data_dir) as live:
        found = live.get("/tickers/AAPL/patterns").json()["setups"]
        chart = live.get(f"/tickers/AAPL/chart.png?setup_id={found[0]['setup_id']}")
        assert chart.status_code == 200
        assert wide(data_dir) == []

    assert list((data_dir / "charts").rglob("*.png"))


@pytest.mark.parametrize(
    ("folders", "left"), [(0o755, []), (0o700, ["data/charts/old/x.png"])], ids=["open", "closed"]
)
@pytest.mark.parametrize(
    "command", [("account", "list"), ("nightly",), ("bars", "fetch", "--provider", "nobody")]
)
def test_what_others_could_read_is_closed_by_the_next_command(
    data_dir: Path, command: tuple[str, ...], folders: int, left: list[str]
) -> None:
    run(data_dir, "account", "add", "ada@example.com", "--plan", "premium")
    (data_dir / "charts" / "old").mkdir(parents=True)
    (data_dir / "charts" / "old" / "x.png").touch()
    (data_dir / "notes.txt").touch()
    open_up(data_dir, folders)

    run(data_dir, *command)

    # The last is not ours, and all of it is in a closed folder.
    assert wide(data_dir) == [*left, "data/notes.txt"]


def test_a_data_folder_given_by_a_link_is_closed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(0o755)
    (tmp_path / "link").symlink_to(data)

    run(tmp_path / "link", "account", "add", "ada@example.com", "--plan", "premium")

    assert (data / "accounts.sqlite").exists()
    assert wide(data) == []


NARROW = """
import os, sys
import tempfile
from pathlib import Path
from store.errors import StoreError
from store.folder.files import narrow, private_folder
os.setuid(65534)
for work in (private_folder, lambda path: narrow([path / "manifest.json"])):
    try:
        work(Path(sys.argv[1]))
    except StoreError as error:
        print(error)
"""


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can act as somebody else"
)
def test_what_belongs_to_somebody_else_and_is_open_is_refused_in_one_line() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "manifest.json").touch()
        open_up(folder)
        done = subprocess.run(
            [sys.executable, "-c", NARROW, name],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

    of_folder, of_file = done.stdout.splitlines()
    assert "cannot be made private (Operation not permitted)" in of_folder
    assert "SCREENER_DATA_DIR" in of_folder
    assert "manifest.json" in of_file
    assert "run this as its owner" in of_file
