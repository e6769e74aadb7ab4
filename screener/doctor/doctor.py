"""`screener doctor`: looks at what a service needs, and says what to do about the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from screener.settings.console import fail, failure_words, out, settings, warn

if TYPE_CHECKING:
    from screener.doctor.result import Check, CheckResult
    from screener.settings.settings import Settings


def doctor(
    url: Annotated[
        str | None,
        typer.Option(help="Also check the running service and its proxy at this URL."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Check settings, data, night, accounts and limits; exit code 1 if one is a fault.

    With --url: also whether the proxy in front passes on what the service needs.
    """
    from screener.doctor import machine, stores

    chosen = settings()
    checks: list[Check] = [
        *(machine.contradictions, machine.data_folder, machine.ledger),
        *(machine.night, machine.demo_symbols),
        *(stores.store_of_nights, stores.accounts, stores.limits),
    ]
    results = list(_results(chosen, checks))
    if url:
        from screener.doctor.proxy import proxy

        results += proxy(chosen, url)
    faults = sum(one.level == "fault" for one in results)
    if as_json:
        out.print_json({"faults": faults, "checks": [one._asdict() for one in results]})
    else:
        width = max(len(one.name) for one in results)
        for one in results:
            out.print_text(one.words, f"{one.level:<7}  {one.name:<{width}}  ")
    if faults:
        fail("1 fault; see above." if faults == 1 else f"{faults} faults; see above.", 1)


def warn_at_start(chosen: Settings) -> None:
    """Say what is not well, as far as it is learned at once: a start must not wait."""
    from screener.doctor import machine

    for result in _results(chosen, (machine.contradictions, machine.demo_symbols)):
        if result.level != "ok":
            warn(f"{result.name}: {result.words}")


def _results(chosen: Settings, checks: Iterable[Check]) -> Iterator[CheckResult]:
    from screener.doctor.result import fault

    for check in checks:
        name = check.__name__.replace("_", " ")
        try:
            yield from check(chosen)
        except Exception as error:
            words = failure_words(error) or f"could not be checked ({error!r})."
            yield fault(name, words)
