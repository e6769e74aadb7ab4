"""The files for Caddy and HAProxy: valid, and all as the documentation describes them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.deploy.proxies import (
    CADDY,
    CADDYFILE,
    HAPROXY,
    HAPROXY_FILE,
    NGINX_SITE,
    certificate,
    needs_caddy,
    needs_nginx,
    nginx,
    replaced,
)
from tests.node import ROOT
from tests.screener.process import until
from tests.service import Service


@pytest.mark.skipif(HAPROXY is None, reason="HAProxy is not here")
@pytest.mark.engine
def test_haproxy_accepts_its_file(tmp_path: Path) -> None:
    tls = certificate(tmp_path)
    both = tmp_path / "both.pem"
    both.write_text(tls.chain.read_text() + tls.key.read_text())
    file = tmp_path / "haproxy.cfg"
    text = replaced(HAPROXY_FILE.read_text(), {"/etc/haproxy/screener.pem": str(both)})
    file.write_text(text)

    done = subprocess.run(
        [str(HAPROXY), "-c", "-f", str(file)], capture_output=True, text=True, timeout=60
    )

    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr


@needs_caddy
@pytest.mark.engine
@pytest.mark.parametrize("settings", [{}, {"SITE": "x.example.com", "SERVICE": "screener:8000"}])
def test_caddy_accepts_its_file(tmp_path: Path, settings: dict[str, str]) -> None:
    command = [str(CADDY), "validate", "--adapter", "caddyfile", "--config", str(CADDYFILE)]
    home = {"XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}

    done = subprocess.run(
        command,
        env={**os.environ, **home, **settings},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 0, done.stderr
    assert '"level":"warn"' not in done.stderr


@needs_nginx
@pytest.mark.engine
def test_nginx_serves_feeds_and_logs_no_address_of_one(service: Service, tmp_path: Path) -> None:
    with nginx(tmp_path, service.settings.port) as proxy:
        found = [
            httpx.get(f"{proxy.url}{path}", verify=proxy.tls.context).status_code
            for path in ("/feeds/pso_feed_secret", "/robots.txt")
        ]
        log = tmp_path / "ends.log"
        until(lambda: "/robots.txt" in log.read_text())  # it is written when the answer has left

    assert found == [404, 200]
    assert "pso_feed_secret" not in log.read_text()


@pytest.mark.parametrize("path", [NGINX_SITE, CADDYFILE, HAPROXY_FILE], ids=lambda path: path.name)
def test_no_proxy_shows_metrics_or_health_outside(path: Path) -> None:
    text = path.read_text()

    assert "/metrics" in text
    assert "/health/" in text


def test_every_file_of_deploy_is_named_by_the_documentation() -> None:
    documents = "\n".join(path.read_text() for path in (ROOT / "docs").glob("*.md"))

    for name in (
        *("nginx/screener.conf", "nginx/cache.conf", "nginx/cached.conf", "caddy/Caddyfile"),
        *("haproxy/screener.cfg", "systemd", "compose.env", "env"),
    ):
        assert f"deploy/{name}" in documents
