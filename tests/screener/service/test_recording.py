"""What a run leaves on record of its end, whichever that is."""

from __future__ import annotations

from pathlib import Path

import pytest

from screener.nightly.errors import NightlyError
from screener.nightly.reading.source import silent
from screener.service.recording import FAULT, recorded
from screener.settings.settings import Settings
from store.errors import HeldBackError, LedgerError, SealedError
from store.folder.progress import STOPPED, ProgressFile


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


PLAIN = "Of the bars/day 1.5 is n/a. See v1.2 or ./x; bars is read."


@pytest.mark.parametrize(
    ("bars", "said", "kept"),
    [
        (
            "TMP/vault/bars",
            "TMP/vault/bars and TMP/vault/bars/AAPL.csv fit neither TMP/vault/t.csv nor TMP/data.",
            "bars and bars/AAPL.csv fit neither t.csv nor data.",
        ),
        (
            "TMP/a",
            "TMP/a is not TMP/ab nor /mntTMP/a, and TMP/a/x is within.",
            "a is not TMP/ab nor /mntTMP/a, and a/x is within.",
        ),
        *((plain, PLAIN, PLAIN) for plain in (".", "/", "", "bars")),
    ],
)
def test_no_folder_of_the_operator_is_on_record_and_nothing_else_is_changed(
    tmp_path: Path, bars: str, said: str, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def there(text: str) -> str:
        return text.replace("TMP", str(tmp_path))

    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    data, table = tmp_path / "data", tmp_path / "vault" / "t.csv"
    with pytest.raises(NightlyError):
        run_into(NightlyError(there(said)), Settings(data_dir=data), there(bars), table)

    found = ProgressFile(data).read()
    assert found is not None
    assert found.message == there(kept)
    assert str(tmp_path) not in found.bars


def test_a_dry_run_leaves_no_record(tmp_path: Path) -> None:
    with recorded(Settings(data_dir=tmp_path), "bars", silent, dry_run=True) as step:
        step("reading the source", 0, 0)

    assert list(tmp_path.iterdir()) == []
