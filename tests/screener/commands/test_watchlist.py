"""The watchlist commands: a list of another program in, and the list out again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.screener.command import check_refusal, run

ADA = "ada@example.com"


@pytest.fixture
def data(data_dir: Path) -> Path:
    """A data folder with the sample night and an account."""
    assert run(data_dir, "account", "add", ADA, "--plan", "premium").returncode == 0
    return data_dir


def test_a_list_is_imported_as_far_as_it_is_known_and_exported_again(
    data: Path, tmp_path: Path
) -> None:
    file = tmp_path / "list.txt"
    file.write_text("###TECH,NASDAQ:AAPL,NASDAQ:GOGO,NYSE:ZZZZZ,IBM", encoding="utf-8")

    imported = run(data, "watchlist", "import", ADA, str(file))
    again = run(data, "watchlist", "import", ADA, "-", stdin="Symbol,Shares\nMSFT,5\n")
    plain = run(data, "watchlist", "export", ADA)
    table = run(data, "watchlist", "export", ADA, "--as", "csv")

    assert imported.returncode == again.returncode == 0
    assert "Added 2: AAPL, IBM." in imported.stderr
    assert "Not known: NASDAQ:GOGO; perhaps GOOG\n" in imported.stderr
    assert "Not known: NYSE:ZZZZZ\n" in imported.stderr
    assert "Added 1: MSFT." in again.stderr
    assert plain.stdout == "NASDAQ:AAPL,NYSE:IBM,NASDAQ:MSFT\n"
    assert table.stdout.splitlines()[1] == "AAPL,XNAS,Apple Inc."


def test_what_the_plan_has_no_room_for_is_named(data: Path) -> None:
    run(data, "account", "plan", ADA, "none")

    imported = run(data, "watchlist", "import", ADA, "-", stdin="AAPL IBM")

    assert "Nothing was added." in imported.stderr
    assert "No room in the plan: AAPL, IBM." in imported.stderr


def test_a_list_that_cannot_be_read_is_refused_in_one_line(data: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "large").write_bytes(b"AAPL " * 20_000)

    for file, words in (
        (tmp_path / "none", "cannot be read"),
        (tmp_path, "cannot be read"),
        (tmp_path / "empty", "the list has no symbol"),
        (tmp_path / "large", "is over 64 KB"),
    ):
        check_refusal(run(data, "watchlist", "import", ADA, str(file)), words)
    check_refusal(run(data, "watchlist", "import", "bob@example.com", "-", stdin="AAPL"), "bob")
