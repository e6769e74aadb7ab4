"""The conformance suite of the protocol passes, but for what cannot apply."""

from __future__ import annotations

import socket

import pytest

from tests.qa.hosts.conformance import CANNOT, check_server, check_sign_in, scenarios
from tests.qa.hosts.installed import Installed
from tests.qa.hosts.people import approve
from tests.screener.web.people import new_person, signed_in
from tests.service import Service

pytestmark = pytest.mark.engine


def test_the_suite_passes_in_every_version_but_for_what_cannot_apply(
    service: Service, installed: Installed
) -> None:
    listed = scenarios(installed)
    checks = [
        check
        for version in listed
        for check in check_server(installed, f"{service.url}/mcp/demo", version)
    ]

    ran = {version: {c.scenario for c in checks if c.version == version} for version in listed}
    failed = {check.name: f"{check.version}: {check.text}" for check in checks if not check.passed}
    assert sorted(listed) == ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
    assert ran == listed
    assert {name: text for name, text in failed.items() if name not in CANNOT} == {}
    assert set(CANNOT) - set(failed) == set()


def test_the_suite_signs_in(service: Service, installed: Installed) -> None:
    browser = signed_in(service, new_person(service))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    checks = check_sign_in(
        installed,
        service.url,
        service.mcp_url,
        lambda address: approve(browser, address),
        port,
    )

    assert {check.scenario for check in checks} == {
        "authorization-code-grant",
        "authorization-server-metadata-endpoint",
    }
    # Documents of clients are offered only where they can be fetched.
    assert {check.name for check in checks if not check.passed} <= {
        "authorization-server-metadata-cimd"
    }
