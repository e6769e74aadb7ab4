"""Errors of the front door."""

from __future__ import annotations


class EndedError(Exception):
    """A command ends with a code; what there is to say was printed."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class SettingsError(Exception):
    """A setting cannot be used; the text says which, why and what to do."""
