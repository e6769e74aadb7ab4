"""Sign-in of an app with a client document, on the running service."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from oauth.client_documents import TRIED, unread
from store.accounts.accounts import Account, utc_now
from store.accounts.grants import Grants
from tests.oauth.conversation import Host, error_of
from tests.oauth.documents import CALLBACK, HOST, Internet, address, document, internet, response
from tests.screener.command import run
from tests.screener.process import until
from tests.screener.web.browser import PASSWORD, Browser
from tests.screener.web.people import authorize_address, grants_of, new_person, signed_in
from tests.service import Service, copy_night, on_database, serving

SERVER = "/.well-known/oauth-authorization-server"
LONG_AGO = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
SUPPORTED = "client_id_metadata_document_supported"


@dataclass(frozen=True)
class Town:
    """A service that reads client documents, and the Internet that it reads them from."""

    service: Service
    net: Internet

    def reads(self, path: str) -> int:
        """How often a document was read."""
        return sum(asked.startswith(f"GET {path} ") for asked in self.net.server.asked)

    def host(self, account: Account, client_id: str) -> Host:
        """The app of a document, used by an account."""
        return Host(self.service, account.id, client_id)


@pytest.fixture(scope="module")
def town(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    folder = tmp_path_factory.mktemp("town")
    copy_night(night, folder)
    with (
        internet() as net,
        serving(folder, fetcher=net.fetcher()) as service,
    ):
        yield Town(service, net)


def approved(browser: Browser, client_id: str) -> str:
    """The code of an approval."""
    form = browser.form(authorize_address(client_id))
    answer = browser.submit(form, decision="approve")
    assert answer.headers["location"].startswith(CALLBACK)
    return parse_qs(urlsplit(answer.headers["location"]).query)["code"][0]


def test_an_app_signs_in_by_its_document_from_the_first_request_to_revocation(town: Town) -> None:
    client_id = town.net.publish("/whole.json", client_name="Whole host")
    account, browser = new_person(town.service), Browser(town.service)
    host = town.host(account, client_id)
    wanted = authorize_address(client_id)

    asked = browser.get(wanted)
    assert town.reads("/whole.json") == 0
    form = browser.form(asked.headers["location"], "/sign-in")
    back = browser.submit(form, email=account.email, password=PASSWORD).headers["location"]
    page = browser.get(back).text
    tokens = host.exchange(approved(browser, client_id)).raise_for_status().json()
    opened = host.opens(tokens["access_token"])
    rotated = host.refresh(tokens["refresh_token"]).raise_for_status().json()
    still_opened = host.opens(rotated["access_token"])
    revoked = host.revoke(rotated["access_token"])

    assert back == wanted
    for words in ("Whole host", "unverified", f"<code>{HOST}</code>", "127.0.0.1"):
        assert words in page
    assert opened
    assert still_opened
    assert revoked.status_code == 200
    assert not host.opens(rotated["access_token"])
    assert error_of(host.refresh(rotated["refresh_token"])) == (400, "invalid_grant")
    assert [grant.name for grant in grants_of(town.service, account)] == ["Whole host"]
    assert town.reads("/whole.json") == 1


@pytest.mark.parametrize(
    "changes",
    [{}, {"code_challenge": ""}, {"redirect_uri": "https://evil.example/cb"}, {"scope": "admin"}],
)
def test_nothing_is_read_and_nobody_is_sent_away_before_sign_in(
    town: Town, changes: dict[str, str]
) -> None:
    """Not even a broken request leads anywhere but to the sign-in page."""
    client_id = town.net.publish("/anonymous.json", redirect_uris=["https://app.example.com/cb"])
    answer = Browser(town.service).get(authorize_address(client_id, **changes))

    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/sign-in?next=")
    assert town.reads("/anonymous.json") == 0


@pytest.mark.parametrize("known", [False, True])
def test_an_address_of_no_document_is_an_unknown_client(town: Town, known: bool) -> None:
    browser = signed_in(town.service, new_person(town.service)) if known else Browser(town.service)
    unknown = authorize_address("https://127.0.0.1/c")

    assert "not registered" in browser.get(unknown).text
    for wanted in (unknown, f"{unknown}&client_id={address()}", "/oauth/authorize"):
        assert browser.get(wanted).status_code == 400


def test_a_document_that_cannot_be_used_is_told_to_the_person(town: Town) -> None:
    town.net.server.answers["/bad.json"] = response(b"[]")
    browser = signed_in(town.service, new_person(town.service))
    first, second = (browser.get(authorize_address(address("/bad.json"))) for _ in range(2))

    assert first.status_code == 400
    assert f"{HOST} cannot be used: The body must be a JSON object" in first.text
    assert second.status_code == 503
    assert second.headers["retry-after"] == "10"
    assert town.reads("/bad.json") == 1


def test_deciding_reads_nothing(town: Town) -> None:
    """The request that was shown is approved, even if the document has changed meanwhile."""
    account, client_id = new_person(town.service), town.net.publish("/shown.json")
    browser = signed_in(town.service, account)
    form = browser.form(authorize_address(client_id))
    town.net.publish("/shown.json", client_name="Another name")
    make_known(town.service, client_id)
    answer = browser.submit(form, decision="approve")

    assert "code=" in answer.headers["location"]
    assert [grant.name for grant in grants_of(town.service, account)] == ["Document host"]
    assert town.reads("/shown.json") == 1


@pytest.mark.parametrize("path", ["token", "revoke"])
def test_a_call_without_a_browser_reads_nothing(town: Town, path: str) -> None:
    host = Host(town.service, 0, town.net.publish(f"/never-{path}.json"))
    answer = host.exchange("pso_ac_x") if path == "token" else host.revoke("pso_at_x")

    assert error_of(answer) == (400, "invalid_client")
    assert town.reads(f"/never-{path}.json") == 0


def test_the_operator_sees_which_clients_have_a_document_and_deletes_them(town: Town) -> None:
    account, client_id = new_person(town.service), town.net.publish("/listed.json")
    host = town.host(account, client_id)
    tokens = host.exchange(approved(signed_in(town.service, account), client_id)).json()
    data = town.service.settings.data_dir
    listed = run(data, "client", "list").stdout
    line = next(line for line in listed.splitlines() if client_id in line)
    deleted = run(data, "client", "delete", client_id)

    assert deleted.returncode == 0
    assert "Document host" in line
    assert "fresh until 2" in line
    assert not host.opens(tokens["access_token"])


def test_without_the_setting_no_address_is_a_client(town: Town, tmp_path: Path) -> None:
    """This holds even for an address that was read while the setting was on."""
    client_id = town.net.publish("/off.json")
    with serving(tmp_path, fetcher=town.net.fetcher(), client_metadata_documents=False) as closed:
        make_known(closed, client_id)
        for browser in (Browser(closed), signed_in(closed, new_person(closed))):
            answer = browser.get(authorize_address(client_id))
            assert answer.status_code == 400
            assert "not registered" in answer.text
        assert SUPPORTED not in httpx.get(closed.url + SERVER).json()
        assert error_of(Host(closed, 0, client_id).exchange("x")) == (400, "invalid_client")
    assert town.reads("/off.json") == 0


def offers(url: str) -> bool:
    """Whether the service tells apps that they may use documents."""
    return bool(httpx.get(url + SERVER).json().get(SUPPORTED, False))


def test_documents_are_offered_once_those_of_well_known_apps_were_read(
    town: Town, tmp_path: Path
) -> None:
    ready = "/health/ready"
    assert not offers(town.service.url)  # this Internet has none of theirs
    assert httpx.get(town.service.url + ready).json()["client_documents"] is False
    for tried in TRIED:
        town.net.server.answers[urlsplit(tried).path] = response(document(tried))
    with serving(tmp_path, fetcher=town.net.fetcher()) as service:
        until(lambda: offers(service.url))
        assert httpx.get(service.url + ready).json()["client_documents"] is True


def test_the_log_names_a_document_that_cannot_be_read(
    town: Town, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    town.net.server.answers[urlsplit(TRIED[0]).path] = response(b"<title>Are you human?</title>")
    with (
        caplog.at_level("INFO", "oauth.client_documents"),
        serving(tmp_path, fetcher=town.net.fetcher()) as service,
    ):
        until(lambda: "cannot be read: that of claude.ai" in caplog.text)
        assert not offers(service.url)


async def test_one_document_behind_a_wall_is_reason_enough_to_offer_none(town: Town) -> None:
    wall = response(b"<title>Are you human?</title>", Content_Type="text/html")
    for tried in TRIED:
        town.net.server.answers[urlsplit(tried).path] = response(document(tried))
    assert await unread(town.net.fetcher().read) == ""

    town.net.server.answers[urlsplit(TRIED[-1]).path] = wall

    said = await unread(town.net.fetcher().read)
    assert said == "that of vscode.dev: its content type is not application/json"


def test_without_a_way_to_the_internet_a_page_says_whom_to_tell_and_a_known_app_goes_on(
    service: Service,
) -> None:
    """`service` finds no address of any host, as a machine without a network."""
    account, client_id = new_person(service), address("/known.json")
    browser = signed_in(service, account)
    answer = browser.get(authorize_address(address("/offline.json")))

    assert answer.status_code == 400
    assert f"{HOST} cannot be read from here" in answer.text
    assert "start the sign-in again" in answer.text
    assert "/connect" in answer.text
    assert "whoever runs this server" in answer.text
    assert "location" not in answer.headers
    make_known(service, client_id, fresh_until=utc_now() + dt.timedelta(days=1))
    code = approved(browser, client_id)
    assert Host(service, account.id, client_id).exchange(code).status_code == 200


def make_known(service: Service, client_id: str, fresh_until: dt.datetime = LONG_AGO) -> None:
    """Keep a client as if its document had been read long ago."""
    on_database(
        service,
        lambda database: Grants(database).keep_document(
            client_id, "Document host", (CALLBACK,), fresh_until
        ),
    )
