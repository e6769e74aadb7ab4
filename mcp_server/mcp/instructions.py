"""The instructions: what an MCP host tells its model about the server of one address."""

from __future__ import annotations

from mcp_server.mcp.toolsets import Toolset
from mcp_server.presentation.offer import Offer
from mcp_server.presentation.rules import CONTENT_RULES


def instructions(offer: Offer, toolset: Toolset) -> str:
    """The instructions of a toolset."""
    rules = " ".join(f"{n}. {rule}" for n, rule in enumerate(CONTENT_RULES, 1))
    return (
        "Breakout chart patterns (rising and falling wedges, bullish and bearish pennants, "
        "triangles) found by a nightly market scan, with how the same pattern did before. "
        "Everything is sealed once a night, for the session in `as_of_session`. If today's UTC "
        "date is after `next_session`, the night is old: say so. `setup_id` is valid for one "
        "night, `lineage_id` stays. Pattern, history and chart tools work on tracked tickers; "
        "`list_tracked_tickers` says which have a setup. `demo` and `get_family_track_record` need "
        "no key. Crypto pairs have no separator: BTCUSD. "
        f"{_elsewhere(offer, toolset)}Daily bars only. Not offered at any address: intraday "
        "patterns, live prices, options, alerts, orders, backtests of one's own rules. "
        "`attempt.number` (in lists `attempt`) above 1 is a later attempt, which track records do "
        "not count. With `last_close_side` `beyond`, a close that just stays there fires the "
        "trigger. A `verdict` of `not_distinguishable` or `too_few` is not an edge. The patterns "
        "did not beat random entries with the same stops and targets: present them as chart "
        f"reading, not as an edge. Rules for showing the data to people: {rules}"
    )


def _elsewhere(offer: Offer, toolset: Toolset) -> str:
    """What these tools do not reach, and where it is."""
    if toolset.keyless:
        return (
            "Only these two answer here; for the others the user connects "
            f"{offer.mcp_url} and signs in. "
        )
    if "scan_setups" in toolset.tools:
        return ""
    where = f"REST below {offer.base_url}"
    if offer.extended:
        where = f"the MCP address {offer.extended_url}, and {where}"
    return (
        "These tools do not offer the ranked scan of the whole market, what changed since the "
        "night before, a search of symbols, or a ticker's record without a setup: for that "
        f"there is {where}. "
    )
