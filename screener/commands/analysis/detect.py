"""`screener detect`: what the detector serves and why, for research.

The nightly, which brings numba and Polars, is imported by the command that uses it
(`screener.settings.console` says why).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from screener.commands.bars_options import BarsOptions, reading_bars
from screener.settings.console import err, fail, settings, writing

if TYPE_CHECKING:
    from screener.nightly.plan import Order
    from screener.nightly.reading.source import Step


@reading_bars(
    "symbol", "reference", "adjustment", "exchange", "currency", "session", "jobs", "executor"
)
def detect(
    options: BarsOptions,
    wanted: Annotated[
        str | None,
        typer.Argument(
            metavar="SYMBOL",
            help="The symbol to explain: its patterns, or the first rule that each pair of trend "
            "lines fails.",
        ),
    ] = None,
    bars: Annotated[
        str | None,
        typer.Option(
            help="Bars, as for `nightly`; if unset, those of the active night, or the sample."
        ),
    ] = None,
    out_file: Annotated[
        Path | None, typer.Option("--out", help="The JSON file to write; needed without a SYMBOL.")
    ] = None,
) -> None:
    """Explain why a SYMBOL has a pattern or not; or write all past patterns to a file.

    With a SYMBOL, only its bars are read. With --out, each version of each pattern is written,
    session by session, for research.

    \b
    screener detect AAPL
    screener detect IBM --session 2012-06-01
    screener detect --out patterns.json
    """
    from screener.commands.analysis.origin import as_the_night
    from screener.commands.nightly import order_of, working

    if (out_file is None) == (wanted is None):
        fail("Give either --out FILE or a SYMBOL.")
    chosen = settings()
    options = as_the_night(chosen, options, bars)
    with working(chosen, options.executor) as (work, step):
        order = order_of(chosen, options, work=work, step=step, only=wanted)
        if out_file is not None:
            _write_versions(order, out_file, step)
        elif wanted is not None:
            from screener.commands.analysis.explain import print_explanation

            print_explanation(order, wanted)


def _write_versions(order: Order, out_file: Path, step: Step) -> None:
    import orjson

    from screener.commands.analysis.quality import left_out
    from screener.commands.analysis.versions import versions
    from screener.nightly.errors import by_code
    from screener.nightly.plan import plan, pool_of
    from store.folder.files import replace_file

    planned = plan(order, dt.datetime.now(dt.UTC))
    served: list[Mapping[str, Any]] = []
    refused = dict(planned.refused)
    with pool_of(planned) as pool:
        for done, batch in enumerate(pool.run(versions, planned.tasks), 1):
            served += batch.versions
            refused |= batch.refused
            step("finding patterns", done, len(planned.tasks))
    for line in left_out(by_code(refused)):
        err.print(line)
    if refused.keys() >= set(planned.symbols):
        fail("No symbol can be used, so nothing was written; the lines above give the reason.")
    with writing(out_file, "--out"):
        replace_file(out_file, orjson.dumps(served, option=orjson.OPT_APPEND_NEWLINE), 0o644)
    err.print(f"Wrote {len(served)} versions to {out_file}.")
