"""The shipped proxies as processes: nginx and Caddy with TLS on ports of this machine."""

from __future__ import annotations

import getpass
import os
import shutil
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme

from tests.node import ROOT
from tests.programs import Program
from tests.screener.process import free_port

NGINX_SITE = ROOT / "deploy" / "nginx" / "screener.conf"
NGINX_CACHE, NGINX_CACHED = NGINX_SITE.with_name("cache.conf"), NGINX_SITE.with_name("cached.conf")
CADDYFILE = ROOT / "deploy" / "caddy" / "Caddyfile"
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
HAPROXY_FILE = ROOT / "deploy" / "haproxy" / "screener.cfg"
HAPROXY = shutil.which("haproxy", path=PATH)
NGINX, CADDY = shutil.which("nginx", path=PATH), shutil.which("caddy", path=PATH)

needs_nginx = pytest.mark.skipif(NGINX is None, reason="nginx is not here")
needs_caddy = pytest.mark.skipif(CADDY is None, reason="Caddy is not here")

NGINX_MAIN = """
daemon off;
user {user};
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{ }}
http {{
    log_format ends "$upstream_cache_status $upstream_status $status $request_uri";
    access_log {folder}/ends.log ends;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""


@dataclass(frozen=True)
class Tls:
    """A certificate of the name `localhost`, and who trusts it."""

    authority: Path
    chain: Path
    key: Path

    @property
    def context(self) -> ssl.SSLContext:
        """For clients that trust it."""
        return ssl.create_default_context(cafile=str(self.authority))


@dataclass(frozen=True)
class Proxy:
    """A running proxy."""

    port: int
    plain_port: int
    tls: Tls

    @property
    def url(self) -> str:
        """The public address of the service."""
        return f"https://localhost:{self.port}"


def certificate(folder: Path) -> Tls:
    """A certificate of an authority that was made for this test."""
    authority = trustme.CA()
    issued = authority.issue_cert("localhost")
    tls = Tls(folder / "authority.pem", folder / "chain.pem", folder / "key.pem")
    authority.cert_pem.write_to_path(str(tls.authority))
    for number, blob in enumerate(issued.cert_chain_pems):
        blob.write_to_path(str(tls.chain), append=number > 0)
    issued.private_key_pem.write_to_path(str(tls.key))
    return tls


def replaced(text: str, changes: dict[str, str]) -> str:
    """A text with other words, all of which it must have."""
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def _cached(folder: Path, site: str) -> str:
    """The site with the shipped cache, all in a folder of this test."""
    door = {"unix:/run/nginx-screener.sock": f"unix:{folder}/door.sock"}
    cache = {"/var/cache/nginx/screener": f"{folder}/cache", **door}
    location = "    location / {\n        proxy_pass"
    snippet = replaced(NGINX_CACHED.read_text(), door)
    return replaced(NGINX_CACHE.read_text(), cache) + replaced(
        site, {location: f"{snippet}\n{location}"}
    )


def write_caddyfile(folder: Path, tls: Tls, port: int, plain_port: int) -> Path:
    """The shipped file with ports and certificate of this test."""
    changes = {
        "{\n\tservers": f"{{\n\tadmin off\n\thttp_port {plain_port}\n\tservers",
        "\trequest_body": f"\ttls {tls.chain} {tls.key}\n\n\trequest_body",
    }
    file = folder / "Caddyfile"
    file.write_text(replaced(CADDYFILE.read_text(), changes))
    return file


@contextmanager
def nginx(
    folder: Path, service: int, *, port: int | None = None, cached: bool = False
) -> Iterator[Proxy]:
    """nginx in front of a port, which warns of nothing in the shipped site with ports, name and
    certificate of this test; with the shipped cache or without it.
    """
    proxy = Proxy(port or free_port(), free_port(), certificate(folder))
    changes = {
        "listen 80;": f"listen 127.0.0.1:{proxy.plain_port};",
        "    listen [::]:80;\n": "",
        "listen 443 ssl": f"listen 127.0.0.1:{proxy.port} ssl",
        "    listen [::]:443 ssl http2;\n": "",
        "server_name screener.example.com;": "server_name localhost;",
        "server 127.0.0.1:8000;": f"server 127.0.0.1:{service};",
        "/etc/letsencrypt/live/screener.example.com/fullchain.pem": str(proxy.tls.chain),
        "/etc/letsencrypt/live/screener.example.com/privkey.pem": str(proxy.tls.key),
    }
    site = replaced(NGINX_SITE.read_text(), changes)
    (folder / "site.conf").write_text(_cached(folder, site) if cached else site)
    main, log = folder / "nginx.conf", folder / "nginx.log"
    main.write_text(NGINX_MAIN.format(folder=folder, user=getpass.getuser()))
    with running([str(NGINX), "-c", str(main), "-e", str(log)], proxy.port):
        assert "[warn]" not in log.read_text()
        yield proxy


@contextmanager
def caddy(folder: Path, service: int, *, port: int | None = None) -> Iterator[Proxy]:
    """Caddy in front of a port."""
    proxy = Proxy(port or free_port(), free_port(), certificate(folder))
    file = write_caddyfile(folder, proxy.tls, proxy.port, proxy.plain_port)
    environment = {
        "SITE": f"https://localhost:{proxy.port}",
        "SERVICE": f"127.0.0.1:{service}",
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
    }
    command = [str(CADDY), "run", "--adapter", "caddyfile", "--config", str(file)]
    with running(command, proxy.port, **environment):
        yield proxy


@contextmanager
def running(command: list[str], port: int, **environment: str) -> Iterator[None]:
    """A proxy within the block, once it listens."""
    program = Program(command, port, None, **environment)
    program.start()
    try:
        yield
    finally:
        program.stop()
