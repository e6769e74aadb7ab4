"""Ask every question of a live service, print what each took, and write it into questions.md.

python -m tests.qa.agents [--write]

It needs Node and npm, which count the tokens.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import anyio

from benchmarks.tokens.counter import CounterError
from tests.conftest import seal_night
from tests.documents import with_table
from tests.qa.agents.nights import opened
from tests.qa.agents.table import Row, ask_all, table

PAGE = Path(__file__).parent / "questions.md"


def main() -> None:
    """Run it; the exit code says whether every question is answered."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.qa.agents",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--write", action="store_true", help="write the table into questions.md")
    given = parser.parse_args()
    try:
        rows = measure()
    except CounterError as error:
        parser.exit(2, f"{error}\n")
    print(table(rows))
    if given.write:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(with_table(page, "questions", table(rows)), encoding="utf-8")
    parser.exit(0 if all(row.is_answered for row in rows) else 1)


def measure() -> list[Row]:
    """Seal the nights, serve them and ask."""
    with tempfile.TemporaryDirectory() as folder:
        seal_night(Path(folder) / "sealed")
        with opened(Path(folder) / "sealed", Path(folder)) as nights:
            return anyio.run(ask_all, nights)


if __name__ == "__main__":
    main()
