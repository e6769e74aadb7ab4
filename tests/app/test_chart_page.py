"""The chart page in Chromium, in a sandboxed frame of two hosts: a plain one and AppBridge.

Over 400 lines, because a browser and a night are set up once for all that the page does.
"""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from PIL import Image

from mcp_server.charts.chart_data import chart_data
from mcp_server.charts.charts import chart_view
from mcp_server.drawing.layout import layout
from mcp_server.mcp.app_page import DATA_KEY, PAGE_URI
from tests.agent import post
from tests.app.hosts import ADDRESS, DRAWN, PLAIN, Host, official_script
from tests.chromium import launched, profile_of
from tests.contract.market import active_book, setup_of, setups_of
from tests.node import NotInstalledError
from tests.service import Service

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.engine

SETUPS = ("AAPL", "GOOG", "IBM", "MSFT")
"""A running triangle, a forming pennant, a forming wedge and another running triangle."""

HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>{{library}}&amp;'
PHONE = {"width": 375, "height": 740}


@pytest.fixture(scope="session")
def data(night: Path) -> dict[str, dict[str, Any]]:
    """The chart data of each symbol's first setup."""
    found: dict[str, dict[str, Any]] = {}
    with closing(active_book(night)) as book:
        for setup, _ in setups_of(book):
            found.setdefault(setup.view.symbol, orjson.loads(chart_data(book, setup) or b""))
    return found


