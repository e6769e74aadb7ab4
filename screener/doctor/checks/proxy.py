"""Proxy: what arrives at a running service of what is sent to its public address."""

from __future__ import annotations

import datetime as dt
import http.client
import ipaddress
import ssl
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from pydantic import ValidationError

from screener.doctor.checks.asking import REQUEST_SECONDS, Said, ask, connected, within
from screener.doctor.checks.finding import Finding, fault, ok, warning

if TYPE_CHECKING:
    from screener.service.seen import Arrived
    from screener.settings.settings import Settings

FORGED: Final = "192.0.2.77"
"""An address of documentation (RFC 5737), from which no request can come."""

BODY_BYTES: Final = 60_000
"""Nearly the 64 KB that the service takes."""

SECONDS: Final = 30.0
"""For which all checks may take."""

RENEW_DAYS: Final = 14

TRIES: Final = 16
"""Requests until a balancer of several servers has led to the one of this data folder."""

STREAMED_SECONDS: Final = 0.5
"""Two events that are sent a second apart arrive at least so much apart."""


def through(chosen: Settings, url: str) -> Iterator[Finding]:
    """Ask the service of this data folder through the proxy at an address."""
    from screener.service.seen import FIELD, PATH, Arrived, token

    url = url.rstrip("/")
    with token(chosen.data_dir) as secret:
        for _ in range(TRIES if chosen.nights_url else 1):
            said = ask(
                url,
                PATH,
                method="POST",
                headers={FIELD: secret, "X-Forwarded-For": FORGED, "X-Forwarded-Proto": "gopher"},
                body=b"x" * BODY_BYTES,
                apart=True,
            )
            if said.status != 404:  # which another server of this store answers
                break
    try:
        seen = Arrived.model_validate_json(said.body.split(b"\n", 1)[0].removeprefix(b"data: "))
    except ValidationError:
        seen = None
    if said.status != 200 or seen is None:
        yield _not_ours(said, url)
        return
    yield ok("service", f"{url} leads to the service of this data folder")
    yield _address(chosen, url)
    yield _client(chosen, seen, said.source)
    yield from _scheme(url, seen)
    yield _host(url, seen)
    yield _body(seen)
    yield _stream(said)


def _not_ours(said: Said, url: str) -> Finding:
    if said.status == 413:
        return fault("bodies", f"{url} refuses a body of 60 KB; let the proxy pass 64 KB.")
    return fault(
        "service",
        f"{url} answers {said.status} and not as the service of this data folder; is it started, "
        "with the same SCREENER_DATA_DIR, and does the proxy pass every path and method?",
    )


def _address(chosen: Settings, url: str) -> Finding:
    if chosen.url != url.lower():
        return warning("public address", f"links name {chosen.url}; set SCREENER_PUBLIC_URL={url}")
    return ok("public address", url)


def _client(chosen: Settings, seen: Arrived, source: str) -> Finding:
    """Whether the service knows callers apart, and by what the proxy says."""
    client = seen.client
    came = [part.strip() for field in seen.forwarded_for for part in field.split(",")]
    if client == FORGED and came and came[-1] != FORGED and _is_trusted(came[-1], chosen):
        return warning(
            "X-Forwarded-For",
            f"this machine asks from {came[-1]}, which SCREENER_TRUSTED_PROXIES has, so its "
            "callers cannot be told apart; narrow it to the addresses of the proxies.",
        )
    if client == FORGED:
        return fault(
            "X-Forwarded-For",
            "what callers write is believed, so any caller can pose as another; let the proxy "
            "replace it, and list only the addresses of proxies in SCREENER_TRUSTED_PROXIES.",
        )
    if client == source or (came[-1:] == [client]):
        return ok(
            "X-Forwarded-For", f"callers are told apart ({client}), and no forged one is believed"
        )
    if not came or came == [FORGED]:
        words = (
            "does not arrive; let the proxy set it (proxy_set_header X-Forwarded-For $remote_addr)."
        )
        return fault("X-Forwarded-For", words)
    return fault(
        "X-Forwarded-For",
        f"arrives but is not believed: all callers are {client}; SCREENER_TRUSTED_PROXIES={client}",
    )


def _is_trusted(address: str, chosen: Settings) -> bool:
    try:
        found = ipaddress.ip_address(address)
        networks = [ipaddress.ip_network(one) for one in chosen.trusted_proxies if one != "*"]
    except ValueError:
        return False
    return "*" in chosen.trusted_proxies or any(found in network for network in networks)


def _scheme(url: str, seen: Arrived) -> Iterator[Finding]:
    wanted, came = urlsplit(url).scheme, ",".join(seen.forwarded_proto)
    if seen.scheme == wanted:
        yield ok("X-Forwarded-Proto", wanted)
    elif wanted == "http":
        yield warning("X-Forwarded-Proto", f"{came!r} arrives, but {url} is http.")
    else:
        said = f"{came!r} arrives" if came else "it does not arrive"
        yield fault(
            "X-Forwarded-Proto",
            f"{said}, and the service takes the call for {seen.scheme}; let the proxy set it "
            "(proxy_set_header X-Forwarded-Proto $scheme) and name it in SCREENER_TRUSTED_PROXIES.",
        )


