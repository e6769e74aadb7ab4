"""The page of the Main watchlist."""

from __future__ import annotations

import html
import re
from contextlib import closing

from store.accounts.accounts import AccountPlan
from store.wire.currency import money
from store.wire.words import change, place_words, plan_words, state_words
from tests.contract.market import active_book
from tests.screener.web.browser import Browser
from tests.screener.web.people import new_member, new_person, signed_in, tracked_by
from tests.screener.web.tree import words
from tests.service import Service


def lines(page: str) -> dict[str, str]:
    """What the list says of each ticker, in words."""
    rows = re.findall(r'<tr role="row" id="([^"]+)"[^>]*>(.*?)</tr>', page, re.DOTALL)
    return {symbol: words(row) for symbol, row in rows}


def test_the_list_stands_in_the_users_order_with_name_setup_and_distance(
    service: Service,
) -> None:
    tracked_symbols = ("MSFT", "GONE", "F", "AAPL")
    browser = signed_in(service, new_person(service, tracked=tracked_symbols))

    page = browser.get("/watchlist").text
    found = lines(page)

    assert tuple(found) == tracked_symbols
    assert "no data yet" in found["GONE"]
    for symbol in ("MSFT", "AAPL"):
        name = next(
            entry["name"]
            for entry in service.get("/universe", key="").json()["symbols"]
            if entry["symbol"] == symbol
        )
        assert name in found[symbol]
    with closing(active_book(service.settings.data_dir)) as book:
        views = [view for view in book.scan.rows if view.symbol in tracked_symbols]
    assert {view.status for view in views} == {"in_progress"}
    for view in views:
        place = f"{place_words(view)} {plan_words(view)}"
        shown = f"{view.pattern} {view.direction}, {state_words(view)} {place}"
        assert shown in found[view.symbol]
        assert "open P/L" in shown
    assert "4 of 200" in page


def test_a_ticker_without_a_setup_is_one_quiet_line(service: Service) -> None:
    covered = [entry["symbol"] for entry in service.get("/universe", key="").json()["symbols"]]
    held = {
        setup["symbol"] for setup in service.get("/scan", params={"status": "all"}).json()["setups"]
    }
    quiet = [symbol for symbol in covered if symbol not in held][:3]
    browser = signed_in(service, new_person(service, tracked=(*quiet, "AAPL")))

    page = browser.get("/watchlist").text
    chosen = browser.get("/watchlist?show=setups").text

    assert quiet
    assert page.count('class="quiet"') == len(quiet)
    assert all("no setup" in lines(page)[symbol] for symbol in quiet)
    assert list(lines(chosen)) == ["AAPL"]
    assert re.findall(r'<span class="size">(\d+)<', page) == [str(len(quiet) + 1), "1"]


def test_a_setup_has_its_picture_and_each_symbol_that_the_night_knows_its_page(
    service: Service,
) -> None:
    page = signed_in(service, new_person(service, tracked=("AAPL", "GONE"))).get("/watchlist").text

    assert re.findall(
        r'<img class="thumbnail" src="/symbols/(\w+)/chart.png\?[^"]*width=320"', page
    ) == ["AAPL"]
    assert set(re.findall(r'href="/symbols/([^"]+)"', page)) == {"AAPL"}
    assert "GONE" in page
    assert re.search(r'alt="AAPL: [^"]+, bullish, triggered"', page)


def test_every_symbol_has_its_close_its_change_and_a_small_chart_set_up_or_not(
    service: Service,
) -> None:
    covered = [entry["symbol"] for entry in service.get("/universe", key="").json()["symbols"]]
    browser = signed_in(service, new_person(service, tracked=(*covered, "GONE")))

    page = browser.get("/watchlist").text
    found, held = lines(page), set[bool]()

    with closing(active_book(service.settings.data_dir)) as book:
        for symbol in covered:
            prices, views = book.kept_prices(symbol), book.views(symbol)
            assert prices is not None
            before, last = (float(str(close)) for close in prices.close[-2:])
            told = f"{money(last, book.currency(symbol))} {change(100 * (last / before - 1))}"
            assert told in found[symbol]
            assert all(money(view.last_close, view.currency) in told for view in views)
            held.add(bool(views))
    assert held == {True, False}, "the night has both kinds"
    drawn = re.findall(r'<img class="thumbnail" src="/symbols/(\w+)/chart.png\?', page)
    assert drawn == covered
    assert "%" not in found["GONE"]


