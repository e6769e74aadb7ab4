"""Makes faults and prints what each cost: `make faults`, or one with ONLY=NAME.

Each is made on a service of its own, on loopback, with a data folder in a temporary one. Ends with
1 if anything that was acknowledged is gone, or anything that was served is wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import textwrap
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.faults import clock, crowds, damage, kills, nightly, store
from tests.faults.found import CannotError, Found
from tests.faults.nights import Nights

FAULTS: dict[str, Callable[[Path, Nights], Found]] = {
    "kill-server": kills.server,
    "kill-worker": kills.worker,
    "kill-nightly": nightly.killed,
    "two-nightlies": nightly.two,
    "damaged-night": damage.of_nights,
    "damaged-under-way": damage.under_way,
    "damaged-accounts": damage.of_accounts,
    "damaged-counters": damage.of_counters,
    "clock-jumps": clock.jumps,
    "clock-nightly": clock.nightly,
    "database-locked": store.locked,
    "database-away": store.away,
    "disk-full": store.full,
    "disk-read-only": store.read_only,
    "idle-connections": crowds.idle,
    "slow-clients": crowds.slow,
    "drawings": crowds.drawings,
    "worker-storm": crowds.storm,
    "stops": crowds.stops,
}
HEAD = ("fault", "made", "lost or wrong", "users saw", "well again after")
WIDTHS = (18, 30, 16, 46, 40)


def main() -> int:
    """Make the faults and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--only", default="", help="one fault, or the beginning of several")
    parser.add_argument("--markdown", action="store_true", help="the table as Markdown")
    given = parser.parse_args()
    chosen = {name: make for name, make in FAULTS.items() if name.startswith(given.only)}
    if not chosen:
        sys.exit(f"There is no fault {given.only}; there are {', '.join(FAULTS)}.")
    show, failed = _markdown if given.markdown else _table, False
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        nights = Nights(Path(name) / "nights")
        nights.learn(Path(name) / "truth")
        print("\n".join(show(HEAD)), flush=True)
        if given.markdown:
            print("|---" * len(HEAD) + "|")
        for one, make in chosen.items():
            folder = Path(name) / one
            folder.mkdir()
            row, bad = _row(one, make, folder, nights)
            print("\n".join(show(row)), flush=True)
            failed |= bad
    return int(failed)


def _row(
    name: str, make: Callable[[Path, Nights], Found], folder: Path, nights: Nights
) -> tuple[tuple[str, ...], bool]:
    began = time.monotonic()
    try:
        found = make(folder, nights)
    except CannotError as error:
        return (name, "skipped", "", "", str(error)), False
    except Exception as error:
        traceback.print_exc()
        return (name, "not to its end", f"FAILED {error}", "", ""), True
    finally:
        print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return found.cells(name), found.failed


def _table(row: Sequence[str]) -> list[str]:
    cells = [textwrap.wrap(cell, width) for cell, width in zip(row, WIDTHS, strict=True)]
    lines = []
    for line in range(max(map(len, cells))):
        parts = [cell[line] if line < len(cell) else "" for cell in cells]
        padded = (part.ljust(width) for part, width in zip(parts, WIDTHS, strict=True))
        lines.append("  ".join(padded).rstrip())
    return [*lines, ""]


def _markdown(row: Sequence[str]) -> list[str]:
    return ["| " + " | ".join(row) + " |"]


if __name__ == "__main__":
    sys.exit(main())
