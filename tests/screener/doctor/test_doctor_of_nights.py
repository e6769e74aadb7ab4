"""`screener doctor` and a shared store of nights."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from screener.doctor.stores import raced
from store.remote.objects import Object, Objects
from store.remote.pointer import book_object, key_of
from tests.publishing import Publisher
from tests.screener.command import Finished, run
from tests.store.remote.servers import Server

NAMES = ("store of nights", "night of the store", "publishing")


@pytest.fixture
def publisher(tmp_path: Path, nights_url: str) -> Publisher:
    """A machine that publishes into a new store, of each kind."""
    return Publisher(tmp_path / "publisher", nights_url)


def examined(data: Path, url: str | None, *options: str) -> dict[str, tuple[str, str]]:
    """The level and the words of what is found of the store."""
    settings = {} if url is None else {"SCREENER_NIGHTS_URL": url}
    done: Finished = run(data, "doctor", "--json", *options, **settings)
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


def test_publishing_is_tried_when_it_is_asked_for_and_leaves_nothing(
    publisher: Publisher, tmp_path: Path
) -> None:
    url = publisher.objects.place
    publisher.night(0)

    assert "publishing" not in examined(tmp_path / "server", url)
    level, words = examined(tmp_path / "server", url, "--publishing")["publishing"]
    assert (level, words) == ("ok", f"{url} can be written, and lets one of two writers win")
    assert examined(tmp_path / "server", url)["store of nights"][0] == "ok"


def test_a_store_that_is_not_there_or_is_none_is_a_fault(tmp_path: Path) -> None:
    for url in ((tmp_path / "nowhere").as_uri(), "ftp://example.com/nights"):
        for options in ((), ("--publishing",)):
            assert examined(tmp_path / "data", url, *options)["store of nights"][0] == "fault"


def test_something_else_in_the_place_of_the_pointer_is_a_fault(
    publisher: Publisher, tmp_path: Path
) -> None:
    publisher.objects.put("manifest.json", b"{}")

    level, words = examined(tmp_path / "data", publisher.objects.place)["store of nights"]

    assert (level, "is not what a nightly published" in words) == ("fault", True)


def test_without_a_shared_store_nothing_is_said_of_one(tmp_path: Path) -> None:
    assert examined(tmp_path / "data", None) == {}


class Careless(Objects):
    """A store that ignores the condition of a put, as some that speak S3 do."""

    def swap(self, name: str, body: bytes, tag: str | None) -> str:  # noqa: ARG002 - ignored
        """Replace the object, whoever else has."""
        self.put(name, body)
        found: Object | None = self.read(name, len(body))
        assert found is not None
        return found.tag


def test_a_store_that_lets_both_of_two_writers_win_is_a_fault(tmp_path: Path) -> None:
    found = raced(Careless(tmp_path.as_uri()), "doctor.txt")

    assert (found.level, "could undo each other" in found.words) == ("fault", True)
