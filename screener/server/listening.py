"""Listening: binds the port before anything is served, so that a taken one is one clear line."""

from __future__ import annotations

import errno
import socket

from screener.server.activation import handed_over
from screener.settings.settings import Settings, SettingsError

OTHER_FILES = 256
"""Open files beside the connections: the night, the accounts, counters, drawings."""


def bind(settings: Settings) -> socket.socket:
    """The listening socket that a service manager handed over, or one on the configured address.

    Raises:
        SettingsError: the address is taken or not this machine's, or the socket cannot be used.
    """
    listener = handed_over()
    if listener is not None:
        return listener
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise SettingsError(_why_not(error, settings)) from error
    return listener


def _why_not(error: OSError, settings: Settings) -> str:
    """Why an address cannot be listened on, and what to choose instead."""
    host, port = settings.host, settings.port
    other = port + 1 if port < 65535 else 8000
    if error.errno == errno.EADDRINUSE:
        what, choose = "another process listens there", other
    elif error.errno == errno.EACCES:
        what, choose = "ports below 1024 are the system's", 8000
    else:
        elsewhere = isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL
        words = "it is not an address of this machine" if elsewhere else error.strerror
        return f"{host}:{port} cannot be listened on: {words}; choose another with --host."
    return (
        f"{host}:{port} cannot be listened on: {what}; choose another port with --port {choose} or "
        f"SCREENER_PORT={choose}, by make with `make up SCREENER_PORT={choose}`."
    )


def allow_files(connections: int) -> None:
    """Raise the limit of open files, where there is one, so that every connection has one.

    Raises:
        SettingsError: the system does not allow so many.
    """
    try:
        import resource
    except ImportError:  # not Unix
        return
    wanted = connections + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (ValueError, OSError) as error:
        raise SettingsError(
            f"SCREENER_CONNECTIONS: {connections} connections need {wanted} open files and the "
            f"system allows {hard}; allow more (`ulimit -n`, LimitNOFILE=) or set it lower."
        ) from error
