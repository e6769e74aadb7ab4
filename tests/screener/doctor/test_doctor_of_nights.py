"""`screener doctor` and a shared store of nights."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from store.remote.pointer import book_object, key_of
from tests.publishing import Publisher
from tests.screener.command import Finished, run
from tests.store.remote.servers import Server

NAMES = ("store of nights", "night of the store")


@pytest.fixture
def publisher(tmp_path: Path, nights_url: str) -> Publisher:
    """A machine that publishes into a new store, of each kind."""
    return Publisher(tmp_path / "publisher", nights_url)


def examined(data: Path, url: str | None) -> dict[str, tuple[str, str]]:
    """The level and the words of what is found of the store."""
    settings = {} if url is None else {"SCREENER_NIGHTS_URL": url}
    done: Finished = run(data, "doctor", "--json", **settings)
    found = json.loads(done.stdout)["checks"]
    return {one["name"]: (one["level"], one["words"]) for one in found if one["name"] in NAMES}


def test_a_store_is_looked_at_and_what_it_names_is_compared_with_what_is_here(
    publisher: Publisher, tmp_path: Path
) -> None:
    url, folder = publisher.objects.place, tmp_path / "server"
    assert examined(folder, url)["store of nights"][0] == "warning"

    night = publisher.night(0)
    found = examined(folder, url)
    assert found["store of nights"] == (
        "ok",
        f"{url} answers and names {night.data_version}, of 2026-01-05",
    )
    assert found["night of the store"][0] == "warning"

    assert Server(publisher, folder).look()
    assert examined(folder, url)["night of the store"][0] == "ok"
    before = set(publisher.objects.names("nights")) | set(publisher.objects.names("ledger"))
    publisher.objects.remove(book_object(key_of(night)))
    assert examined(folder, url)["store of nights"][0] == "fault"
    after = set(publisher.objects.names("nights")) | set(publisher.objects.names("ledger"))
    assert before - after == {book_object(key_of(night))}


def test_a_store_that_is_not_there_or_is_none_is_a_fault(tmp_path: Path) -> None:
    for url in ((tmp_path / "nowhere").as_uri(), "ftp://example.com/nights"):
        assert examined(tmp_path / "data", url)["store of nights"][0] == "fault"


def test_something_else_in_the_place_of_the_pointer_is_a_fault(
    publisher: Publisher, tmp_path: Path
) -> None:
    publisher.objects.put("manifest.json", b"{}")

    level, words = examined(tmp_path / "data", publisher.objects.place)["store of nights"]

    assert (level, "is not what a nightly published" in words) == ("fault", True)


def test_without_a_shared_store_nothing_is_said_of_one(tmp_path: Path) -> None:
    assert examined(tmp_path / "data", None) == {}
