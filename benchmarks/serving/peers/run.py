"""Runs a reference under uvicorn like the service: one worker, no access log, no extras.

python -m benchmarks.serving.peers.run MODULE:APPLICATION PORT PATH
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import uvicorn


def main() -> None:
    """Serve the application that is made of a file or a folder, until terminated."""
    _, named, port, path = sys.argv
    module, _, application = named.partition(":")
    make = getattr(import_module(f"benchmarks.serving.peers.{module}"), application)
    uvicorn.run(
        make(Path(path)),
        host="127.0.0.1",
        port=int(port),
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
    )


def read_envelope(database: Path) -> dict[str, Any]:
    """The fields at the beginning of every answer."""
    envelope: dict[str, Any] = json.loads(database.with_suffix(".json").read_text())
    return envelope


def stored_patterns(database: Path) -> Callable[[str], dict[str, Any]]:
    """What reads the patterns of a symbol from a database that stays open."""
    db = sqlite3.connect(f"file:{database}?mode=ro", uri=True, check_same_thread=False)
    envelope = read_envelope(database)

    def read(symbol: str) -> dict[str, Any]:
        row = db.execute("SELECT body FROM patterns WHERE symbol = ?", (symbol,)).fetchone()
        return {**envelope, **json.loads(row[0])}

    return read


if __name__ == "__main__":
    main()
