"""Listening: the socket is there before anything is served, so that a taken port is one clear line.

systemd may open it and keep it while the service restarts, so that clients wait and none is refused
(sd_listen_fds(3)). It is told when the service serves (sd_notify(3)). Other managers speak the
same.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import socket

from screener.settings.settings import Settings, SettingsError

OTHER_FILES = 256
"""Open files beside the connections: the night, the accounts, counters, drawings."""

FIRST = 3
"""The descriptor of the first socket that is handed over."""

SERVING = b"READY=1"


def handed_over() -> socket.socket | None:
    """The listening socket that the manager opened for this process, if it did.

    Raises:
        SettingsError: there are several, or it is no listening TCP socket.
    """
    if os.environ.get("LISTEN_PID") != str(os.getpid()):
        return None
    number = os.environ.get("LISTEN_FDS")
    if number != "1":
        raise SettingsError(
            f"The service manager handed over {number or 'no'} sockets; "
            "the socket unit must have one ListenStream=."
        )
    listener = _listener()
    if listener is None:
        raise SettingsError(
            "The service manager handed over no listening TCP socket; "
            "ListenStream= of the socket unit must be an address and a port."
        )
    listener.set_inheritable(False)
    return listener


def _listener() -> socket.socket | None:
    try:
        listener = socket.socket(fileno=FIRST)
        listens = listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError:
        return None
    return listener if listens and listener.family in (socket.AF_INET, socket.AF_INET6) else None


async def tell_manager() -> None:
    """Tell the manager that this process serves; uvicorn calls it at the start, and again at times
    of the wall clock, on which no manager may rely.
    """
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):  # an abstract address of Linux
        address = "\0" + address[1:]
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices:
        notices.setblocking(False)
        notices.sendto(SERVING, address)


def bind(settings: Settings) -> socket.socket:
    """The listening socket that a service manager handed over, or one on the configured address.

    Raises:
        SettingsError: the address is taken or not this machine's, or the socket cannot be used.
    """
    listener = handed_over()
    if listener is not None:
        return listener
    try:
        return open_listener(settings.host, settings.port)
    except OSError as error:
        raise SettingsError(_why_not(error, settings)) from error


def open_listener(host: str, port: int) -> socket.socket:
    """A listening socket on an address of this machine.

    Raises:
        OSError: the address is taken or not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except OSError:
        listener.close()
        raise
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
