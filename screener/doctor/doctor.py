"""`screener doctor`: looks at all that a service needs, and says what to do about the rest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from screener.settings.console import fail, out, settings, warn
from store.folder.trouble import trouble_of

if TYPE_CHECKING:
    from screener.doctor.checks.finding import Check, Finding
    from screener.settings.settings import Settings


def doctor(
    url: Annotated[
        str | None,
        typer.Option(help="Also ask the running service through its proxy, at this address."),
    ] = None,
    publishing: Annotated[
        bool,
        typer.Option(
            help="Also try whether this machine may publish into SCREENER_NIGHTS_URL: puts a small "
            "object there and removes it."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Check machine, settings, data, accounts, night and port; exit code 1 if one is a fault.

    With --url: also whether the proxy in front passes on what the service needs. With --publishing:
    also whether nights can be published into the shared store.
    """
    chosen = settings(quiet=True)
    wanted = (*checks(), *(_writing() if publishing else _not_writing()))
    found = [*_examined(chosen, wanted), *(_outside(chosen, url) if url else ())]
    faults = sum(one.level == "fault" for one in found)
    if as_json:
        out.print_json({"faults": faults, "checks": [one._asdict() for one in found]})
    else:
        _print(found)
    if faults:
        fail("1 fault; see above." if faults == 1 else f"{faults} faults; see above.", 1)


def _print(found: list[Finding]) -> None:
    width = max(len(one.name) for one in found)
    for one in found:
        out.print_text(one.words, f"{one.level:<7}  {one.name:<{width}}  ")


def checks() -> tuple[Check, ...]:
    """Every check that asks nobody outside of this machine but what the settings name."""
    from screener.doctor.checks import (
        accounts,
        data,
        limits,
        machine,
        network,
        night,
        nights,
        options,
    )

    return (
        *(machine.python, machine.packages, machine.files, machine.memory, machine.temporary),
        *(machine.clock, options.unknown, options.policies, options.contradictions),
        *(data.folder, data.room, data.lock, data.ledger, data.checkpoints),
        *(night.digest, night.age, night.demo, night.sealed),
        *(nights.nights, accounts.accounts, limits.limits, network.port),
    )


def _writing() -> tuple[Check, ...]:
    """The checks that write where others read, and only when they are asked for."""
    from screener.doctor.checks.nights import publishing

    return (publishing,)


def _not_writing() -> tuple[Check, ...]:
    from screener.doctor.checks.nights import not_published

    return (not_published,)


def warn_at_start(chosen: Settings) -> None:
    """Say what is not well, as far as it is learned at once: a start must not wait."""
    from screener.doctor.checks import data, machine, night, options

    quick = (
        machine.clock,
        machine.memory,
        options.contradictions,
        data.room,
        night.sealed,
        night.demo,
    )
    for finding in _examined(chosen, quick):
        if finding.level != "ok":
            warn(f"{finding.name}: {finding.words}")


def _outside(chosen: Settings, url: str) -> Iterator[Finding]:
    from screener.doctor.checks.proxy import proxy

    return proxy(chosen, url)


def _examined(chosen: Settings, wanted: tuple[Check, ...]) -> Iterator[Finding]:
    from screener.doctor.checks.finding import fault

    for check in wanted:
        try:
            yield from check(chosen)
        except Exception as error:
            name = check.__name__.replace("_", " ")
            yield fault(name, trouble_of(error) or f"could not be checked ({error!r}).")
