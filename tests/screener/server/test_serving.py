"""Serving: the system's limit of open files, which connections need."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from screener.server.listening import OTHER_FILES, allow_files
from screener.settings.settings import SettingsError

resource = pytest.importorskip("resource")


@pytest.fixture
def limits() -> Iterator[tuple[int, int]]:
    """The limits of open files, soft and hard, restored afterwards."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_every_connection_gets_an_open_file(limits: tuple[int, int]) -> None:
    _soft, hard = limits
    resource.setrlimit(resource.RLIMIT_NOFILE, (OTHER_FILES, hard))

    allow_files(100)

    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (OTHER_FILES + 100, hard)


def test_a_limit_that_is_high_enough_stays(limits: tuple[int, int]) -> None:
    allow_files(8)

    assert resource.getrlimit(resource.RLIMIT_NOFILE) == limits


def test_more_connections_than_open_files_are_refused_by_the_name_of_the_setting(
    limits: tuple[int, int],
) -> None:
    with pytest.raises(SettingsError, match=r"^SCREENER_CONNECTIONS: .* the system allows"):
        allow_files(2**40)
