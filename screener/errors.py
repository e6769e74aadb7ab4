"""Errors of the front door."""

from __future__ import annotations


class SettingsError(Exception):
    """A setting cannot be used; the text says which, why and what to do."""
