"""The pages of tickers: what everybody who may scan reads, and what who tracks a ticker reads."""

from __future__ import annotations

import datetime as dt
import re
from contextlib import closing
from pathlib import Path

import httpx
import orjson
import pytest

from mcp_server.charts.charts import chart_view
from mcp_server.charts.past import Past
from mcp_server.drawing.canvas import Ink
from mcp_server.drawing.view import THEMES, Theme
from screener.web.market.figures import histogram
from screener.web.market.symbol import OCCURRENCES, SUGGESTED
from screener.web.site.forms import form_token
from store.accounts.accounts import AccountPlan
from store.nights.book import Book
from store.wire.currency import money
from store.wire.method import Distribution
from tests.books import Content
from tests.contract.market import active_book
from tests.resealed import leave_out, reseal
from tests.screener.command import run, succeed
from tests.screener.web.browser import Browser
from tests.screener.web.people import new_member, new_person, signed_in, tracked_by
from tests.screener.web.tree import Document, words
from tests.service import Service, copy_night, serving


def test_each_sentence_of_a_symbol_begins_with_a_capital_and_a_record_is_said_once(
    service: Service, book: Book
) -> None:
    symbols = tuple(dict.fromkeys(view.symbol for view in book.scan.rows))
    _, visitor = new_member(service, tracked=symbols)
    for symbol in symbols:
        main = Document(visitor.get(f"/symbols/{symbol}").text).root.all("main")[0]
        for paragraph in (one.text for part in main.all("section") for one in part.all("p")):
            assert paragraph[:1] == paragraph[:1].upper()
        told = re.findall(r"[A-Z][^.]*: [\d,]+ resolved trades? in the bars [^;]*;", main.text)
        assert told
        assert len(told) == len({*told})
        for view in book.views(symbol):
            if (view.attempt or 1) > 1:
                assert f"attempt {view.attempt}" in main.text


def test_who_may_scan_reads_what_the_scan_says_and_no_history(closed: Service, book: Book) -> None:
    page = signed_in(closed, new_person(closed)).get("/symbols/AAPL").text
    text = words(page)
    setup = orjson.loads(book.patterns("AAPL") or b"")["setups"][0]
    plan = setup["plans"][0]

    assert setup["trigger_rule"] in text
    assert setup["track_record"]["family"]["by_direction"][setup["direction"]]["summary"] in text
    for price in (plan["stop_price"], plan["target_price"]):
        assert money(price, "USD") in text
    assert "Reward to risk" in text
    assert re.search(
        r"Expectancy [+-]\d\.\d{3} R \(random entries [+-]\d\.\d{3}\) from [\d,]+ ", text
    )
    assert "triggered" in text
    assert f"As of {book.session}" in text
    assert book.disclaimer in text
    assert "/symbols/AAPL/chart.png" in page
    assert "width=1200" not in page
    assert "data-chart" not in page
    assert "/assets/chart." not in page
    assert 'id="history"' not in page
    assert setup["track_record"]["ticker"]["summary"] not in text
    assert "Track AAPL to see its full charts" in text


def test_who_tracks_it_reads_its_charts_records_history_and_results(
    closed: Service, book: Book
) -> None:
    page = signed_in(closed, new_person(closed, tracked=("AAPL",))).get("/symbols/AAPL").text
    text = words(page)
    stored = book.history("AAPL")
    assert stored is not None
    rows = [orjson.loads(row) for row in stored.rows]

    assert "width=1200" in page
    assert "data-chart=" in page
    for record in orjson.loads(book.ticker_record("AAPL") or b"")["records"]:
        assert record["summary"] in text
    dates = re.findall(r'<th scope="row"><time datetime="([\d-]+)"', page)
    assert dates == [row["entry_date"] for row in rows]
    assert dates == sorted(dates, reverse=True)
    losses = sum(row["outcome"] == "loss" for row in rows)
    assert page.count("<td>loss</td>") == losses
    assert "-1.00" in text


