"""The words for what changed since the night before, which pages and the command line show."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from store.wire.records import ChangeKind, ChangeReason

KINDS: Final[Mapping[ChangeKind, str]] = MappingProxyType(
    {
        "new": "New",
        "triggered": "Triggered",
        "stopped": "Stopped",
        "reached": "Reached the target",
        "expired": "No longer served",
    }
)
"""The kinds of changes in the order in which they are shown, each with its heading."""

REASONS: Final[Mapping[ChangeReason, str]] = MappingProxyType(
    {
        "found": "found in this night's bars",
        "breakout": "a close beyond the trigger opened the trade",
        "stop": "the trade ended at its stop",
        "target": "the trade ended at its target",
        "delisted": "the listing ended",
        "too_old": "the trade still runs, but is too old to be served",
        "missed": "it broke out too far or before its trigger was announced: there was no trade",
        "invalidated": "a close beyond the other line",
        "superseded": "another setup took its place",
        "apex": "it came too close to where its lines meet",
        "stale": "no touch of a line for too long",
        "too_long": "it has become too long",
        "data_gap": "bars are missing before the last one",
        "faded": "its lines no longer fit the bars well",
        "left_out": "its symbol is left out of this night",
        "revised": "this night's bars show it differently",
    }
)
"""Why a setup changed, in words."""
