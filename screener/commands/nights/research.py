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

from screener.settings.console import err, fail, plainly, settings
from screener.settings.options import Bars, Executor, Jobs, ReferenceTable, Symbol, read_date

if TYPE_CHECKING:
    from nightly.parameters import Parameters
    from nightly.plan import Order, Step


def detect(
    bars: Bars,
    out_file: Annotated[
        Path | None, typer.Option("--out", help="The JSON file to write; needed without --explain.")
    ] = None,
    symbol: Symbol = None,
    reference: ReferenceTable = None,
    jobs: Jobs = None,
    executor: Executor = None,
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
            help="Instead print what is served of this symbol and its score by part, and every "
            "pair of trend lines that is not served with the first rule that it fails.",
        ),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option(help="The session to explain (YYYY-MM-DD); the newest when left out."),
    ] = None,
    chart: Annotated[
        Path | None,
        typer.Option(help="PNG to write: what is served, or the pair of lines nearest to it."),
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
    if explain is None and (session is not None or chart is not None):
        fail("--session and --chart go with --explain SYMBOL only.")
    chosen, parameters = settings(), DETECTORS[detector]
    with plainly(), working(chosen, executor) as (work, step):
        order = order_of(
            chosen,
            bars,
            work=work,
            step=step,
            symbol=symbol,
            reference=reference,
            session=read_date(session),
            jobs=jobs,
            executor=executor,
        )
        if out_file is not None:
            _write_versions(order, parameters, out_file, step)
        elif explain is not None:
            from screener.commands.nights.explain import tell

            tell(chosen, order, explain, parameters, chart)


def _write_versions(order: Order, parameters: Parameters, out_file: Path, step: Step) -> None:
    import orjson

    from nightly.errors import by_code
    from nightly.plan import plan, pool_of
    from nightly.research import versions
    from screener.commands.nights.check import left_out
    from store.folder.files import replace_file

    find = partial(versions, parameters=parameters)
    looked = plan(order, dt.datetime.now(dt.UTC))
    found: list[Mapping[str, Any]] = []
    refused = dict(looked.refused)
    with pool_of(looked) as pool:
        for done, batch in enumerate(pool.run(find, looked.tasks), 1):
            found += batch.versions
            refused |= batch.refused
            step("finding patterns", done, len(looked.tasks))
    for line in left_out(by_code(refused)):
        err.print(line)
    if refused.keys() >= set(looked.symbols):
        fail("No symbol can be used, so nothing was written; the lines above say why.")
    try:
        replace_file(out_file, orjson.dumps(found, option=orjson.OPT_APPEND_NEWLINE), 0o644)
    except OSError as error:
        fail(f"{out_file} cannot be written ({error.strerror}); choose another --out.")
    err.print(f"Wrote {len(found)} versions to {out_file}.")
