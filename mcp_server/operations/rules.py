"""The five content rules: how anything from this service is to be shown to people."""

from __future__ import annotations

CONTENT_RULES = (
    "Never show a win rate without its sample size and the average loss.",
    "Quote each `summary` sentence of a track record whole.",
    "State the `as_of_session` date.",
    "Draw the two lines from their dated endpoints on a log-scale price axis, not from a slope.",
    "Repeat the disclaimer where a person might act on the data.",
)


def instructions() -> str:
    """What an MCP host tells its model about this server."""
    rules = " ".join(f"{n}. {rule}" for n, rule in enumerate(CONTENT_RULES, 1))
    return (
        "Breakout chart patterns (rising and falling wedges, bullish and bearish pennants, "
        "triangles) found by a nightly market scan, with how the same pattern did before. "
        "Everything is sealed once a night, of the session in `as_of_session`. If today's UTC date "
        "is after `next_session`, the night is old: say so. `setup_id` is valid for one night, "
        "`lineage_id` stays. Pattern, history and chart tools work on "
        "tracked tickers; `demo` and `get_family_track_record` need no key. Crypto pairs are "
        "written without a separator: BTCUSD. `attempt.number` above 1 is a later attempt, "
        "which track records do not count. With `last_close_side` `beyond` "
        "a close that merely stays there fires the trigger. A `verdict` of `not_distinguishable` "
        "or `too_few` is no edge. The patterns did not "
        "beat random entries with the same stops and targets: present them as chart reading, not "
        f"as an edge. Rules for showing the data to people: {rules}"
    )
