"""What every script of the examples is: its options, and how it ends."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

from screener_errors import ScreenerError

DEFAULT_URL = "http://127.0.0.1:8000"


def parser(description: str, epilog: str) -> argparse.ArgumentParser:
    """An argument parser with what every example is given: an address, and a key if any."""
    made = argparse.ArgumentParser(
        description=description,
        epilog=f"{epilog}\nThe API key is read from SCREENER_KEY, never from the command line.\n"
        "Exit codes: 0 done, 1 the service refused, 2 wrong usage or no service there.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "--url",
        default=os.environ.get("SCREENER_URL", DEFAULT_URL),
        help="address of the service (SCREENER_URL; default %(default)s)",
    )
    made.set_defaults(key=os.environ.get("SCREENER_KEY", ""))
    return made


def finish(work: Callable[[], None]) -> None:
    """Do the work of a script; a failure ends it with one line and its exit code."""
    try:
        work()
    except ScreenerError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
