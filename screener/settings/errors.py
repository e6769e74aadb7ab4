"""Errors of the front door: a command that ends, a wrong setting, a package that is not installed.

Extras bring the packages that not every machine needs.
"""

from __future__ import annotations

from importlib.util import find_spec

from screener.nightly.errors import NightlyError

NIGHTLY = ("exchange_calendars", "numba", "polars")
"""What makes nights."""

EXTRAS = {
    **dict.fromkeys((*NIGHTLY, "apprise"), "nightly"),
    "asyncpg": "postgresql",
    "obstore": "objects",
    "redis": "redis",
}
"""The extra that brings a package."""


class EndedError(Exception):
    """A command ends with a code; what there is to say was printed."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class SettingsError(Exception):
    """A setting cannot be used; the text says which, why and what to do."""


def check_nightly() -> None:
    """Refuse early what makes a night, on a machine that only serves.

    Raises:
        NightlyError: it is not installed.
    """
    missing = next((name for name in NIGHTLY if find_spec(name) is None), None)
    if missing is not None:
        raise NightlyError(_install(missing))


def uninstalled(error: Exception) -> str | None:
    """What to install, if a command needs more than this machine has; None of other errors."""
    package = error.name if isinstance(error, ModuleNotFoundError) else None
    name = (package or "").partition(".")[0]
    return _install(name) if name in EXTRAS else None


def how_to_install(package: str) -> str:
    """The command that brings a package."""
    return f"pip install 'pattern-screener[{EXTRAS[package]}]'"


def _install(package: str) -> str:
    return f"{package} is not installed; {how_to_install(package)}."
