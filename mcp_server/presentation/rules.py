"""The five content rules: how anything from this service is to be shown to people."""

from __future__ import annotations

CONTENT_RULES = (
    "Never show a win rate without its sample size and the average loss.",
    "Quote each `summary` sentence of a track record whole.",
    "State the `as_of_session` date.",
    "Draw the two lines from their dated endpoints on a log-scale price axis, not from a slope.",
    "Repeat the disclaimer where a person might act on the data.",
)
