"""`screener detect`: what the detector serves and why, for research.

The nightly, which brings numba and Polars, is imported by the command that uses it
(`screener.settings.console` says why).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from screener.commands.bars_options import BarsOptions, reading_bars
from screener.settings.console import err, fail, settings, writing

if TYPE_CHECKING:
    from nightly.parameters import Parameters
    from nightly.plan import Order, Step


@reading_bars()
def detect(
    options: BarsOptions,
    out_file: Annotated[
        Path | None, typer.Option("--out", help="The JSON file to write; needed without --explain.")
    ] = None,
    detector: Annotated[
        str,
        typer.Option(
            help="`default`, which nights use, or `reference`, the prototype's, to compare with."
        ),
    ] = "default",
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="SYMBOL",
            help="Instead print what is served of this symbol and its score by part, and the first "
            "rule that each pair of trend lines fails, with its value and its bound.",
        ),
    ] = None,
) -> None:
    """Write every version of every pattern that was served, session by session, for research.

    With --explain, print why one symbol has a pattern on a session, or why it has none.
    """
    from nightly.parameters import DETECTORS
    from screener.commands.nights.nightly import order_of, working

    if detector not in DETECTORS:
        fail(f"--detector {detector!r} is not one of {', '.join(DETECTORS)}.")
    if (out_file is None) == (explain is None):
        fail("Give either --out FILE or --explain SYMBOL.")
    chosen, parameters = settings(), DETECTORS[detector]
    with working(chosen, options.executor) as (work, step):
        order = order_of(chosen, options, work=work, step=step)
        if out_file is not None:
            _write_versions(order, parameters, out_file, step)
        elif explain is not None:
            from screener.commands.nights.explain import print_explanation

            print_explanation(order, explain, parameters)


def _write_versions(order: Order, parameters: Parameters, out_file: Path, step: Step) -> None:
    import orjson

    from nightly.errors import by_code
    from nightly.plan import plan, pool_of
    from nightly.research import versions
    from screener.commands.nights.quality import left_out
    from store.folder.files import replace_file

    find = partial(versions, parameters=parameters)
    planned = plan(order, dt.datetime.now(dt.UTC))
    served: list[Mapping[str, Any]] = []
    refused = dict(planned.refused)
    with pool_of(planned) as pool:
        for done, batch in enumerate(pool.run(find, planned.tasks), 1):
            served += batch.versions
            refused |= batch.refused
            step("finding patterns", done, len(planned.tasks))
    for line in left_out(by_code(refused)):
        err.print(line)
    if refused.keys() >= set(planned.symbols):
        fail("No symbol can be used, so nothing was written; the lines above say why.")
    with writing(out_file, "--out"):
        replace_file(out_file, orjson.dumps(served, option=orjson.OPT_APPEND_NEWLINE), 0o644)
    err.print(f"Wrote {len(served)} versions to {out_file}.")
