"""`screener ledger`: what every published night served, whether it is unchanged, and how it did.

Its own parts are imported by the commands that use them (`screener.settings.console` says why).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from screener.commands.groups import group
from screener.settings.console import Table, fail, out, settings
from store.wire.words import harmless, plural

if TYPE_CHECKING:
    from store.ledger.ledger import Ledger
    from store.nights.grade import Grade, Side

ledger_app = group("Check and show what every published night served.", "screener ledger verify")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

MAX_LISTED = 40
"""Disagreements that are printed; `--json` has them all."""


@ledger_app.command("verify")
def verify_ledger() -> None:
    """Check that nothing in the ledger was changed, removed or added, and that totals add up."""
    from store.ledger.verify import verify

    verified = verify(_ledger())
    for fault in verified.faults:
        out.print(f"{fault.file}: {fault.what}.")
    if verified.faults:
        fail(f"The ledger has changed: {plural(len(verified.faults), 'fault')}; see above.")
    if verified.unnoted:
        out.print("The newest object is not noted in head.json yet; the next run notes it.")
    nights, withdrawals = len(verified.nights), verified.withdrawals
    out.print(f"Unchanged: {plural(nights, 'night')}, {plural(withdrawals, 'withdrawal')}.")


@ledger_app.command("list")
def list_objects() -> None:
    """List the objects of the ledger, oldest first."""
    from store.ledger.objects import NightHead

    listed = Table("number", "kind", "version", "session", "since", "written (UTC)", "KB")
    ledger = _ledger()
    for name in ledger.names():
        head = ledger.head(name)
        if isinstance(head, NightHead):
            since, written = head.since, head.published_at
        else:
            since, written = None, head.at
        listed.add_row(
            str(head.number),
            head.kind,
            head.data_version,
            str(head.as_of_session),
            "-" if since is None else str(since),
            f"{written:%Y-%m-%d %H:%M}",
            f"{(ledger.folder / name.file).stat().st_size / 1e3:.1f}",
        )
    out.print(listed)


@ledger_app.command("show")
def show(
    which: Annotated[
        str, typer.Argument(metavar="NUMBER|VERSION", help="An object's number, or a data_version.")
    ],
) -> None:
    """Print one object of the ledger as lines of JSON; for a version, its newest object."""
    import orjson

    ledger = _ledger()
    names = [n for n in ledger.names() if which in (n.version, str(n.number))]
    if not names:
        fail(f"The ledger has no object {which!r}; `screener ledger list` shows them all.")
    written = ledger.read(names[-1])
    out.print(written.head.model_dump_json())
    for row in written.rows:
        out.print(orjson.dumps(row).decode())


@ledger_app.command("grade")
def grade(as_json: AsJson = False) -> None:
    """Compare live results with the backtest of the active night over the same time.

    Live results are the trades that past nights served before they ended. Both sides are first
    attempts entered after the first night; the rest is counted separately.
    """
    import orjson

    from store.nights.grade import grade as compare
    from store.nights.nights import Nights

    nights = Nights(settings().data_dir)
    with nights.book(nights.check_active()) as book:
        graded = compare(nights.ledger, book)
    if as_json:
        out.print_json(orjson.loads(orjson.dumps(graded, option=orjson.OPT_NON_STR_KEYS)))
    else:
        _print_grade(graded)


def _ledger() -> Ledger:
    from store.ledger.ledger import Ledger

    return Ledger(settings().data_dir)


def _print_grade(grade: Grade) -> None:
    table = Table("family", "", "trades", "wins", "losses", "win rate", "avg R", "open")
    for family, side in grade.served.items():
        table.add_row(family.label, "live", *_cells(side))
        table.add_row("", "backtest", *_cells(grade.history[family]))
    out.print(table)
    out.print(
        f"First attempts entered after {grade.first_session}, up to {grade.last_session}, from "
        f"{grade.nights:,} nights. Not in the table: {grade.earlier:,} trades that were running on "
        f"the first night and are resolved, {grade.later_attempts:,} of later attempts."
    )
    out.print(f"Disagreements: {len(grade.disagreements):,}.")
    for item in grade.disagreements[:MAX_LISTED]:
        out.print(
            f"    {item.symbol} {item.lineage_id} {item.family}: "
            f"{item.kind.replace('_', ' ')} ({harmless(item.why)})"
        )
    if len(grade.disagreements) > MAX_LISTED:
        out.print(f"    and {len(grade.disagreements) - MAX_LISTED:,} more; --json names them all.")


def _cells(side: Side) -> tuple[str, ...]:
    return (
        f"{side.trades:,}",
        f"{side.wins:,}",
        f"{side.losses:,}",
        "-" if side.win_rate_pct is None else f"{side.win_rate_pct:.1f}%",
        "-" if side.avg_r is None else f"{side.avg_r:+.3f}",
        f"{side.open:,}",
    )
