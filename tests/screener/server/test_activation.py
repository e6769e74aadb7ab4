"""Activation: what a service manager must not hand over; that it works is tested as a process."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from screener.server import listening
from screener.settings.settings import SettingsError
from tests.screener.command import check_refusal, run


@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")  # the process ends
@pytest.mark.parametrize(
    ("kind", "listens", "count"),
    [
        (socket.SOCK_DGRAM, False, "1"),
        (socket.SOCK_STREAM, False, "1"),
        (socket.SOCK_STREAM, True, "2"),
    ],
    ids=["udp", "none that listens", "two"],
)
def test_a_socket_that_cannot_be_used_is_refused_in_one_line(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, kind: int, listens: bool, count: str
) -> None:
    with socket.socket(socket.AF_INET, kind) as given:
        if listens:
            given.listen()
        monkeypatch.setenv("LISTEN_PID", str(os.getpid()))
        monkeypatch.setenv("LISTEN_FDS", count)

        monkeypatch.setattr(listening, "FIRST", os.dup(given.fileno()))
        with pytest.raises(SettingsError, match="ListenStream="):
            listening.handed_over()
        if not listens:
            monkeypatch.setattr(listening, "FIRST", os.dup(given.fileno()))
            check_refusal(run(data_dir, "serve"), "ListenStream=")
