"""Recording: a run of the nightly keeps a record of its progress, which the pages show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from screener.nightly.errors import NightlyError
from screener.settings.console import prepare_data_dir
from screener.settings.settings import Settings
from store.errors import HeldBackError, SealedError, StoreError
from store.folder.progress import STOPPED, ProgressFile, Recorder, State
from store.folder.trouble import trouble_of
from store.ledger.manifest import SAMPLE, Manifest

if TYPE_CHECKING:
    from screener.nightly.reading.source import Step
    from screener.nightly.report import Report

FAULT = "The run failed unexpectedly; see its terminal or log."


class RunRecord:
    """The record of one run: notes each step and passes it on to who shows it on the terminal."""

    def __init__(self, recorder: Recorder, shown: Step) -> None:
        self._recorder = recorder
        self._shown = shown
        self.leave_out = recorder.leave_out

    def __call__(self, name: str, done: int, total: int) -> None:
        """Note that so much of a step is done."""
        self._shown(name, done, total)
        self._recorder.step(name, done, total)

    def note_published(self, manifest: Manifest, report: Report) -> None:
        """Note the night that was published, and whom it left out."""
        version, left = manifest.data_version, report.refused
        self._recorder.end("published", data_version=version, left=left)


@contextmanager
def recorded(
    settings: Settings,
    bars: str,
    shown: Step,
    reference: Path | None = None,
    *,
    dry_run: bool = False,
) -> Iterator[RunRecord]:
    """Record a run within the block, and how it ends, while nobody else writes in the data folder;
    a dry run leaves no record. The record has no path of the operator's folders.

    Raises:
        BusyError: another process writes in the data folder.
        StoreError: the data folder cannot be made or written.
    """
    name = bars if bars == SAMPLE else Path(bars).resolve().name
    with ExitStack() as ending:
        if dry_run:
            recorder = Recorder(None, name)
        else:
            prepare_data_dir(settings)
            recorder = ending.enter_context(ProgressFile(settings.data_dir).recording(name))
        try:
            yield RunRecord(recorder, shown)
        except (NightlyError, StoreError) as error:
            recorder.end(_state(error), without_folders(str(error), settings, bars, reference))
            raise
        except BaseException as error:
            if words := trouble_of(error):
                recorder.end("failed", without_folders(words, settings, bars, reference))
                raise
            stopped = isinstance(error, KeyboardInterrupt | SystemExit)
            recorder.end("failed", STOPPED if stopped else FAULT)
            raise


def _state(error: Exception) -> State:
    if isinstance(error, SealedError):
        return "unchanged"
    return "held_back" if isinstance(error, HeldBackError) else "failed"


def without_folders(text: str, settings: Settings, bars: str, reference: Path | None) -> str:
    """The text with each path of a run by its name alone; one without a name, such as `.`, tells
    nothing.
    """
    paths = [one for one in (Path(bars), settings.data_dir, reference) if one and bars != SAMPLE]
    names = {str(form): form.name for path in paths for form in (path.resolve(), path)}
    for path in sorted(filter(names.get, names), key=len, reverse=True):
        whole = rf"(?<![\w./]){re.escape(path)}(?!\w)"
        text = re.sub(whole, names[path].replace("\\", r"\\"), text)
    return text
