"""The scratch: sorted bars of one run in a store, for the workers of a cluster."""

from __future__ import annotations

import datetime as dt
import os
import pickle
import socket
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from screener.nightly.errors import SourceError
from screener.nightly.reading.opening import open_source
from screener.nightly.reading.sorting import SortedSource
from screener.nightly.reading.source import silent
from screener.nightly.workers.scratch import Scratch, scratch_in
from store.errors import ObjectsError
from store.remote.objects import Objects
from tests.screener.nightly.series import walk, write_csv

NOW = dt.datetime(2024, 3, 8, 22, tzinfo=dt.UTC)


def shared(run: Scratch, folder: Path) -> SortedSource:
    """A source of three symbols that reads its bars from a scratch."""
    for number, symbol in enumerate("ABC"):
        write_csv(folder / "bars" / f"{symbol}.csv", walk(80, seed=number))
    source = open_source(folder / "bars", folder / "work").source
    assert isinstance(source, SortedSource)
    return run.share(source, folder / "work" / "bars", silent)


def names(url: str) -> list[str]:
    return list(Objects(url).names("scratch"))


def ended() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_worker_reads_the_bars_that_were_shared_until_the_run_ends(
    nights_url: str, tmp_path: Path
) -> None:
    with scratch_in(nights_url, NOW) as run:
        source = shared(run, tmp_path)
        sent = pickle.loads(pickle.dumps(source))  # noqa: S301 - our own bytes
        local = open_source(tmp_path / "bars", tmp_path / "again").source
        found, expected = list(sent.load(["A", "C", "D"])), list(local.load(["A", "C", "D"]))

        assert [item.refusal for item in found] == [item.refusal for item in expected]
        for mine, own in zip(found, expected, strict=True):
            assert mine.bars.close.tolist() == own.bars.close.tolist()
        assert (sent.names(), sent.digest()) == (local.names(), local.digest())
        assert sent.outlines() == local.outlines()
        assert names(nights_url)
    assert names(nights_url) == []


def test_what_a_killed_run_left_is_removed_by_the_next_one(nights_url: str) -> None:
    store = Objects(nights_url)
    with scratch_in(nights_url, NOW) as run:
        machine = run.run.split("-")[0]
    living = f"{machine}-{os.getppid()}-20240301T000000Z"
    elsewhere = "other-1-20240308T210000Z"
    left = [f"{machine}-{ended()}-20240308T210000Z", "other-1-20240301T210000Z", run.run]
    for folder in (living, elsewhere, "unknown", *left):
        store.put(f"scratch/{folder}/part.parquet", b"x")
    store.put("nights/20240308-0123456789ab.book", b"x")

    with scratch_in(nights_url, NOW):
        kept = {name.split("/")[1] for name in names(nights_url)}

    assert kept == {living, elsewhere, "unknown"}
    assert list(store.names("nights"))


def test_what_another_machine_of_the_same_name_shares_is_left_alone(nights_url: str) -> None:
    store, host = Objects(nights_url), socket.gethostname().replace("-", "_")
    theirs = f"scratch/{host}_{1:012x}-{ended()}-{NOW:%Y%m%dT%H%M%SZ}/part.parquet"
    store.put(theirs, b"x")

    with scratch_in(nights_url, NOW) as run:
        assert names(nights_url) == [theirs]
    assert f"_{uuid.getnode():012x}-" in run.run  # which keeps theirs apart from ours


def test_an_address_of_a_scratch_that_cannot_be_used_is_named_by_its_setting() -> None:
    with pytest.raises(ObjectsError, match="SCREENER_SCRATCH_URL ftp://host is not a place"):
        scratch_in("ftp://host", NOW).__enter__()


def test_bars_that_are_not_what_was_shared_end_the_run(nights_url: str, tmp_path: Path) -> None:
    store = Objects(nights_url)
    with scratch_in(nights_url, NOW) as run:
        source = shared(run, tmp_path)
        (part,) = (name for name in names(nights_url) if name.endswith(".parquet"))
        store.put(part, b"other bytes")
        with pytest.raises(SourceError, match="returns other bytes"):
            list(source.load(["A"]))
        store.remove(part)
        with pytest.raises(SourceError, match="are gone from scratch/"):
            list(source.load(["A"]))