def test_the_list_is_saved_as_a_screen_that_holds_its_tickers_and_has_a_feed(
    service: Service,
) -> None:
    browser = signed_in(service, new_person(service, tracked=("MSFT", "AAPL")))

    answer = browser.submit(browser.form("/watchlist", "/screens"))
    page = browser.get(answer.headers["location"]).text

    assert "watchlist only" in words(browser.get("/screens").text)
    assert set(re.findall(r'href="/symbols/(\w+)#', page)) == {"AAPL", "MSFT"}
    assert "Make a feed" in page
    again = browser.submit(browser.form("/watchlist", "/screens"))
    assert again.headers["location"] == answer.headers["location"]
    assert '<a href="/screens">Saved</a>' in browser.get("/method").text, "the head leads there"


def test_without_a_plan_the_list_asks_for_no_picture(service: Service) -> None:
    browser = signed_in(service, new_person(service, AccountPlan.NONE, tracked=("AAPL",)))

    page = browser.get("/watchlist").text
    assert "chart.png" not in page
    assert "Save it as a screen" not in page


def test_each_button_does_what_it_says_on_a_list_over_the_cap_too(service: Service) -> None:
    account, browser = new_member(service, AccountPlan.NONE, tracked=("AAPL", "IBM", "MSFT"))
    form = browser.form("/watchlist")

    for button, symbol, after in (
        ("up", "AAPL", ["AAPL", "IBM", "MSFT"]),
        ("up", "GOOG", ["AAPL", "IBM", "MSFT"]),
        ("down", "MSFT", ["AAPL", "IBM", "MSFT"]),
        ("up", "IBM", ["IBM", "AAPL", "MSFT"]),
        ("down", "AAPL", ["IBM", "MSFT", "AAPL"]),
        ("remove", "GOOG", ["IBM", "MSFT", "AAPL"]),
        ("remove", "MSFT", ["IBM", "AAPL"]),
    ):
        answer = browser.submit(form, **{button: symbol})

        moved = button != "remove" and symbol in after
        assert answer.status_code == 303
        assert answer.headers["location"] == f"/watchlist#{symbol if moved else 'list'}"
        assert tracked_by(service, account) == after, (button, symbol)


def test_what_cannot_be_added_is_said_stays_as_typed_and_changes_nothing(service: Service) -> None:
    for plan, text, said in (
        (AccountPlan.PREMIUM_PLUS, "NOPE", "Nothing was added.</p>\n<p>Not known: NOPE.<"),
        (AccountPlan.PREMIUM_PLUS, "GOGO", "Not known: GOGO (perhaps GOOG).<"),
        (AccountPlan.PREMIUM_PLUS, '"<b>NOPE', "Not known: &lt;B&gt;NOPE.<"),
        (AccountPlan.PREMIUM_PLUS, " , ", "has no symbol"),
        (AccountPlan.NONE, "AAPL", "Your plan tracks no tickers."),
    ):
        account, browser = new_member(service, plan)

        answer = browser.submit(browser.form("/watchlist"), add=text)

        assert answer.status_code == (200 if "Not known" in said else 400), text
        assert said in answer.text
        shown = html.escape(text).replace("&quot;", "&#34;")
        assert f'name="add" value="{shown}"' in answer.text
        assert 'aria-invalid="true"' in answer.text
        assert "<b>" not in answer.text
        assert tracked_by(service, account) == []


