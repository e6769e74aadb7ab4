"""Password hashes (U10)."""

from __future__ import annotations

import threading

import anyio
import anyio.lowlevel
import pytest
from argon2 import PasswordHasher, extract_parameters
from argon2.low_level import Type
from argon2.profiles import RFC_9106_LOW_MEMORY

from store import passwords as module
from store.passwords import NOBODY, Passwords
from tests.web.browser import PASSWORD
from tests.web.browser import PASSWORD_HASH as CHEAP


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
    """C20."""
    assert extract_parameters(NOBODY) == RFC_9106_LOW_MEMORY
    assert not PasswordHasher.from_parameters(RFC_9106_LOW_MEMORY).check_needs_rehash(NOBODY)


async def test_hashing_leaves_the_event_loop_free() -> None:
    passwords, turns = Passwords(at_once=1), 0
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
    """U10: each hash waits until the limit is reached, so that a further one would be noticed."""
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
    passwords, answers = Passwords(at_once), list[bool]()

    async def verify() -> None:
        answers.append(await passwords.verify(CHEAP, PASSWORD))

    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(verify)

    assert answers == [True] * 50
    assert most == at_once
