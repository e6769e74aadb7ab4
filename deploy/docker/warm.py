"""Warm: import every module of the service, so that Python writes the bytecode of what it uses.

What cannot be imported fails the image, except for want of a package that the image leaves out.
"""

import importlib
import pkgutil
import sys
from collections.abc import Iterator

PACKAGES = ("store", "mcp_server", "oauth", "rest_facade", "screener")
LATER = ("aiosqlite", "asyncpg", "exchange_calendars", "uvloop")
"""What no module imports at once, but a connection, a loop of events or a night."""
LEFT_OUT = {"apprise", "exchange_calendars", "numba", "polars"}
PROVIDERS = {"ccxt", "curl_cffi", "distributed", "yfinance"}
"""What neither image has."""
SCRIPTS = "store.database.migrations."
"""Alembic runs these; they cannot be imported."""


def main() -> None:
    """Import all, and say how many modules that made."""
    for name in (*LATER, *modules()):
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name not in LEFT_OUT | PROVIDERS:
                raise
    sys.stdout.write(f"{len(sys.modules)} modules\n")


def modules() -> Iterator[str]:
    """The names of all modules of the service."""
    for floor in PACKAGES:
        folder = importlib.import_module(floor).__path__
        for found in pkgutil.walk_packages(folder, f"{floor}."):
            if not found.name.startswith(SCRIPTS):
                yield found.name


if __name__ == "__main__":
    main()
