"""Errors of the front door: a command that ends, a wrong setting, a package that is not installed.

Extras bring the packages that not every machine needs.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from screener.nightly.errors import NightlyError

if TYPE_CHECKING:
    from pydantic import ValidationError
    from typer import TyperException

NIGHTLY = ("exchange_calendars", "numba", "polars")
"""What makes nights."""

EXTRAS = {
    **dict.fromkeys((*NIGHTLY, "apprise"), "nightly"),
    "asyncpg": "postgresql",
    "obstore": "objects",
    "redis": "redis",
}
"""The extra that brings a package."""


WORDS = {
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "must be a whole number"),
    **dict.fromkeys(("float_parsing", "float_type", "finite_number"), "must be a number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "must be true or false"),
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "too_long": "must have at most {max_length} values",
}
"""What a value must be, by the type of the error of Pydantic."""


class EndedError(Exception):
    """A command ends with a code; what there is to say was printed."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class SettingsError(Exception):
    """A setting cannot be used; the text says which, why and what to do."""


def usage_error(error: TyperException) -> str:
    """What is wrong with a command line, and where its help is; empty if the help was printed."""
    from pydantic import ValidationError

    message = " ".join(error.format_message().split()).rstrip(".")
    cause = error.__cause__
    if isinstance(cause, ValidationError):
        message = message.replace(cause.errors()[0]["msg"].rstrip("."), in_words(cause)).rstrip(".")
    context = getattr(error, "ctx", None)
    if not message:
        return message
    ending = "" if message.endswith("?") else "."
    return f"{message}{ending} See `{context.command_path if context else 'screener'} --help`."


def in_words(error: ValidationError) -> str:
    """What a value must be that is not; the value is not shown, as it may be a secret."""
    first = error.errors(include_url=False, include_input=False)[0]
    if words := WORDS.get(first["type"]):
        return words.format(**first.get("ctx", {}))
    message = first["msg"].removeprefix("Value error, ")
    return message.replace("Input should be", "must be", 1)


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