def test_the_picture_of_results_has_the_numbers_of_the_history(service: Service) -> None:
    page = Browser(service).get("/symbols/AAPL").text
    rows = service.get("/tickers/AAPL/history?limit=100").json()["occurrences"]
    results = [row["r_multiple"] for row in rows if row["r_multiple"] is not None]
    picture = histogram(Distribution.of(results))
    assert picture is not None

    drawn = [int(count) for count in re.findall(r'<text class="count"[^>]*>(\d+)<', page)]
    table = re.findall(r'<th scope="row">([^<]+ R[^<]*)</th><td class="number">(\d+)</td>', page)
    described = re.search(r'<desc id="results-picture-words">([^<]*)</desc>', page)

    assert drawn == [bar.count for bar in picture.bars]
    assert sum(drawn) == len(results)
    ends = histogram(Distribution.of([-99.0, 0.5, 99.0]))
    assert ends is not None
    assert [bar.count for bar in ends.bars] == [1, 1, 1]
    assert table == [(bar.label, str(bar.count)) for bar in picture.bars]
    assert described is not None
    assert described[1] == picture.words
    gained = page.count('<rect class="gained"')
    assert gained == len([bar for bar in picture.bars if bar.gained])
    heights = {float(h) for h in re.findall(r'<rect[^>]*height="([\d.]+)"', page)}
    assert max(heights) == max(bar.height for bar in picture.bars)


def test_few_trades_are_said_to_be_few(service: Service) -> None:
    assert "Too few to say anything." in Browser(service).get("/symbols/GOOG").text


def test_strangers_read_demo_symbols_and_sign_in_for_others(closed: Service) -> None:
    stranger = Browser(closed)

    demo, other = stranger.get("/symbols/MSFT"), stranger.get("/symbols/AAPL")

    assert demo.status_code == 200
    assert 'id="history"' in demo.text
    (main,) = Document(demo.text).root.all("main")
    forms = [form for form in main.all("form") if form.all("button")]
    assert forms == []
    assert other.status_code == 303
    assert other.headers["location"] == "/sign-in?next=%2Fsymbols%2FAAPL"


def test_a_symbol_is_found_in_any_case_under_one_address(closed: Service) -> None:
    answer = Browser(closed).get("/symbols/msft?page=2")

    assert answer.status_code == 307
    assert answer.headers["location"] == "/symbols/MSFT?page=2"


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        *(("AALP", ["AAPL"]), ("MSTF", ["MSFT"]), ("aa-pl", ["AAPL"])),
        *((typed, []) for typed in ("ZZZZZZ", "%3CSCRIPT%3E", "%F0%9F%92%A9")),
        *((typed, []) for typed in ("A" * 60_000, "a" * 60_000, "%C3%BF" * 9_000)),
    ],
)
def test_an_unknown_symbol_leads_to_the_nearest_ones(
    service: Service, typed: str, shown: list[str]
) -> None:
    answer = Browser(service).get(f"/symbols/{typed}")

    assert answer.status_code == 404
    assert re.findall(r'<a href="/symbols/([A-Z]+)">', answer.text) == shown
    assert 'name="search"' in answer.text
    assert "<SCRIPT>" not in answer.text
    assert len(answer.text) < 10_000


def test_a_search_finds_symbols_by_their_beginning_or_goes_to_the_one_that_it_names(
    service: Service,
) -> None:
    browser = Browser(service)

    found = browser.get("/symbols?search=aa").text
    exact = browser.get("/symbols?search=aapl")
    company = browser.get("/symbols?search=international+bus").text
    nothing = browser.get("/symbols", params={"search": '"><zzq>'}).text

    assert re.findall(r'<a href="/symbols/([A-Z]+)">', found) == ["AAPL"]
    assert (exact.status_code, exact.headers["location"]) == (303, "/symbols/AAPL")
    assert re.findall(r'<a href="/symbols/([A-Z]+)">', company) == ["IBM"]
    assert "<zzq>" not in nothing
    assert "No symbol or company name" in nothing


def test_what_the_search_suggests_is_what_it_finds_and_is_short_whatever_is_typed(
    closed: Service,
) -> None:
    browser = Browser(closed)

    def suggested(text: str) -> list[tuple[str, str]]:
        answer = browser.get("/symbols.json", params={"search": text})
        assert answer.status_code == 200, text
        assert answer.headers["cache-control"] == "private, no-cache"
        return [(one["symbol"], one["name"]) for one in answer.json()]

    assert suggested(" aapl") == [("AAPL", "Apple Inc.")]
    assert suggested("international bus")[0][0] == "IBM"
    for text in ("", " ", '"><zzq>', "\x00", "\u202e", "x" * 5000, "%", "a b c d e f g h i j"):
        assert len(suggested(text)) <= SUGGESTED, text
    assert browser.get("/symbols.json").json() == []
    foreign = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}
    assert httpx.get(f"{closed.url}/symbols.json?search=a", headers=foreign).status_code == 403


