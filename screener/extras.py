"""Extras: packages that some commands alone need, and what to say where they are not installed."""

from __future__ import annotations

from importlib.util import find_spec

from nightly.errors import NightlyError

NIGHTLY = ("exchange_calendars", "numba", "polars")
"""What makes nights."""

TELLING = ("apprise",)
"""What tells of them."""

MISSING = (
    "this needs what makes nights, and a machine that only serves has not; install "
    "pattern-screener[nightly]."
)


def check_nightly() -> None:
    """Refuse early what needs the nightly.

    Raises:
        NightlyError: it is not installed.
    """
    if not all(map(find_spec, NIGHTLY)):
        raise NightlyError(MISSING)


def is_left_out(error: ModuleNotFoundError) -> bool:
    """Whether a module is missing because its extra is not installed."""
    return error.name in NIGHTLY + TELLING
