"""An agent that tracks tickers and writes a report on them, by the five content rules.

It looks (what is tracked, what the scan ranks first), acts (adds what is missing to the tracked
list, and says so), reads (patterns, history, charts), and writes Markdown. It never removes a
ticker, and what it added stays until you say otherwise.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import screener_calls as calls
from screener_client import Json, Screener, connected
from screener_errors import RefusedError
from script import finish, parser
from setup_words import facts, footing, money, records, summaries, title, win_rate

HISTORY_ROWS = 5
EPILOG = """\
examples:
  agent_report.py AAPL FB            track both, report on both
  agent_report.py --best 3           report on the three tickers that tonight's scan ranks first
  agent_report.py FB --out fb.md     write elsewhere; charts go beside the report
"""


@dataclass(frozen=True)
class Findings:
    """What the service says about one ticker."""

    patterns: Json
    history: Json
    charts: dict[str, bytes]
    """Pictures by setup id; a setup that cannot be drawn has none."""

    @property
    def symbol(self) -> str:
        """The ticker."""
        symbol: str = self.patterns["symbol"]
        return symbol


def main() -> None:
    """Track the tickers, read their setups, write the report and print what was changed."""
    options = _options()
    with connected(options.url, options.key) as screener:
        symbols = [symbol.upper() for symbol in options.symbols] or best(screener, options.best)
        if not symbols:
            print("No symbol of the market has a setup tonight; name the tickers to report on.")
            return
        changes = track(screener, symbols)
        for change in changes:
            print(change)
        findings = screener.in_one_session(lambda: [read(screener, name) for name in symbols])
    write(options.out, findings, changes)
    print(f"Report: {options.out}")


def best(screener: Screener, count: int) -> list[str]:
    """The tickers that the scan ranks first."""
    page = screener.get("/scan", status="all", limit=200)
    ranked = sorted(page["setups"], key=lambda setup: setup["rank"])
    return list(dict.fromkeys(setup["symbol"] for setup in ranked))[:count]


def track(screener: Screener, symbols: Sequence[str]) -> list[str]:
    """Add the tickers that are not tracked yet; return the changes in words."""
    before = screener.get("/tickers")
    tracked = [ticker["symbol"] for ticker in before["tickers"]]
    missing = [symbol for symbol in dict.fromkeys(symbols) if symbol not in tracked]
    if not missing:
        return [f"Changed nothing: all of {', '.join(symbols)} were tracked already."]
    after = screener.ask(calls.edit_tracked_tickers(add=missing))
    undo = json.dumps({"remove": missing})
    return [
        f"Added {', '.join(missing)} to the tracked list and so to your Main watchlist: "
        f"{before['count']} tickers before, {after['count']} now, of at most {after['cap']}.",
        f"They stay there. To undo, PATCH /tickers with {undo}.",
    ]


def read(screener: Screener, symbol: str) -> Findings:
    """Everything on one ticker."""
    patterns = screener.get(f"/tickers/{symbol}/patterns")
    history = screener.get(f"/tickers/{symbol}/history", outcome="resolved", limit=HISTORY_ROWS)
    charts = {setup["setup_id"]: chart(screener, setup) for setup in patterns["setups"]}
    drawn = {setup_id: png for setup_id, png in charts.items() if png is not None}
    return Findings(patterns, history, drawn)


def chart(screener: Screener, setup: Json) -> bytes | None:
    """The picture of a setup; None if it cannot be drawn."""
    try:
        return screener.ask(calls.get_pattern_chart(setup["symbol"], setup["setup_id"]))
    except RefusedError as refusal:
        if refusal.code == "chart_unavailable":
            return None
        raise


def write(path: Path, findings: Sequence[Findings], changes: Sequence[str]) -> None:
    """Write the report, and the charts beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for found in findings:
        for setup_id, png in found.charts.items():
            path.with_name(chart_name(found.symbol, setup_id)).write_bytes(png)
    path.write_text("\n".join(report(findings, changes)) + "\n", encoding="utf-8")


