"""`screener up`: the whole way from a folder of bars, or from nothing, to a page with patterns."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from screener.server.loading import loading
from screener.settings.console import err, fail, plainly, prepare_data_dir, settings
from screener.settings.options import ReferenceTable, Symbol, read_adjustment, read_date

if TYPE_CHECKING:
    from screener.settings.settings import Settings

Host = Annotated[str | None, typer.Option(help="Address to listen on; SCREENER_HOST.")]
Port = Annotated[int | None, typer.Option(help="Port to listen on; SCREENER_PORT.")]


def up(
    bars: Annotated[
        Path | None,
        typer.Option(help="Your bars: a folder or zip of files, or one file. The sample if unset."),
    ] = None,
    reference: ReferenceTable = None,
    symbol: Symbol = None,
    adjustment: Annotated[
        str, typer.Option(help="What the bars are: split, none (raw) or split+div.")
    ] = "split",
    session: Annotated[
        str | None,
        typer.Option(help="Use no bar after this date (YYYY-MM-DD), however few symbols reach it."),
    ] = None,
    port: Port = None,
    host: Host = None,
) -> None:
    """Start everything: serve at once, make a night of --bars beside it, make a first key.

    The page /screen shows the night in the making and then its patterns. Without --bars the sample
    night is sealed first if there is no night. On loopback the pages need no account
    (SCREENER_OPEN_PAGES).
    """
    import anyio

    from screener.commands.beside import Wanted, nightly_beside
    from screener.doctor.doctor import warn_at_start
    from screener.server.listening import bind
    from screener.settings.extras import check_nightly

    with loading():
        from screener.commands.start import first_account, greeting, seal_first_night
        from screener.server.serving import check_active_night, serve
        from screener.service.policies import policies_of
        from store.nights.nights import Nights

    wanted = None
    if bars is not None:
        kind = read_adjustment(adjustment)
        with plainly():
            read_date(session)
        table = reference and _existing(reference)
        wanted = Wanted(_existing(bars), table, symbol, kind, session)
    chosen = opened(settings(host=host, port=port))
    with plainly():
        policies_of(chosen)
        prepare_data_dir(chosen)
        if wanted or not (chosen.nights_url or Nights(chosen.data_dir).pointer.exists()):
            check_nightly()
        with bind(chosen) as listener:
            err.print(f"The page: {chosen.url}/screen")
            if wanted is None:
                seal_first_night(chosen)
            else:
                check_active_night(chosen)
            warn_at_start(chosen)
            tracked = () if wanted else chosen.demo_symbols[:4]  # the sample has so many
            first = anyio.run(first_account, chosen, tracked)
            for line in greeting(chosen, first, own_bars=wanted is not None).splitlines():
                err.print(line)
            with nightly_beside(chosen, wanted):
                serve(chosen, listener)


def _existing(path: Path) -> Path:
    path = path.expanduser()
    if not path.exists():
        fail(f'"{path}" does not exist; name a folder of bars or one file.')
    return path


def opened(chosen: Settings) -> Settings:
    """The settings, with pages that need no account if only this machine can reach them."""
    is_private = _is_loopback(chosen.host) and not (chosen.public_url or chosen.trusted_proxies)
    if not is_private or "open_pages" in chosen.model_fields_set:
        return chosen
    return chosen.model_copy(update={"open_pages": True})


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
