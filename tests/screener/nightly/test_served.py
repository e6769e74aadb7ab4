"""From night to night: what changed, and what became of trades by their levels as served.

Over 400 lines, because every test compares nights over the same few walks.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import pickle
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from screener.nightly.bars import Bars, to_date, to_day
from screener.nightly.cleaning.sessions import next_session
from screener.nightly.detector.detector import walk_on
from screener.nightly.detector.parameters import Parameters
from screener.nightly.night import make_night
from screener.nightly.results.history import Lineages
from screener.nightly.results.setups import RUNNING_SESSIONS
from screener.nightly.results.transitions import (
    ENDS,
    SETTLED_DAYS,
    Current,
    Previous,
    SymbolFollowUp,
    follow_up,
    served_setup,
)
from screener.nightly.series import Series
from store.errors import WithdrawnError
from store.ledger.ledger import Ledger, NightEntry
from store.ledger.served import (
    FollowedTrade,
    ServedOutcome,
    ServedSetup,
    SettledTrade,
    Tally,
    Totals,
    TradeKey,
)
from store.ledger.verify import verify
from store.nights.grade import Grade, grade
from store.nights.nights import Nights
from store.wire.currency import money
from store.wire.exchanges import NEW_YORK
from store.wire.families import Family
from store.wire.records import Change as SealedChange
from store.wire.records import DrawnChange
from store.wire.words import FEW, why_words
from tests.once import made_once
from tests.screener.nightly.nights import analysed, book_of, order_of, order_over
from tests.screener.nightly.published import BARS, NOW, Seen, market, publish, sessions_before
from tests.screener.nightly.series import LENIENT, after_a_gap, changed, multiplied, walk
from tests.store.ledger.ledgers import put

LAST = dt.date(2024, 3, 28)


def replayed(before: Seen, now: Seen) -> set[TradeKey]:
    """The setups of a night after its changes, each of which must make sense."""
    statuses = {key: setup.status for key, setup in before.setups.items()}
    for change in now.changes or ():
        key = TradeKey(change["symbol"], change["lineage_id"], change["attempt"])
        if change["change"] == "new":
            assert key not in statuses, change
            statuses[key] = now.setups[key].status
        elif change["change"] == "triggered":
            assert key in statuses, change
            statuses[key] = "in_progress"
        else:
            statuses.pop(key, None)
    assert {key: now.setups[key].status for key in statuses} == statuses
    return set(statuses)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Seen]]:
    """A year of 20 walks, with a night every twenty days."""
    folder = made_once(tmp_path_factory, "path", seal_path)
    return folder, pickle.loads((folder / "seen").read_bytes())  # noqa: S301 - our own bytes


def seal_path(folder: Path) -> None:
    order = order_over(folder, {f"S{seed}": walk(BARS, seed=seed) for seed in range(20)})
    seen = [publish(order, folder / "data", day) for day in sessions_before(LAST, 12, step=20)]
    (folder / "seen").write_bytes(pickle.dumps(seen))


def test_the_changes_explain_the_difference_of_two_nights_exactly(
    path: tuple[Path, list[Seen]],
) -> None:
    _, seen = path
    assert seen[0].changes is None
    for before, now in pairwise(seen):
        assert replayed(before, now) == now.setups.keys(), now.manifest.data_version
    told = set().union(*(night.kinds() for night in seen))
    assert told >= {
        *(("new", "found"), ("triggered", "breakout"), ("stopped", "stop"), ("reached", "target")),
        ("expired", "invalidated"),
    }


def test_every_night_names_the_one_before_and_their_chain_adds_up(
    path: tuple[Path, list[Seen]],
) -> None:
    folder, seen = path
    for before, now in pairwise(seen):
        assert now.manifest.inputs.since == before.manifest.data_version
    verified = verify(Ledger(folder / "data"))
    assert (verified.faults, len(verified.nights)) == ([], len(seen))
    begun = seen[0].manifest.as_of_session
    first = [o for night in seen for o in night.of(ServedOutcome) if o.attempt == 1]
    counted = [o for o in first if o.terms.entry_date > begun]
    assert len(first) > len(counted) > 10, "some ran already on the first night"
    assert sum(t.trades for t in seen[-1].tally.families.values()) == len(counted)
    outcomes = [outcome.key for night in seen for outcome in night.of(ServedOutcome)]
    assert len(outcomes) == len(set(outcomes)), "no trade is resolved twice"


def test_with_the_same_bars_the_history_agrees_with_every_trade_that_was_served(
    path: tuple[Path, list[Seen]],
) -> None:
    folder, seen = path
    nights = Nights(folder / "data")
    with book_of(nights, nights.check_active()) as book:
        found = grade(nights.ledger, book)

    assert {item.kind for item in found.disagreements} <= {"never_served"}
    missed = {item.why for item in found.disagreements}
    assert missed <= {"served only while forming", "not served"}
    assert sum(side.trades for side in found.served.values()) > 10
    totals = seen[-1].tally.families
    for family, side in found.served.items():
        assert (side.trades, side.wins) == (totals[family].trades, totals[family].wins)
    unserved = Counter(item.family for item in found.disagreements)
    for family in Family:
        served, history = found.served[family], found.history[family]
        assert served.trades + served.open + unserved[family] == history.trades + history.open


def test_a_run_again_adds_nothing_and_a_withdrawn_night_is_not_made_again(tmp_path: Path) -> None:
    order = order_of(market(tmp_path / "bars", 4))
    first, second = sessions_before(LAST, 2)
    _, two, again = (publish(order, tmp_path / "data", day) for day in (first, second, second))
    nights = Nights(tmp_path / "data")
    assert again.manifest == two.manifest
    assert len(nights.ledger.names()) == 2
    nights.withdraw(two.manifest.data_version, "wrong", NOW)
    with pytest.raises(WithdrawnError, match="withdrawn on 2024-04-02: wrong"):
        publish(order, tmp_path / "data", second)


@dataclass(frozen=True)
class Told:
    """One symbol on one night: what was served of it, and what changed."""

    setups: list[ServedSetup]
    since: SymbolFollowUp

    def earlier(self, session: dt.date) -> Previous:
        return Previous(session, self.setups, self.since.followed, self.since.settled)

    def kinds(self) -> list[tuple[str, str]]:
        return [(change.change, change.reason) for change in self.since.changes]

    def of(self, key: TradeKey) -> ServedSetup:
        return next(setup for setup in self.setups if setup.key == key)


def looked(
    bars: Bars | None,
    day: int,
    earlier: Previous | None = None,
    until: dt.date | None = None,
    parameters: Parameters = LENIENT,
) -> Told:
    """What a night as of a day makes of a symbol, given what the last night served of it."""
    earlier = earlier or Previous(dt.date(1990, 1, 1))
    if bars is None:
        return Told([], follow_up(earlier, Current()))
    session, earlier_of = to_date(day), {"X": earlier}
    found = analysed(bars, session, parameters=parameters, until=until, earlier=earlier_of)
    assert found.follow_up is not None
    setups = [served_setup(formation, found.follow_up.frozen) for formation in found.formations]
    return Told(setups, found.follow_up)


def check_levels(change: SealedChange) -> None:
    """Whether a change tells its levels, and where the price is between them."""
    assert change.stop_price
    assert change.target_price
    if change.trigger_price:
        assert change.last_close
        away = abs(100 * (change.trigger_price / change.last_close - 1))
        assert change.distance_to_trigger_pct == pytest.approx(away, abs=0.006)
        assert (change.entry_price, change.gain_pct) == (None, None)
    else:
        assert change.entry_price
        ended = None if change.r_multiple is None else change.price
        last = change.last_close or ended
        if change.change == "triggered" and last is None:
            return  # it ended before the next night, which another change tells
        sign = 1 if change.direction == "bullish" else -1
        assert last
        gain = sign * 100 * (last / change.entry_price - 1)
        assert change.gain_pct == pytest.approx(gain, abs=0.006)


def check_drawing(change: DrawnChange, *, known: bool) -> None:
    """Whether a setup that is gone keeps its lines, which end on the day of a close beyond one."""
    if known and change.setup_id is None:
        assert change.lines
    assert bool(change.crossed) is (change.reason == "invalidated")
    if change.crossed:
        assert change.lines
        upper, lower = change.lines.upper.end, change.lines.lower.end
        assert upper.date == lower.date == change.crossed.date
        above = change.crossed.price > upper.price
        assert above or change.crossed.price < lower.price
        side, beyond = ("above", upper) if above else ("below", lower)
        words = change.model_dump(mode="json")
        assert why_words(words).endswith(
            f"{change.crossed.date}, {side} {money(beyond.price, change.currency)}"
        )


def check_step(before: Told | None, now: Told) -> None:
    """Whether the changes lead from the setups of one night to those of the next."""
    keys = {setup.key for setup in before.setups} if before else set()
    for change in now.since.changes:
        check_levels(change)
        key = TradeKey(change.symbol, change.lineage_id, change.attempt)
        check_drawing(change, known=key in keys)
        if change.change == "new":
            assert key not in keys, change
            keys.add(key)
        elif change.change == "triggered":
            assert key in keys, change
        else:
            keys.discard(key)
    assert keys == {setup.key for setup in now.setups}


ENDING: Mapping[str, tuple[int, Parameters]] = {
    "invalidated": (12, LENIENT),
    "superseded": (17, LENIENT),
    "missed": (24, LENIENT),
    "data_gap": (19, LENIENT),
    "stale": (9, LENIENT._replace(stale_share=0.1, stale_bars_min=3)),
    "too_long": (0, LENIENT._replace(length_expiry=60, squeeze_length_expiry=10)),
    "apex": (0, LENIENT._replace(progress_expiry=0.5)),
    "faded": (15, LENIENT._replace(fade_margin=0.01)),
}
"""By each reason why a forming setup ends: a walk and parameters with which one does."""


@pytest.mark.parametrize("reason", ENDING)
def test_a_forming_setup_ends_for_the_reason_that_the_detector_has(reason: str) -> None:
    assert set(ENDING) == set(ENDS.values())
    seed, parameters = ENDING[reason]
    bars, kinds = walk(BARS, seed=seed), set[tuple[str, str]]()
    before: Told | None = None
    if reason == "missed":  # no trade is entered after a day without a bar
        bars = bars.take(np.arange(BARS) % 6 != 0)
    if reason == "data_gap":
        bars = after_a_gap(bars, 20, 14)
    for bar in range(len(bars) - 80, len(bars), 11):
        earlier = before.earlier(to_date(bars.date[bar - 11])) if before else None
        now = looked(bars, int(bars.date[bar]), earlier, parameters=parameters)
        if before:
            check_step(before, now)
            kinds |= {*now.kinds()}
        for change in now.since.changes:
            if change.reason == reason and change.trigger_price:
                assert change.last_close == pytest.approx(bars.close[bar], rel=1e-6)
        before = now
    assert ("expired", reason) in kinds


@pytest.mark.parametrize("seed", range(5))
def test_whatever_happens_to_the_bars_changes_add_up_and_no_trade_is_resolved_twice(
    seed: int,
) -> None:
    """Between nights bars are revised, split, lost, cut short, or the symbol is refused."""
    rng = np.random.default_rng(seed)
    bars = walk(BARS, seed=seed)
    resolved_keys: list[TradeKey] = []
    before: Told | None = None
    session = dt.date(1990, 1, 1)
    for bar in range(250, BARS, 5):
        flaw, at = rng.integers(0, 9), int(rng.integers(0, bar))
        if flaw == 0:
            bars = changed(bars, at, close=float(bars.low[at]))
        elif flaw == 1:
            bars = multiplied(multiplied(bars, 0, 0.5), BARS, 1.0)
        elif flaw == 2:
            bars = multiplied(bars, at, float(rng.choice([0.98, 1.01])))
        shown = None if flaw == 3 else bars
        if flaw == 4:
            shown = changed(bars, slice(bar - 5, bar), low=math.nan)
        elif flaw == 5:
            shown = bars.take(slice(at // 2, None))
        now = looked(shown, int(bars.date[bar]), before.earlier(session) if before else None)
        check_step(before, now)
        before, session = now, to_date(bars.date[bar])
        resolved_keys += [outcome.key for outcome in now.since.outcomes]
    assert len(resolved_keys) == len(set(resolved_keys))


@cache
def running(least: int = 3, most: int = BARS, seed: int = 3) -> tuple[Bars, ServedSetup]:
    """A walk on which one trade runs, of a first attempt that was entered so many bars before its
    last one: the first such walk from a seed on.
    """
    for number in itertools.count(seed):
        bars = walk(BARS, seed=number)
        entered = [one for one in looked(bars, int(bars.date[-1]), None).setups if one.entry_date]
        if len(entered) == 1 and entered[0].attempt == 1:
            (setup,) = entered
            if least <= len(bars) - 1 - entry_of(bars, setup) <= most:
                return bars, setup
    raise AssertionError


def entry_of(bars: Bars, setup: ServedSetup) -> int:
    """The bar on which a setup was entered."""
    assert setup.entry_date
    return int(np.searchsorted(bars.date, to_day(setup.entry_date)))


def lineages_of(bars: Bars) -> Lineages:
    return Lineages("X", bars, walk_on(None, Series.sound(bars), LENIENT).log)


def followed_in(bars: Bars, setup: ServedSetup) -> FollowedTrade:
    trade = setup.trade()
    assert trade is not None
    assert trade.last_session == to_date(bars.date[-1])
    return trade


def with_bar(bars: Bars, open_: float, high: float, low: float, close: float) -> Bars:
    """The bars and one more of the next session."""
    day = np.array([to_day(next_session(to_date(bars.date[-1]), NEW_YORK))], np.int32)
    values = (np.array([value]) for value in (open_, high, low, close, 1000.0))
    return Bars.joined([bars, Bars(day, *values)])


def next_night(bars: Bars, setup: ServedSetup, later: Bars, **options: Any) -> Told:
    earlier = Previous(to_date(bars.date[-1]), [setup])
    return looked(later, int(later.date[-1]), earlier, **options)


def stopping(bars: Bars, trade: FollowedTrade) -> Bars:
    """The bars and one that runs through the stop of a trade, having opened short of it."""
    stop, close = trade.terms.stop_price, trade.last_close
    beyond = stop * (0.999 if trade.direction == "bullish" else 1.001)
    return with_bar(bars, close, max(close, beyond), min(close, beyond), beyond)


def test_a_stop_as_served_closes_the_trade_at_the_stop() -> None:
    bars, setup = running()
    trade = followed_in(bars, setup)

    now = next_night(bars, setup, stopping(bars, trade))

    (outcome,) = now.since.outcomes
    assert (outcome.exit_reason, outcome.exit_price) == ("stop", trade.terms.stop_price)
    assert outcome.r_multiple == -1.0
    (change,) = (c for c in now.since.changes if c.change == "stopped")
    assert (change.price, change.r_multiple) == (outcome.exit_price, -1.0)
    assert change.session == outcome.exit_date


def test_a_gap_through_the_stop_fills_at_the_open_and_a_bar_with_both_is_a_stop() -> None:
    bars, setup = running()
    trade = followed_in(bars, setup)
    terms, sign = trade.terms, 1 if trade.direction == "bullish" else -1
    worse = terms.stop_price * (1 - sign * 0.02)
    high, low = max(worse, terms.target_price) * 1.01, min(worse, terms.target_price) * 0.99

    (outcome,) = next_night(bars, setup, with_bar(bars, worse, high, low, worse)).since.outcomes

    assert outcome.exit_reason == "stop"
    assert outcome.exit_price == pytest.approx(worse, rel=1e-6)
    assert outcome.r_multiple < -1


def test_a_split_between_two_nights_changes_no_r_as_served() -> None:
    bars, setup = running()
    later = stopping(bars, followed_in(bars, setup))
    halves = multiplied(later, 0, 0.5)

    (whole,) = next_night(bars, setup, later).since.outcomes
    (half,) = next_night(bars, setup, halves).since.outcomes

    assert (half.r_multiple, half.move_pct) == (whole.r_multiple, whole.move_pct)
    assert half.terms.stop_price == pytest.approx(whole.terms.stop_price / 2)
    assert half.exit_date == whole.exit_date


def test_one_corrected_close_is_no_split() -> None:
    bars, setup = running(0, 0)
    later = stopping(bars, followed_in(bars, setup))
    last = len(bars) - 1
    assert setup.entry_date == to_date(bars.date[last]), "often the close of the entry itself"
    close = float(bars.close[last]) * 1.004
    high, low = max(float(bars.high[last]), close), min(float(bars.low[last]), close)

    (outcome,) = next_night(
        bars, setup, changed(later, last, close=close, high=high, low=low)
    ).since.outcomes

    assert outcome.terms == followed_in(bars, setup).terms


def test_what_is_not_resolved_is_followed_while_the_symbol_is_away_and_known_again_after() -> None:
    bars, setup = running()
    session = to_date(bars.date[-1])
    away = looked(None, int(bars.date[-1]) + 1, Previous(session, [setup]))
    assert away.kinds() == [("expired", "left_out")]
    (trade,) = away.since.followed

    still = looked(None, int(bars.date[-1]) + 2, away.earlier(session))
    assert (still.kinds(), still.since.followed) == ([], [trade])
    back = looked(bars, int(bars.date[-1]), still.earlier(session))
    assert ("new", "found") in back.kinds()
    assert back.since.followed == []
    ended = looked(
        stopping(bars, trade), to_day(next_session(session, NEW_YORK)), still.earlier(session)
    )
    assert ended.since.outcomes[0].exit_reason == "stop"
    assert ("stopped", "stop") in ended.kinds()


@pytest.mark.parametrize("ago", [0, 3])
def test_a_trade_of_a_delisted_symbol_closes_at_its_last_close_unless_it_was_entered_there(
    ago: int,
) -> None:
    bars, setup = running(ago, 0 if ago == 0 else BARS)
    last = to_date(bars.date[-1])

    now = looked(bars, int(bars.date[-1]) + 30, Previous(last, [setup]), until=last)

    if ago == 0:
        assert now.since.outcomes == []
        assert [trade.key for trade in now.since.followed] == [setup.key]
        return
    assert ("expired", "delisted") in now.kinds()
    (outcome,) = now.since.outcomes
    assert (outcome.exit_reason, outcome.exit_date) == ("delisted", last)
    assert outcome.exit_price == setup.last_close


def test_a_trade_that_no_night_served_has_triggered_only_if_it_was_entered_since() -> None:
    bars, setup = running(1)
    assert setup.entry_date
    day = dt.timedelta(days=1)
    for session, told in ((setup.entry_date - day, True), (setup.entry_date, False)):
        found = looked(bars, int(bars.date[-1]), Previous(session))
        first = (setup.lineage_id, 1)
        changes = found.since.changes
        mine = [c.change for c in changes if (c.lineage_id, c.attempt) == first]
        assert mine == (["new", "triggered"] if told else ["new"])


def test_an_attempt_that_fires_while_an_earlier_one_runs_is_served_until_its_stop_or_target() -> (
    None
):
    bars, first, last = walk(BARS, seed=4), 184, 211  # while which a first attempt runs
    lineage = lineages_of(bars).id(2)
    told: dict[int, list[str]] = {}
    served: list[list[tuple[int, str]]] = []
    before: Told | None = None
    for bar in range(first - 1, last + 1):
        earlier = before.earlier(to_date(bars.date[bar - 1])) if before else None
        now = looked(bars, int(bars.date[bar]), earlier)
        check_step(before, now)
        mine = [c for c in now.since.changes if before and c.lineage_id == lineage]
        for change in mine:
            told.setdefault(change.attempt, []).append(change.change)
        served.append([(s.attempt, s.status) for s in now.setups if s.lineage_id == lineage])
        before = now

    assert 1 not in told, "it runs all the while"
    assert told[2][0] == "new"
    assert told[2][-2:] in (["triggered", "stopped"], ["triggered", "reached"])
    assert told[3] == ["new"]
    assert any({(1, "in_progress"), (2, "in_progress")} <= set(setups) for setups in served)


def test_an_attempt_that_fired_before_a_night_that_leaves_its_symbol_out_is_followed() -> None:
    bars, setup = running()
    before = looked(bars, int(bars.date[entry_of(bars, setup) - 1]))
    formed = before.of(setup.key)

    now = follow_up(Previous(formed.last_session, [formed]), Current((), [lineages_of(bars)]))

    assert [c.change for c in now.changes] == ["triggered", "expired"]
    assert now.changes[-1].reason == "left_out"
    (trade,) = now.followed
    later = Previous(to_date(bars.date[-1]), (), now.followed)
    ended = looked(stopping(bars, trade), to_day(next_session(later.session, NEW_YORK)), later)
    assert [outcome.key for outcome in ended.since.outcomes] == [setup.key]
    assert ("stopped", "stop") in ended.kinds()


def test_a_running_trade_that_is_no_longer_served_is_too_old_and_still_followed() -> None:
    bars, setup = running()
    earlier = Previous(to_date(bars.date[-2]), [setup])

    found = follow_up(earlier, Current((), [lineages_of(bars)], covered=True))

    assert [(c.change, c.reason) for c in found.changes] == [("expired", "too_old")]
    assert [trade.key for trade in found.followed] == [setup.key]


def test_a_trade_that_tonight_s_bars_do_not_know_is_revised_and_still_followed() -> None:
    bars, setup = running()
    other = setup.model_copy(update={"lineage_id": "q" * 16})
    served = looked(bars, int(bars.date[-1]), None).setups

    now = looked(bars, int(bars.date[-1]), Previous(to_date(bars.date[-1]), [*served, other]))

    assert now.kinds() == [("expired", "revised")]
    assert [trade.key for trade in now.since.followed] == [other.key]


def test_the_levels_that_were_served_first_hold_though_revised_bars_give_others() -> None:
    bars, setup = running(seed=30)
    trade = followed_in(bars, setup)
    sign = 1 if trade.direction == "bullish" else -1
    nearer = trade.terms.stop_price + sign * 0.2 * abs(trade.last_close - trade.terms.stop_price)
    plan = setup.plans[0].model_copy(update={"stop_price": round(nearer, 4)})
    first = setup.model_copy(update={"plans": [plan]})
    session = to_date(bars.date[-1])
    same = next_night(bars, first, bars)
    kept = same.of(first.key)
    assert kept.frozen is not None
    assert kept.frozen.terms.stop_price == plan.stop_price
    assert kept.plans[0].stop_price == setup.plans[0].stop_price
    between = (nearer + trade.terms.stop_price) / 2
    close = trade.last_close
    hit = with_bar(bars, close, max(close, between), min(close, between), close)
    now = looked(hit, int(hit.date[-1]), same.earlier(session))

    (outcome,) = now.since.outcomes
    assert outcome.exit_price == plan.stop_price
    assert now.since.settled == [SettledTrade.of(outcome)]
    assert now.kinds() == [("stopped", "stop"), ("new", "revised")]
    later = stopping(hit, trade)
    after = looked(later, int(later.date[-1]), now.earlier(to_date(hit.date[-1])))
    assert after.since.outcomes == [], "it was resolved once"
    assert after.kinds()[0] == ("expired", "revised")


@pytest.mark.parametrize("turned", [False, True])
def test_a_trade_keeps_direction_and_pattern_though_revised_bars_give_others(
    turned: bool,
) -> None:
    bars, setup = running(0, 0)
    assert setup.entry_price
    plan, twice = setup.plans[0], 2 * setup.entry_price
    rising = setup.family is Family.RISING_WEDGE
    other = Family.FALLING_WEDGE if rising else Family.RISING_WEDGE
    was = {"family": other, "pattern_type": other.value}
    first = setup.model_copy(update=was)
    if turned:
        was["direction"] = "bearish" if plan.direction == "bullish" else "bullish"
        levels = {"stop_price": twice - plan.stop_price, "target_price": twice - plan.target_price}
        mirrored = plan.model_copy(update={"direction": was["direction"], **levels})
        first = setup.model_copy(update={"plans": [mirrored], **was})
    assert setup.family != first.family
    same = next_night(bars, first, bars)
    kept = same.of(first.key)
    assert kept.plans[0].direction == plan.direction, "as the bars say now"
    trade = kept.trade()
    assert trade is not None
    assert {name: getattr(trade, name) for name in was} == was
    hit = stopping(bars, trade)
    now = looked(hit, int(hit.date[-1]), same.earlier(to_date(bars.date[-1])))
    (outcome,) = now.since.outcomes
    assert (outcome.exit_reason, outcome.r_multiple) == ("stop", -1.0)
    assert {name: getattr(outcome, name) for name in was} == was


def test_a_setup_that_triggers_anew_keeps_the_trade_that_was_served_first() -> None:
    bars, setup = running(0, 0, seed=56)
    day, entered = to_date(bars.date[-2]), to_date(bars.date[-5])
    nothing = {"status": "forming", "entry_date": None, "entry_price": None, "last_session": day}
    forming = setup.model_copy(update=nothing)
    trade = followed_in(bars, setup)
    terms = trade.terms.model_copy(update={"entry_date": entered})
    moved = {"terms": terms, "last_session": day, "last_close": float(bars.close[-2])}
    before = Told([forming], SymbolFollowUp(followed=[trade.model_copy(update=moved)]))

    now = looked(bars, int(bars.date[-1]), before.earlier(day))

    check_step(before, now)
    mine = [c.change for c in now.since.changes if c.lineage_id == setup.lineage_id]
    assert mine == ["triggered"]
    kept = now.of(setup.key)
    assert kept.entry_date == setup.entry_date
    assert (kept.trade() or trade).terms.entry_date == entered
    (outcome,) = next_night(bars, kept, stopping(bars, trade)).since.outcomes
    assert outcome.terms.entry_date == entered


def test_a_followed_trade_can_end_while_its_setup_forms_anew() -> None:
    _, like = running()
    walks = (walk(BARS, seed=seed) for seed in itertools.count())
    looks = ((bars, looked(bars, int(bars.date[-1])).setups) for bars in walks)
    alone = ((bars, setups[0]) for bars, setups in looks if len(setups) == 1)
    bars, forming = next((bars, setup) for bars, setup in alone if setup.status == "forming")
    day, high = to_date(bars.date[-2]), float(bars.high[-1])
    levels = {"entry_price": high * 1.2, "stop_price": high * 1.1, "target_price": high * 1.4}
    trade = like.trade()
    assert trade is not None
    was = {
        **forming.key._asdict(),
        "direction": "bullish",
        "terms": trade.terms.model_copy(update=levels),
        "last_session": day,
        "last_close": float(bars.close[-2]),
    }
    before = Told([forming], SymbolFollowUp(followed=[trade.model_copy(update=was)]))

    now = looked(bars, int(bars.date[-1]), before.earlier(day))

    mine = [c.change for c in now.since.changes if c.lineage_id == forming.lineage_id]
    assert mine == ["stopped", "new"]
    assert forming.key in {setup.key for setup in now.setups}


def test_bars_that_end_before_the_last_session_tell_nothing_of_a_trade() -> None:
    bars, setup = running()
    trade = followed_in(bars, setup).model_copy(update={"lineage_id": "q" * 16})
    cut = bars.take(slice(0, len(bars) - 6))

    now = looked(cut, int(bars.date[-1]), Previous(trade.last_session, followed=[trade]))

    assert now.since.followed == [trade]


def test_a_trade_that_a_bad_print_stopped_is_not_resolved_again_when_it_is_corrected() -> None:
    bars, setup = running()
    trade = followed_in(bars, setup)
    flat = with_bar(bars, *[trade.last_close] * 4)
    session, next_day = to_date(bars.date[-1]), to_date(flat.date[-1])

    stopped = next_night(bars, setup, stopping(bars, trade))
    (outcome,) = stopped.since.outcomes
    assert setup.key not in {s.key for s in stopped.setups}
    assert stopped.since.settled == [SettledTrade.of(outcome)]
    away = looked(None, int(flat.date[-1]), stopped.earlier(next_day))
    again = looked(flat, int(flat.date[-1]), away.earlier(session))
    check_step(away, again)
    assert ("new", "revised") in again.kinds()
    later = stopping(flat, trade)
    after = looked(later, int(later.date[-1]), again.earlier(next_day))

    check_step(again, after)
    assert setup.key not in {s.key for s in after.setups}
    assert (after.since.outcomes, after.since.settled) == ([], stopped.since.settled)


def test_a_settled_trade_is_named_until_no_night_can_serve_it() -> None:
    bars, setup = running()
    last = to_date(bars.date[-1])
    old = SettledTrade(**setup.key._asdict(), exit_date=last - dt.timedelta(days=SETTLED_DAYS))
    other = old.model_copy(update={"lineage_id": "q" * 16})
    older = other.exit_date - dt.timedelta(days=1)
    dropped = other.model_copy(update={"attempt": 2, "exit_date": older})
    served = old.model_copy(update={"exit_date": older})

    now = looked(bars, int(bars.date[-1]), Previous(last, settled=[other, dropped, served]))

    assert {trade.key for trade in now.since.settled} == {other.key, served.key}
    assert SETTLED_DAYS * 5 / 7 > RUNNING_SESSIONS * 1.1, "bars may lack a day in ten"


def test_a_record_as_served_needs_thirty_trades_and_states_them(tmp_path: Path) -> None:
    order = order_of(market(tmp_path / "bars", 2))
    first, second = sessions_before(LAST, 2)
    enough = Totals(trades=FEW, wins=12, losses=18, win_pct=144.0, loss_pct=-90.0, r=6.0)
    few = enough.model_copy(update={"trades": FEW - 1, "losses": 17})
    tally = Tally.begun(first)
    tally.families.update({Family.TRIANGLE: enough, Family.RISING_WEDGE: few})
    entry = NightEntry(2, 1, NOW, None, tally, [])
    nights = Nights(tmp_path / "data")
    make_night(replace(order, session=first), Nights(tmp_path / "aside"), now=NOW)
    put(nights.ledger, Nights(tmp_path / "aside").check_active(), entry)

    publish(order, tmp_path / "data", second)

    with book_of(nights, nights.check_active()) as book:
        found = {f: orjson.loads(book.family(f))["as_served"] for f in Family}
        method = book.method()
    record = found.pop(Family.TRIANGLE)
    assert set(found.values()) == {None}
    assert (record["sample_size"], record["wins"], record["losses"]) == (30, 12, 18)
    assert (record["avg_win_pct"], record["avg_loss_pct"], record["avg_r"]) == (12.0, -5.0, 0.2)
    assert record["win_rate_ci95"][0] < record["win_rate_pct"] == 40.0
    assert record["summary"] == (
        f"Triangle, as served: of 30 trades that were entered after {first}, and that nights to "
        f"{second} served before they ended, 40.00% reached the target; average win +12.00%, "
        f"average loss -5.00%; {record['open']} are open; trades that triggered and ended between "
        "two nights are not counted."
    )
    assert method is not None
    assert [family for family, _ in method.as_served] == [Family.TRIANGLE]


# The ledger beside the history of a later night.


def graded(data: Path) -> Grade:
    nights = Nights(data)
    with book_of(nights, nights.check_active()) as book:
        return grade(nights.ledger, book)


def test_a_grade_names_what_was_revised_refused_or_left_out_and_passes_over_a_split(
    tmp_path: Path,
) -> None:
    bars, setup = running(1, 4)
    entry = entry_of(bars, setup)
    sound = {f"S{seed}": walk(BARS, seed=100 + seed) for seed in range(3)}
    data = tmp_path / "data"
    for bar in (entry - 1, entry):
        order = order_over(tmp_path, {**sound, "X": bars})
        publish(order, data, to_date(bars.date[bar]))
    assert graded(data).disagreements == []
    (served,) = (side for side in graded(data).served.values() if side.open)
    assert served.open == 1

    price = float(bars.close[entry]) * 1.0005
    high, low = max(float(bars.high[entry]), price), min(float(bars.low[entry]), price)
    found: dict[str, Seen] = {}
    for name, its in {
        "split": {"X": multiplied(bars, 0, 0.5)},
        "revised": {"X": changed(bars, entry, close=price, high=high, low=low)},
        "short": {"X": bars.take(slice(-50, None))},
        "gone": {},
    }.items():
        shutil.copytree(data, tmp_path / name)
        order = order_over(tmp_path, {**sound, **its})
        found[name] = publish(order, tmp_path / name, to_date(bars.date[-1]))

    assert graded(tmp_path / "split").disagreements == []
    (item,) = graded(tmp_path / "revised").disagreements
    assert (item.kind, item.symbol) == ("differs", "X")
    assert "entry_price" in item.why
    for name, why in {
        "gone": "the symbol is not among the bars",
        "short": "left out: too_few_bars",
    }.items():
        assert found[name].changed("X")[-1] == ("expired", "left_out")
        (item,) = graded(tmp_path / name).disagreements
        assert (item.kind, item.why) == ("missing_from_history", why)
    assert {line.symbol for line in found["gone"].of(FollowedTrade)} == {"X"}


def test_the_sample_is_never_compared_with_other_bars(tmp_path: Path) -> None:
    first, second = sessions_before(LAST, 2)
    order = order_of(market(tmp_path / "bars", 2))
    publish(replace(order, name="sample"), tmp_path / "data", first)

    other = publish(order, tmp_path / "data", second)
    sample = publish(replace(order, name="sample"), tmp_path / "data", second)

    assert other.changes is None
    assert sample.changes is not None


def test_the_first_night_of_another_detector_tells_nothing_as_new_or_gone(tmp_path: Path) -> None:
    """What it alone serves, and what the one before alone served, says nothing of the market."""
    first, second, third = sessions_before(LAST, 3, step=20)
    order = order_over(tmp_path, {f"S{seed}": walk(BARS, seed=seed) for seed in range(12)})
    later = replace(order, parameters=order.parameters._replace(detector=99))
    data, known = tmp_path / "data", tmp_path / "known"
    for folder in (data, known):
        publish(order, folder, first)

    now, usual = publish(later, data, second), publish(order, known, second)
    after = publish(later, data, third)

    assert now.setups.keys() == usual.setups.keys()
    kept = [change for change in usual.changes or () if change["change"] not in ("new", "expired")]
    assert kept
    assert len(kept) < len(usual.changes or ())
    assert [{**change, "quality_pct": None} for change in now.changes or ()] == [
        {**change, "quality_pct": None} for change in kept
    ]
    assert {"new", "expired"} & {change["change"] for change in after.changes or ()}
    served = {setup.setup_id for setup in usual.setups.values()}
    for change in usual.changes or ():
        assert (change["quality_pct"] is not None) == (change["setup_id"] in served)
