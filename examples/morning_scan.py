"""The morning scan: tonight's setups of the whole market as one table, over REST."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence

from screener_client import PATIENCE, Json, Screener, connected
from script import finish, parser
from setup_words import footing, money, side, status, win_rate

FAMILIES = ("rising_wedge", "falling_wedge", "bullish_pennant", "bearish_pennant", "triangle")
HEAD = (
    *("rank", "symbol", "family", "direction", "status"),
    *("trigger", "stop", "target", "distance or gain", "win rate"),
)
RIGHT = {"rank", "trigger", "stop", "target", "distance or gain"}

CONDITION = re.compile(r"(\w+)(?::(\w+))?\s*(<=|>=|<|>|=|\bis\b)\s*(.+)")
CONDITION_HELP = """a condition that every row must meet; may be given many times.
'rsi < 70' compares a number, 'ema_distance:21 > 0' one that takes a period,
'industry is Software' a choice, 'price_above_sma:50 is true' a yes or no"""

EPILOG = """\
examples:
  morning_scan.py                                    what is still forming, by rank
  morning_scan.py --max-distance 1.5                 only what is close to its trigger
  morning_scan.py --family triangle --status all     running triangles too
  morning_scan.py --where 'rsi < 70' --where 'sma_distance:50 > 0'

reading the table:
  distance or gain   where the trigger is from the last close, or the gain
                     of a triggered trade so far, in percent
  win rate   of the pattern family; it always stands with its number of trades and the
             average loss, because a win rate alone says nothing about what a trade earned
"""


def main() -> None:
    """Read the scan within one session and print it."""
    options = _options()
    with connected(options.url, options.key, options.patience) as screener:
        pages = screener.in_one_session(lambda: read_pages(screener, _query(options)))
    setups = [setup for page in pages for setup in page["setups"]]
    print(report(pages[0], setups))


def read_pages(screener: Screener, query: Json) -> list[Json]:
    """Every page of a scan."""
    pages = [screener.get("/scan", **query)]
    read = len(pages[0]["setups"])
    while pages[-1]["setups"] and read < pages[0]["count"]:
        pages.append(screener.get("/scan", **query, offset=read))
        read += len(pages[-1]["setups"])
    return pages


def report(page: Json, setups: Sequence[Json]) -> str:
    """The table, the track records behind its win rates, and the footing."""
    if not page["available"]:
        return f"There is no book for this session yet.\n{footing(page)}"
    if not setups:
        return f"No setup matches.\n{footing(page)}"
    found = f"{len(setups)} of {page['count']} setups, status {page['status']}"
    rows = [row for setup in setups for row in table_rows(setup)]
    table = aligned([HEAD, *rows])
    return "\n".join([found, "", *table, "", *track_records(setups), footing(page)])


def table_rows(setup: Json) -> list[tuple[str, ...]]:
    """The rows of one setup: one for each of its trade plans."""
    return [
        (
            str(setup["rank"]),
            setup["symbol"],
            setup["family_label"],
            plan["direction"],
            status(setup),
            money(plan["trigger_price"], setup),
            money(plan["stop_price"], setup),
            money(plan["target_price"], setup),
            standing(setup, plan),
            win_rate(side(setup["track_record"]["family"], plan["direction"])),
        )
        for plan in setup["plans"]
    ]


def standing(setup: Json, plan: Json) -> str:
    """Where the trigger of a plan is from the last close, or what a running trade has gained."""
    if setup["status"] == "in_progress" and setup.get("gain_pct") is not None:
        return f"{setup['gain_pct']:+.2f}%"
    away = 100 * (plan["trigger_price"] / setup["last_close"] - 1)
    return f"{abs(away):.2f}% {'above' if away > 0 else 'below'}"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines of columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if name in RIGHT else cell.ljust(width)
            for name, cell, width in zip(HEAD, row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def track_records(setups: Sequence[Json]) -> list[str]:
    """Each family record among the setups once, of the directions shown: its summary whole, and
    how it was measured.
    """
    shown = {
        (setup["family"], plan["direction"]): setup["track_record"]["family"]
        for setup in setups
        for plan in setup["plans"]
        if setup["track_record"]["family"] is not None
    }
    texts = {
        (side(record, direction) or {}).get("summary") or record["summary"]: record["measured"]
        for (_, direction), record in shown.items()
    }
    blocks = [(summary, f"  Measured: {measured}", "") for summary, measured in texts.items()]
    return [line for block in blocks for line in block]


def predicate(condition: str) -> Json:
    """A condition as a filter of the scan; the service checks whether it makes sense."""
    match = CONDITION.fullmatch(condition.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"not a condition such as 'rsi < 70': {condition}")
    kind, period, operator, value = match.groups()
    made: Json = {"kind": kind}
    if operator == "is":
        made["value"] = {"true": True, "false": False}.get(value, value)
    else:
        made.update(op=operator, value=_number(value))
    if period is not None:
        made["period"] = int(period) if period.isdigit() else period
    return made


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not a number: {text}") from error


def _query(options: argparse.Namespace) -> Json:
    return {
        "family": options.family,
        "direction": options.direction,
        "status": options.status,
        "max_distance_pct": options.max_distance,
        "filters": json.dumps(options.where) if options.where else None,
        "limit": options.page_size,
    }


def _options() -> argparse.Namespace:
    made = parser(
        "Print tonight's setups of the whole market by rank, largest typical gain first.", EPILOG
    )
    made.add_argument("--family", choices=FAMILIES, help="one pattern family; all when left out")
    made.add_argument("--direction", choices=("bullish", "bearish"), help="both when left out")
    made.add_argument(
        "--status",
        choices=("forming", "in_progress", "all"),
        default="forming",
        help="forming: the trigger has not fired; in_progress: it has (default: forming)",
    )
    made.add_argument(
        "--max-distance",
        type=float,
        metavar="PCT",
        help="forming setups within this percent of their trigger",
    )
    made.add_argument(
        "--where", type=predicate, action="append", metavar="CONDITION", help=CONDITION_HELP
    )
    made.add_argument("--page-size", type=int, default=50, help="rows a request, 1 to 200")
    made.add_argument(
        "--patience",
        type=float,
        default=PATIENCE,
        metavar="S",
        help="longest single wait when the service says 429 (default: %(default)s s)",
    )
    return made.parse_args()


if __name__ == "__main__":
    finish(main)
