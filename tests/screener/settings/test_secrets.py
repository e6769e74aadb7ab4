"""No secret is in what the service writes: every flow is driven at DEBUG, all output is read."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, quote, quote_plus, urlsplit

import httpx
import pytest

from screener.settings.settings import Settings
from store.accounts.accounts import Account, hash_secret
from tests.agent import message
from tests.oauth.conversation import Host, new_host
from tests.screener.command import run
from tests.screener.installation import without
from tests.screener.process import serving_process
from tests.screener.web.browser import PASSWORD, PASSWORD_HASH, Browser, Form
from tests.screener.web.people import VERIFIER, authorize_address, new_person
from tests.service import Service, copy_night, new_key

NEW_PASSWORD = "an even better horse"
WRONG_PASSWORD = "an almost right horse"
MCP_HEADERS = {"Accept": "application/json, text/event-stream"}


class Vault:
    """Every secret that a conversation has seen."""

    def __init__(self) -> None:
        self.secrets = {PASSWORD, PASSWORD_HASH, NEW_PASSWORD, WRONG_PASSWORD, VERIFIER}

    def keep(self, secret: str | None) -> str:
        """Note a secret, and return it."""
        assert secret
        assert len(secret) >= 20
        self.secrets.add(secret)
        return secret

    def found_in(self, text: str) -> set[str]:
        """The secrets that a text holds, as they are, encoded or hashed."""
        return {
            secret
            for secret in self.secrets
            for form in (secret, quote(secret), quote_plus(secret), hash_secret(secret))
            if form in text
        }


@pytest.mark.timeout(240)  # many password hashes, on a machine that may be busy
def test_no_secret_is_written_anywhere(night: Path, tmp_path: Path) -> None:
    vault = Vault()
    copy_night(night, tmp_path / "data")
    key = vault.keep(new_key(Settings(data_dir=tmp_path / "data")))
    options = {
        "SCREENER_LOG_LEVEL": "debug",
        "SCREENER_ACCESS_LOG": "true",
        "SCREENER_SIGN_UP": "true",
    }
    with serving_process(tmp_path, **options) as server:
        service = Service(Settings(data_dir=tmp_path / "data", port=server.port), server.url, key)
        person = new_person(service)
        browser = signed_in_after_errors(service, person, vault)
        calls(service, keys_of(service, browser, vault), vault)
        feed = feed_of(browser, vault)
        client = new_host(service, person.id, token_endpoint_auth_method="client_secret_post")
        vault.keep(client.secret)
        connected(service, browser, client, vault)
        sign_up(service, vault)
        for table in ("keys", "tokens", "accounts", "sessions", "audit", "screens"):
            with without(tmp_path / "data", table):
                httpx.get(feed, timeout=30)
                calls(service, key, vault)
                client.refresh(vault.keep("pso_rt_" + "z" * 43))
                browser.get("/keys")
                sign_in(Browser(service), person.email, PASSWORD, vault)
        change_password(browser, vault)
        assert sign_in(Browser(service), person.email, NEW_PASSWORD, vault).status_code == 303
        left = browser.submit(form_of(browser, "/keys", "/sign-out", vault))
        assert left.status_code == 303

    with closing(sqlite3.connect(tmp_path / "data" / "accounts.sqlite")) as accounts:
        usage = accounts.execute("SELECT * FROM usage").fetchall()
    written = {
        "stdout": server.stdout.read_text(),
        "stderr": server.stderr.read_text(),
        "audit": run(tmp_path / "data", "audit", "--limit", "10000").stdout,
        "audit --json": run(tmp_path / "data", "audit", "--limit", "10000", "--json").stdout,
        "usage": str(usage),
    }
    with closing(sqlite3.connect(tmp_path / "data" / "accounts.sqlite")) as connection:
        stored = "\n".join(connection.iterdump())
    assert client.client_id in stored
    assert [one for one in vault.secrets - {PASSWORD_HASH} if one in stored] == []
    leaks = {(name, leak) for name, text in written.items() for leak in vault.found_in(text)}
    assert leaks == set()
    assert len(vault.secrets) > 30
    assert "reused a used" in written["stderr"]
    assert "| Traceback" in written["stderr"]
    assert "code=invalid_api_key" in written["stderr"]
    assert "Probe" in written["usage"]
    for kind in ("sign_in_failed", "sign_out", "password_changed", "key_created", "key_revoked"):
        assert kind in written["audit"]
    for kind in ("app_approved", "tokens_issued", "token_reused", "app_revoked", "account_added"):
        assert f'"{kind}"' in written["audit --json"]


def signed_in_after_errors(service: Service, person: Account, vault: Vault) -> Browser:
    browser = Browser(service)
    assert sign_in(browser, person.email, WRONG_PASSWORD, vault).status_code == 400
    assert sign_in(browser, "nobody@example.com", PASSWORD, vault).status_code == 400
    form = form_of(browser, "/sign-in", "/sign-in", vault)
    forged = {**form.fields, "token": vault.keep("forged-" + "f" * 40)}
    assert browser.post("/sign-in", data={**forged, "password": PASSWORD}).status_code == 403
    assert sign_in(browser, person.email, PASSWORD, vault).status_code == 303
    return browser


def sign_in(browser: Browser, email: str, password: str, vault: Vault) -> httpx.Response:
    form = form_of(browser, "/sign-in", "/sign-in", vault)
    response = browser.submit(form, email=email, password=password)
    keep_cookies(browser, vault)
    return response


def sign_up(service: Service, vault: Vault) -> None:
    browser = Browser(service)
    form = form_of(browser, "/sign-up", "/sign-up", vault)
    made = browser.submit(form, email="eve@example.com", password=PASSWORD)
    assert made.status_code == 303
    keep_cookies(browser, vault)


def form_of(browser: Browser, address: str, action: str, vault: Vault) -> Form:
    form = browser.form(address, action)
    vault.keep(form.fields["token"])
    keep_cookies(browser, vault)
    return form


def keep_cookies(browser: Browser, vault: Vault) -> None:
    for value in browser.cookies.values():
        vault.keep(value)


def keys_of(service: Service, browser: Browser, vault: Vault) -> str:
    """Make two keys, replace and revoke one; the secret of the other."""
    made = []
    for name in ("laptop", "phone"):
        page = browser.submit(form_of(browser, "/keys", "/keys", vault), name=name).text
        found = re.search(r'<code id="secret">([^<]+)</code>', page)
        assert found
        made.append(vault.keep(unescape(found[1])))
    folder = service.settings.data_dir
    vault.keep(run(folder, "key", "replace", made[0][:16]).stdout.strip())
    run(folder, "key", "revoke", made[0][:16])
    again = browser.submit(form_of(browser, "/keys", "/keys", vault), revoke=made[0][:16])
    assert again.status_code == 404
    return made[1]


def feed_of(browser: Browser, vault: Vault) -> str:
    """Make a feed twice, and read both addresses; the newer one."""
    browser.submit(form_of(browser, "/screen", "/screens", vault), name="A screen")
    address = ""
    for status in (404, 200):
        form = form_of(browser, "/screens/1", "/screens/1", vault)
        page = browser.submit(form, feed="new").text
        found = re.search(r'<code id="secret">([^<]+/feeds/([^<]+))</code>', page)
        assert found
        address = found[1]
        vault.keep(found[2])
        if status == 200:
            assert httpx.get(address, timeout=30).status_code == status
    return address


def calls(service: Service, key: str, vault: Vault) -> None:
    """REST and MCP calls with a good credential, bad ones and none."""
    probe = {"X-Service-Client": "Probe"}
    bad = (key[:-1], "ps_live_" + "q" * 48, "pso_at_" + "q" * 43)
    for credential in (key, "", *map(vault.keep, bad)):
        service.get("/me", key=credential, headers=probe)
        service.get("/scan?limit=x", key=credential, headers=probe)
        headers = {**MCP_HEADERS, **probe}
        if credential:
            headers["Authorization"] = f"Bearer {credential}"
        known, unknown = (
            message("tools/call", name=name, arguments={})
            for name in ("list_tracked_tickers", "nothing")
        )
        for body in (known, unknown, {"jsonrpc": 1}):
            httpx.post(service.mcp_url, json=body, headers=headers, timeout=30)
    httpx.post(service.mcp_url, content=b"{", headers=MCP_HEADERS, timeout=30)
    httpx.get(f"{service.base}/me", headers={"Authorization": f"Basic {key}"}, timeout=30)


def connected(service: Service, browser: Browser, client: Host, vault: Vault) -> None:
    """Approve an app, use its tokens, and show what was used again."""
    codes = [approved(browser, client, vault) for _ in range(3)]
    assert client.exchange(codes[0], code_verifier=vault.keep("w" * 50)).status_code == 400
    assert client.exchange(codes[0], client_secret=vault.keep("wrong-" + "s" * 40)).is_error
    first = tokens_of(client.exchange(codes[0]), vault)
    calls(service, first["access_token"], vault)
    second = tokens_of(client.refresh(first["refresh_token"]), vault)
    calls(service, second["access_token"], vault)
    assert client.refresh(first["refresh_token"]).is_error
    tokens_of(client.exchange(codes[1]), vault)
    assert client.exchange(codes[1]).is_error
    client.revoke(tokens_of(client.exchange(codes[2]), vault)["access_token"])


def approved(browser: Browser, client: Host, vault: Vault) -> str:
    address = authorize_address(client.client_id, redirect_uri=client.redirect_uri)
    form = form_of(browser, address, address, vault)
    sent = browser.submit(form, decision="approve")
    assert sent.status_code == 303
    return vault.keep(parse_qs(urlsplit(sent.headers["location"]).query)["code"][0])


def tokens_of(response: httpx.Response, vault: Vault) -> dict[str, str]:
    issued: dict[str, str] = response.raise_for_status().json()
    for name in ("access_token", "refresh_token"):
        vault.keep(issued[name])
    return issued


def change_password(browser: Browser, vault: Vault) -> None:
    for current, status in ((WRONG_PASSWORD, 400), (PASSWORD, 303)):
        form = form_of(browser, "/account/password", "/account/password", vault)
        assert browser.submit(form, current=current, new=NEW_PASSWORD).status_code == status
        keep_cookies(browser, vault)
