"""Nights: the folder of sealed nights; which one is active, activating another, and pruning."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from store.errors import LedgerError, ManifestError, WithdrawnError
from store.folder.files import (
    DRAFT,
    private_data_folder,
    private_folder,
    replace_file,
    sync_directory,
    sync_file,
)
from store.folder.layout import DataFolder
from store.folder.lock import lives
from store.ledger.ledger import Appended, Ledger, NightEntry
from store.ledger.manifest import (
    VERSION_PATTERN,
    Manifest,
    known_book,
    read_manifest,
    stamp_path,
    verify_book,
)
from store.nights.book import Book


class Nights:
    """The sealed nights of a data folder."""

    def __init__(self, data_dir: Path, *, simulated: bool = False) -> None:
        place = DataFolder(data_dir)
        self.folder, self.pointer, self.charts = place.nights, place.manifest, place.charts
        self.ledger = Ledger(data_dir, simulated=simulated)
        private_data_folder(data_dir)
        private_folder(self.folder)

    def draft_path(self, version: str) -> Path:
        """Where the book of a night is written before it is sealed."""
        return self.folder / f".{version}.{os.getpid()}{DRAFT}"

    def sweep(self) -> None:
        """Remove what killed runs left behind. A night that a killed run put on record but did not
        activate becomes active, as the record says; one that is withdrawn gives its place to
        another.

        Hold the lock of the folder: otherwise a draft may belong to a run that is still writing.

        Raises:
            LedgerError: the newest object of the ledger is not what was appended.
        """
        self.remove_leftovers()
        self._end_killed_run()

    def remove_leftovers(self) -> None:
        """Remove the drafts of killed processes, and books without a manifest."""
        for folder in (self.folder, self.pointer.parent, self.ledger.folder):
            for draft in folder.glob(f".*{DRAFT}"):
                draft.unlink(missing_ok=True)
        for book in self.folder.glob("*.book"):
            if not book.with_suffix(".json").exists():
                book.unlink(missing_ok=True)

    def pull(self) -> None:
        """Bring the folder into line with what other machines published; here nothing is shared."""

    def _end_killed_run(self) -> None:
        self.ledger.note()
        if self.ledger.newest().pending:
            with contextlib.suppress(ManifestError, WithdrawnError):
                self.activate(max(self.ledger.names()).version)
        self.leave_withdrawn()

    def leave_withdrawn(self) -> None:
        """Activate the successor of the active night if that is withdrawn, as after a run that was
        killed while it withdrew the night. Without a successor it stays active.

        Raises:
            LedgerError: a withdrawal cannot be read.
        """
        active = self.active()
        if active is not None and active.data_version in self.ledger.withdrawals():
            successor = next(self._successors(active), None)
            if successor is not None:
                self.activate(successor.data_version)

    @contextmanager
    def workspace(self) -> Iterator[Path]:
        """A temporary folder for one run. The folder of a killed run is removed by the next run."""
        for left in self.folder.glob(".*.work"):
            process = left.name.split(".")[1]
            if not (process.isdigit() and lives(int(process))):
                shutil.rmtree(left, ignore_errors=True)
        folder = self.folder / f".{os.getpid()}.work"
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def sealed(self) -> list[Manifest]:
        """Every sealed night with a readable manifest, newest session first."""
        found = []
        for path in self.folder.glob("*.json"):
            try:
                found.append(read_manifest(path))
            except ManifestError:
                continue
        return sorted(found, key=lambda m: (m.as_of_session, m.data_version), reverse=True)

    def active(self) -> Manifest | None:
        """The active night; None before the first one, or if its manifest is unreadable."""
        try:
            return read_manifest(self.pointer)
        except ManifestError:
            return None

    def check_active(self) -> Manifest:
        """The active night, after checking that its book is exactly the one that was sealed.

        Raises:
            ManifestError: the pointer, or the book it names, is damaged or missing.
        """
        manifest = read_manifest(self.pointer)
        known_book(self.folder, manifest)
        return manifest

    def get(self, version: str) -> Manifest:
        """The manifest of a sealed night.

        Raises:
            ManifestError: no such night, or its manifest is damaged.
        """
        path = self.folder / f"{version}.json"
        if not VERSION_PATTERN.match(version) or not path.exists():
            raise ManifestError(
                f"There is no night {version}; `screener night list` shows the sealed nights."
            )
        return read_manifest(path)

    def verify(self, version: str) -> Manifest:
        """The manifest of a night, after checking that its book is exactly the one that was sealed.

        Raises:
            ManifestError: the night is unknown, or its book is missing or changed.
        """
        manifest = self.get(version)
        self._verified(manifest)
        return manifest

    def report(self, manifest: Manifest) -> Any:  # noqa: ANN401 - JSON values
        """The report of the run that made a night."""
        with self.book(manifest) as book:
            return book.report()

    def book(self, manifest: Manifest) -> closing[Book]:
        """The book of a night, checked like `verify`, until a block ends."""
        return closing(Book.open(self._verified(manifest), manifest))

    def _verified(self, manifest: Manifest) -> Path:
        return verify_book(self.folder, manifest)

    def add(self, manifest: Manifest, draft: Path) -> None:
        """Move a finished draft to its final place, durably. This does not make it active."""
        sync_file(draft)
        draft.replace(self.folder / manifest.book.file)
        sync_directory(self.folder)
        replace_file(self.folder / f"{manifest.data_version}.json", manifest.encode())

    def publish(self, manifest: Manifest, entry: NightEntry | None = None) -> Manifest:
        """Put a sealed night on record and make it active.

        Raises:
            ManifestError, WithdrawnError: as for `activate`; the active night stays.
            LedgerError: the entry cannot be added; the active night stays.
        """
        if entry is None:
            return self.activate(manifest.data_version)
        self.ledger.check_kept(manifest.data_version)
        sealed = self.verify(manifest.data_version)
        # On record before it is active, because what was served must be.
        self._commit(sealed, self.ledger.night(sealed, entry))
        return sealed

    def activate(self, version: str) -> Manifest:
        """Verify a night and make it active.

        Raises:
            ManifestError: the night is unknown, its book is missing or changed, or it should be on
                record and is not.
            WithdrawnError: it was withdrawn.
        """
        self.ledger.check_kept(version)
        manifest = self.verify(version)
        if self._off_record(manifest):
            raise ManifestError(
                f"Night {version} is not in the ledger, because the run that made it did not "
                "finish; run `screener nightly` again."
            )
        self._commit(manifest)
        return manifest

    def withdraw(self, version: str, reason: str, now: dt.datetime) -> Manifest | None:
        """Withdraw a night for good. If it is the active one, the newest other one that is intact,
        not withdrawn and not of a later session becomes active, and is returned.

        Raises:
            ManifestError: there is no such night.
            WithdrawnError: no other night can take its place; nothing changed.
            LedgerError: the reason cannot be recorded; nothing changed.
        """
        manifest = self.get(version)
        active = self.active()
        if active is None or active.data_version != version:
            # A running service reads the withdrawals again when the pointer is replaced.
            self._commit(active, self.ledger.withdrawal(manifest, reason, now))
            return None
        successor = next(self._successors(manifest), None)
        if successor is None:
            raise WithdrawnError(
                f"No other night can take the place of {version}, which is active; activate "
                "a later one or make one with `screener nightly`, then withdraw this one."
            )
        # Recorded first: after a kill, the next run finds that a withdrawn night is active.
        self._commit(successor, self.ledger.withdrawal(manifest, reason, now))
        return successor

    def _commit(self, active: Manifest | None, appended: Appended | None = None) -> None:
        """Append an object to the ledger and make a night active, whose book was verified.
        Replacing the pointer, one file, is the commit; a run that was killed between the two is
        ended by `sweep`.
        """
        if appended is not None:
            self.ledger.add(appended)
        if active is not None:
            replace_file(self.pointer, active.encode())
            with contextlib.suppress(LedgerError):  # a damaged ledger must not stop a rollback
                self.ledger.settle()

    def _successors(self, manifest: Manifest) -> Iterator[Manifest]:
        """The nights that can take the place of one, best first: those on record before others,
        then by session, then the one recorded last. The sample never stands in for other bars.
        """
        gone, recorded = self.ledger.withdrawals(), self.ledger.recorded()

        def rank(night: Manifest) -> tuple[bool, dt.date, int]:
            number = recorded.get(night.data_version, 0)
            return number > 0, night.as_of_session, number

        others = [
            night
            for night in self.sealed()
            if night.as_of_session <= manifest.as_of_session
            and night.sample == manifest.sample
            and night.data_version not in {manifest.data_version, *gone}
            and not self._off_record(night)
        ]
        for night in sorted(others, key=rank, reverse=True):
            with contextlib.suppress(ManifestError):
                yield self.verify(night.data_version)

    def _off_record(self, manifest: Manifest) -> bool:
        """Whether a night was compared with one of this ledger and has no object in it."""
        recorded = self.ledger.recorded()
        return manifest.inputs.since in recorded and manifest.data_version not in recorded

    def prune(self, keep: int) -> list[str]:
        """Remove all but the newest `keep` nights and their charts, but never the active night.

        Withdrawn nights go too. Returns the removed versions.
        """
        surplus = self._surplus(keep)
        for manifest in surplus:
            self._remove(manifest)
        return [manifest.data_version for manifest in surplus]

    def _surplus(self, keep: int) -> list[Manifest]:
        active, gone = self.active(), self.ledger.withdrawals()
        kept = [night for night in self.sealed() if night.data_version not in gone]
        withdrawn = [night for night in self.sealed() if night.data_version in gone]
        return [
            manifest
            for manifest in kept[keep:] + withdrawn
            if active is None or manifest.data_version != active.data_version
        ]

    def _remove(self, manifest: Manifest, *, listed: bool = False) -> None:
        """Remove a night; the manifest of one that is listed stays."""
        # The manifest goes last, so that the next run ends what a killed one began.
        shutil.rmtree(self.charts / manifest.data_version, ignore_errors=True)
        (self.folder / manifest.book.file).unlink(missing_ok=True)
        stamp_path(self.folder, manifest).unlink(missing_ok=True)
        if not listed:
            (self.folder / f"{manifest.data_version}.json").unlink(missing_ok=True)
