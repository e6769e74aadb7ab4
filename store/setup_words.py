"""Setup words: what every page, command and chart says of a setup."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Fields = Mapping[str, Any]
"""The fields of a Setup or of a ScanSetup."""


def pattern_words(fields: Fields) -> str:
    """The type where it says more than the family, as `Ascending triangle`, else the family."""
    words = str(fields["pattern_type"] or "").replace("_", " ")
    label = str(fields["family_label"])
    return words.capitalize() if words.endswith(label.lower()) else label


def status_words(status: str) -> str:
    """Whether it is forming or its trade in progress."""
    return status.replace("_", " ")


def age_words(sessions: int | None) -> str:
    """How long ago it broke out; empty if it did not, or it is not known."""
    if sessions is None:
        return ""
    if sessions == 0:
        return "broke out this session"
    return f"broke out {sessions} session{'' if sessions == 1 else 's'} ago"


def attempt_words(number: int | None, count: int | None) -> str:
    """Which attempt of its formation it is; empty for the only one."""
    if number is None or max(number, count or 1) == 1:
        return ""
    return f"attempt {number} of {count}" if count else f"attempt {number}"


def state_words(fields: Fields) -> str:
    """Its status, how long ago it broke out, and which attempt it is, as far as there is any."""
    attempt = fields.get("attempt") or {}
    facts = (
        status_words(fields["status"]),
        age_words(fields.get("sessions_since_trigger")),
        attempt_words(attempt.get("number"), attempt.get("count")),
    )
    return ", ".join(filter(None, facts))


def place_words(fields: Fields) -> str:
    """What its distance is from: the trigger, and on which side of it, or a trade's entry."""
    if fields["status"] != "forming":
        return "from the entry"
    return f"{fields.get('last_close_side') or 'from'} the trigger"


def setup_words(fields: Fields) -> str:
    """The setup in a line: `MSFT: Rising wedge, bearish, forming`."""
    pattern, status = pattern_words(fields), status_words(fields["status"])
    return f"{fields['symbol']}: {pattern}, {fields['direction']}, {status}"


def ratio_words(ratio: float | None) -> str:
    """A reward as a multiple of its risk."""
    if ratio is None:
        return "none"
    return f"{ratio:.1f}" if ratio < 1000 else f"{ratio:,.0f}"
