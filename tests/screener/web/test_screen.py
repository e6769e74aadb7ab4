"""The screen: the scan as a page, the builder of its conditions, and its addresses.

Over 400 lines, because every condition is tried on the same scan.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mcp_server.filters.filters import MAX_PREDICATES, OPERATORS
from mcp_server.filters.kinds import KINDS, FilterKind
from mcp_server.filters.scan_order import COLUMNS, NEARNESS, SORTS
from mcp_server.operations.screens import (
    DEFAULTS,
    address_of,
    query_of,
    read_link,
    read_text,
)
from screener.web.market.columns import COLUMNS as SHOWN
from screener.web.market.columns import USUAL
from screener.web.market.condition_words import COMPARISONS, FIELDS
from screener.web.market.scan_query import ADD, COLUMN, PARTS, read_query
from store.database.migrations.versions.v0010_queries_of_screens import query_of as migrated
from tests.agent import call, connected
from tests.screener.command import succeed
from tests.screener.web.browser import Browser, Form, Forms
from tests.screener.web.market import evidence_of
from tests.screener.web.people import new_person, signed_in
from tests.screener.web.tree import words
from tests.service import Service, serving

PLAN = ("Stop", "Target")
STATUSES = ("forming", "in_progress", "all")
RSI = '[{"kind":"rsi","op":"<","value":20}]'


@pytest.fixture(scope="module")
def evidence(market: Service) -> dict[str, Any]:
    return evidence_of(market.settings.data_dir)


def ids(page: str) -> list[str]:
    """The setups of a page, in their order, by the addresses of their rows."""
    return re.findall(r'href="/symbols/[^"#]+#setup-([^"]+)" data-row', page)


def ids_of_api(service: Service, **parameters: Any) -> list[str]:
    """The setups of the scan in the order in which pages begin, unless another is asked for."""
    body = service.get("/scan", params={"sort": NEARNESS, **parameters}).json()
    return [setup["setup_id"] for setup in body["setups"]]


def screen(service: Service, **parameters: Any) -> httpx.Response:
    return Browser(service).get("/screen", params=parameters)


def is_refused(answer: httpx.Response) -> bool:
    return answer.status_code == 400 and 'role="alert"' in answer.text and not ids(answer.text)


def test_a_reader_sees_pictures_of_untracked_tickers_and_nothing_else_of_them(
    service: Service,
) -> None:
    page = signed_in(service, new_person(service)).get("/screen?status=all&view=charts").text
    main = page.split("<main", 1)[1].split("</main>")[0]
    addresses = {html.unescape(found) for found in re.findall(r'(?:src|srcset)="([^"]+)"', main)}

    heads: dict[str, str] = {}
    asked = {"status": "all", "sort": NEARNESS}
    for setup in service.get("/scan", params=asked).json()["setups"]:
        heads.setdefault(setup["lineage_id"], setup["setup_id"])
    assert ids(page) == list(heads.values())  # attempts of one formation share a row
    assert addresses
    assert all(address.endswith("&width=320") for address in addresses)
    assert set(re.findall(r'href="/symbols/([^"#]+)', main)) == {"AAPL", "GOOG", "IBM", "MSFT"}


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"status": "in_progress"},
        {"status": "all", "limit": "7", "offset": "60"},
        {"status": "all", "family": "triangle", "direction": "bullish", "limit": "200"},
        {"max_distance_pct": "12.5"},
        {"filters": RSI, "status": "all"},
        {"filters": '[{"kind":"gap","op":">","value":1e1}]'},
    ],
)
def test_an_address_with_the_parameters_of_the_api_shows_the_rows_of_the_api(
    market: Service, parameters: dict[str, str]
) -> None:
    setups = ids_of_api(market, **parameters)

    assert setups
    assert ids(screen(market, **parameters).text) == setups


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_each_kind_is_built_by_the_form_alone_and_gives_the_rows_of_the_api(
    market: Service, evidence: dict[str, Any], kind: FilterKind
) -> None:
    browser = Browser(market, follow_redirects=True)
    controls = Forms(browser.get("/screen?status=all").text).with_id("query")
    controls.named(ADD)[0].value = kind.name
    draft = browser.get(f"/screen?{controls.query}")
    line = Forms(draft.text).with_id("query")
    chosen = _fill(line, kind, evidence)

    answer = browser.get(f"/screen?{line.query}")

    assert kind.name in controls.named(ADD)[0].options
    assert ids(draft.text) == ids_of_api(market, status="all")
    assert dict(parse_qsl(answer.url.query.decode())) == {
        "status": "all",
        "filters": json.dumps([chosen], separators=(",", ":")),
    }
    assert ids(answer.text) == ids_of_api(market, status="all", filters=json.dumps([chosen]))
    assert [control.value for control in Forms(answer.text).with_id("query").named("kind")] == [
        kind.name
    ]


def _fill(controls: Form, kind: FilterKind, evidence: dict[str, Any]) -> dict[str, Any]:
    """Fill in the one line of a builder, and say which predicate it is."""
    (value,), (op,), (period,) = (controls.named(name) for name in ("value", "op", "period"))
    chosen: dict[str, Any] = {"kind": kind.name}
    assert value.value == ""
    assert period.options == [str(each) for each in kind.periods]
    period.value = period.options[-1] if period.options else ""
    last = kind.periods[-1] if kind.periods else None
    if kind.takes == "number":
        assert op.options == list(OPERATORS)
        number = round(float(np.nanmedian(evidence[kind.column(last)])), 2)
        op.value, value.value = ">=", str(number)
        chosen |= {"op": ">=", "value": int(number) if number.is_integer() else number}
    elif kind.takes == "boolean":
        value.value = "true"
        chosen["value"] = True
    else:
        assert value.options == ["", *kind.accepted]
        value.value = chosen["value"] = kind.choices[0]
    return chosen | ({"period": last} if last is not None else {})


def test_every_kind_and_comparison_has_a_label() -> None:
    assert set(FIELDS) == set(KINDS)
    assert len({field.label for field in FIELDS.values()}) == len(KINDS)
    assert set(COMPARISONS) == set(OPERATORS)


def test_a_condition_is_removed_by_its_link_and_the_others_stay(market: Service) -> None:
    filters = json.dumps(
        [{"kind": "rsi", "op": "<", "value": 20}, {"kind": "gap", "op": ">", "value": 5}]
    )
    page = screen(market, status="all", filters=filters, offset="2").text

    links = [html.unescape(link) for link in re.findall(r'class="remove" href="([^"]+)"', page)]

    assert len(links) == 2
    assert dict(parse_qsl(urlsplit(links[1]).query)) == {"status": "all", "filters": RSI}


def test_what_cannot_be_applied_stays_as_typed_beside_what_can(market: Service) -> None:
    query = [("filters", RSI), ("kind", "gap"), ("op", ">="), ("value", "<b>lots"), ("period", "")]
    answer = Browser(market).get(f"/screen?{urlencode(query)}")
    controls = Forms(answer.text).with_id("query")

    assert is_refused(answer)
    assert "Opening gap: choose a comparison and type a number" in answer.text
    assert [control.value for control in controls.named("value")] == ["20", "<b>lots"]
    assert [control.value for control in controls.named("op")] == ["<", ">="]
    assert "<b>" not in answer.text


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"family": "wedge"}, "one of the five families"),
        ({"direction": "up"}, "bullish, bearish or both"),
        ({"status": "done"}, "forming, triggered or all"),
        ({"max_distance_pct": "near"}, "a number of at least 0"),
        ({"max_distance_pct": "-1"}, "a number of at least 0"),
        ({"limit": "many"}, "whole number from 1 to 200"),
        ({"offset": "1.5"}, "whole number"),
        ({"sort": "luck"}, "an order"),
        ({"view": "luck"}, "the table or the charts"),
        ({"columns": "price,luck"}, "columns from the list"),
        ({"column": "<b>"}, "columns from the list"),
        ({"filters": "[{"}, "cannot be read"),
        ({"filters": "[" * 100 + "]" * 100}, "cannot be read"),
        ({"filters": '{"kind":"rsi"}'}, "cannot be read"),
        ({"filters": "[1]"}, "cannot be read"),
        ({"filters": '[{"kind":"luck"}]'}, "does not exist"),
        ({"filters": '[{"kind":["rsi"]}]'}, "does not exist"),
        ({"filters": '[{"kind":"rsi","op":"<","value":true}]'}, "RSI: choose a comparison"),
        ({"filters": '[{"kind":"rsi","op":"<","value":1,"x":1}]'}, "RSI: choose a comparison"),
        ({"filters": '[{"kind":"exchange","value":"<b>"}]'}, "Exchange: choose one from the list"),
        ({"filters": '[{"kind":"sma_cross","value":"maybe"}]'}, "choose one from the list"),
        ({"kind": "luck", "value": "1"}, "does not exist"),
        ({"add": "luck"}, "does not exist"),
        ({"kind": "rsi", "op": "~", "value": "1"}, "RSI: choose a comparison"),
        ({"kind": "rsi", "op": "<", "value": "1e999"}, "RSI: choose a comparison"),
        ({"kind": "performance", "op": "<", "value": "1", "period": "4"}, "and a period"),
    ],
)
def test_a_bad_parameter_is_told_at_the_form_in_words_of_the_page(
    market: Service, parameters: dict[str, str], said: str
) -> None:
    answer = screen(market, **parameters)

    assert is_refused(answer)
    assert said in words(answer.text)
    assert "<b>" not in answer.text
    for name in ("family", "direction", "max_distance_pct", "limit", "sort"):
        if name in parameters:
            (control,) = Forms(answer.text).with_id("query").named(name)
            assert control.value == parameters[name]
            assert control.attributes["aria-invalid"] == "true"
            assert f'id="{control.attributes["aria-describedby"]}"' in answer.text


def test_more_conditions_than_the_scan_takes_are_refused(market: Service) -> None:
    lines = [("kind", "gap"), ("op", "<"), ("value", "1"), ("period", "")]
    answer = Browser(market).get(f"/screen?{urlencode(lines * (MAX_PREDICATES + 1))}")

    assert is_refused(answer)
    assert f"At most {MAX_PREDICATES} conditions" in answer.text


VALUES = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        [
            *("", " ", "20", "-1", "1e400", "triangle", " Bullish", "all", "5.50", "-gain"),
            *("rsi", "<", "charts", "stop,price", "symbol", "price"),
        ]
    ),
    st.sampled_from([RSI, "[]", "[{}]", '[{"kind":"gap"}]', '[{"kind":"country","value":"us"}]']),
)
NAMES = st.sampled_from([*DEFAULTS, *PARTS, ADD, COLUMN, "other"])


@given(st.lists(st.tuples(NAMES, VALUES), max_size=12))
def test_the_address_of_a_query_says_the_same_however_it_was_typed(
    items: list[tuple[str, str]],
) -> None:
    query, _ = read_query(items)
    again, _ = read_query(parse_qsl(urlsplit(query.address()).query, keep_blank_values=True))

    assert again.address() == query.address()
    assert again.arguments == query.arguments
    assert (again.view, again.columns) == (query.view, query.columns)
    applied = [one.predicate for one in again.conditions if one.predicate]
    assert applied == list(query.arguments.filters)


@given(st.lists(st.tuples(NAMES, VALUES), max_size=12))
def test_the_text_that_is_kept_of_a_query_and_a_link_to_it_say_the_same(
    items: list[tuple[str, str]],
) -> None:
    """A database of an earlier version, which kept the link, comes to the same text."""
    query, _ = read_query(items)
    assume(not query.failed)
    asked = query.arguments.model_copy(update={"offset": 0})

    for parameters in (read_text(query.kept), read_link(query.first_page)):
        assert parameters is not None
        found = query_of(parameters)
        assert found is not None
        assert found.model_dump() == asked.model_dump()
    assert read_query(parse_qsl(address_of(read_text(query.kept) or {})[8:]))[0].kept == query.kept
    assert migrated(query.first_page) == query.kept


def test_the_form_sends_what_the_address_said(market: Service) -> None:
    asked = {
        "family": "triangle",
        "direction": "bullish",
        "status": "all",
        "max_distance_pct": "30.5",
        "filters": '[{"kind":"rsi","op":"<","value":50},{"kind":"gap","op":">","value":-2.5}]',
        "sort": "-reward_to_risk",
        "limit": "10",
        "view": "charts",
        "columns": "symbol,stop,expected_r",
    }
    controls = Forms(screen(market, **asked).text).with_id("query")

    answer = Browser(market).get(f"/screen?{controls.query}")

    assert dict(parse_qsl(urlsplit(answer.headers["location"]).query)) == asked


@pytest.mark.parametrize("sort", [sort for sort in SORTS if sort != "rank"])
def test_a_sort_is_over_all_matches_and_equal_rows_stand_by_rank(
    market: Service, evidence: dict[str, Any], sort: str
) -> None:
    rows = market.get("/scan", params={"status": "all", "limit": 200}).json()["setups"]
    fields = {
        "symbol": "symbol",
        "sample": "win_rate_trades",
        "win_rate": "win_rate_pct",
        "gain": "gain_pct",
        "typical_gain": "expected_gain_pct",
        "distance": "distance_to_trigger_pct",
    }
    name = sort.lstrip("-")
    values = {
        row["rank"]: row[fields[name]]
        if name in fields
        else evidence[COLUMNS[name].name][row["rank"] - 1]
        for row in rows
    }
    if name == "distance":
        values |= {row["rank"]: np.nan for row in rows if row["status"] == "in_progress"}
    places = {row["setup_id"]: row["rank"] for row in rows}
    found: list[int] = []
    address: str | None = f"/screen?status=all&limit=50&sort={sort}"
    while address:
        page = Browser(market).get(address).text
        found += [places[each] for each in ids(page)]
        following = re.search(r'rel="next" href="([^"]+)"', page)
        address = html.unescape(following[1]) if following else None

    values = {rank: np.nan if value is None else value for rank, value in values.items()}
    known = [rank for rank in found if values[rank] == values[rank]]
    missing = found[len(known) :]
    assert sorted(found) == sorted(values)
    assert found == [*known, *sorted(missing)]
    for one, other in pairwise(known):
        if values[one] == values[other]:
            assert one < other
        else:
            assert (values[one] > values[other]) == sort.startswith("-")


def test_a_heading_sorts_says_how_and_turns_round(market: Service) -> None:
    page = screen(market, sort="distance", offset="10").text
    headings = re.findall(r'<th scope="col"[^>]*?(?: aria-sort="(\w+)")?><a href="([^"]+)"', page)

    assert {"Trigger", "Quality"} <= set(re.findall('data-label="([^"]+)"', page))
    assert [order for order, _ in headings if order] == ["ascending"]
    assert "/screen?sort=-distance" in [html.unescape(address) for _, address in headings]
    assert len(headings) == page.count('scope="col"') - 1 == len(USUAL) - 1, "of the loss"


def test_the_columns_that_are_chosen_are_shown_in_their_own_order_and_each_sorts(
    market: Service,
) -> None:
    chosen = {"columns": "typical_gain,stop,price"}
    page = screen(market, status="all", **chosen).text
    heads = re.findall(r'<th scope="col"[^>]*><a href="([^"]+)">([^<]+)<', page)
    whole = screen(market, columns=",".join(SHOWN)).text

    assert [name for _, name in heads] == ["Symbol", "Price", "Stop", "Median winning trade"]
    for address, _ in heads:
        again = Browser(market).get(html.unescape(address)).text
        assert len(re.findall('aria-sort="', again)) == 1
        assert set(ids(again)) <= set(ids_of_api(market, status="all", limit=200))
    assert re.findall(r" data-row>(\w+)</a>", page)
    assert whole.count('<th scope="col"') == len(SHOWN)
    sorts = re.findall(r'<th scope="col"[^>]*><a href="/screen\?[^"]*sort=', whole)
    assert len(sorts) == len(SHOWN) - 1, "the loss is not sorted by"


def test_the_note_below_the_list_says_from_where_each_number_counts(market: Service) -> None:
    note = words(screen(market, status="all").text)

    assert (
        "Stop and target are measured from the trigger or, in an open trade, from the entry; "
        "reward to risk from the trigger or, in an open trade, what is left from the last close."
    ) in note


def test_charts_are_another_view_of_the_same_setups(market: Service) -> None:
    table = screen(market, status="all", sort="-gain", limit="7").text
    address = re.search(r'href="([^"]+)">Charts<', table)
    assert address
    charts = Browser(market).get(html.unescape(address[1])).text

    assert "<img" not in table
    assert ids(charts) == ids(table)
    assert re.findall(r'class="thumbnail" src="[^"]*setup_id=([^&"]+)', charts) == ids(table)
    labels = ("Reward to risk", "Entry", "Open P/L", *PLAN)
    assert [charts.count(f'data-label="{label}"') for label in labels] == [7] * 5
    assert screen(market, view="charts", columns="stop", limit="7").text.count(PLAN[0] + '">') == 7


def test_the_sheet_has_all_setups_and_the_columns_of_the_page_as_the_api_numbers_them(
    market: Service,
) -> None:
    asked = {"status": "all", "sort": "-reward_to_risk", "limit": "200"}
    shown = {"columns": "price,change,place,stop,record"}
    page = screen(market, **asked | {"limit": "30", "offset": "5"}, **shown).text
    address = re.search(r'href="([^"]+)" download>CSV<', page)
    assert address
    answer = Browser(market).get(html.unescape(address[1]))
    head, *rows = csv.reader(io.StringIO(answer.text, newline=""))
    setups = market.get("/scan", params=asked).json()["setups"]
    lines = [dict(zip(head, row, strict=True)) for row in rows]

    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    session = market.get("/scan").json()["as_of_session"]
    assert answer.headers["content-disposition"] == f'attachment; filename="screen-{session}.csv"'
    assert answer.headers["cache-control"] == "no-store"
    assert [line["setup_id"] for line in lines[5:35]] == ids(page)
    assert len(lines) == len(setups) > 50
    assert all(len(line["daily_change"].partition(".")[2]) <= 2 for line in lines)
    for line, setup in zip(lines, setups, strict=True):
        for name in ("symbol", "last_close", "win_rate_pct", "win_rate_trades", "gain_pct"):
            value = setup.get(name)
            assert line[name] == ("" if value is None else str(value)), name
        assert float(line["stop_price"]) == setup["plans"][0]["stop_price"]
        assert line["avg_loss_pct"]
    assert "market_cap" not in head


async def test_numbers_that_mislead_by_themselves_have_beside_them_what_they_need(
    market: Service,
) -> None:
    asked = {"status": "all", "limit": "60"}
    page = screen(market, **asked, sort="rank", columns="expected_r,reward_to_risk").text
    async with connected(f"{market.mcp_url}/extended", market.key) as client:
        answer = await call(client, "scan_setups", **asked)
    setups = (answer.structured_content or {})["setups"]
    cells = re.findall(r'data-label="([^"]*)">([^<]*)<', page)
    expected = [text for label, text in cells if label == "Expectancy in R (random), trades"]
    reward = [text for label, text in cells if label == "Reward to risk"]

    assert len(setups) == len(expected) == len(reward)
    assert {setup["status"] for setup in setups} == {"forming", "in_progress"}
    for row, shown, ratio in zip(setups, expected, reward, strict=True):
        r, random, scope = (row[f] for f in ("expected_r", "placebo_avg_r", "expected_r_scope"))
        assert shown == f"{r:+.3f} ({random:+.3f}), {row['expected_r_trades']:,} of {scope}"
        left = row.get("reward_to_risk_left")
        wanted = "\N{EN DASH}" if left is None else f"{left:,.2f} left"
        if row["status"] == "forming":
            wanted = f"{row['reward_to_risk']:,.2f}"
        assert ratio == wanted


def test_the_sheet_is_refused_to_who_may_not_see_the_scan_and_for_what_cannot_be_asked(
    market: Service, service: Service
) -> None:
    stranger = Browser(service).get("/screen.csv")
    wrong = Browser(market).get("/screen.csv?sort=luck")

    assert (stranger.status_code, wrong.status_code) == (403, 400)
    assert "text/csv" not in stranger.headers["content-type"] + wrong.headers["content-type"]


def test_before_the_first_night_there_is_no_sheet(tmp_path: Path) -> None:
    with serving(tmp_path, open_pages=True) as live:
        answer = Browser(live).get("/screen.csv")

    assert answer.status_code == 404
    assert "There is no night yet" in answer.text


def test_pages_follow_one_another_without_gap_or_repeat(market: Service) -> None:
    first = screen(market, status="all", limit="25").text
    following = html.unescape(re.findall(r'rel="next" href="([^"]+)"', first)[0])
    second = Browser(market).get(following).text
    previous = html.unescape(re.findall(r'rel="prev" href="([^"]+)"', second)[0])

    assert 'rel="prev"' not in first
    assert ids(first) + ids(second) == ids_of_api(market, status="all", limit=50)
    assert ids(Browser(market).get(previous).text) == ids(first)
    assert "Setups 26 to 50 of" in second


def test_a_page_behind_the_end_leads_back(market: Service) -> None:
    answer = screen(market, offset="9007199254740992")

    assert answer.status_code == 200
    assert "ends before this page" in answer.text
    assert 'href="/screen"' in answer.text.split("ends before this page")[1]


def test_no_forming_setup_is_not_read_as_no_setup(service: Service, browser: Browser) -> None:
    running = service.get("/scan", params={"status": "in_progress"}).json()["count"]

    page = browser.get("/screen?max_distance_pct=0").text

    assert "No forming setup matches." in words(page)
    tabs = dict(re.findall(r'>([A-Z][a-z ]+) <span class="size">(\d+)<', page))
    assert tabs == {"Forming": "0", "Triggered": str(running), "All": "0"}
    assert 'href="/screen?status=in_progress&amp;max_distance_pct=0"' in page


def test_within_a_distance_no_triggered_trade_is_kept_unless_asked_for(market: Service) -> None:
    asked = {"max_distance_pct": "12.5", "limit": "200"}
    near = ids_of_api(market, **asked)
    running = ids_of_api(market, **asked, status="in_progress")
    pages = {status: screen(market, **asked, status=status).text for status in STATUSES}
    pages[""] = screen(market, **asked).text

    assert near
    assert ids(pages["all"]) == ids(pages["forming"]) == ids(pages[""]) == near
    assert ids(pages["in_progress"]) == running
    assert set(running) < set(ids_of_api(market, **asked, status="all"))
    said = f"The night has {len(near)} forming setups so close to the trigger."
    for page in pages.values():
        sizes = re.findall(r'<span class="size">(\d+)<', page)
        assert sizes == [str(len(near)), str(len(running)), str(len(near))]
        assert said in words(page)
        assert f"{len(running)} open trades, under Triggered only." in words(page)


def test_the_page_opens_on_the_first_tab_that_has_rows_and_its_texts_say_which(
    market: Service,
) -> None:
    running = '[{"kind":"gain","op":">","value":-100}]'
    page = screen(market, filters=running).text
    forming = screen(market, filters=running, status="forming").text

    assert ids(page) == ids_of_api(market, filters=running, status="in_progress")
    assert 'aria-current="true">Triggered ' in page
    assert "--data-urlencode status=in_progress" in page
    assert ids(forming) == []
    (link,) = re.findall(r'href="([^"]+)">Forming <', page)
    assert link.startswith("/screen?status=forming")
    assert 'aria-current="true">Forming ' in screen(market).text


def test_a_condition_adds_its_column_to_the_page_and_the_sheet(
    market: Service, evidence: dict[str, Any]
) -> None:
    asked = (
        '[{"kind":"rsi","op":">","value":20},{"kind":"sma_distance","op":"<","value":50,'
        '"period":200},{"kind":"gap","op":"<","value":90},{"kind":"min_rr","op":">","value":0}]'
    )
    chosen = {"status": "all", "filters": asked, "columns": "price"}
    page = screen(market, **chosen).text
    heads = re.findall(r'<th scope="col"[^>]*>(?:<a[^>]*>)?([^<]+)<', page)
    sheet = csv.DictReader(io.StringIO(Browser(market).get("/screen.csv", params=chosen).text))
    ranks = {row["setup_id"]: row["rank"] for row in _every(market)}

    assert set(heads) == {
        *("Symbol", "Price", "Reward to risk", "RSI", "Opening gap"),
        "Distance from the SMA, 200 days",
    }
    assert ids(page)
    for row in sheet:
        rsi = round(float(evidence["rsi"][ranks[row["setup_id"]] - 1]), 2)
        assert float(row["rsi"]) == rsi
        if row["setup_id"] in ids(page)[:1]:
            assert f'data-label="RSI">{rsi:,.2f}<' in page
    charts = html.unescape(re.findall(r'href="([^"]+)">Charts<', page)[0])
    assert charts.endswith("columns=symbol%2Cprice")


def test_pages_begin_with_what_is_near_its_trigger_and_of_good_quality_and_say_so(
    market: Service,
) -> None:
    page = screen(market, status="all", limit="200").text
    rows = {row["setup_id"]: row for row in _every(market)}
    places = [_place(rows[setup]) for setup in ids(page)]

    assert places == sorted(places)
    assert len({place[0] for place in places}) > 1
    assert f"Order: {SORTS[NEARNESS]}." in words(page)
    assert "Setups within 2% of their trigger come first" in words(page)
    assert market.get("/scan").json()["sort"] == "rank"


def _every(market: Service) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = market.get("/scan", params={"status": "all", "limit": 200}).json()[
        "setups"
    ]
    return rows


def _place(row: dict[str, Any]) -> tuple[int, int, float]:
    """Where a row stands: near, forming or triggered; then the newest, then the best quality."""
    lacking = -(row["quality_pct"] or 0.0)
    if row["status"] == "in_progress":
        return 2, row["sessions_since_trigger"], lacking
    near = min(abs(plan["trigger_price"] / row["last_close"] - 1) for plan in row["plans"])
    return int(near > 0.02), 0, lacking


def test_the_texts_to_copy_ask_for_the_same_rows(market: Service) -> None:
    asked = {"status": "all", "family": "triangle", "filters": RSI.replace("20", "90")}
    page = screen(market, **asked, sort="-gain").text
    texts = {
        key: html.unescape(text)
        for key, text in re.findall(r'<code id="text-(\w+)">(.*?)</code>', page, re.DOTALL)
    }
    expected = ids_of_api(market, **asked, sort="-gain")

    curl = shlex.split(texts["curl"].replace("\\\n", ""))
    data = dict(part.split("=", 1) for part in curl if "=" in part)
    address = next(part for part in curl if part.startswith("http"))
    assert address == f"{market.base}/scan"
    assert "Authorization: Bearer $SCREENER_KEY" in curl
    assert ids_of_api(market, **data) == expected

    call = httpx.post(
        f"{market.mcp_url}/extended",
        json=json.loads(texts["mcp"]),
        headers={
            "Authorization": f"Bearer {market.key}",
            "Accept": "application/json, text/event-stream",
        },
    )
    rows = call.json()["result"]["structuredContent"]["setups"]
    assert [row["setup_id"] for row in rows] == expected

    link = urlsplit(texts["link"])
    again = Browser(market).get(f"{link.path}?{link.query}").text
    assert ids(again) == ids(page)
    assert ids(page) == expected


def test_without_the_extended_address_no_mcp_call_is_offered(data_dir: Path) -> None:
    with serving(data_dir, open_pages=True, extended=False) as live:
        page = screen(live).text

    assert 'id="text-curl"' in page
    assert 'id="text-mcp"' not in page


def test_the_screen_of_a_night_without_a_setup_opens_in_both_views(tmp_path: Path) -> None:
    succeed(tmp_path, "nightly", "--session", "2012-08-24")
    with serving(tmp_path, open_pages=True) as live:
        for query in ("", "?status=all", "?status=all&view=charts"):
            answer = Browser(live).get(f"/screen{query}")
            assert answer.status_code == 200
            assert "from 5 scanned symbols" in words(answer.text)
