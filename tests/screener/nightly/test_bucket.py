"""Bars in an object store: one state of them is copied, or none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import obstore
import pytest
from obstore.store import ObjectStore, from_url

from screener.nightly.errors import SourceError
from screener.nightly.reading import bucket
from screener.nightly.reading.bucket import fetch_bars, is_bucket
from screener.nightly.reading.source import silent

pytestmark = pytest.mark.engine


@pytest.fixture
def store(bucket_url: str) -> ObjectStore:
    """The place in the bucket at which the bars are."""
    return from_url(f"{bucket_url}/market", client_options={"allow_http": True})


@pytest.fixture
def url(bucket_url: str) -> str:
    return f"{bucket_url}/market"


def once(action: Callable[[], object]) -> Callable[[str, int, int], None]:
    """A progress callback that acts at the first progress alone."""
    left = [action]

    def step(_name: str, _done: int, _total: int) -> None:
        if left:
            left.pop()()

    return step


def test_what_lies_below_an_address_is_copied_under_its_names(
    store: ObjectStore, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket, "CHUNK", 3)
    bars = {"AAPL.csv": b"0123456789", "more/MSFT Historical Data.csv": b"abc", "NONE.csv": b""}
    others = {".hidden.csv": b"x", "notes.md": b"x", ".git/A.csv": b"x", "more": b""}
    for name, body in (bars | others).items():
        obstore.put(store, name, body)

    copy = fetch_bars(url, tmp_path, silent)

    assert copy == tmp_path / "market"
    files = {str(p.relative_to(copy)): p.read_bytes() for p in copy.rglob("*") if p.is_file()}
    assert files == bars


def test_one_object_is_copied_under_its_name(store: ObjectStore, url: str, tmp_path: Path) -> None:
    obstore.put(store, "bars.parquet", b"0123")
    obstore.put(store, "bars.parquet.old", b"9")

    copy = fetch_bars(f"{url}/bars.parquet", tmp_path, silent)

    assert copy == tmp_path / "bars.parquet"
    assert copy.read_bytes() == b"0123"


@pytest.mark.parametrize("name", ["AAPL.csv", "MSFT.csv", "NEW.csv"])
def test_bars_that_change_while_they_are_copied_are_refused(
    name: str, store: ObjectStore, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket, "CHUNK", 3)
    for symbol in ("AAPL", "MSFT"):
        obstore.put(store, f"{symbol}.csv", b"0123456789" * 20)

    with pytest.raises(SourceError, match=r"/market changed while it was being read; run it again"):
        fetch_bars(url, tmp_path, once(lambda: obstore.put(store, name, b"abc")))


def test_bars_that_vanish_while_they_are_copied_are_refused(
    store: ObjectStore, url: str, tmp_path: Path
) -> None:
    obstore.put(store, "AAPL.csv", b"0123456789")

    with pytest.raises(SourceError, match=r"There are no bars|has no CSV"):
        fetch_bars(url, tmp_path, once(lambda: obstore.delete(store, "AAPL.csv")))


def test_an_address_without_bars_is_said_so(store: ObjectStore, url: str, tmp_path: Path) -> None:
    obstore.put(store, "notes.md", b"x")

    for place in (url, f"{url}/nothing", "s3://there-is-no-such-bucket/market"):
        with pytest.raises(SourceError, match=r"no bars|no CSV or Parquet"):
            fetch_bars(place, tmp_path, silent)


def test_a_disk_without_room_is_said_before_anything_is_copied(
    store: ObjectStore, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    obstore.put(store, "AAPL.csv", b"0123456789")
    monkeypatch.setattr(bucket, "MAX_TOTAL", 9)

    with pytest.raises(SourceError, match="holds more than"):
        fetch_bars(url, tmp_path, silent)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("bars", ["market", "/srv/s3:/bars", "C:/bars", "http://host/bars", "s3"])
def test_a_path_is_no_address(bars: str) -> None:
    assert not is_bucket(bars)