def test_which_symbols_have_setups_is_told_with_the_scan_alone(closed: Service) -> None:
    member, stranger = signed_in(closed, new_person(closed)), Browser(closed)
    for address in ("/symbols?search=appl", "/symbols/AAPLE"):
        pages = [browser.get(address).text for browser in (member, stranger)]

        assert ["/symbols/AAPL" in page for page in pages] == [True, True]
        assert [bool(re.search(r">\d+ setups?<", page)) for page in pages] == [True, False]


def test_the_button_tracks_the_ticker_and_takes_it_off_again(closed: Service) -> None:
    account, browser = new_member(closed, tracked=("IBM",))

    for change, after in (("track", ["IBM", "AAPL"]), ("untrack", ["IBM"])):
        form = browser.form("/symbols/AAPL")
        assert form.buttons == [("change", change)]
        answer = browser.submit(form, change=change)
        assert (answer.status_code, answer.headers["location"]) == (303, "/symbols/AAPL")
        assert tracked_by(closed, account) == after


def test_a_full_watchlist_is_said_in_words_and_stays(closed: Service) -> None:
    account, browser = new_member(
        closed, AccountPlan.PREMIUM, tracked=tuple(f"S{n}" for n in range(50))
    )

    answer = browser.submit(browser.form("/symbols/AAPL"), change="track")

    assert answer.status_code == 400
    assert (
        "51 symbols exceed the cap of 50; nothing changed. Remove some from your watchlist first."
        in answer.text
    )
    assert "AAPL" not in tracked_by(closed, account)


def test_a_form_that_is_not_the_pages_changes_nothing(closed: Service) -> None:
    account, browser = new_member(closed)

    for symbol, fields, status in (
        ("AAPL", {"change": "drop"}, 400),
        ("AAPL", {}, 400),
        ("NOPE", {"change": "track"}, 404),
    ):
        token = form_token(browser.cookies["session"], f"/symbols/{symbol}")
        answer = browser.post(f"/symbols/{symbol}", data={"token": token, **fields})
        assert answer.status_code == status, (symbol, fields)
    assert tracked_by(closed, account) == []


def test_a_symbol_that_is_left_out_says_why_in_words(data_dir: Path) -> None:
    def left(content: Content) -> None:
        leave_out(content, "FB", "flat_bars", "Most bars are <flat>.")
        content.meta["last_bars"] = {"FB": "2012-03-08"}

    reseal(data_dir, left)
    with serving(data_dir, open_pages=True) as live:
        browser = Browser(live)
        flat = "This night does not cover FB (rule flat_bars): most bars are &lt;flat&gt;."
        assert f"{flat} Its usable bars end on 2012-03-08." in browser.get("/symbols/FB").text
        page = browser.get("/symbols/INTC").text
        assert "This night does not cover INTC (rule no_bars): there are no bars for it." in page
        assert "No pattern on INTC" not in page
        assert "This night has no history of INTC." in page


def test_a_symbol_without_a_setup_says_what_its_best_drawing_lacks_and_shows_it(
    tmp_path: Path,
) -> None:
    """In the same words on its page and on the command line, and as an older night could."""
    succeed(tmp_path, "nightly", "--session", "2013-01-22")
    with closing(active_book(tmp_path)) as book:
        missing = [symbol for symbol in ("FB", "GOOG", "MSFT") if not book.views(symbol)]
        drawings = {symbol: book.nearest(symbol) for symbol in missing}
        for symbol, drawing in drawings.items():
            prices = book.kept_prices(symbol)
            assert prices is not None
            view = chart_view(book, Past(symbol), prices)
            ends = [(line.start, line.end) for line in view.lines]
            assert ends == [
                tuple((dt.date.fromisoformat(p["date"]), p["price"]) for p in line.values())
                for line in drawing["lines"].values()
            ]
    said = {
        symbol: f"No pattern on {symbol} right now, and no trade in progress: the best drawing, "
        f"a {drawing['pattern_type'].replace('_', ' ')}, has quality {drawing['value']:.3g}%, and "
        "a setup needs 72%."
        for symbol, drawing in drawings.items()
    }
    assert len(said) > 1
    with serving(tmp_path, open_pages=True) as live:
        for symbol, sentence in said.items():
            page = Browser(live).get(f"/symbols/{symbol}").text
            assert sentence in page
            assert f"quality {drawings[symbol]['quality_pct']:.1f}%" in page
            assert sentence in " ".join(run(tmp_path, "show", symbol).stdout.split())

    older = tmp_path / "older"
    copy_night(tmp_path, older)
    reseal(older, lambda content: content.nearest.clear())
    with serving(older, open_pages=True) as live:
        page = Browser(live).get(f"/symbols/{missing[0]}").text
        assert f"No pattern on {missing[0]} right now, and no trade in progress." in page


