"""Running the nightly: from what the operator asked for to an order, with progress to watch."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from nightly.errors import SourceError
from nightly.night import Order, make_night
from nightly.pool import default_jobs
from nightly.reference import Adjustment, Reference, read_reference
from nightly.report import Report
from nightly.sample import SAMPLE_SESSION, sample_reference, sample_source
from nightly.sources import Opened, Step, file_digest, open_source, prepare_source, silent
from screener.console import err
from screener.settings import Settings
from store.manifest import Manifest
from store.nights import Nights

SAMPLE = "sample"


def order_of(
    settings: Settings,
    bars: str = SAMPLE,
    *,
    work: Path | None = None,
    step: Step = silent,
    reference: Path | None = None,
    adjustment: Adjustment = "split",
    session: dt.date | None = None,
    jobs: int | None = None,
    accept_fall: bool = False,
) -> Order:
    """The order that the command line describes; `bars` is `sample` or a path.

    Bars that do not lie by symbol are sorted into the folder `work`, if there is one.

    Raises:
        SourceError: the bars or the reference table cannot be read.
    """
    if bars == SAMPLE:
        opened, known = Opened(sample_source()), sample_reference()
        name, session = SAMPLE, session or SAMPLE_SESSION
    else:
        path = Path(bars)
        opened = prepare_source(path, work, step) if work else Opened(open_source(path))
        known, name = Reference(), path.resolve().name
    if reference is not None:
        known = read_reference(reference)
    return Order(
        source=opened.source,
        name=name,
        told=opened.told,
        reference=known,
        reference_sha256=file_digest(reference) if reference else None,
        adjustment=adjustment,
        session=session,
        jobs=jobs or default_jobs(),
        source_label=settings.source,
        disclaimer=settings.disclaimer,
        chart_symbols=settings.chart_symbols,
        accept_fall=accept_fall,
    )


def seal(
    settings: Settings, order: Order, step: Callable[[str, int, int], None] | None = None
) -> tuple[Manifest, Report]:
    """Make the night of an order and publish it in the configured data folder."""
    nights = Nights(settings.data_dir)
    now = dt.datetime.now(dt.UTC)
    if step is None:
        return make_night(order, nights, now=now)
    return make_night(order, nights, now=now, step=step)


def seal_sample(settings: Settings) -> Manifest:
    """Seal the sample night."""
    return seal(settings, order_of(settings))[0]


@contextmanager
def watched() -> Iterator[Callable[[str, int, int], None]]:
    """Progress on stderr: a bar for each step of the night."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        tasks: dict[str, int] = {}

        def step(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = progress.add_task(name, total=total or None)
            progress.update(tasks[name], completed=done, total=total or None)  # type: ignore[arg-type]

        yield step


@contextmanager
def working(settings: Settings) -> Iterator[tuple[Path, Step]]:
    """A folder to work in, in the data folder, and progress to watch."""
    with Nights(settings.data_dir).workspace() as work, watched() as step:
        yield work, step


@contextmanager
def timed() -> Iterator[Callable[[], float]]:
    """Seconds since entering."""
    start = time.perf_counter()
    yield lambda: time.perf_counter() - start


def read_date(text: str | None, option: str = "--session") -> dt.date | None:
    """A day given on the command line.

    Raises:
        SourceError: it is not a date.
    """
    if text is None:
        return None
    try:
        return dt.date.fromisoformat(text)
    except ValueError as error:
        raise SourceError(f"{option} {text!r} is not a date; write it as 2024-03-08.") from error