@pytest.fixture(scope="session")
def official(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The script of the official host."""
    try:
        return official_script(tmp_path_factory.mktemp("official"))
    except NotInstalledError as error:
        pytest.skip(f"AppBridge could not be installed: {error}")


@pytest.fixture(params=["plain", "official"])
def script(request: pytest.FixtureRequest) -> bytes:
    """The script of a host page."""
    return PLAIN if request.param == "plain" else request.getfixturevalue("official")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for all tests."""
    with launched() as browser:
        yield browser


@pytest.fixture
def host(browser: Browser) -> Iterator[Host]:
    """A host in a fresh profile; no test may leave a complaint, or a request to elsewhere."""
    with profile_of(browser, {"width": 900, "height": 1200}) as profile:
        used = Host(profile.new_page())
        yield used
    assert used.complaints == []
    own = {f"{ADDRESS}{path}" for path in ("/", "/host.js", "/app")}
    assert {url for url in used.requests if not url.startswith("data:")} <= own


def result_of(data: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A tool's result that carries chart data."""
    content = [{"type": "text", "text": "A chart."}]
    return {"content": content, "_meta": {DATA_KEY: data}, **fields}


def show(host: Host, data: dict[str, Any], script: bytes = PLAIN, **context: Any) -> None:
    """Open the page in a host, and send it a result that carries chart data."""
    host.open(script, **context)
    host.show(result_of(data))


def places(host: Host) -> Any:
    """Where the page drew what, in pixels of the frame's viewport."""
    return host.frame.evaluate(
        """() => {
          const box = document.getElementById("chart").getBoundingClientRect();
          const { drawing, chart, candles } = window.patternChart;
          const scale = chart.timeScale();
          return {
            ...drawing.places(), left: box.left, top: box.top, right: box.right, bottom: box.bottom,
            bar: window.patternChart.times.map((time) => scale.timeToCoordinate(time)),
          };
        }"""
    )


def screen(host: Host) -> Image.Image:
    """What is on the screen; the frame fills the host's page."""
    return Image.open(io.BytesIO(host.page.screenshot())).convert("RGB")


def pixel(shot: Image.Image, x: float, y: float) -> tuple[int, ...]:
    """The colour of a point."""
    found: tuple[int, ...] = shot.getpixel((int(x), int(y)))  # type: ignore[assignment]
    return found


def colour(host: Host, name: str) -> tuple[int, ...]:
    """A colour of the page's theme."""
    text = host.frame.evaluate("name => window.patternChart.drawing.colours[name]", name)
    return tuple(int(float(part)) for part in text[5:-1].split(",")[:3])


def stands_at(shot: Image.Image, x: float, y: float, wanted: tuple[int, ...]) -> bool:
    """Whether a line of a colour goes through a point, give or take a pixel."""
    around = (pixel(shot, x, y + shift) for shift in (-1, 0, 1))
    return any(sum(abs(a - b) for a, b in zip(at, wanted, strict=True)) <= 90 for at in around)


def test_the_page_shows_the_texts_of_the_setup_whole(
    host: Host, script: bytes, data: dict[str, Any]
) -> None:
    shown = data["IBM"]
    host.open(script, theme="light")
    host.show(result_of(shown), symbol="IBM", setup_id="any")

    assert host.text("#title").startswith("IBM · Rising wedge")
    assert "As of Wed, Oct 3, 2012" in host.text("#facts")
    assert host.text("#age") == (
        "This night is old: it is the night of Wed, Oct 3, 2012, and the session of Thu, Oct 4, "
        "2012 has ended since."
    )
    records = host.text("#records")
    for record in shown["records"].values():
        assert record["summary"] in records
    assert f"{shown['records']['family']['avg_loss_pct']:.2f}%" in records
    drawn = "IBM: random entries with the same stop and target distances reached the target in"
    assert drawn in records
    assert host.text("#rule").startswith(shown["trigger_rule"])
    assert host.text("#disclaimer") == shown["disclaimer"]
    plans = host.text("#plans")
    for name in ("trigger_price", "stop_price", "target_price"):
        assert f"{shown['plans'][0][name]:,.2f}" in plans
    described = host.frame.get_attribute("#chart", "aria-label") or ""
    assert "trigger 207.60, stop 211.98, target 195.95" in described
    assert host.seen["app"]["name"] == "pattern-screener-chart"


def test_the_crosshair_reads_the_values_of_its_bar(host: Host, data: dict[str, Any]) -> None:
    shown = data["AAPL"]
    show(host, shown)
    last = values_of(shown, -1)
    assert last in host.text("#legend")

    drawn = places(host)
    entry = round(shown["entry"]["index"])
    host.page.mouse.move(drawn["left"] + drawn["bar"][entry], drawn["top"] + 150)
    host.frame.wait_for_function("text => legend.innerText.includes(text)", arg="Aug 13, 2012")

    assert values_of(shown, entry) in host.text("#legend")
    host.page.mouse.move(5, 5)
    host.frame.wait_for_function("text => legend.innerText.includes(text)", arg="Oct 3, 2012")
    assert last in host.text("#legend")


def values_of(data: dict[str, Any], at: int) -> str:
    bars = data["bars"]
    columns = (("O", "open"), ("H", "high"), ("L", "low"), ("C", "close"))
    return " ".join(f"{name} {bars[column][at]:,.2f}" for name, column in columns)


def test_bars_are_read_by_keyboard(host: Host, data: dict[str, Any]) -> None:
    show(host, data["GOOG"])
    host.frame.locator("#chart").focus()

    host.page.keyboard.press("ArrowLeft")
    host.page.keyboard.press("ArrowLeft")
    assert values_of(data["GOOG"], -2) in host.frame.locator("#spoken").inner_text()
    host.page.keyboard.press("Home")
    assert values_of(data["GOOG"], 0) in host.frame.locator("#spoken").inner_text()
    # A function is compiled once; an expression anew at each look, which the page's policy forbids.
    first = "() => patternChart.chart.timeScale().getVisibleLogicalRange().from"
    host.frame.wait_for_function(f"{first} < 1")
    host.page.keyboard.press("0")
    host.frame.wait_for_function(f"{first} > 100")


@pytest.mark.parametrize("symbol", SETUPS)
def test_lines_touches_and_levels_are_drawn_where_they_belong(
    host: Host, data: dict[str, Any], symbol: str
) -> None:
    shown = data[symbol]
    show(host, shown)
    drawn = places(host)

    for side in ("upper", "lower"):
        line, at = shown["lines"][side], drawn[side]
        for name in ("start", "end"):
            assert at[name][0] == pytest.approx(drawn["bar"][round(line[name]["index"])], abs=0.6)
            assert at[name][1] == pytest.approx(y_of(host, line[name]["price"]), abs=0.01)
        assert len(at["touches"]) == len(line["touches"])
        for spot, touch in zip(at["touches"], line["touches"], strict=True):
            price = price_of_line(line, touch["index"])
            assert spot[0] == pytest.approx(drawn["bar"][round(touch["index"])], abs=0.6)
            assert spot[1] == pytest.approx(y_of(host, price), abs=0.01)
        assert share_on_line(host, drawn, side) >= 0.75
    levels = drawn["boxes"][0]
    plan = shown["plans"][0]
    start = "trigger" if shown["entry"] is None else "entry"
    named = {start: plan["start_price"], "stop": plan["stop_price"], "target": plan["target_price"]}
    if start == "entry":
        named["trigger"] = plan["trigger_price"]
    assert levels["levels"] == {
        name: pytest.approx(y_of(host, price), abs=0.01) for name, price in named.items()
    }
    named["last"] = shown["last_close"]
    assert axis_labels(host) == {
        name: f"{'Last ' if name == 'last' else ''}{price:,.2f}{arrow(host, price)}"
        for name, price in named.items()
    }
    first = len(shown["bars"]["day"]) - 1 if shown["entry"] is None else shown["entry"]["index"]
    assert levels["left"] >= drawn["bar"][round(first)] - 0.6
    end = drawn["left"] + levels["right"] - 3, drawn["top"] + levels["levels"][start]
    assert stands_at(screen(host), *end, colour(host, start))


def words_drawn(host: Host) -> list[str]:
    """What the drawing writes among the bars."""
    said: list[str] = host.frame.evaluate(
        f"""async () => {{
          const drawing = patternChart.drawing, said = [];
          drawing.text = (words, ...rest) => {{
            said.push(words);
            Object.getPrototypeOf(drawing).text.call(drawing, words, ...rest);
          }};
          drawing.requestUpdate();
          await ({DRAWN})();
          delete drawing.text;
          return said;
        }}"""
    )
    return said


@pytest.mark.parametrize("symbol", SETUPS)
def test_the_chart_names_what_the_picture_names_with_the_same_numbers(
    host: Host, data: dict[str, Any], night: Path, symbol: str
) -> None:
    with closing(active_book(night)) as book:
        first = min(view.setup_id for view in book.scan.rows if view.symbol == symbol)
        plan = layout(chart_view(book, *setup_of(book, symbol, first)))
    show(host, data[symbol])

    words, tags = set(words_drawn(host)), set(axis_labels(host).values())

    arrows = (" ↑", " ↓")
    for pill in plan.pills:
        name, price = pill.name.text, pill.price.text
        away = name[-2:] if name.endswith(arrows) else ""
        assert f"{'Last ' if name == 'Last' else ''}{price}{away}" in tags
        if name not in ("Last", "Trigger"):
            assert name in words
    for flag in plan.flags:
        if not flag.label.text.startswith("from here"):
            assert flag.label.text in words


def test_bars_before_the_pattern_are_cut_at_the_edge_before_they_flatten_it(
    host: Host, data: dict[str, Any]
) -> None:
    shown = data["IBM"]
    lines, bars = shown["lines"], dict(shown["bars"])
    start = int(min(line["start"]["index"] for line in lines.values()))
    for name in ("open", "high", "low", "close"):
        before = [price * 5 for price in bars[name][: start - 5]]
        bars[name] = [*before, *bars[name][start - 5 :]]
    show(host, {**shown, "bars": bars})

    top, bottom = y_of(host, max(bars["high"][start:])), y_of(host, min(bars["low"][start:]))

    assert 0 <= top < bottom <= pane_height(host)
    assert bottom - top > 0.33 * pane_height(host)
    assert y_of(host, bars["high"][start - 6]) < 0


def test_moving_averages_are_shown_where_there_are_bars_enough_and_move_no_axis(
    host: Host, data: dict[str, Any]
) -> None:
    shown = data["AAPL"]
    close = shown["bars"]["close"]
    show(host, shown)
    before = y_of(host, close[-1])

    for count in (20, 200):
        host.frame.get_by_role("button", name=f"SMA {count}", exact=True).click()
        mean = sum(close[-count:]) / count
        assert f"SMA {count} {mean:,.2f}" in host.text("#legend")
    assert "SMA 50 " not in host.text("#legend")
    assert y_of(host, close[-1]) == before
    host.frame.locator("#chart").focus()
    host.page.keyboard.press("Home")
    assert "SMA" not in host.frame.locator("#spoken").inner_text()
    host.frame.get_by_role("button", name="SMA 20", exact=True).click()
    host.page.keyboard.press("Escape")
    assert "SMA 20 " not in host.text("#legend")

    few = {name: column and column[-150:] for name, column in shown["bars"].items()}
    host.show(result_of({**shown, "bars": few}))
    assert host.frame.get_by_role("button", name="SMA 200").is_disabled()
    assert host.frame.get_by_role("button", name="SMA 50").is_enabled()


def price_of_line(line: dict[str, Any], index: float) -> float:
    """A line's price at a session: straight over the sessions in log price."""
    start, end = line["start"], line["end"]
    share = (index - start["index"]) / (end["index"] - start["index"])
    price: float = start["price"] * (end["price"] / start["price"]) ** share
    return price


def axis_labels(host: Host) -> Any:
    """The prices that are written at the axis, by their kind; each kind has a colour."""
    return host.frame.evaluate(
        """() => {
          const { colours: { entry, trigger, stop, target, last }, labels } = patternChart.drawing;
          const kinds = Object.entries({ entry, trigger, stop, target, last });
          return Object.fromEntries(labels.map((label) =>
            [kinds.find(([, colour]) => colour === label.backColor())[0], label.text()]));
        }"""
    )


def arrow(host: Host, price: float) -> str:
    """Where a price is that is off the axis."""
    y, height = y_of(host, price), pane_height(host)
    return " ↑" if y < 0 else " ↓" if y > height else ""


def pane_height(host: Host) -> float:
    height: float = host.frame.evaluate("() => patternChart.chart.panes()[0].getHeight()")
    return height


def y_of(host: Host, price: float) -> float:
    y: float = host.frame.evaluate("price => patternChart.candles.priceToCoordinate(price)", price)
    return y


def share_on_line(host: Host, drawn: Any, side: str) -> float:
    """The share of points between the ends of a line that have its colour on the screen.

    A line that is straight over the sessions on a log axis is straight in pixels. Touches and the
    entry cover some points.
    """
    (x1, y1), (x2, y2) = drawn[side]["start"], drawn[side]["end"]
    shot, wanted, hits = screen(host), colour(host, "line"), 0
    for step in range(1, 40):
        x = drawn["left"] + x1 + (x2 - x1) * step / 40
        y = drawn["top"] + y1 + (y2 - y1) * step / 40
        hits += stands_at(shot, x, y, wanted)
    return hits / 39


def test_two_plans_stand_side_by_side(host: Host, data: dict[str, Any]) -> None:
    shown = dict(data["GOOG"])
    first = shown["plans"][0]
    second = {"direction": "bearish", "trigger_price": 752.0, "stop_price": 766.0}
    moves = {"start_price": 752.0, "stop_pct": 1.86, "target_pct": -6.91, "reward_to_risk": 3.71}
    shown["plans"] = [first, {**second, "target_price": 700.0, **moves}]
    show(host, shown)

    left, right = places(host)["boxes"]
    assert left["right"] < right["left"]
    assert "Bullish plan" in host.text("#plans")
    assert "Bearish plan" in host.text("#plans")
    assert "Bullish or bearish" in host.text("#title")


def test_the_page_follows_the_hosts_theme_and_colours(
    host: Host, script: bytes, data: dict[str, Any]
) -> None:
    show(host, data["AAPL"], script, theme="light")
    drawn = places(host)
    corner = drawn["left"] + 3, drawn["top"] + 3
    assert pixel(screen(host), *corner) == (255, 255, 255)

    host.change(theme="dark")
    host.frame.wait_for_function("() => document.documentElement.dataset.theme === 'dark'")
    host.frame.wait_for_function("() => patternChart.drawing.colours.paper.includes('16, 21, 31')")
    host.frame.evaluate(DRAWN)
    assert max(pixel(screen(host), *corner)) < 60
    assert max(pixel(screen(host), 3, 3)) < 60

    host.change(styles={"variables": {"--color-background-primary": "oklch(0.3 0.1 250)"}})
    host.frame.wait_for_function("() => !patternChart.drawing.colours.paper.includes('16, 21, 31')")
    host.frame.evaluate(DRAWN)
    assert pixel(screen(host), *corner) == pixel(screen(host), 3, 3) == colour(host, "paper")


def test_a_phone_shows_everything_without_scrolling_sideways(
    host: Host, data: dict[str, Any]
) -> None:
    host.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    host.open(availableDisplayModes=["inline", "fullscreen"])
    for symbol in SETUPS:
        host.show(result_of(data[symbol]))
        host.frame.wait_for_function("name => title.textContent.startsWith(name)", arg=symbol)
        host.frame.evaluate(DRAWN)

        widths = "() => [document.documentElement.scrollWidth, window.innerWidth]"
        assert host.frame.evaluate(widths) == [375, 375], symbol
        drawn = places(host)
        starts = [drawn[side]["start"][0] for side in ("upper", "lower")]
        assert min(starts) >= 0, symbol
        assert drawn["boxes"][0]["right"] - drawn["bar"][-1] > 50, symbol


def test_the_host_is_told_the_height_and_gives_full_screen_and_links_until_the_page_is_torn_down(
    host: Host, script: bytes, data: dict[str, Any]
) -> None:
    host.open(script, availableDisplayModes=["inline", "fullscreen"], displayMode="inline")
    before = host.page.wait_for_function("() => host.seen.sizes.at(-1)?.height").json_value()
    host.show(result_of(data["AAPL"]))
    host.page.wait_for_function(
        "before => host.seen.sizes.at(-1).height > before + 400", arg=before
    )
    height = host.frame.evaluate("() => Math.ceil(document.body.getBoundingClientRect().height)")
    assert host.seen["sizes"][-1]["height"] == height
    assert host.frame.evaluate("() => document.documentElement.scrollHeight") <= 1200

    host.frame.get_by_role("button", name="Full screen").click()
    host.frame.get_by_role("button", name="Leave full screen").click()
    host.frame.get_by_role("button", name="Full screen", exact=True).wait_for()
    host.frame.get_by_role("link", name="https://www.tradingview.com/").click()
    host.page.wait_for_function("() => host.seen.links.length")
    assert host.seen["links"] == ["https://www.tradingview.com/"]

    assert host.page.evaluate("host.teardown()") == {}
    assert host.frame.evaluate("() => window.patternChart") is None
    assert host.frame.locator("canvas").count() == 0
    host.change(theme="dark")


def test_hostile_text_is_shown_as_text(host: Host, data: dict[str, Any]) -> None:
    def spoil(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: v if name == "date" else spoil(v) for name, v in value.items()}
        if isinstance(value, list):
            return [spoil(item) for item in value]
        return HOSTILE if isinstance(value, str) else value

    shown = spoil(data["AAPL"])
    shown |= {name: data["AAPL"][name] for name in ("as_of_session", "next_session")}
    show(host, shown)

    for place in ("#title", "#rule", "#records", "#disclaimer", "#source"):
        assert HOSTILE in host.frame.locator(place).inner_text()
    assert (
        host.frame.evaluate("() => document.querySelectorAll('#page :is(img, script)').length") == 0
    )
    assert host.frame.title().startswith("<img")


UNDRAWABLE: tuple[dict[str, Any], ...] = (
    {"bars": {}},
    {"bars": None},
    {"lines": {"upper": 1, "lower": []}},
    {"plans": []},
    {"plans": [{"trigger_price": "1", "stop_price": -1, "target_price": None}]},
    {"as_of_session": "no date"},
    {"records": None},
    {"entry": {}},
)


def test_what_has_no_chart_says_why_and_leaves_no_earlier_setup(
    host: Host, script: bytes, data: dict[str, Any]
) -> None:
    drawn = result_of(data["AAPL"], structuredContent={"setups": [{}, {}]})
    no_day = {"bars": {**data["AAPL"]["bars"], "day": [-1e300, *data["AAPL"]["bars"]["day"][1:]]}}
    spoilt = (result_of({**data["AAPL"], **change}) for change in (*UNDRAWABLE, no_day))
    refusal = "setup_not_found: this setup is not current. Ask get_ticker_patterns for <ids>."
    none = {"content": [], "structuredContent": {"setups": []}}
    host.open(script)
    host.page.evaluate("host.cancel('by the user')")
    host.frame.wait_for_function("() => message.textContent === 'The call was cancelled.'")

    for result, words in (
        *((result, "There is no chart: its data cannot be drawn.") for result in spoilt),
        ({"content": {"type": "text"}, "isError": True}, "The call failed."),
        ({"content": [{"type": "text", "text": refusal}], "isError": True}, refusal),
        (none, "There is no chart: this ticker has no current setup."),
    ):
        host.show(drawn)
        host.frame.wait_for_function("() => !message.textContent && patternChart")
        assert host.text("#title").startswith("AAPL")
        assert host.text("#more") == "The first of 2 current setups."

        host.show(result)
        host.frame.wait_for_function("words => message.textContent === words", arg=words)
        assert host.frame.locator("#setup").is_hidden(), words
        assert host.frame.locator("#chart > *").count() == 0, words


def test_a_current_night_is_not_called_old_and_one_without_volume_has_a_chart(
    host: Host, data: dict[str, Any]
) -> None:
    today = dt.datetime.now(dt.UTC).date().isoformat()
    bars = {**data["AAPL"]["bars"], "volume": None}
    show(host, {**data["AAPL"], "bars": bars, "next_session": today})

    assert host.frame.locator("#age").is_hidden()
    assert values_of(data["AAPL"], -1) in host.text("#legend")
    assert "Vol" not in host.text("#legend")
    assert host.frame.evaluate("() => patternChart.chart.panes().length") == 1


def test_pings_are_answered_and_unknown_requests_refused(host: Host) -> None:
    host.open()

    assert host.page.evaluate("host.ask('ping', {})") == {}
    assert host.page.evaluate("host.ask('toString', {})")["code"] == -32601


def test_the_page_of_the_service_draws_a_call_of_the_service(host: Host, service: Service) -> None:
    read = post(service.mcp_url, service.key, "resources/read", uri=PAGE_URI).json()["result"]
    given = {"symbol": "AAPL", DATA_KEY: True}
    answer = post(f"{service.mcp_url}/demo", "", "tools/call", name="demo", arguments=given)
    result = answer.json()["result"]
    host.open(chart=read["contents"][0]["text"])
    host.show(result, symbol="AAPL")

    setup = result["structuredContent"]["setups"][0]
    title = host.text("#title").lower()
    assert title.startswith("aapl · ")
    assert setup["family_label"].lower() in title
    assert setup["track_record"]["family"]["summary"] in host.text("#records")
