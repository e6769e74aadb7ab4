"""The store of objects: the same behaviour in a shared folder and in a bucket."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from obstore.store import from_url

from store.errors import ConflictError, ObjectsError
from store.remote.objects import FILE, Object, Objects
from tests.s3 import SECRET

MAX_BYTES = 10**6


def test_an_object_is_read_as_it_was_put(nights_url: str) -> None:
    objects = Objects(nights_url)
    assert objects.read("nights/a.book", MAX_BYTES) is None
    assert not objects.has("nights/a.book")
    objects.put("nights/a.book", b"first")
    objects.put("nights/a.book", b"second")
    found = objects.read("nights/a.book", MAX_BYTES)
    assert found is not None
    assert found.body == b"second"
    assert objects.has("nights/a.book")
    assert objects.read("nights/a.book", MAX_BYTES, known=found.tag) == Object(b"", found.tag)
    objects.put("nights/a.book", b"third")
    third = objects.read("nights/a.book", MAX_BYTES, known=found.tag)
    assert third is not None
    assert third.body == b"third"
    objects.remove("nights/a.book")
    assert objects.read("nights/a.book", MAX_BYTES, known=third.tag) is None


def test_names_are_those_of_a_folder_and_the_folders_in_it(nights_url: str) -> None:
    objects = Objects(nights_url)
    for name in ("charts/v1/a.png", "charts/v2/b.png", "charts2/c.png", "manifest.json"):
        objects.put(name, b"x")
    assert sorted(objects.names("charts")) == ["charts/v1/a.png", "charts/v2/b.png"]
    assert list(objects.names("ledger")) == []
    objects.remove("charts/v1/a.png")
    objects.remove("charts/v1/a.png")
    assert list(objects.names("charts")) == ["charts/v2/b.png"]


def test_what_others_left_beside_our_objects_is_passed_over(nights_url: str) -> None:
    objects = Objects(nights_url)
    objects.put("charts/a.png", b"x")
    alien = "charts/@eaDir/a b.png"
    from_url(nights_url, client_options={"allow_http": True}).put(alien, b"x")
    assert list(objects.names("charts")) == ["charts/a.png"]


def test_what_lies_there_for_long_is_told_from_what_was_just_put(nights_url: str) -> None:
    objects, hour = Objects(nights_url), timedelta(hours=1)
    objects.put("nights/a.book", b"x")
    now = datetime.now(UTC)
    assert list(objects.names("nights", now - hour)) == []
    assert list(objects.names("nights", now + hour)) == ["nights/a.book"]


def test_drafts_of_machines_that_went_away_are_removed_by_a_swap(tmp_path: Path) -> None:
    objects = Objects(tmp_path.as_uri())
    objects.put("nights/a.book", b"x")
    left = [tmp_path / "nights" / name for name in ("b.book#1", "c.book#1", ".d.book.draft")]
    for draft in left[:2]:
        draft.write_bytes(b"half")
    # What is listed and gone when it is looked at, as a draft that another machine renamed.
    left[2].symlink_to(tmp_path / "gone")
    os.utime(left[0], (0, 0))
    objects.swap("manifest.json", b"1", None)
    assert objects.read("manifest.json", MAX_BYTES) is not None
    assert [draft.is_file() for draft in left] == [False, True, False]


def test_files_of_a_shared_folder_are_for_their_user_and_its_group(tmp_path: Path) -> None:
    objects = Objects(tmp_path.as_uri())
    objects.swap("manifest.json", b"1", None)
    objects.put("nights/a.book", b"x")
    paths = [tmp_path / name for name in ("manifest.json", "nights/a.book", "nights")]
    assert [path.stat().st_mode & 0o777 for path in paths] == [FILE, FILE, 0o750]


def test_a_large_object_is_fetched_in_pieces_as_it_was_put(nights_url: str, tmp_path: Path) -> None:
    objects = Objects(nights_url)
    large = tmp_path / "large"
    large.write_bytes(bytes(range(256)) * (17 * 2**20 // 256) + b"rest")
    objects.put("nights/large.book", large)
    objects.fetch("nights/large.book", tmp_path / "copy", 20 * 2**20)
    assert _digest(tmp_path / "copy") == _digest(large)
    objects.put("nights/empty.book", b"")
    objects.fetch("nights/empty.book", tmp_path / "empty", 0)
    assert (tmp_path / "empty").read_bytes() == b""


def test_what_is_larger_than_it_may_be_is_refused(nights_url: str, tmp_path: Path) -> None:
    objects = Objects(nights_url)
    objects.put("a", b"12345")
    with pytest.raises(ObjectsError, match="larger than the 4 bytes"):
        objects.read("a", 4)
    with pytest.raises(ObjectsError, match="larger than the 4 bytes"):
        objects.fetch("a", tmp_path / "a", 4)
    with pytest.raises(ObjectsError, match="There is no b at"):
        objects.fetch("b", tmp_path / "b", 4)


def test_an_object_is_replaced_only_by_who_knows_its_tag(nights_url: str) -> None:
    objects = Objects(nights_url)
    first = objects.swap("manifest.json", b"1", None)
    with pytest.raises(ConflictError):
        objects.swap("manifest.json", b"2", None)
    second = objects.swap("manifest.json", b"2", first)
    with pytest.raises(ConflictError):
        objects.swap("manifest.json", b"3", first)
    found = objects.read("manifest.json", MAX_BYTES)
    assert found is not None
    assert (found.body, found.tag) == (b"2", second)


def test_a_repeat_of_a_swap_that_succeeded_is_a_success(nights_url: str) -> None:
    objects = Objects(nights_url)
    tag = objects.swap("manifest.json", b"1", None)
    if nights_url.startswith("s3:"):  # only over a network can an answer be lost
        assert objects.swap("manifest.json", b"1", None) == tag
        new = objects.swap("manifest.json", b"2", tag)
        assert objects.swap("manifest.json", b"2", tag) == new


ROUNDS, WRITERS = 5, 16


# In a bucket the service of it compares and puts in one step, which moto's threads do not.
@pytest.mark.parametrize("nights_url", ["folder"], indirect=True)
def test_one_of_sixteen_writers_of_two_processes_wins_each_round(nights_url: str) -> None:
    objects = Objects(nights_url)
    objects.swap("manifest.json", b"start", None)
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        for round_ in range(ROUNDS):
            there = objects.read("manifest.json", MAX_BYTES)
            assert there is not None
            halves = [(nights_url, there.tag, f"{round_}-{half}") for half in range(2)]
            winners = [name for won in pool.starmap(_race, halves) for name in won]
            after = objects.read("manifest.json", MAX_BYTES)
            assert after is not None
            assert winners == [after.body.decode()]


def _race(url: str, tag: str, half: str) -> list[str]:
    """Swap from eight threads at once; returns who succeeded."""
    objects = Objects(url)

    def swap(writer: int) -> str | None:
        try:
            objects.swap("manifest.json", f"{half}-{writer}".encode(), tag)
        except ConflictError:
            return None
        return f"{half}-{writer}"

    with ThreadPoolExecutor(WRITERS // 2) as threads:
        return [name for name in threads.map(swap, range(WRITERS // 2)) if name]


@pytest.mark.parametrize("name", ["../a", "/a", "a//b", "a/../b", ".a", "a/.b", "", "a b", "é"])
def test_a_name_that_could_lead_elsewhere_is_refused(nights_url: str, name: str) -> None:
    with pytest.raises(ObjectsError, match="cannot be the name"):
        Objects(nights_url).put(name, b"")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://host/nights", "is not a place for objects"),
        ("nights", "is not a place for objects"),
        ("s3:///nights", "is not a place for objects"),
        ("file://host/nights", "three slashes"),
        ("s3://key:secret@bucket", "must name only a place"),
        ("az://container/nights", "cannot be opened"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_at_once(
    url: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    with pytest.raises(ObjectsError, match=words) as caught:
        Objects(url)
    assert "secret" not in str(caught.value)


def test_a_share_that_is_not_mounted_is_named(tmp_path: Path) -> None:
    objects = Objects((tmp_path / "share").as_uri())
    with pytest.raises(ObjectsError, match=r"There is no folder at file:///.*/share"):
        objects.read("manifest.json", MAX_BYTES)
    with pytest.raises(ObjectsError, match="There is no folder at"):
        objects.put("nights/a.book", b"")


@pytest.mark.engine
def test_a_bucket_that_does_not_exist_is_no_empty_store(bucket_url: str) -> None:
    objects = Objects(bucket_url.replace("nights-", "other-"))
    with pytest.raises(ObjectsError, match="There is no bucket at s3://other-"):
        objects.read("manifest.json", MAX_BYTES)
    with pytest.raises(ObjectsError, match="There is no bucket at s3://other-"):
        objects.put("nights/a.book", b"")


@pytest.mark.engine
def test_an_http_address_needs_consent(bucket_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ALLOW_HTTP")
    with pytest.raises(ObjectsError, match="AWS_ALLOW_HTTP=true"):
        Objects(bucket_url).read("manifest.json", MAX_BYTES)


@pytest.mark.engine
@pytest.mark.parametrize("listens", [True, False])
def test_a_store_that_does_not_answer_is_named_without_a_secret(
    bucket_url: str, monkeypatch: pytest.MonkeyPatch, listens: bool
) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        if listens:
            silent.listen()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        short = timedelta(milliseconds=200)
        bucket = Objects(bucket_url, request=short, repeating=short)
        with pytest.raises(ObjectsError, match=f"{bucket_url} does not answer") as caught:
            bucket.swap("manifest.json", b"", None)
    assert SECRET not in str(caught.value)
    assert "Signature" not in str(caught.value)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