def test_a_list_is_imported_as_text_or_as_a_file_and_what_is_not_known_is_named(
    service: Service,
) -> None:
    text = "###TECH,NASDAQ:AAPL,NYSE:<b>NOPE,NASDAQ:GOGO,NYSE:IBM"
    table = text.replace(",", "\r\n").encode("utf-16")
    for data, files in (
        ({"list": text}, {}),
        ({"list": ""}, {"file": ("list.txt", text.encode(), "text/plain")}),
        ({}, {"file": ("list.csv", table, "text/csv")}),
    ):
        account, browser = new_member(service, tracked=("MSFT",))
        token = browser.form("/watchlist").fields["token"]

        answer = browser.post("/watchlist", data={"token": token, **data}, files=files)

        assert answer.status_code == 200
        assert "Added: AAPL, IBM." in answer.text
        assert "Not known: NYSE:&lt;B&gt;NOPE, NASDAQ:GOGO (perhaps GOOG)." in answer.text
        assert tracked_by(service, account) == ["MSFT", "AAPL", "IBM"]


def test_a_list_that_is_known_whole_leads_back_to_the_list(service: Service) -> None:
    account, browser = new_member(service)

    answer = browser.submit(browser.form("/watchlist"), list="NASDAQ:AAPL,NYSE:IBM")

    assert answer.headers["location"] == "/watchlist#list"
    assert tracked_by(service, account) == ["AAPL", "IBM"]


def test_as_many_are_added_as_the_plan_has_room_for(service: Service) -> None:
    tracked = tuple(f"X{number}" for number in range(49))
    account, browser = new_member(service, AccountPlan.PREMIUM, tracked=tracked)

    page = browser.submit(browser.form("/watchlist"), add="AAPL, IBM, MSFT").text

    assert "Added: AAPL." in page
    assert "Your plan tracks 50 tickers; there was no room for IBM, MSFT." in page
    assert tracked_by(service, account) == [*tracked, "AAPL"]


def test_a_form_with_a_file_is_bounded_and_checked_like_any_other(browser: Browser) -> None:
    token = browser.form("/watchlist").fields["token"]
    kind = "multipart/form-data; boundary=x"
    part = '--x\r\nContent-Disposition: form-data; name="{}"\r\n\r\n{}\r\n'

    for content_type, body, status in (
        (kind, part.format("token", token) + part.format("add", "AAPL") + "--x--\r\n", 303),
        (kind, part.format("add", "AAPL") + "--x--\r\n", 403),
        (kind, part.format("token", token) + part.format("add", "A" * 70_000) + "--x--\r\n", 413),
        (kind, part.format("add", "AAPL") * 21 + "--x--\r\n", 400),
        (
            kind,
            '--x\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n\r\n' * 2,
            400,
        ),
        (kind, "--y", 400),
        (f"{kind}; charset=undefined", part.format("add", "\xff") + "--x--\r\n", 400),
        (f"{kind}; charset=none", part.format("add", "\xff") + "--x--\r\n", 403),
        ("multipart/form-data", "--x", 400),
        ("text/plain", "add=AAPL", 415),
    ):
        answer = browser.post(
            "/watchlist", content=body.encode("latin-1"), headers={"Content-Type": content_type}
        )
        assert answer.status_code == status, (content_type, body[:60])


def test_the_list_is_downloaded_for_tradingview_and_as_csv(service: Service) -> None:
    browser = signed_in(service, new_person(service, tracked=("MSFT", "GONE", "IBM")))
    links = re.findall(r'href="(/watchlist/export[^"]*)"', browser.get("/watchlist").text)

    plain, table = (browser.get(html.unescape(link)) for link in links)

    assert plain.text == "NASDAQ:MSFT,GONE,NYSE:IBM\n"
    assert plain.headers["content-disposition"] == 'attachment; filename="watchlist.txt"'
    assert table.text.splitlines()[1:3] == ["MSFT,XNAS,Microsoft Corporation", "GONE,,"]
    assert table.headers["content-type"] == "text/csv; charset=utf-8"
    assert browser.get("/watchlist/export?format=pdf").status_code == 400
    assert Browser(service).get("/watchlist/export").status_code == 303
