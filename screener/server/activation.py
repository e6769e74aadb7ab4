"""Activation: what a service manager hands over, and what it wants to know.

systemd opens the listening socket and keeps it while the service restarts, so that clients wait and
none is refused (sd_listen_fds(3)). It is told when the service serves (sd_notify(3)). Other
managers speak the same; without one, nothing here happens.
"""

from __future__ import annotations

import contextlib
import os
import socket

from pydantic_settings import BaseSettings, SettingsConfigDict

from screener.settings.settings import SettingsError

FIRST = 3
"""The descriptor of the first socket that is handed over."""

SERVING = b"READY=1"


class Manager(BaseSettings):
    """What the manager says in the environment. It is no setting of an operator."""

    model_config = SettingsConfigDict(env_prefix="", frozen=True, extra="ignore")

    listen_pid: str = ""
    listen_fds: str = ""
    notify_socket: str = ""


def handed_over() -> socket.socket | None:
    """The listening socket that the manager opened for this process, if it did.

    Raises:
        SettingsError: there are several, or it is no listening TCP socket.
    """
    manager = Manager()
    if manager.listen_pid != str(os.getpid()):
        return None
    if manager.listen_fds != "1":
        raise SettingsError(
            f"The service manager handed over {manager.listen_fds or 'no'} sockets; "
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
    address = Manager().notify_socket
    if not address:
        return
    if address.startswith("@"):  # an abstract address of Linux
        address = "\0" + address[1:]
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices:
        notices.setblocking(False)
        notices.sendto(SERVING, address)
