"""`screener up`: the whole way from a folder of bars, or from nothing, to a page with patterns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from screener.commands.bars_options import SAMPLE, BarsOptions, reading_bars
from screener.server.process import loading
from screener.settings.console import err, fail, prepare_data_dir, settings

if TYPE_CHECKING:
    from screener.settings.settings import Settings

Host = Annotated[str | None, typer.Option(help="Address to listen on; SCREENER_HOST.")]
Port = Annotated[int | None, typer.Option(help="Port to listen on; SCREENER_PORT.")]


@reading_bars(
    *("bars", "symbol", "reference", "adjustment", "exchange", "currency", "session"),
    "min_quality",
)
def up(options: BarsOptions, port: Port = None, host: Host = None) -> None:
    """Start here: serve the pages and the API, scan your --bars, and create a first key.

    The page /screen shows progress, then the setups. Without --bars the sample is scanned if there
    is no night yet. On your own machine the pages need no account (SCREENER_OPEN_PAGES).

    \b
    screener up
    screener up --bars ~/bars
    """
    import anyio

    from screener.commands.nightly_process import nightly_process
    from screener.doctor.doctor import warn_at_start
    from screener.server.listening import bind
    from screener.settings.errors import check_nightly

    with loading():
        from screener.commands.start import first_account, greeting, seal_first_night
        from screener.server.serving import check_active_night, serve
        from screener.service.parts import policies_of
        from store.nights.nights import Nights

    own = None if options.bars == SAMPLE else _existing(options)
    chosen = opened(settings(host=host, port=port, min_quality=options.min_quality))
    policies_of(chosen)
    prepare_data_dir(chosen)
    if own or not (chosen.nights_url or Nights(chosen.data_dir).pointer.exists()):
        check_nightly()
    with bind(chosen) as listener:
        err.print(f"The page: {chosen.url}/screen")
        if own is None:
            seal_first_night(chosen)
        else:
            check_active_night(chosen)
        warn_at_start(chosen)
        tracked = () if own else chosen.demo_symbols[:4]  # the sample has so many
        first = anyio.run(first_account, chosen, tracked)
        for line in greeting(chosen, first, own_bars=own is not None).splitlines():
            err.print(line)
        with nightly_process(chosen, own):
            serve(chosen, listener)


def _existing(options: BarsOptions) -> BarsOptions:
    """The options, with paths that a shell left as they are; files of this machine exist."""
    bars = options.bars if "://" in options.bars else str(_file(options.bars))
    return replace(options, bars=bars, reference=options.reference and _file(options.reference))


def _file(named: str | Path) -> Path:
    path = Path(named).expanduser()
    if not path.exists():
        fail(f'"{path}" does not exist; name a folder of bars or one file.')
    return path


def opened(chosen: Settings) -> Settings:
    """The settings, with pages that need no account if only this machine can reach them."""
    from screener.settings.setting_types import is_loopback

    is_private = is_loopback(chosen.host) and not (chosen.public_url or chosen.trusted_proxies)
    if not is_private or "open_pages" in chosen.model_fields_set:
        return chosen
    return chosen.model_copy(update={"open_pages": True})