def report(findings: Sequence[Findings], changes: Sequence[str]) -> list[str]:
    """The lines of the report."""
    first = findings[0].patterns
    lines = [f"# Chart patterns, session {first['as_of_session']}", "", f"> {footing(first)}", ""]
    lines += [*overview(findings), "", "## What this agent changed", "", *bullets(changes), ""]
    for found in findings:
        lines += [*ticker_section(found), ""]
    return [*lines, footing(first)]


def overview(findings: Iterable[Findings]) -> list[str]:
    """Every setup in one table."""
    rows = [
        f"| {title(setup)} | {money(setup['last_close'], setup)} | {_family_win_rate(setup)} |"
        for found in findings
        for setup in found.patterns["setups"]
    ]
    head = ["| setup | last close | win rate of the family |", "|---|---|---|"]
    return [*head, *rows] if rows else ["None of these tickers forms a pattern now."]


def ticker_section(found: Findings) -> list[str]:
    """One ticker: its setups, then how earlier ones ended."""
    lines = [f"## {found.symbol}", ""]
    if not found.patterns["setups"]:
        lines += [why_none(found.patterns), ""]
    for setup in found.patterns["setups"]:
        lines += [*setup_section(setup, drawn=setup["setup_id"] in found.charts), ""]
    return [*lines, *history_section(found.history)]


def why_none(patterns: Json) -> str:
    """Why a ticker has no setups."""
    if patterns.get("reason") == "not_covered":
        return "The nightly does not cover this ticker."
    return "Nothing forms on it now." if patterns["available"] else "There is no book yet."


def setup_section(setup: Json, *, drawn: bool) -> list[str]:
    """One setup: facts, records quoted whole, and its chart."""
    lines = [f"### {title(setup)}", "", *bullets(facts(setup)), ""]
    for record, summary in zip(records(setup), summaries(setup), strict=True):
        lines += [f"> {summary}", ">", f"> Measured: {record['measured']}", ""]
    name = chart_name(setup["symbol"], setup["setup_id"])
    return [*lines, f"![{title(setup)}]({name})" if drawn else "No chart: prices are not stored."]


def history_section(history: Json) -> list[str]:
    """The last resolved setups of a ticker."""
    if not history["occurrences"]:
        return ["No earlier setup of it has ended yet."]
    rows = [
        f"| {row['entry_date']} | {row['family_label']} | {row['direction']} | {row['outcome']} "
        f"| {_or_dash(row['realized_move_pct'], '%')} | {_or_dash(row['r_multiple'], ' R')} |"
        for row in history["occurrences"]
    ]
    return [
        f"The last {history['count']} of {history['total']} setups that ended, wins and losses:",
        "",
        "| entry | family | direction | outcome | move in its favour | result |",
        "|---|---|---|---|---|---|",
        *rows,
    ]


def chart_name(symbol: str, setup_id: str) -> str:
    """The file name of a chart."""
    return f"{symbol}-{setup_id}.png"


def bullets(lines: Iterable[str]) -> list[str]:
    """Lines as a Markdown list."""
    return [f"- {line}" for line in lines]


def _family_win_rate(setup: Json) -> str:
    return win_rate(setup["track_record"]["family"])


def _or_dash(number: float | None, unit: str) -> str:
    return "-" if number is None else f"{number:+.2f}{unit}"


def _options() -> argparse.Namespace:
    made = parser("Track tickers and write a report on their chart patterns.", EPILOG)
    made.add_argument(
        "symbols", nargs="*", help="tickers; the first of the scan by rank when left out"
    )
    made.add_argument(
        "--best", type=int, default=3, help="how many of the scan, by rank (default: 3)"
    )
    made.add_argument(
        "--out", type=Path, default=Path("report.md"), help="the report (default: %(default)s)"
    )
    return made.parse_args()


if __name__ == "__main__":
    finish(main)
