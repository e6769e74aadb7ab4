"""What a night says of one symbol: its setups, its record and its families', its past trades."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import orjson

from mcp_server.operations.arguments import HistoryArguments, RecordArguments
from mcp_server.operations.handlers.patterns import history_body, patterns_body, record_body
from mcp_server.presentation.absence import absence
from screener.commands.patterns.setups import age_of
from screener.commands.patterns.tables import history_table
from screener.settings.console import out, terminal_width
from store.nights.book import Book, company_name, entries_of
from store.wire.currency import money
from store.wire.families import Family
from store.wire.view import PlanView, SetupView
from store.wire.words import (
    QUALITY,
    STOPPED,
    VERDICTS,
    age_words,
    attempt_words,
    chance_words,
    change,
    expected_words,
    loss_words,
    place_words,
    ratios_words,
    sample_words,
    short,
    status_words,
    tenths,
    win_words,
)

Fields = Mapping[str, Any]

MAX_NAME: Final = 80
"""Characters of a company's name that are shown at most."""

LABELLED: Final = 15
"""Columns of the labels in front of facts."""


def answers_of(book: Book, symbol: str, rows: int) -> dict[str, Any]:
    """The answers of the API's patterns, record and history routes on a symbol."""
    bodies = {
        "patterns": patterns_body(book, symbol),
        "record": record_body(book, RecordArguments(symbol=symbol)),
        "history": history_body(book, HistoryArguments(symbol=symbol, limit=rows)),
    }
    return {name: orjson.loads(book.enveloped(body)) for name, body in bodies.items()}


def print_ticker(book: Book, symbol: str, answers: Fields) -> None:
    """Print the answers on a symbol for people."""
    setups = answers["patterns"]["setups"]
    out.print_text(_heading(book, symbol))
    out.print_text(age_of(book))
    out.print_text(absence(book, symbol) or f"Current setups: {len(setups)}.")
    for setup in setups:
        out.print()
        _print_setup(book.scan.by_id[setup["setup_id"]], setup["lines"])
    own = answers["record"]["records"] or _own(setups)
    _print_records(book, own, setups, answers["record"].get("reason"))
    _print_history(symbol, answers["history"])
    out.print()
    out.print_text(book.disclaimer)


def _heading(book: Book, symbol: str) -> str:
    entry = next((entry for entry in entries_of(book) if entry["symbol"] == symbol), {})
    facts = [entry.get(name) for name in ("asset_type", "exchange", "industry", "country")]
    parts = [short(company_name(entry), MAX_NAME), ", ".join(fact for fact in facts if fact)]
    return "; ".join([symbol, *(part for part in parts if part)])


def _print_setup(setup: SetupView, lines: Fields) -> None:
    kind = f"{setup.pattern}, {setup.directions}, {status_words(setup.status)}"
    out.print_text(f"{kind} (setup {setup.setup_id})")
    _fact("drawn", "; ".join(filter(None, _times(setup))))
    _fact(
        "last close",
        ", ".join(filter(None, (money(setup.last_close, setup.currency), place_words(setup)))),
    )
    if setup.quality_pct is not None:
        _fact("quality", f"{tenths(setup.quality_pct)}. {QUALITY}")
    for side in ("upper", "lower"):
        _fact(f"{side} line", _line(lines[side], setup.currency))
    _fact("trigger", setup.trigger_rule)
    for plan in setup.plans:
        _fact("plan", _plan(setup, plan))
    if record := setup.record:
        _fact("record", f"{win_words(record)}, {loss_words(record)}: {sample_words(setup, record)}")
        _fact("", "; ".join(filter(None, (chance_words(record), expected_words(setup)))))


def _times(setup: SetupView) -> Iterator[str]:
    later = attempt_words(setup.attempt, setup.attempts)
    yield f"{setup.pattern_start} to {setup.pattern_end}"
    yield f"{later}, not counted in records" if (setup.attempt or 1) > 1 else later
    yield age_words(setup.sessions_running)


def _fact(label: str, text: str) -> None:
    out.print_text(text, f"  {label:<{LABELLED - 2}}")


def _line(line: Fields, currency: str) -> str:
    start, end = line["start"], line["end"]
    return (
        f"{start['date']} at {money(start['price'], currency)} to {end['date']} at "
        f"{money(end['price'], currency)}, touches: {line['touch_count']}"
    )


def _plan(setup: SetupView, plan: PlanView) -> str:
    price = partial(money, currency=setup.currency)
    stop = f"stop {price(plan.stop)} ({change(plan.stop_pct)})"
    target = f"target {price(plan.target)} ({change(plan.target_pct)})"
    start = f"{plan.direction} from the {plan.start_name}, {price(plan.start)}"
    return f"{start}: {stop}, {target}; reward to risk {ratios_words(setup, plan)}"


def _own(setups: Sequence[Fields]) -> list[Fields]:
    """The ticker's records beside its setups; a night may have been sealed with these alone."""
    records = (setup["track_record"]["ticker"] for setup in setups)
    return list({record["family"]: record for record in records if record}.values())


def _print_records(
    book: Book, own: Sequence[Fields], setups: Sequence[Fields], reason: str | None
) -> None:
    out.print()
    out.print("Own record:")
    for record in own:
        _print_record(record)
    if not own:
        reasons = {
            "not_sealed": "this night holds no records of single tickers",
            "not_covered": "the latest scan left this symbol out",
        }
        out.print_text(f"{reasons.get(reason or '', 'no resolved trade yet')}.", "  ")
    families = {row["family"] for row in setups or own}
    entries = [orjson.loads(book.family(family)) for family in Family if family in families]
    if entries:
        out.print()
        out.print("Family record:")
    for entry in entries:
        _print_record(entry["track_record"], entry["label"])
        if entry.get("as_served"):
            out.print_text(entry["as_served"]["summary"], "  ")


def _print_record(record: Fields | None, label: str = "") -> None:
    if record is None:
        out.print_text(f"{label}: no resolved trade.", "  ")
        return
    verdict = record.get("verdict")
    against = f" Verdict: {VERDICTS[verdict]}." if verdict else ""
    out.print_text(f"{record['summary']}{against}", "  ")


def _print_history(symbol: str, history: Fields) -> None:
    rows, total = history["occurrences"], history["total"]
    out.print()
    if not rows:
        out.print("Past trades: none.")
        return
    more = ", newest first" if len(rows) == total else f", the newest {len(rows)}"
    out.print(f"Past trades: {total:,}{more}.")
    out.print(history_table(rows, history["currency"], terminal_width()))
    if STOPPED in history["notes"]:
        out.print_text(STOPPED)
    if len(rows) < total:
        out.print(f"More: `screener show {symbol} --history 100`.")
