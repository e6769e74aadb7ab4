"""The counter: tokens of texts by o200k_base, the vocabulary of OpenAI's models since 2024.

Other models' vocabularies count within about a fifth of it. The tokenizer comes from npm, at the
version and digest of `package-lock.json`, and runs in Node.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from filelock import FileLock

HERE = Path(__file__).parent
INSTALLED = HERE / "node_modules" / ".package-lock.json"
SECONDS = 240
"""The longest wait for npm, and for another process that installs."""


class CounterError(Exception):
    """Nothing can be counted: Node, npm or the tokenizer cannot be had."""


def count(texts: Sequence[str]) -> list[int]:
    """How many tokens each text is.

    Raises:
        CounterError: Node or npm is missing, or npm could not install the tokenizer.
    """
    _install()
    given = json.dumps(list(texts))
    found: list[int] = json.loads(_run("node", str(HERE / "count.mjs"), given=given))
    return found


def count_each(groups: Sequence[Sequence[str]]) -> Iterator[list[int]]:
    """The same for groups of texts, in one run of the tokenizer, which reads its vocabulary first.

    Raises:
        CounterError: as `count` does.
    """
    counts = iter(count([text for group in groups for text in group]))
    return (list(islice(counts, len(group))) for group in groups)


def _install() -> None:
    """Install the tokenizer if the one of the lock is not there; one process at a time."""
    with FileLock(HERE / ".install.lock", timeout=SECONDS):
        if not _installed():
            # The lock names the digest of what may be installed, and scripts of packages are off.
            _run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent")


def _installed() -> bool:
    if not INSTALLED.exists():
        return False
    wanted, there = (
        json.loads(path.read_text(encoding="utf-8"))["packages"]
        for path in (HERE / "package-lock.json", INSTALLED)
    )
    return all(
        there.get(name, {}).get("integrity") == package["integrity"]
        for name, package in wanted.items()
        if name
    )


def _run(program: str, *arguments: str, given: str = "") -> str:
    path = shutil.which(program)
    if path is None:
        raise CounterError(f"{program} is not installed.")
    try:
        done = subprocess.run(  # noqa: S603 - our own command
            [path, *arguments],
            cwd=HERE,
            input=given,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
            timeout=SECONDS,
        )
    except (subprocess.SubprocessError, OSError) as error:
        raise CounterError(f"{program} {arguments[0]} failed.") from error
    return done.stdout
