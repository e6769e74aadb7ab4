"""Messages about nights: what they say, to whom, once, in a bounded time, and without secrets.

Over 400 lines, because messages of every kind are sent by one sender and read by one receiver.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_server.operations.screen_changes import Departure, ScreenChanges
from screener.notify.messages import (
    MAX_CHANGES,
    REPEAT_SECONDS,
    not_published,
    published,
    screen,
    trial,
)
from screener.notify.send import APPRISE, MAX_KILOBYTES, notifying, send
from screener.settings.settings import SettingsError, load_settings
from store.folder.layout import DataFolder
from store.folder.lock import locked
from store.nights.book import Book
from store.nights.nights import Nights
from store.wire.labels import CHANGE_KINDS
from store.wire.words import place_words, plan_words, quality_words, setup_words
from tests.contract.market import active_book
from tests.screener.command import Finished, check_refusal, run, run_process, succeed
from tests.screener.market import FIRST_DAY, SYMBOLS
from tests.screener.market import bars as bars
from tests.screener.market import data as data
from tests.screener.market import first as first
from tests.screener.market import second as second
from tests.screener.process import free_port
from tests.screener.webhook import SECRET, Webhook, listening

URL = "https://screener.example.com"

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def hook() -> Iterator[Webhook]:
    with listening() as running:
        yield running


def nightly(data: Path, bars: Path, *options: str, **settings: str) -> Finished:
    settings = {"SCREENER_PUBLIC_URL": URL, **settings}
    return run(data, "nightly", "--bars", str(bars), "--jobs", "1", *options, **settings)


def test_the_message_of_a_published_night_has_its_counts_changes_and_links(
    data: Path, bars: Path, hook: Webhook
) -> None:
    def look() -> None:
        with locked(data, dt.datetime.now(dt.UTC)):
            free.append(True)

    free: list[bool] = []
    hook.on_message = look
    followed = ",".join([*(f"S{number}" for number in range(SYMBOLS)), "AWAY"])
    done = nightly(data, bars, SCREENER_NOTIFY=hook.address(), SCREENER_NOTIFY_SYMBOLS=followed)
    assert done.returncode == 0, done.stderr
    (message,) = hook.got()
    assert free == [True], "something is locked while messages are sent"
    night, changes = Nights(data).check_active(), changes_of(data)
    assert changes, "a night without changes proves nothing"

    assert message["title"] == f"Published: the night of {night.as_of_session}"
    assert message["type"] == "success"
    text = message["message"]
    counts = night.counts
    numbers = re.findall(r": (\d+)", text.splitlines()[0])
    assert [int(number) for number in numbers] == [counts.covered, counts.setups, counts.resolved]
    assert str(FIRST_DAY) in text
    with closing(active_book(data)) as book:
        served = {view.lineage_id: view for view in book.scan.rows}
    assert served.keys() & {change["lineage_id"] for change in changes}
    for change in changes[:MAX_CHANGES]:
        line = next(line for line in text.splitlines() if line.startswith(change["symbol"]))
        view = served.get(change["lineage_id"])
        assert view is None or f"; {place_words(view)}; {plan_words(view)}" in line
        assert not re.search(r"[0-9]\.[0-9]{3}", line), "a price is rounded"
        assert line.endswith(f"{URL}/symbols/{change['symbol']}")
        quality = change["quality_pct"]
        assert ("quality" in line) == (quality is not None)
        assert quality is None or f" quality {quality:.1f}%" in line
    told = next(line for line in text.splitlines() if line.startswith("Since the night of "))
    for change in changes:
        assert re.search(
            rf"{CHANGE_KINDS[change['change']].lower()} \([^)]*{change['symbol']}", told
        )
    assert "Not covered by this night: " in text
    assert "AWAY" in text
    assert f"{URL}/screen\n" in text
    assert f"{URL}/status\n" in text
    assert text.endswith(night.disclaimer)
    assert not re.search(r"win rate|\bwon\b", text), "no rate is told without its sample"


def test_a_long_list_of_changes_is_cut_and_counted(second: Path) -> None:
    nights = Nights(second)
    manifest = nights.check_active()
    with closing(Book.open(nights.folder / manifest.book.file, manifest)) as book:
        found = book.changes() or {}

        class Changed(Book):
            def changes(self) -> dict[str, object]:
                return {**found, "changes": [{**found["changes"][0], "symbol": "S1"}] * 1000}

        book.__class__ = Changed
        lines = published(URL, manifest, book, ["S1", *(f"A{n}" for n in range(999))]).lines
    assert sum(line.startswith("S1, ") for line in lines) == MAX_CHANGES
    assert re.search(rf"\b{1000 - MAX_CHANGES} more .*{URL}/changes$", "\n".join(lines), re.M)
    assert len("\n".join(lines)) < 4000


def changes_of(data: Path) -> list[dict[str, Any]]:
    """What changed with the active night of a data folder."""
    with closing(active_book(data)) as book:
        return list((book.changes() or {})["changes"])


def test_symbols_that_did_not_change_are_told_so(second: Path) -> None:
    with_changes = {row["symbol"] for row in changes_of(second)}
    quiet = next(f"S{n}" for n in range(SYMBOLS) if f"S{n}" not in with_changes)
    done = run(second, "notify", SCREENER_NOTIFY_SYMBOLS=quiet)
    assert "None of your symbols changed.\n" in done.stdout


ALL, BULLISH = "/screen?status=all", "/screen?direction=bullish&status=all"


def test_what_entered_and_left_the_screens_of_the_operator_is_told(
    data: Path, bars: Path, hook: Webhook
) -> None:
    links = f"{URL}{ALL},http://elsewhere.example.com{BULLISH}"
    done = nightly(data, bars, SCREENER_NOTIFY=hook.address(), SCREENER_NOTIFY_SCREENS=links)
    assert done.returncode == 0, done.stderr
    (message,) = hook.got()

    changes = changes_of(data)
    new = [change["symbol"] for change in changes if change["change"] == "new"]
    assert new, "a night without a new setup proves nothing"
    told = [line for line in message["message"].splitlines() if line.startswith("Entered ")]
    assert [line.split(": ")[0] for line in told] == [
        f"Entered {URL}{address}" for address in (ALL, BULLISH)
    ]
    assert told[0].endswith(f": {len(new)}.")
    with closing(active_book(data)) as book:
        (view,) = (view for view in book.scan.rows if view.symbol == new[0])
    assert (
        f"{told[0]}\n{setup_words(view)}; {place_words(view)}; {plan_words(view)}; "
        f"{quality_words(view)}. {URL}/symbols/{view.symbol}\nLeft {URL}{ALL}: "
    ) in message["message"]


@pytest.mark.parametrize("kind", ["entered", "triggered", "left"])
def test_a_long_list_of_a_screen_is_cut_and_counted(second: Path, kind: str) -> None:
    with closing(active_book(second)) as book:
        view = next(view for view in book.scan.rows)
    many: Any = [Departure(view, "Stopped") if kind == "left" else view] * 1000
    changes = ScreenChanges(FIRST_DAY, [], **{kind: many})
    assert f": {len(many):,}." in "".join(screen(URL, ALL, changes))
    told = list(screen(URL, f"{URL}{ALL}", changes))
    assert len([line for line in told if line.startswith(f"{view.symbol}: ")]) == MAX_CHANGES
    assert any(f" {1000 - MAX_CHANGES} more" in line for line in told)
    assert len("\n".join(told)) < 4000


def test_without_the_night_before_what_entered_a_screen_is_not_known(
    second: Path, tmp_path: Path
) -> None:
    data = Path(shutil.copytree(second, tmp_path / "data"))
    Nights(data).prune(keep=1)
    done = succeed(data, "notify", SCREENER_NOTIFY_SCREENS=ALL, SCREENER_PUBLIC_URL=URL)
    assert f"What entered and left {URL}{ALL} is not known" in "".join(done.stdout.split("\n"))


@pytest.mark.parametrize("link", [f"{URL}/symbols/MSFT", f"{URL}/screen?family=square"])
def test_a_link_to_no_screen_is_one_line_before_the_work(data: Path, bars: Path, link: str) -> None:
    done = nightly(data, bars, SCREENER_NOTIFY_SCREENS=f"{URL}{ALL},{link}")
    check_refusal(done, "SCREENER_NOTIFY_SCREENS: link 2 of 2")
    assert Nights(data).check_active().as_of_session.isoformat() == FIRST_DAY


def test_a_night_of_an_earlier_session_than_the_one_before_is_told_so(
    second: Path, bars: Path, tmp_path: Path, hook: Webhook
) -> None:
    data = Path(shutil.copytree(second, tmp_path / "data"))
    newest = Nights(data).check_active().as_of_session
    done = nightly(data, bars, "--session", "2024-03-15", SCREENER_NOTIFY=hook.address())
    assert done.returncode == 0, done.stderr
    (message,) = hook.got()
    assert message["type"] == "warning"
    assert "earlier" in message["message"].splitlines()[0]
    assert str(newest) in message["message"].splitlines()[0]


def test_a_held_back_night_is_told_once_with_its_reason_and_exit_code(
    data: Path, bars: Path, tmp_path: Path, hook: Webhook
) -> None:
    few = tmp_path / bars.name
    shutil.copytree(bars, few, ignore=shutil.ignore_patterns("S[2-9].csv"))
    for _ in range(2):
        done = nightly(data, few, SCREENER_NOTIFY=hook.address())
        assert done.returncode == 4, done.stderr
    (message,) = hook.got()
    assert message["title"] == "Held back: a night"
    assert message["type"] == "warning"
    reason, code, served, *_ = message["message"].splitlines()
    assert reason in done.stderr
    assert "4" in code
    assert str(FIRST_DAY) in served


def test_a_failed_night_is_sent_again_when_it_fails_otherwise_or_a_day_later(
    data: Path, tmp_path: Path, hook: Webhook
) -> None:
    gone, empty = tmp_path / "private" / "gone.parquet", tmp_path / "private" / "empty"
    empty.mkdir(parents=True)
    for path in (gone, gone, empty, empty):
        assert nightly(data, path, SCREENER_NOTIFY=hook.address()).returncode == 2
    messages = hook.got()
    assert [message["title"] for message in messages] == ["The nightly failed"] * 2
    assert '"gone.parquet" does not exist' in messages[0]["message"]
    assert "exit code is 2" in messages[0]["message"]
    assert not any(str(tmp_path) in message["message"] for message in messages)

    before = time.time() - REPEAT_SECONDS
    os.utime(DataFolder(data).notified, (before, before))
    nightly(data, empty, SCREENER_NOTIFY=hook.address())
    assert len(hook.got()) == 1


def test_failures_that_differ_in_a_number_alone_are_one() -> None:
    """As of a process, or of the attempt: the same is not sent twice a day."""

    def about(reason: str, code: int = 7) -> str:
        return not_published(URL, reason, code, None, held_back=False).about

    assert about("The worker 4711 ended.") == about("The worker 5 ended.")
    assert about("The worker 5 ended.") != about("The worker 5 failed.")
    assert about("The worker 5 ended.") != about("The worker 5 ended.", 8)


def test_what_was_sent_last_is_noted_privately_and_damage_to_it_sends_again(
    data: Path, tmp_path: Path, hook: Webhook
) -> None:
    for body in (b"", b"\xff", b" " * 9999):
        DataFolder(data).notified.write_bytes(body)
        nightly(data, tmp_path / "gone", SCREENER_NOTIFY=hook.address())
    assert len(hook.got()) == 3
    assert DataFolder(data).notified.stat().st_mode & 0o777 == 0o600
    assert "gone" not in DataFolder(data).notified.read_text()

    os.utime(
        DataFolder(data).notified, (2 * time.time(), 2 * time.time())
    )  # the clock was set back
    nightly(data, tmp_path / "gone", SCREENER_NOTIFY=hook.address())
    assert len(hook.got()) == 1


def test_a_failure_that_reached_nobody_is_told_with_the_next_attempt(
    data: Path, tmp_path: Path, hook: Webhook
) -> None:
    for how in ("refuse", "ok", "ok"):
        nightly(data, tmp_path / "gone", SCREENER_NOTIFY=hook.address(how))
    assert len(hook.got()) == 1


def test_a_crash_is_told_without_its_words_and_a_run_that_somebody_stops_is_not(
    data: Path, bars: Path, hook: Webhook
) -> None:
    chosen = load_settings(data_dir=data, notify=hook.address())
    with pytest.raises(KeyboardInterrupt), notifying(chosen, str(bars)):
        raise KeyboardInterrupt
    with pytest.raises(RuntimeError, match="a password"), notifying(chosen, str(bars)):
        raise RuntimeError("a password")
    (message,) = hook.got()
    assert message["title"] == "The nightly failed"
    assert "(RuntimeError)" in message["message"]
    assert "exit code is 1" in message["message"]
    assert "a password" not in message["message"]


def test_nothing_new_and_a_dry_run_are_not_told_and_the_same_night_again_once(
    second: Path, bars: Path, tmp_path: Path, hook: Webhook
) -> None:
    data = Path(shutil.copytree(second, tmp_path / "data"))
    assert nightly(data, bars, SCREENER_NOTIFY=hook.address()).returncode == 5
    assert nightly(data, bars, "--dry-run", SCREENER_NOTIFY=hook.address()).returncode == 0
    assert hook.got() == []
    for _ in range(2):
        assert nightly(data, bars, "--full", SCREENER_NOTIFY=hook.address()).returncode == 0
    assert len(hook.got()) == 1


def test_addresses_that_fail_are_one_line_and_change_no_exit_code(
    data: Path, bars: Path, hook: Webhook
) -> None:
    addresses = [
        hook.address("refuse"),
        hook.address("wait", "&rto=1"),
        f"json://me:{SECRET}@127.0.0.1:{free_port()}/{SECRET}",
        hook.address(),
    ]
    # A process, since what a child of it wrote on stderr would be seen there alone.
    settings = {"SCREENER_NOTIFY": " ".join(addresses), "SCREENER_LOG_LEVEL": "debug"}
    done = run_process(data, "nightly", "--bars", str(bars), "--jobs", "1", **settings)
    assert done.returncode == 0
    assert len(hook.got()) == 1
    refused = "refused or unreachable"
    assert done.stderr.splitlines() == [
        f"Not notified: address 1: {refused}; address 2: {refused}; address 3: {refused}."
    ]
    assert SECRET not in done.stdout


def test_whoever_hangs_holds_up_no_other_and_not_the_end(hook: Webhook) -> None:
    addresses = [*[hook.address("drip")] * 3, hook.address()]
    assert send(addresses, trial(URL), seconds=15) == [
        *(f"address {place}: no answer in time" for place in (1, 2, 3)),
        "address 4: sent",
    ]
    assert len(hook.got()) == 1


def test_a_command_has_its_own_address_in_its_environment_and_no_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = f'cd {tmp_path}; env > environment; echo "$0 $*" > arguments'
    monkeypatch.setattr("screener.notify.send.APPRISE", ("/bin/sh", "-c", shell))
    monkeypatch.setenv("SCREENER_NOTIFY", f"json://other:{SECRET}@h")
    monkeypatch.setenv("screener_database_url", f"postgresql://u:{SECRET}@h/d")

    assert send(["json://mine"], trial(URL)) == ["address 1: sent"]
    environment = (tmp_path / "environment").read_text()
    assert "APPRISE_URLS=json://mine\n" in environment
    assert "PATH=" in environment
    assert SECRET not in environment
    assert "mine" not in (tmp_path / "arguments").read_text()


@pytest.mark.skipif(not Path("/proc").exists(), reason="elsewhere memory is not counted so")
def test_whoever_answers_without_an_end_fills_no_memory() -> None:
    command = [*APPRISE[:3], sys.executable, "-c", f"bytearray({2 * 1024 * MAX_KILOBYTES})"]

    assert b"MemoryError" in subprocess.run(command, capture_output=True, check=False).stderr


WRONG = (
    *(f"unheard{SECRET}://x", f"slack://{SECRET}", f"mailto://{SECRET}"),
    *(f"json://me:{SECRET}@", f"json://a,{SECRET}:/b"),
)


@pytest.mark.parametrize(
    ("bad", "named"), [((SECRET,), "address 2"), (WRONG, "addresses 2, 3, 4, 5, 6 of 6;")]
)
@pytest.mark.parametrize("command", ["nightly", "notify"])
def test_wrong_addresses_are_one_line_before_the_work(
    tmp_path: Path, hook: Webhook, bad: tuple[str, ...], named: str, command: str
) -> None:
    options = ["--test"] if command == "notify" else []
    addresses = " ".join((hook.address(), *bad))
    done = run(tmp_path, command, *options, SCREENER_NOTIFY=addresses, SCREENER_LOG_LEVEL="debug")
    check_refusal(done, "SCREENER_NOTIFY: ")
    assert named in done.stderr
    assert SECRET not in done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []
    assert hook.got() == []


def test_without_apprise_the_setting_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)
    check_refusal(run(tmp_path, "nightly", SCREENER_NOTIFY="json://localhost"), "needs Apprise")
    assert list(tmp_path.iterdir()) == []


def test_a_withdrawn_night_is_told_with_the_reason_and_what_is_served(
    second: Path, tmp_path: Path, hook: Webhook
) -> None:
    data = Path(shutil.copytree(second, tmp_path / "data"))
    gone = Nights(data).check_active()
    command = ("night", "withdraw", gone.data_version, "--reason", "Bars of another market.")
    succeed(data, *command, SCREENER_NOTIFY=hook.address())
    (message,) = hook.got()
    assert message["title"] == f"Withdrawn: the night of {gone.as_of_session}"
    assert "Bars of another market." in message["message"]
    assert str(FIRST_DAY) in message["message"]


def test_a_test_goes_to_all_and_says_who_failed(tmp_path: Path, hook: Webhook) -> None:
    both = f"{hook.address()},{hook.address('refuse')}"
    done = run(tmp_path, "notify", "--test", SCREENER_NOTIFY=both)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "address 1: sent",
        "address 2: refused or unreachable",
    ]
    assert len(hook.got()) == 1
    assert run(tmp_path, "notify", "--test", SCREENER_NOTIFY=hook.address()).returncode == 0
    assert "apprise" not in sys.modules, "it is loaded by the process that sends alone"


def test_a_message_of_the_operator_is_sent_as_it_is(tmp_path: Path, hook: Webhook) -> None:
    run(tmp_path, "notify", "--message", "Killed, code 9.", SCREENER_NOTIFY=hook.address())
    (message,) = hook.got()
    assert message["title"] == "Killed, code 9."


def test_notify_without_an_address_or_with_two_wishes_is_refused(tmp_path: Path) -> None:
    check_refusal(run(tmp_path, "notify", "--test"), "SCREENER_NOTIFY is not set")
    check_refusal(run(tmp_path, "notify", "--test", "--message", "x"), "exclude each other")


WORD = st.text(st.characters(codec="ascii", exclude_characters=", \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f"))


@given(st.lists(WORD.map(lambda word: f"json://h/{SECRET}{word}"), max_size=9))
def test_addresses_are_told_apart_by_spaces_and_commas(addresses: list[str]) -> None:
    for between in (" ", ",", ", ", "\n"):
        assert load_settings(notify=between.join(addresses)).notify_addresses == tuple(addresses)


def test_a_comma_within_an_address_is_its_own() -> None:
    text = "mailtos://me:x@example.com?to=a@example.com,b@example.com,json://localhost"
    assert len(load_settings(notify=text).notify) == 2


def test_more_addresses_than_are_told_at_once_are_refused() -> None:
    with pytest.raises(SettingsError, match="SCREENER_NOTIFY"):
        load_settings(notify=" ".join(["json://localhost"] * 33))
