"""Changes since a session: those of every night after it, the newest first."""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mcp_server.operations.handlers.changes import LATE_ENDS, OF_THEIR_NIGHT
from store.ledger.ledger import Ledger, NightEntry
from store.ledger.served import ServedChange, Tally
from store.nights.nights import Nights
from store.wire.records import DrawnChange
from store.wire.view import SetupView
from tests.contract.market import active_book
from tests.resealed import market_changes, reseal, write_changes
from tests.service import Service, copy_night, serving

FIRST, BEFORE, TONIGHT = (dt.date(2012, 10, day) for day in (1, 2, 3))
NOW = dt.datetime(2012, 10, 4, tzinfo=dt.UTC)


class Chain(NamedTuple):
    """A service whose ledger has three nights, and a setup that tonight serves."""

    service: Service
    still: SetupView


def _changes(still: SetupView) -> Mapping[dt.date, Sequence[ServedChange]]:
    """What two nights found: one setup that is new and then gone, and one that is still served."""
    new, gone = (
        ServedChange(**dict(next(row for row in market_changes() if row.change == kind)))
        for kind in ("new", "expired")
    )
    stays = {"symbol": still.symbol, "lineage_id": still.lineage_id, "attempt": still.attempt or 1}
    kept = new.model_copy(update={**stays, "setup_id": "older"})
    passed = new.model_copy(update={"lineage_id": "passed"})
    over = gone.model_copy(update={"lineage_id": "passed", "symbol": passed.symbol, "attempt": 1})
    return {FIRST: [], BEFORE: [kept, passed], TONIGHT: [over]}


def _drawn(change: ServedChange) -> DrawnChange:
    """A change as its night keeps it, which the ledger does not: with lines, and a close above."""
    upper, lower = (
        {end: {"date": str(FIRST), "price": price} for end in ("start", "end")}
        for price in (10.0, 9.0)
    )
    fields = change.model_dump(mode="json", exclude={"record"})
    fields |= {"lines": {"upper": upper, "lower": lower}}
    return DrawnChange.model_validate(fields | {"crossed": {"date": str(TONIGHT), "price": 11.0}})


@pytest.fixture(scope="module")
def chain(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chain]:
    folder = tmp_path_factory.mktemp("chain")
    copy_night(night, folder)
    shutil.rmtree(folder / "ledger", ignore_errors=True)
    with closing(active_book(folder)) as book:
        still = book.scan.rows[0]
    found = _changes(still)
    reseal(folder, lambda content: write_changes(content, [*map(_drawn, found[TONIGHT])]))
    active, ledger = Nights(folder).check_active(), Ledger(folder)
    for number, (session, lines) in enumerate(found.items(), 1):
        version = f"{session:%Y%m%d}{active.data_version[8:]}"
        told = {"as_of_session": session, "data_version": version}
        since = number - 1 or None
        entry = NightEntry(2, 1, NOW, since, Tally.begun(FIRST), lines)
        appended = ledger.night(active.model_copy(update=told), entry)
        assert appended is not None
        ledger.add(appended)
    with serving(folder) as live:
        yield Chain(live, still)


def page(chain: Chain, **parameters: Any) -> Any:
    return chain.service.get("/changes", params=parameters).raise_for_status().json()


def test_all_nights_after_a_session_are_told_the_newest_first(chain: Chain) -> None:
    found = page(chain, since=str(FIRST))

    assert (found["available"], found["since_session"]) == (True, str(FIRST))
    nights = [(row["night"], row["change"]) for row in found["changes"]]
    assert nights == [(str(TONIGHT), "expired"), (str(BEFORE), "new"), (str(BEFORE), "new")]
    [tonight] = page(chain, since=str(BEFORE))["changes"]
    assert [tonight] == page(chain)["changes"]
    assert tonight["why"].endswith(f"$11.00 on {TONIGHT}, above $10.00")
    assert page(chain, since=str(TONIGHT))["count"] == 0


def test_a_formation_stands_where_its_last_night_put_it(chain: Chain) -> None:
    rows = page(chain, since="2012-01-01")["changes"]

    headings = {row["lineage_id"]: row["heading"] for row in rows}
    assert headings == {"passed": "gone", chain.still.lineage_id: "new"}


def test_an_older_row_has_the_id_that_its_setup_has_tonight_or_none(chain: Chain) -> None:
    rows = page(chain, since=str(FIRST), change="new")["changes"]

    ids = {row["lineage_id"]: row["setup_id"] for row in rows}
    assert ids == {"passed": None, chain.still.lineage_id: chain.still.setup_id}


def test_an_answer_says_which_days_it_cannot_tell_of(chain: Chain) -> None:
    told = [page(chain, since=day)["notes"] for day in (str(FIRST), "2001-01-01", str(TONIGHT))]

    assert told[0] == [OF_THEIR_NIGHT, LATE_ENDS]
    assert page(chain)["notes"] == [LATE_ENDS]
    assert f"the earliest night kept is that of {FIRST}" in told[1][0]
    assert f"No night is newer than that of {TONIGHT}" in told[2][0]


def test_what_is_near_its_trigger_is_told_with_the_first_page(chain: Chain) -> None:
    """The same setups that the scan finds armed, those that changed included."""
    armed = chain.service.get(
        "/scan", params={"filters": '[{"kind":"phase","value":"armed"}]'}
    ).json()["setups"]
    near = [row["setup_id"] for row in armed]
    found = page(chain)

    assert near
    assert {row["setup_id"] for row in found["near"]} == set(near)
    assert found["near_count"] == len(near)
    by_kind = page(chain, change="new")
    assert (by_kind["near"], by_kind["near_count"]) == ([], None)
    assert page(chain, offset=1)["near"] == []
