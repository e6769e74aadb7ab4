"""Warm: import every module of the service, so that Python writes the bytecode of what it uses.

Whatever cannot be imported fails the image, except what needs a package that this image leaves out.
"""

import importlib
import pkgutil
import sys

PACKAGES = ("telemetry", "store", "mcp_server", "oauth", "rest_facade", "web", "screener", "nightly")
DRIVERS = ("aiosqlite", "asyncpg", "sqlalchemy.dialects.postgresql.asyncpg", "uvloop")
LEFT_OUT = {"apprise", "ccxt", "distributed", "exchange_calendars", "numba", "polars", "yfinance"}
SCRIPTS = "store.migrations"  # Alembic runs these; they cannot be imported


def main() -> None:
    """Import all, and say how many modules that made."""
    for name in (*DRIVERS, *PACKAGES):
        module = importlib.import_module(name)
        for found in pkgutil.walk_packages(getattr(module, "__path__", ()), f"{name}."):
            if name in PACKAGES and not found.name.startswith(SCRIPTS):
                import_(found.name)
    import_("exchange_calendars")
    sys.stdout.write(f"{len(sys.modules)} modules\n")


def import_(name: str) -> None:
    """Import a module, unless it needs a package that is left out."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in LEFT_OUT:
            raise


if __name__ == "__main__":
    main()
