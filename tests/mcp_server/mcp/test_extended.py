"""The extended address: the seven tools and more, with the same keys, gate and limits."""

from __future__ import annotations

from pathlib import Path

import httpx
import jsonschema
import pytest

from tests.agent import asked, call, connected, post, texts
from tests.oauth.conversation import answer_in, new_host
from tests.service import Service, new_key, serving


async def test_the_best_setups_are_one_call_and_a_win_rate_has_its_sample_and_average_loss(
    service: Service,
) -> None:
    rows = service.get("/scan?status=all&limit=10").json()

    async with connected(service.extended_url, service.key) as client:
        result = (await call(client, "scan_setups", status="all")).structured_content
        whole = await call(client, "scan_setups", status="all", rows="full")
        listed = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}

    assert result is not None
    full_rows = whole.structured_content or {}
    for row, full in zip(full_rows["setups"], rows["setups"], strict=True):
        family = full_rows["family_records"][row["family"]]
        records = {"family": family, **row["track_record"]}
        assert {**row, "track_record": records} == full
    jsonschema.validate(result, listed["scan_setups"] or False)
    assert (result["count"], result["limit"]) == (rows["count"], 10)
    assert sum(result["counts"].values()) == rows["count"]
    assert any(row["win_rate_pct"] for row in result["setups"])
    same = ("rank", "symbol", "setup_id", "family", "direction", "status", "last_close")
    for row, full in zip(result["setups"], rows["setups"], strict=True):
        assert [row[name] for name in same] == [full[name] for name in same]
        assert row["attempt"] == full["attempt"]["number"]
        assert row["stop_price"] == full["plans"][0]["stop_price"]
        if row["win_rate_pct"] is None:
            assert row["avg_loss_pct"] is None
            continue
        record = full["track_record"][row["win_rate_scope"]]
        record = (record["by_direction"] or {}).get(full["direction"]) or record
        assert row["win_rate_pct"] == record["win_rate_pct"] == full["win_rate_pct"]
        assert row["win_rate_trades"] == record["sample_size"] == full["win_rate_trades"]
        assert row["avg_loss_pct"] == record["avg_loss_pct"]


async def test_filters_are_given_as_a_list_or_as_its_text(service: Service) -> None:
    wanted = [{"kind": "price", "op": ">", "value": 100}]
    text = '[{"kind":"price","op":">","value":100}]'
    by_list = await asked(service, "scan_setups", status="all", filters=wanted)
    by_text = await asked(service, "scan_setups", status="all", filters=text)
    refused = await asked(service, "scan_setups", filters=[{"kind": "rsi"}])
    unknown = await asked(service, "scan_setups", filters=[{"kind": "vibes"}])

    assert by_list.structured_content == by_text.structured_content
    assert by_list.structured_content is not None
    assert by_list.structured_content["filters"]["predicates"] == wanted
    assert texts(refused)[0].startswith("bad_request: filters[0] (rsi)")
    assert "volume_ratio" in texts(unknown)[0]
    assert "URL" not in texts(unknown)[0]


async def test_tickers_are_added_and_removed_without_naming_the_others(service: Service) -> None:
    key = new_key(service.settings, "editor@example.com", tracked=("IBM", "AAPL"))
    async with connected(service.extended_url, key) as client:
        added = (await call(client, "add_tickers", symbols=["msft", "IBM"])).structured_content
        removed = (await call(client, "remove_tickers", symbols=["AAPL", "FB"])).structured_content
        nothing = await call(client, "add_tickers", symbols=[])

    assert added is not None
    assert removed is not None
    assert (added["added"], added["removed"]) == (["MSFT"], [])
    assert (removed["added"], removed["removed"]) == ([], ["AAPL"])
    assert removed["count"] == 2
    assert "tickers" not in removed
    assert not nothing.is_error
    assert (nothing.structured_content or {})["added"] == []


@pytest.mark.parametrize("path", ["/mcp", "/mcp/extended"])
async def test_a_symbol_that_nobody_can_track_is_refused_with_the_nearest_ones(
    service: Service, path: str
) -> None:
    async with connected(service.url + path, service.key) as client:
        mistyped = await call(client, "get_ticker_patterns", symbol="AAPLE")
        listed = await call(client, "set_tracked_tickers", symbols=["AAPL", "MSTF"])

    assert texts(mistyped)[0] == (
        "ticker_not_tracked: This symbol is not tracked, and the night does not cover it. "
        "Nearest: AAPL. 196 of 200 slots are free, but this symbol cannot be tracked: leave the "
        "list as it is and use a known symbol that the user means."
    )
    assert "Unknown: MSTF. Nearest: MSTF: MSFT." in texts(listed)[0]


def test_it_has_metadata_of_its_own(service: Service) -> None:
    challenge = httpx.post(service.extended_url).headers["www-authenticate"]
    address = f"{service.url}/.well-known/oauth-protected-resource/mcp/extended"

    assert challenge == f'Bearer resource_metadata="{address}"'
    assert httpx.get(address).json()["resource"] == service.extended_url


@pytest.mark.parametrize("asked", ["/mcp", "/mcp/extended", ""])
def test_a_token_for_either_address_works_on_both(service: Service, asked: str) -> None:
    host = new_host(service)
    approved = host.approve(host.query(resource=service.url + asked))
    code = answer_in(approved)["code"][0]
    tokens = host.exchange(code, resource=service.extended_url).json()

    for path in ("/mcp", "/mcp/extended"):
        answer = post(service.url + path, tokens["access_token"], "tools/list")
        assert len(answer.json()["result"]["tools"]) >= 7


async def test_it_can_be_turned_off(tmp_path: Path) -> None:
    with serving(tmp_path, extended=False) as live:
        address = f"{live.url}/.well-known/oauth-protected-resource/mcp/extended"
        assert httpx.post(live.extended_url, json={}).status_code == 404
        assert httpx.get(address).status_code == 404
        assert "/mcp/extended" not in live.get("/llms.txt", key="").text
        async with connected(live.mcp_url, live.key) as client:
            assert "/mcp/extended" not in (client.instructions or "")