def test_a_very_long_name_is_cut_wherever_people_read_it(data_dir: Path) -> None:
    def rename(content: Content) -> None:
        for entry in content.universe:
            entry["name"] = entry["industry"] = "Zzz \u202e" + "y" * 5_000

    reseal(data_dir, rename)
    with serving(data_dir, open_pages=True) as live:
        member = signed_in(live, new_person(live, tracked=("AAPL",)))
        addresses = ("/symbols/AAPL", "/symbols?search=zzz", "/screen?status=all", "/watchlist")
        pages = [member.get(address).text for address in addresses]
        listed = [live.get(f"/universe{query}").text for query in ("", "?search=zzz")]

    for universe in listed:
        assert "y" * 120 not in universe
        assert "\u202e" not in universe
    for page in pages:
        assert "y" * 100 + "\N{HORIZONTAL ELLIPSIS}" in page
        assert "y" * 120 not in page
        assert "\u202e" not in page


def test_a_long_history_has_pages(data_dir: Path) -> None:
    def lengthen(content: Content) -> None:
        _, rows = content.histories["AAPL"]
        most = 2 * OCCURRENCES + 1
        content.histories["AAPL"] = "w" * most, [rows[-1]] * most

    reseal(data_dir, lengthen)
    with serving(data_dir) as live:
        browser = Browser(live)
        counts = [
            browser.get(f"/symbols/AAPL?page={page}").text.count('<th scope="row"><time')
            for page in ("1", "3", "99999", "-1", "x", "9" * 400)
        ]
        assert counts == [OCCURRENCES, 1, 1, OCCURRENCES, OCCURRENCES, OCCURRENCES]
        second = browser.get("/symbols/AAPL?page=2").text

    assert f"{2 * OCCURRENCES + 1} first attempts, newest entry first; page 2 of 3. Later" in second
    assert 'href="/symbols/AAPL?page=1#history" rel="prev"' in second
    assert 'href="/symbols/AAPL?page=3#history" rel="next"' in second


def test_a_history_tells_of_which_patterns_it_has_no_later_attempt(
    service: Service, book: Book
) -> None:
    counts = {
        symbol: [orjson.loads(row)["attempt"]["count"] for row in stored.rows]
        for symbol, stored in book.histories()
    }
    symbol = next(symbol for symbol, found in counts.items() if max(found, default=1) > 1)
    _, visitor = new_member(service, tracked=(symbol,))
    text = words(visitor.get(f"/symbols/{symbol}").text)

    for count in range(2, max(counts[symbol]) + 1):
        assert text.count(f"first of {count} attempts") == counts[symbol].count(count)
    assert "Later attempts of a pattern are not listed once they have ended" in text


def test_setups_in_opposite_directions_are_said_to_be_two_readings(
    product_night: Path, tmp_path: Path
) -> None:
    copy_night(product_night, tmp_path)
    opposite = "Its setups point in opposite directions."
    with serving(tmp_path, open_pages=True) as live:
        both = Browser(live).get("/symbols/GOOG").text
        one = Browser(live).get("/symbols/AAPL").text

    assert opposite in words(both)
    assert opposite not in words(one)
    assert "from the entry" in words(both)
    assert "from the trigger" in words(both)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", ["screener/web/static/symbol.css", "mcp_server/mcp/app/page.css"])
def test_interactive_charts_have_the_colours_of_the_pictures(name: str, theme: Theme) -> None:
    text = (Path(__file__).parents[3] / name).read_text()
    light, dark = re.split(r"@media \(prefers-color-scheme: dark\)|:root\[data-theme", text)[:2]
    rules = {"light": light, "dark": dark}[theme]
    inks = (
        *(Ink.PAPER, Ink.TITLE, Ink.MUTED, Ink.GRID, Ink.UP, Ink.DOWN, Ink.LINE),
        *(Ink.TRIGGER, Ink.TARGET, Ink.STOP, Ink.ENTRY, Ink.LAST),
    )
    for ink in inks:
        colour = re.search(rf"--{ink.name.lower()}: [^;]*(#[0-9a-f]{{6}})", rules)
        assert colour is not None, ink
        assert colour[1] == ink.colour(theme), ink
