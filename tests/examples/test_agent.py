"""The agent loop, with a stand-in for the model: what a model is told, and what it may call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.service import Service

AGENT = Path(__file__).parents[2] / "examples" / "mcp_agent.py"


@contextmanager
def model(*turns: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """The address of a model that says these messages in turn, and what it was sent."""
    sent: list[Any] = []
    left = list(turns)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            body = json.dumps({"choices": [{"message": left.pop(0)}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing is logged."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1", sent
        server.shutdown()


def calls(name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    call = {"id": "call-1", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def asked(service: Service, model_url: str, key: str) -> subprocess.CompletedProcess[str]:
    """What the agent says of a question, with a model at an address."""
    return subprocess.run(
        [sys.executable, AGENT, "--url", service.url, "Any setup?"],
        env={**os.environ, "MODEL_URL": model_url, "SCREENER_KEY": key},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("keyed", [True, False])
def test_a_model_calls_tools_until_it_answers(service: Service, keyed: bool) -> None:
    asks = (
        calls("scan_setups", '{"status": "All"}') if keyed else calls("demo", '{"symbol": "AAPL"}')
    )
    turns = (asks, calls("demo", "{"), {"role": "assistant", "content": "Two setups."})
    with model(*turns) as (url, sent):
        done = asked(service, url, service.key if keyed else "")

    assert (done.stdout, done.returncode) == ("Two setups.\n", 0), done.stderr
    assert "Never show a win rate without" in sent[0]["messages"][0]["content"]
    assert ("scan_setups" in {each["function"]["name"] for each in sent[0]["tools"]}) is keyed
    result = sent[1]["messages"][-1]
    assert (result["role"], result["tool_call_id"]) == ("tool", "call-1")
    assert '"setups":[' in result["content"]
    assert "This night is old" in result["content"]
    assert "not JSON" in sent[2]["messages"][-1]["content"]


def test_a_model_that_does_not_answer_is_one_line(service: Service) -> None:
    done = asked(service, "http://127.0.0.1:9/v1", service.key)

    assert done.returncode == 1
    assert "does not answer" in done.stderr
    assert "Traceback" not in done.stderr
