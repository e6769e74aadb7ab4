"""The command line: `screener up` is all a new user needs; `screener --help` teaches the rest."""

from __future__ import annotations

import io
import signal
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from screener.commands import access, accounts, backup, chart, db, up, watchlist
from screener.commands.analysis import detect
from screener.commands.bars_options import reading_bars
from screener.commands.nights import bars, ledger, night
from screener.commands.patterns import export, patterns
from screener.commands.up import Host, Port
from screener.doctor import doctor
from screener.notify import notify
from screener.server.process import loading, never_lost
from screener.settings.console import err, out, plainly, prepare_data_dir, settings
from screener.settings.errors import EndedError, usage_error
from screener.telemetry.version import VERSION


class Commands(TyperGroup):
    """The commands; whatever an operator can put right is one line of any of them."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - as typer's
        """Run the command that was called."""
        with plainly():
            return super().invoke(ctx)

    def main(self, *args: Any, **given: Any) -> Any:  # noqa: ANN401 - as typer's
        """Run the command line and exit; a call that it does not understand is told in one line."""
        try:
            code = super().main(*args, **given | {"standalone_mode": False})
        except EndedError as end:
            code = end.code
        except typer.Abort:
            err.print("screener: aborted.")
            code = 1
        except typer.TyperException as error:
            if words := usage_error(error):  # none if help was printed instead
                err.print(f"screener: {words}")
            code = error.exit_code
        sys.exit(code)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(accounts.accounts_app, name="account")
app.add_typer(accounts.keys_app, name="key")
app.add_typer(watchlist.watchlist_app, name="watchlist")
app.add_typer(night.nights_app, name="night")
app.add_typer(ledger.ledger_app, name="ledger")
app.add_typer(bars.bars_app, name="bars")
app.add_typer(access.sessions_app, name="session")
app.add_typer(access.grants_app, name="grant")
app.add_typer(access.clients_app, name="client")
app.command()(patterns.scan)
app.command()(patterns.show)
app.command()(chart.chart)
app.command()(export.export)
app.command()(access.purge)
app.add_typer(db.db_app, name="db")
app.command()(access.audit)
app.command()(backup.backup)
app.command()(backup.restore)
app.command()(doctor.doctor)
app.command()(reading_bars()(night.nightly))
app.command()(notify.notify)
app.command()(detect.detect)
app.command()(up.up)

WorkerCount = Annotated[
    int | None, typer.Option(help="Number of serving processes; SCREENER_WORKERS.")
]


def _show_version(wanted: bool) -> None:
    if wanted:
        out.print(VERSION)
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """A chart-pattern screener for daily bars, with pages, a REST API and MCP for agents.

    Start with `screener up`.
    """


@app.command("serve")
def serve_command(host: Host = None, port: Port = None, workers: WorkerCount = None) -> None:
    """Serve the pages, the API and MCP; a new night is served within two seconds."""
    from screener.server.listening import bind

    with loading():
        from screener.server.serving import check_active_night, serve
        from screener.service.parts import policies_of

    chosen = settings(host=host, port=port, workers=workers)
    policies_of(chosen)  # a text that cannot be used is told now, and not by each worker
    prepare_data_dir(chosen)
    check_active_night(chosen)
    with bind(chosen) as listener:
        # The socket of a service manager may have another port.
        chosen = chosen.model_copy(update={"port": listener.getsockname()[1]})
        err.print(f"Serving {chosen.url}")
        doctor.warn_at_start(chosen)
        serve(chosen, listener)


@app.command("settings")
def show_settings() -> None:
    """List every setting with its value, default and meaning."""
    chosen = settings()
    for name, field in type(chosen).model_fields.items():
        value, default = _plain(getattr(chosen, name)), _plain(field.default)
        out.print(f"SCREENER_{name.upper()}={value}")
        words = " ".join((field.description or "").split())
        out.print(f"    {words} (default: {default or 'unset'})")


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return "" if value is None else str(value)


def main() -> None:
    """The `screener` command."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A letter that the terminal does not have is printed as its number, as stderr does it.
        sys.stdout.reconfigure(errors="backslashreplace")
    never_lost(signal.SIGINT)
    app()
