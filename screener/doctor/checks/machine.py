"""Machine: Python, packages, files, memory, temporary files and the clock."""

from __future__ import annotations

import datetime as dt
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING

from screener.doctor.checks.finding import Finding, fault, megabytes, ok, warning
from screener.settings.extras import absent, how_to_install

if TYPE_CHECKING:
    from screener.settings.settings import Settings

DISTRIBUTION = "pattern-screener"

OLDEST_PYTHON = (3, 11)

WORKER_BYTES = 200e6
"""What a serving process takes with the one that draws for it (docs/scaling.md)."""

WRITTEN = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
"""No clock that is right shows an earlier time than that of this program."""


def python(_chosen: Settings) -> Iterator[Finding]:
    """The version of Python."""
    found = f"{platform.python_version()} at {sys.executable}"
    if sys.version_info < OLDEST_PYTHON:
        yield fault("python", f"{found}; 3.11 or newer is needed.")
    else:
        yield ok("python", found)


def packages(_chosen: Settings) -> Iterator[Finding]:
    """Whether what this program needs is installed."""
    missing = [name for name in _needed() if not _is_installed(name)]
    if missing:
        named = ", ".join(missing)
        yield fault("packages", f"{named} missing; install {DISTRIBUTION} again, by its lock.")
    else:
        yield ok("packages", f"{DISTRIBUTION} {version(DISTRIBUTION)}, with all that it needs")
    for extra, package in absent().items():
        yield ok(f"extra {extra}", f"not installed; `{how_to_install(package)}` if you need it")


def _needed() -> Iterator[str]:
    for line in requires(DISTRIBUTION) or ():
        if ";" not in line:
            yield "".join(c if c.isalnum() or c in "-_." else " " for c in line).split()[0]


def _is_installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


def files(chosen: Settings) -> Iterator[Finding]:
    """Whether the system allows as many open files as there may be connections."""
    from screener.server.listening import OTHER_FILES

    try:
        import resource
    except ImportError:  # not Unix
        return
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = chosen.connections + OTHER_FILES
    if hard != resource.RLIM_INFINITY and hard < wanted:
        yield fault(
            "open files",
            f"{hard:,} allowed and {wanted:,} needed; raise `ulimit -n` (LimitNOFILE=) or lower "
            "SCREENER_CONNECTIONS.",
        )
    else:
        yield ok("open files", f"{wanted:,} needed and allowed")


def memory(chosen: Settings) -> Iterator[Finding]:
    """Whether the workers fit into memory."""
    there, wanted = _memory(), chosen.workers * WORKER_BYTES
    if there is None:
        return
    words = f"{chosen.workers} workers take about {megabytes(wanted)} of {megabytes(there)}"
    if wanted > there:
        yield warning("memory", f"{words}; lower SCREENER_WORKERS or add memory.")
    else:
        yield ok("memory", words)


def _memory() -> int | None:
    """The bytes of memory that this process and its like may use."""
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
    try:
        allowed = Path("/sys/fs/cgroup/memory.max").read_text()
    except OSError:
        return physical
    return min(physical, int(allowed)) if allowed.strip().isdigit() else physical


def temporary(_chosen: Settings) -> Iterator[Finding]:
    """Whether temporary files can be written."""
    try:
        folder = tempfile.gettempdir()
    except FileNotFoundError:
        yield fault("temporary files", "no folder can be written; make one and name it by TMPDIR.")
        return
    named = os.environ.get("TMPDIR")
    if named and Path(named).resolve() != Path(folder).resolve():
        words = f"TMPDIR names {named}, which cannot be written; {folder} is used; correct TMPDIR."
        yield warning("temporary files", words)
    else:
        yield ok("temporary files", folder)


def clock(_chosen: Settings) -> Iterator[Finding]:
    """Whether the clock can be right."""
    now = dt.datetime.now(dt.UTC)
    if now < WRITTEN:
        yield clock_behind(now, WRITTEN, "this program was written")
    else:
        yield ok("clock", f"{now:%Y-%m-%d %H:%M:%S} UTC")


def clock_behind(now: dt.datetime, known: dt.datetime, when: str) -> Finding:
    """The clock shows a time before something that has happened."""
    return warning(
        "clock",
        f"it shows {now:%Y-%m-%d %H:%M} UTC, but {when} {known:%Y-%m-%d %H:%M} UTC; "
        "set the clock (timedatectl set-ntp true).",
    )