def _host(url: str, seen: Arrived) -> Finding:
    wanted = urlsplit(url).netloc
    if str(seen.host).lower() == wanted.lower():
        return ok("Host", wanted)
    words = (
        f"{seen.host} arrives instead of {wanted}; let the proxy keep it (proxy_set_header "
        "Host $http_host)."
    )
    return fault("Host", words)


def _body(seen: Arrived) -> Finding:
    if seen.bytes == BODY_BYTES:
        return ok("bodies", "60 KB arrive")
    return fault(
        "bodies", f"{seen.bytes:,} of {BODY_BYTES:,} bytes arrive; let the proxy pass 64 KB."
    )


def _stream(said: Said) -> Finding:
    if said.seconds < STREAMED_SECONDS:
        words = (
            "the proxy holds events back until the end; switch its buffering off (proxy_buffering "
            "off)."
        )
        return warning("streams", words)
    return ok("streams", "events arrive as they are sent")


def certificate(_chosen: Settings, url: str) -> Iterator[Finding]:
    """How long the certificate is valid, which `ask` has checked."""
    said = within(REQUEST_SECONDS, lambda: _not_after(url))
    if said is None:
        yield warning("TLS", f"{url} is not encrypted; put a proxy with TLS in front.")
        return
    ends = dt.datetime.fromtimestamp(ssl.cert_time_to_seconds(said), dt.UTC)
    words = f"the certificate expires on {ends:%Y-%m-%d}"
    if ends - dt.datetime.now(dt.UTC) < dt.timedelta(days=RENEW_DAYS):
        yield warning("TLS", f"{words}; renew it, and see why that did not happen automatically.")
    else:
        yield ok("TLS", words)


def _not_after(url: str) -> str | None:
    """The end of the certificate, as it says it; None without TLS."""
    with connected(url) as connection:
        socket = connection.sock
        found = socket.getpeercert() if isinstance(socket, ssl.SSLSocket) else None
    return str(found["notAfter"]) if found and "notAfter" in found else None


def transport(_chosen: Settings, url: str) -> Iterator[Finding]:
    """Whether browsers are told to come by https alone."""
    if url.startswith("https:"):
        sent = ask(url, "/docs").headers.get_all("Strict-Transport-Security") or []
        if len(sent) == 1:
            yield ok("HSTS", sent[0])
        else:
            words = "is sent twice; let the proxy add none."
            if not sent:
                words = "is not sent; set SCREENER_PUBLIC_URL to the https address of the proxy."
            yield warning("HSTS", words)


def metrics(_chosen: Settings, url: str) -> Iterator[Finding]:
    """Whether strangers can read the numbers of the service."""
    said = ask(url, "/metrics")
    if said.status == 200 and b"# TYPE" in said.body:
        words = (
            f"{url}/metrics can be read by everybody; let the proxy pass only the service's port."
        )
        yield fault("metrics", words)
    else:
        yield ok("metrics", "cannot be read from outside")


def preflight(_chosen: Settings, url: str) -> Iterator[Finding]:
    """Whether pages of other sites can ask before they call."""
    fields = {"Origin": "https://app.example.com", "Access-Control-Request-Method": "POST"}
    said = ask(url, "/mcp", method="OPTIONS", headers=fields)
    allowed = said.headers.get_all("Access-Control-Allow-Origin") or []
    if said.status < 300 and len(allowed) == 1:
        yield ok("preflight", "pages of other sites may ask")
    elif len(allowed) > 1:
        words = "Access-Control-Allow-Origin is sent twice; let the proxy add none."
        yield fault("preflight", words)
    else:
        words = f"OPTIONS answers {said.status}; let the proxy pass it on."
        yield fault("preflight", words)


Check = Callable[["Settings", str], Iterator[Finding]]

CHECKS: Final[tuple[Check, ...]] = (through, certificate, transport, metrics, preflight)


def proxy(chosen: Settings, url: str, seconds: float = SECONDS) -> Iterator[Finding]:
    """All that can be learned of the way to the service; nothing more once it is not reached."""
    ends = time.monotonic() + seconds
    for check in CHECKS:
        try:
            yield from within(ends - time.monotonic(), partial(_found, check, chosen, url))
        except ssl.SSLCertVerificationError as error:
            yield fault("TLS", f"the certificate of {url} is not valid: {error.verify_message}.")
            return
        except (OSError, ValueError, http.client.HTTPException) as error:
            yield fault("service", f"{url} cannot be reached: {_reason(error)}.")
            return


def _found(check: Check, chosen: Settings, url: str) -> list[Finding]:
    return list(check(chosen, url))


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it does not answer in time"
    return str(getattr(error, "strerror", None) or str(error) or type(error).__name__).rstrip(".")
