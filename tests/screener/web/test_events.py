"""The stream of news: who is told what, and that streams cost the service no more than they may."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import httpx

from screener.server.connection_limiter import ConnectionLimits
from screener.web.site.live import LASTS, MAX_OF_STRANGERS, MAX_STREAMS
from store.accounts.accounts import AccountPlan
from store.folder.progress import ProgressFile
from store.nights.nights import Nights
from tests.screener.web.people import new_person, signed_in
from tests.screener.web.streams import publish, stream
from tests.service import Service, serving

SHARE = MAX_STREAMS // 4


def test_an_open_page_is_told_of_the_night_at_once_and_of_the_next_one_when_it_is_out(
    data_dir: Path, later_night: Path
) -> None:
    first = Nights(data_dir).check_active()
    with serving(data_dir) as live, stream(live.url) as news:
        at_once = next(news)
        second = publish(later_night, data_dir)
        later = next(news)

    assert at_once.name == later.name == "night"
    assert at_once.data == {"data_version": first.data_version, "as_of_session": "2012-10-03"}
    assert later.data["data_version"] == second != first.data_version


def test_a_page_without_a_night_is_told_of_the_first_one(tmp_path: Path, night: Path) -> None:
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    with (
        serving(data_dir, open_pages=True) as live,
        stream(live.url) as news,
        ProgressFile(data_dir).recording("bars") as record,
    ):
        begun = next(news)
        version = publish(night, data_dir)
        record.end("published", data_version=version)
        told = {event.name: event.data for event in (next(news), next(news))}

    assert (begun.name, begun.data["state"], begun.data["bars"]) == ("progress", "working", "bars")
    assert told["night"]["data_version"] == told["progress"]["data_version"] == version


def test_progress_is_for_those_who_may_see_the_scan(data_dir: Path, later_night: Path) -> None:
    with serving(data_dir) as live, ExitStack() as stack:
        jars = [{}, cookies_of(live, AccountPlan.NONE), cookies_of(live, AccountPlan.PREMIUM)]
        streams = [stack.enter_context(stream(live.url, cookies=jar)) for jar in jars]
        assert [next(news).name for news in streams] == ["night"] * 3
        with ProgressFile(data_dir).recording("bars"):
            told_first = next(streams[2]).name
            publish(later_night, data_dir)
            # No progress came between both nights.
            told_next = [next(news).name for news in streams]

    assert told_first == "progress"
    assert told_next == ["night"] * 3


def cookies_of(live: Service, plan: AccountPlan) -> dict[str, str]:
    """The cookies of somebody with a plan who is signed in."""
    return dict(signed_in(live, new_person(live, plan)).cookies)


def test_one_network_has_its_share_of_the_streams_and_a_closed_one_gives_its_place_back(
    data_dir: Path,
) -> None:
    with serving(data_dir, open_pages=True) as live:
        with ExitStack() as stack:
            opened = [stack.enter_context(stream(live.url)) for _ in range(SHARE)]
            refused = httpx.get(f"{live.url}/events")
            assert [next(news).name for news in opened] == ["night"] * SHARE
        again = _opened_in_the_end(live)

    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) > 0
    assert "Too many pages on your network are waiting" in refused.text
    assert again == "night"


def _opened_in_the_end(live: Service) -> str:
    """The first event of a stream, as soon as there is a place for one."""
    while httpx.head(f"{live.url}/events").status_code == 429:
        pass
    with stream(live.url) as news:
        return next(news).name


def test_strangers_cannot_take_every_place(data_dir: Path) -> None:
    with serving(data_dir, trusted_proxies=("127.0.0.1",)) as live, ExitStack() as stack:
        member = cookies_of(live, AccountPlan.PREMIUM)
        for number in range(MAX_OF_STRANGERS):
            news = stack.enter_context(stream(live.url, headers=_from(number // 8)))
            assert next(news).name == "night"
        stranger = httpx.get(f"{live.url}/events", headers=_from(99))
        for number in range(MAX_STREAMS - MAX_OF_STRANGERS):
            options = {"headers": _from(100 + number // 8), "cookies": member}
            assert next(stack.enter_context(stream(live.url, **options))).name == "night"
        full = httpx.get(f"{live.url}/events", headers=_from(200), cookies=member)

    assert (stranger.status_code, full.status_code) == (503, 503)
    assert int(full.headers["retry-after"]) > 0


def _from(number: int) -> dict[str, str]:
    return {"X-Forwarded-For": f"203.0.113.{number}"}


def test_streams_take_no_place_of_requests(data_dir: Path) -> None:
    with serving(data_dir, requests_at_once=8) as live, ExitStack() as stack:
        for _ in range(8):
            assert next(stack.enter_context(stream(live.url))).name == "night"

        assert httpx.get(live.url).status_code == 200


def test_a_stream_ends_before_its_connection_is_ended() -> None:
    assert ConnectionLimits().answer_seconds > LASTS + 10
