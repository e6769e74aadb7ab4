"""Password hashes."""

from __future__ import annotations

import threading

import anyio
import anyio.lowlevel
import pytest
from argon2 import PasswordHasher, extract_parameters
from argon2.low_level import Type
from argon2.profiles import RFC_9106_LOW_MEMORY

from store.accounts import passwords as module
from store.accounts.passwords import NOBODY, Asker, Passwords, Queue
from store.errors import PasswordsBusyError
from tests.screener.web.browser import PASSWORD
from tests.screener.web.browser import PASSWORD_HASH as CHEAP


async def test_a_hash_is_argon2id_at_the_strength_asked_for() -> None:
    encoded = await Passwords().hash("correct horse battery")
    parameters = extract_parameters(encoded)

    assert parameters.type is Type.ID
    assert parameters.memory_cost >= 19 * 1024
    assert parameters.time_cost >= 2
    assert "correct horse" not in encoded


async def test_a_password_belongs_to_its_own_hash_alone() -> None:
    passwords = Passwords()
    encoded = await passwords.hash("correct horse battery")

    assert await passwords.verify(encoded, "correct horse battery")
    assert not await passwords.verify(encoded, "Correct horse battery")
    assert not await passwords.verify(encoded, "")


@pytest.mark.parametrize("encoded", [None, "", "not a hash", NOBODY])
async def test_without_a_hash_nothing_fits(encoded: str | None) -> None:
    assert not await Passwords().verify(encoded, "correct horse battery")


def test_an_unknown_account_costs_as_much_work_as_a_known_one() -> None:
    assert extract_parameters(NOBODY) == RFC_9106_LOW_MEMORY
    assert not PasswordHasher.from_parameters(RFC_9106_LOW_MEMORY).check_needs_rehash(NOBODY)


async def test_hashing_leaves_the_event_loop_free() -> None:
    passwords, turns = Passwords(Queue(at_once=1)), 0
    done = anyio.Event()

    async def work() -> None:
        await passwords.hash("correct horse battery")
        done.set()

    async with anyio.create_task_group() as group:
        group.start_soon(work)
        while not done.is_set():
            turns += 1
            await anyio.lowlevel.checkpoint()

    assert turns > 10


@pytest.mark.parametrize("at_once", [1, 2, 5])
async def test_of_fifty_at_once_no_more_are_hashed_than_there_are_slots(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each hash waits until the limit is reached, so that a further one would be noticed."""
    lock, full = threading.Lock(), threading.Barrier(at_once)
    running, most = 0, 0
    matches = module._matches

    def counted(encoded: str, password: str) -> bool:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        full.wait(timeout=60)
        try:
            return matches(CHEAP, password)
        finally:
            with lock:
                running -= 1

    monkeypatch.setattr(module, "_matches", counted)
    passwords, answers = Passwords(Queue(at_once, waiting=50, reserved=0)), list[bool]()

    async def verify() -> None:
        answers.append(await passwords.verify(CHEAP, PASSWORD))

    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(verify)

    assert answers == [True] * 50
    assert most == at_once


Crowd = tuple[int, Asker]


async def turned_away(monkeypatch: pytest.MonkeyPatch, *crowds: Crowd) -> list[int]:
    """How many of each crowd find no place, one crowd after the other, while no hash ends."""
    go, passwords, away = threading.Event(), Passwords(), [0] * len(crowds)
    monkeypatch.setattr(module, "_matches", lambda _encoded, _password: go.wait(timeout=60))

    async def ask(place: int, asker: Asker) -> None:
        try:
            assert await passwords.verify(CHEAP, PASSWORD, asker)
        except PasswordsBusyError:
            away[place] += 1

    async with anyio.create_task_group() as group:
        for place, (size, asker) in enumerate(crowds):
            for _ in range(size):
                group.start_soon(ask, place, asker)
            await anyio.wait_all_tasks_blocked()
        at_once = list(away)
        go.set()
    assert away == at_once, "whoever is turned away is so at once"
    return away


def strangers(networks: int, each: int = 1) -> list[Crowd]:
    return [(each, Asker(f"203.0.113.{number}")) for number in range(networks)]


async def test_strangers_fill_no_more_than_their_part_of_the_queue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two run and twelve wait; four more places are for known browsers."""
    known = [(1, Asker(f"192.0.2.{number}", f"account {number}")) for number in range(6)]

    away = await turned_away(monkeypatch, *strangers(20), *known)

    assert away == [0] * 14 + [1] * 6 + [0] * 4 + [1] * 2


async def test_one_network_takes_four_places_and_its_known_browsers_have_four_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crowd = (70, Asker("203.0.113.0"))
    known = [(1, Asker("203.0.113.0", f"account {number}")) for number in range(6)]

    away = await turned_away(monkeypatch, crowd, *known, crowd)

    assert away == [66, 0, 0, 0, 0, 1, 1, 70]


async def test_one_account_takes_two_places_with_all_its_browsers_and_networks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    eve = [(4, Asker(f"203.0.113.{number}", "eve")) for number in range(5)]

    away = await turned_away(monkeypatch, *eve, (2, Asker("192.0.2.1", "ada")))

    assert away == [2, 4, 4, 4, 4, 0]


async def test_places_of_an_account_are_free_again(monkeypatch: pytest.MonkeyPatch) -> None:
    passwords, eve = Passwords(), Asker("203.0.113.0", "eve")
    monkeypatch.setattr(module, "_matches", lambda _encoded, _password: True)

    for _ in range(10):
        assert await passwords.verify(CHEAP, PASSWORD, eve)


async def test_a_known_browser_goes_before_strangers_who_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go, passwords, order = threading.Event(), Passwords(Queue(at_once=1)), list[str]()

    def noted(_encoded: str, password: str) -> bool:
        order.append(password)
        return go.wait(timeout=60)

    monkeypatch.setattr(module, "_matches", noted)
    async with anyio.create_task_group() as group:
        for name in ("first", "second", "third", "known"):
            group.start_soon(
                passwords.verify, CHEAP, name, Asker(name, "ada" if name == "known" else None)
            )
            await anyio.wait_all_tasks_blocked()
        go.set()

    assert order == ["first", "known", "second", "third"]


async def test_commands_wait_their_turn_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await turned_away(monkeypatch, (14, Asker())) == [0]


async def test_new_passwords_wait_in_the_same_queue() -> None:
    passwords, busy = Passwords(Queue(1, 0, 0)), list[Exception]()

    async def hash_one() -> None:
        try:
            await passwords.hash(PASSWORD)
        except PasswordsBusyError as error:
            busy.append(error)

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(hash_one)

    assert len(busy) == 2
    assert await passwords.verify(await passwords.hash(PASSWORD), PASSWORD)


async def test_who_gives_up_waiting_gives_up_their_place(monkeypatch: pytest.MonkeyPatch) -> None:
    go, passwords = threading.Event(), Passwords(Queue(1, 1, 0))
    monkeypatch.setattr(module, "_matches", lambda _encoded, _password: go.wait(timeout=60))
    async with anyio.create_task_group() as running:
        running.start_soon(passwords.verify, CHEAP, PASSWORD)
        await anyio.wait_all_tasks_blocked()
        async with anyio.create_task_group() as waiting:
            waiting.start_soon(passwords.verify, CHEAP, PASSWORD)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(PasswordsBusyError):
                await passwords.verify(CHEAP, PASSWORD)
            waiting.cancel_scope.cancel()
        running.start_soon(passwords.verify, CHEAP, PASSWORD)
        await anyio.wait_all_tasks_blocked()
        go.set()
