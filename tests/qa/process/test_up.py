"""`screener up`: from files to a page, and how it ends."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import psutil
import pytest

from screener.nightly.pool import INLINE
from store.folder.progress import ProgressFile
from store.nights.nights import Nights
from tests.screener.command import run
from tests.screener.nightly.series import walk, write_csv
from tests.screener.process import Server, serving_process, until
from tests.screener.web.streams import Event, stream
from tests.screener.webhook import listening

BUSY = "graceful shutdown exceeded"
"""What uvicorn says of streams that hold up its end."""

SYMBOLS = INLINE + 4
"""So many that the nightly has workers."""

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def bars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of bars, and a file in it that is none."""
    folder = tmp_path_factory.mktemp("private") / "my bars"
    for number in range(SYMBOLS):
        write_csv(folder / f"S{number:02}.csv", walk(300, seed=number))
    (folder / "NOTES.csv").write_text("remember the milk\n")
    return folder


def started(folder: Path, *options: str, **settings: str) -> AbstractContextManager[Server]:
    """Run `screener up` within a block, and end it by Ctrl-C."""
    return serving_process(folder, *options, command="up", **settings)


def nightly_of(up: Server) -> psutil.Process:
    """The nightly that a service has started."""
    return psutil.Process(min(up.workers()))


def first(news: Iterator[Event], name: str, **wanted: object) -> Event:
    """The first event of a name whose data says what is wanted."""
    return next(
        event
        for event in news
        if event.name == name and all(event.data[key] == value for key, value in wanted.items())
    )


def test_bars_become_a_page_of_the_session_that_was_asked_for_and_are_nothing_new_again(
    tmp_path: Path, bars: Path
) -> None:
    few = tmp_path / "few" / bars.name
    shutil.copytree(bars, few, ignore=shutil.ignore_patterns("S1*.csv"))
    command = ("--bars", str(few), "--session", "2024-03-26")
    with listening() as hook:
        settings = {"SCREENER_NOTIFY": hook.address()}
        with started(tmp_path, *command, **settings) as up, stream(up.url) as news:
            waiting = httpx.get(f"{up.url}/screen")
            seen = [first(news, "progress", state="working")]
            while seen[-1].name != "night":
                seen.append(next(news))
            version = Nights(tmp_path / "data").check_active().data_version
            ended = seen[-2] if seen[-2].data["state"] == "published" else first(news, "progress")
            until(lambda: "The patterns: " in up.stderr.read_text())
            said = up.stderr.read_text()
            check_greeting(up, said)
            output = up.stdout.read_text()
        with started(tmp_path, *command, **settings) as up, stream(up.url) as news:
            unchanged = first(news, "progress", state="unchanged")
            until(lambda: "The patterns: " in up.stderr.read_text())
        (message,) = hook.got()

    assert message["title"] == "Published: the night of 2024-03-26"
    assert said.splitlines()[0].startswith("The page: http://127.0.0.1:")
    assert "my bars" in waiting.text
    assert str(few.parent) not in waiting.text
    assert seen[-1].data == {"data_version": version, "as_of_session": "2024-03-26"}
    assert (ended.data["state"], ended.data["data_version"]) == ("published", version)
    assert {name for reason in ended.data["left"] for name in reason["named"]} == {"NOTES"}
    assert "symbols covered 10" in output
    assert "Nothing new" in unchanged.data["message"]


def check_greeting(up: Server, said: str) -> None:
    """Check that the first key of own bars answers as the greeting says."""
    key = next(word for word in said.split() if word.startswith("ps_live_"))
    with httpx.Client(headers={"Authorization": f"Bearer {key}"}, base_url=up.url) as client:
        empty = client.get("/api/v1/tickers").json()["tickers"]
        scan = client.get("/api/v1/scan?status=all")
        listed = client.patch("/api/v1/tickers", json={"add": ["S07"]})
        record = client.get("/api/v1/tickers/S07/record")
        calm = client.get("/screen").text

    assert f"The page: {up.url}/screen" in said
    assert "/api/v1/scan?status=all" in said
    assert "screener account password me@localhost" in said
    assert empty == []
    assert [answer.status_code for answer in (scan, listed, record)] == [200, 200, 200]
    assert "from 10 scanned symbols" in " ".join(calm.split())


def test_a_killed_nightly_leaves_the_service_and_the_page_says_so(
    tmp_path: Path, bars: Path
) -> None:
    with started(tmp_path, "--bars", str(bars)) as up, stream(up.url) as news:
        first(news, "progress", state="working")
        nightly = nightly_of(up)
        family = nightly.children(recursive=True)
        nightly.kill()
        ended = first(news, "progress", state="failed")
        page = httpx.get(f"{up.url}/screen").text
        until(lambda: "The service goes on" in up.stderr.read_text())

    assert "stopped before it ended" in ended.data["message"]
    assert "stopped before it ended" in page
    assert "killed (signal 9)" in up.stderr.read_text()
    assert psutil.wait_procs(family, timeout=60)[1] == []
    assert not (tmp_path / "data" / "manifest.json").exists()


def test_ctrl_c_ends_the_service_its_nightly_and_open_streams(tmp_path: Path, bars: Path) -> None:
    with started(tmp_path, "--bars", str(bars)) as up, stream(up.url) as news:
        first(news, "progress", state="working")
        process = psutil.Process(up.pid)
        family = [process, *process.children(recursive=True)]
        process.send_signal(signal.SIGINT)
        rest = list(news)
        gone, alive = psutil.wait_procs(family, timeout=60)

    assert "night" not in [event.name for event in rest]
    assert len(gone) == len(family)
    assert not alive
    assert BUSY not in up.stderr.read_text()
    assert "Traceback" not in up.stderr.read_text()


def test_a_killed_service_takes_its_nightly_along_and_the_next_one_makes_the_night(
    tmp_path: Path, bars: Path
) -> None:
    with started(tmp_path, "--bars", str(bars)) as up, stream(up.url) as news:
        first(news, "progress", state="working")
        process = psutil.Process(up.pid)
        family = [process, *process.children(recursive=True)]
        process.kill()
        _, alive = psutil.wait_procs(family, timeout=60)
    record = ProgressFile(tmp_path / "data").read()
    done = run(tmp_path / "data", "nightly", "--bars", str(bars), "--jobs", "1")

    assert not alive
    assert record is not None
    assert record.state in ("failed", "working"), "announced, but not begun"
    assert done.returncode == 0, done.stderr
    assert Nights(tmp_path / "data").check_active().counts.covered == SYMBOLS
