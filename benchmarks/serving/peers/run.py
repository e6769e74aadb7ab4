"""Runs a reference under uvicorn like the service: one worker, no access log, no extras."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import uvicorn


def serve(app: Any, port: str) -> None:  # noqa: ANN401 - any ASGI app
    """Serve until terminated."""
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=int(port),
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
    )


def arguments() -> tuple[str, Path]:
    """The port, and the file or folder that the reference reads."""
    _, port, path = sys.argv
    return port, Path(path)


def read_envelope(database: Path) -> dict[str, Any]:
    """The fields at the beginning of every answer."""
    envelope: dict[str, Any] = json.loads(database.with_suffix(".json").read_text())
    return envelope
