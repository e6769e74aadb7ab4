"""The nightly beyond one machine: bars in an object store, workers that share no disk with it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import obstore
import polars as pl
import psutil
import pytest
from obstore.store import from_url

import screener.nightly.workers.cluster as clusters
from benchmarks.market import write_market
from screener.nightly.night import COMPILING, FINDING
from screener.settings.console import USAGE
from store.folder.progress import ProgressFile
from store.nights.nights import Nights
from store.remote.objects import Objects
from tests.qa.process.cluster import cluster, dask_workers, needs_dask, wait_for_tasks
from tests.screener import command
from tests.screener.command import Finished
from tests.screener.market import book_of, nightly
from tests.screener.process import until
from tests.zygote import start

SYMBOLS, YEARS, WORKERS = 60, 3, 2
PUBLISHED, WORKERS_DIED = 0, 7

pytestmark = pytest.mark.timeout(900)  # processes, each of which loads the detector


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bars of a small market, as one table that lies by symbol."""
    file = tmp_path_factory.mktemp("market") / "market.parquet"
    write_market(file, SYMBOLS, YEARS)
    return file


@pytest.fixture(scope="module")
def folder(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same bars with a file for each symbol, some of them in a folder below."""
    top = tmp_path_factory.mktemp("files") / "market"
    (top / "more").mkdir(parents=True)
    for (symbol,), rows in pl.read_parquet(table).group_by("symbol"):
        place = top / "more" if str(symbol) < "AAAAK" else top
        rows.drop("symbol").write_csv(place / f"{symbol}.csv")
    (top / "readme.md").write_text("no bars")
    return top


@pytest.fixture(scope="module")
def alone(table: Path, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[Path, bytes]:
    """The book that one process makes of each, on this machine."""
    books = {}
    for bars in (table, folder):
        data = tmp_path_factory.mktemp("alone")
        nightly(data, bars)
        assert Nights(data).check_active().counts.setups > 0, "an empty book proves nothing"
        books[bars] = book_of(data)
    return books


def upload(bars: Path, url: str) -> str:
    """Put bars into a bucket; returns their address, which ends like the path."""
    store = from_url(url, client_options={"allow_http": True})
    files = sorted(path for path in bars.rglob("*") if path.is_file()) if bars.is_dir() else [bars]
    for file in files:
        obstore.put(store, file.relative_to(bars.parent).as_posix(), file)
    return f"{url}/{bars.name}"


def left_in(url: str) -> list[str]:
    return list(Objects(url).names("scratch"))


def killing_a_worker(
    data: Path, nannies: list[psutil.Popen], *arguments: str, **settings: str
) -> Finished:
    """Run a nightly, and kill a worker with SIGKILL once the work has begun."""
    out, err = data.with_suffix(".out"), data.with_suffix(".err")
    given = command.environment(data, **settings)
    process = start("nightly", *arguments, environment=given, stdout=out, stderr=err)
    until(lambda: not process.is_alive() or begun(data), seconds=300)
    until(lambda: bool(dask_workers(nannies[0])))
    dask_workers(nannies[0])[0].kill()
    process.join(300)
    assert process.exitcode is not None
    return Finished(process.exitcode, out.read_text(), err.read_text())


def begun(data: Path) -> bool:
    """Whether the workers have their tasks."""
    progress = ProgressFile(data).read()
    return progress is not None and progress.step in (COMPILING, FINDING)


@pytest.mark.engine
@pytest.mark.parametrize("kind", ["table", "folder"])
def test_bars_in_a_bucket_make_the_night_that_the_same_bars_on_disk_make(
    kind: str,
    alone: dict[Path, bytes],
    bucket_url: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    bars: Path = request.getfixturevalue(kind)
    url = upload(bars, bucket_url)

    done = command.run(tmp_path, "nightly", "--bars", url, "--jobs", "1")
    again = command.run(tmp_path, "nightly", "--bars", url, "--jobs", "1")
    checked = command.run(tmp_path / "no", "bars", "check", url, "--jobs", "1")

    assert done.returncode == PUBLISHED, done.stderr
    assert book_of(tmp_path) == alone[bars]
    assert "Nothing new" in again.stderr
    assert checked.returncode == 0, checked.stderr
    assert not list((tmp_path / "nights").glob(".*.work"))


@needs_dask
@pytest.mark.engine
def test_a_cluster_reads_a_bucket_or_a_shared_path_and_loses_a_worker(
    alone: dict[Path, bytes],
    table: Path,
    folder: Path,
    bucket_url: str,
    tmp_path: Path,
) -> None:
    """With a bucket, the workers need no common disk."""
    in_bucket = {"SCREENER_SCRATCH_URL": bucket_url}
    runs: tuple[tuple[Path, str, dict[str, str]], ...] = (
        (table, upload(table, bucket_url), in_bucket),
        (folder, upload(folder, bucket_url), in_bucket),
        (folder, str(folder), {}),
    )
    with cluster(tmp_path, WORKERS) as (address, nannies):
        for number, (bars, place, scratch) in enumerate(runs):
            data = tmp_path / f"data-{number}"
            arguments = ("--bars", place, "--executor", address)
            done = killing_a_worker(data, nannies, *arguments, **scratch)
            assert done.returncode == PUBLISHED, done.stderr
            assert book_of(data) == alone[bars]
            assert left_in(bucket_url) == []


@needs_dask
@pytest.mark.engine
def test_a_cluster_that_loses_all_workers_is_one_line_and_nothing_is_published(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "ALONE_SECONDS", 2.0)
    shared, data = tmp_path / "shared", tmp_path / "data"
    shared.mkdir()
    with cluster(tmp_path, WORKERS) as (address, nannies), ThreadPoolExecutor(1) as threads:
        arguments = ("--bars", str(folder), "--executor", address)
        running = threads.submit(
            command.run, data, "nightly", *arguments, SCREENER_SCRATCH_URL=shared.as_uri()
        )
        until(lambda: running.done() or begun(data), seconds=300)
        wait_for_tasks(address)
        for nanny in nannies:
            for process in (nanny, *nanny.children(recursive=True)):
                process.kill()
        done = running.result(timeout=120)

    assert done.returncode == WORKERS_DIED, done.stderr
    assert done.stderr.count("\n") == 1
    assert "all are gone" in done.stderr
    assert Nights(data).active() is None
    assert left_in(shared.as_uri()) == []


@pytest.mark.engine
def test_a_store_that_is_away_is_one_line(
    bucket_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")

    done = command.run(tmp_path, "nightly", "--bars", f"{bucket_url}/market")

    assert done.returncode not in (PUBLISHED, 1)
    assert done.stderr.count("\n") == 1
    assert f"{bucket_url}/market does not answer" in done.stderr


@pytest.mark.engine
def test_bars_of_a_bucket_that_cannot_be_used_are_named_by_their_address(
    bucket_url: str, tmp_path: Path
) -> None:
    bars = tmp_path / "market"
    bars.mkdir()
    (bars / "AAPL.csv").write_text("a web page")
    url = upload(bars, bucket_url)

    done = command.run(tmp_path / "data", "nightly", "--bars", url)

    assert done.returncode == USAGE
    assert f"{url} has no symbol that can be read. AAPL.csv" in done.stderr
    assert f"`screener bars check {url}` names them all" in done.stderr.replace("\n", " ")
    assert str(tmp_path) not in done.stderr
