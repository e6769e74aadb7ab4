"""A chart that the nightly drew comes from the store of nights; any other is drawn here."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from mcp_server.drawing import Look
from mcp_server.operations.charts import Charts
from mcp_server.operations.shared_charts import AT_ONCE, PAUSE_SECONDS, SharedCharts
from screener.following import shared_charts_of
from screener.settings import Settings
from store.book import Book, StoredSetup
from store.errors import ObjectsError
from store.manifest import read_manifest
from store.objects import Object
from store.published import chart_object
from store.shared_folder import SharedFolder


@pytest.fixture
def book(night: Path) -> Iterator[Book]:
    """The book of the sample night."""
    manifest = read_manifest(night / "manifest.json")
    opened = Book.open(night / "nights" / manifest.book.file, manifest)
    yield opened
    opened.close()


@pytest.fixture
def setup(book: Book) -> StoredSetup:
    """One of its setups."""
    symbol, setup_id = book.setup_ids()[0]
    found = book.setup(symbol, setup_id)
    assert found is not None
    return found


@pytest.fixture
def store(tmp_path: Path) -> SharedFolder:
    """A shared store without charts."""
    (tmp_path / "share").mkdir()
    return SharedFolder(tmp_path / "share")


async def drawn(folder: Path, book: Book, setup: StoredSetup) -> tuple[str, bytes]:
    """The chart as the nightly draws it: its file, and its bytes."""
    png = await Charts(folder).png(book, setup)
    (path,) = (folder / str(book.data_version)).glob("*.png")
    return path.name, png


def marked(png: bytes) -> bytes:
    """A whole PNG that differs from a drawn one by a chunk of text."""
    import zlib

    text = b"tEXtComment\0from the store"
    chunk = (len(text) - 4).to_bytes(4, "big") + text + zlib.crc32(text).to_bytes(4, "big")
    return png[:33] + chunk + png[33:]


async def test_a_chart_of_the_store_is_served_and_kept_as_it_is(
    book: Book, setup: StoredSetup, store: SharedFolder, tmp_path: Path
) -> None:
    name, png = await drawn(tmp_path / "nightly", book, setup)
    store.put(chart_object(str(book.data_version), name), marked(png))
    charts = Charts(tmp_path / "server", shared=SharedCharts(store))

    assert await charts.png(book, setup) == marked(png)
    assert await charts.kept(book, setup) == marked(png)


@pytest.mark.parametrize("what", ["missing", "cut off", "changed", "no picture"])
async def test_a_chart_that_is_not_whole_in_the_store_is_drawn(
    book: Book, setup: StoredSetup, store: SharedFolder, tmp_path: Path, what: str
) -> None:
    name, png = await drawn(tmp_path / "nightly", book, setup)
    other = marked(png)
    bodies = {
        "cut off": other[:-20],
        "changed": other.replace(b"from the store", b"from the other"),
        "no picture": b"<html>",
    }
    if what in bodies:
        store.put(chart_object(str(book.data_version), name), bodies[what])
    charts = Charts(tmp_path / "server", shared=SharedCharts(store))

    assert await charts.png(book, setup) == png


async def test_the_store_is_not_asked_for_a_look_that_no_nightly_draws(
    book: Book, setup: StoredSetup, tmp_path: Path
) -> None:
    away = Away()
    charts = Charts(tmp_path / "server", shared=SharedCharts(away))

    assert await charts.png(book, setup, Look(theme="dark", width=720))
    assert away.asked == 0


def test_nothing_is_asked_of_the_store_where_the_nightly_draws_no_charts(tmp_path: Path) -> None:
    url = tmp_path.as_uri()
    assert shared_charts_of(Settings(nights_url=url)) is None
    assert shared_charts_of(Settings(charts_at_night=True)) is None
    assert shared_charts_of(Settings(nights_url=url, charts_at_night=True)) is not None


class Away(SharedFolder):
    """A store that does not answer, or only when it is let."""

    def __init__(self, answer: threading.Event | None = None) -> None:
        super().__init__(Path("/nowhere"))
        self.asked = 0
        self._answer = answer

    def read(self, name: str, most: int, known: str | None = None) -> Object | None:
        """Count, wait if told to, and fail."""
        self.asked += 1
        if self._answer is not None:
            self._answer.wait(60)
        raise ObjectsError(f"There is no {name} of {most} bytes but {known}.")


async def test_a_store_that_is_away_is_left_alone_for_a_while() -> None:
    now, away = [1000.0], Away()
    shared = SharedCharts(away, clock=lambda: now[0])

    assert [await shared.read("20121003-0123456789ab", "a.png") for _ in range(5)] == [None] * 5
    assert away.asked == 1

    now[0] += PAUSE_SECONDS
    assert await shared.read("20121003-0123456789ab", "a.png") is None
    assert away.asked == 2


async def test_a_store_that_hangs_is_waited_for_shortly_and_by_few() -> None:
    answer = threading.Event()
    away = Away(answer)
    shared = SharedCharts(away, wait=0.2)
    found = []

    async def ask(number: int) -> None:
        found.append(await shared.read("20121003-0123456789ab", f"{number}.png"))

    async with anyio.create_task_group() as group:
        for number in range(3 * AT_ONCE):
            group.start_soon(ask, number)

    assert found == [None] * (3 * AT_ONCE)
    assert away.asked <= AT_ONCE
    answer.set()
