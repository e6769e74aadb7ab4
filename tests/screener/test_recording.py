"""What a run leaves on record of its end, whichever that is."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightly.errors import NightlyError
from nightly.plan import silent
from screener.recording import FAULT, recorded
from screener.settings import Settings
from store.errors import HeldBackError, LedgerError, SealedError
from store.progress import STOPPED, ProgressFile


def run_into(
    error: BaseException, settings: Settings, bars: str, table: Path | None = None
) -> None:
    """A run that ends by an error."""
    with recorded(settings, bars, silent, table) as step:
        step("reading the source", 0, 0)
        raise error


@pytest.mark.parametrize(
    ("error", "state", "message"),
    [
        (HeldBackError("Too many are behind."), "held_back", "Too many are behind."),
        (SealedError("Nothing new."), "unchanged", "Nothing new."),
        (NightlyError("No bars."), "failed", "No bars."),
        (LedgerError("It is damaged."), "failed", "It is damaged."),
        (KeyboardInterrupt(), "failed", STOPPED),
        (RuntimeError("what only a developer reads"), "failed", FAULT),
    ],
)
def test_the_record_says_how_a_run_ended(
    tmp_path: Path, error: BaseException, state: str, message: str
) -> None:
    settings = Settings(data_dir=tmp_path)
    with pytest.raises(type(error)):
        run_into(error, settings, "bars")

    found = ProgressFile(tmp_path).read()
    assert found is not None
    assert (found.state, found.message, found.bars) == (state, message, "bars")


def test_no_folder_of_the_operator_is_on_record(tmp_path: Path) -> None:
    data, bars, table = tmp_path / "data", tmp_path / "vault" / "bars", tmp_path / "vault" / "t.csv"
    data.mkdir()
    settings = Settings(data_dir=data)
    error = NightlyError(f"{bars} and {bars / 'AAPL.csv'} fit neither {table} nor {data}.")
    with pytest.raises(NightlyError):
        run_into(error, settings, str(bars), table)

    found = ProgressFile(data).read()
    assert found is not None
    assert found.bars == "bars"
    assert found.message == "bars and bars/AAPL.csv fit neither t.csv nor data."


@pytest.mark.parametrize("bars", [".", "/", "", "bars"])
def test_a_folder_without_a_path_to_hide_leaves_the_message_as_it_is(
    tmp_path: Path, bars: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    monkeypatch.chdir(folder)
    said = "Of the bars/day 1.5 is n/a. See v1.2 or ./x; bars is read."
    with pytest.raises(NightlyError):
        run_into(NightlyError(said), Settings(data_dir=tmp_path / "d"), bars)

    found = ProgressFile(tmp_path / "d").read()
    assert found is not None
    assert found.message == said


def test_a_path_is_replaced_where_it_stands_alone(tmp_path: Path) -> None:
    inner = tmp_path / "a"
    error = NightlyError(f"{inner} is not {inner}b nor /mnt{inner}, and {inner}/x is within.")
    with pytest.raises(NightlyError):
        run_into(error, Settings(data_dir=tmp_path / "d"), str(inner))

    found = ProgressFile(tmp_path / "d").read()
    assert found is not None
    assert found.message == f"a is not {inner}b nor /mnt{inner}, and a/x is within."


def test_a_dry_run_leaves_no_record(tmp_path: Path) -> None:
    with recorded(Settings(data_dir=tmp_path), "bars", silent, dry_run=True) as step:
        step("reading the source", 0, 0)

    assert list(tmp_path.iterdir()) == []
