"""Series with one planted pattern, drawn as a chartist's textbook describes it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from research.planted.carving import (
    Carved,
    CarvedShape,
    Lines,
    Turn,
    band,
    carve,
    touch,
    turn_bars,
    wander,
)
from research.planted.prices import (
    RANGE_OF_VOLATILITY,
    Rng,
    bridge,
    daily_volatility,
    to_bars,
)
from screener.nightly.bars import Bars, Floats
from store.wire.families import Family

END_WIDTH = (0.25, 0.4)  # of the width at the start: a breakout at 60-75% of the way to the apex
MAX_BAR = 1 / 3  # of the height: a larger bar is a leg by itself
MAX_PENNANT_BAR = 0.5  # a leg of a pennant is two or three bars
MAX_POLE_BAR = 0.4  # of the pole: more would be a jump and not a run
STRAIGHT_POLE = 0.8  # net move of a pole's closes over the sum of their moves
MIN_POLE = 6.0  # mean true ranges
RETRACED = 0.4  # of the pole, at most, by a pennant
HEIGHT = (6.0, 14.0)  # of a wedge or a triangle at its start, in mean true ranges
PENNANT_HEIGHT = (2.6, 4.2)  # in mean true ranges: room for bars that have contracted
MIN_PENNANT = 2.2  # mean true ranges, as they came out
PACE = (0.25, 0.85)  # mean true ranges a bar that the legs must cover on average
ATTEMPTS = 500  # far above the few that a sound draft needs


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a kind looks like: inclusive ranges of contacts and bars, and its ways to break."""

    family: Family
    contacts: tuple[int, int]
    bars: tuple[int, int]
    breaks: tuple[int, ...]

    @property
    def pennant(self) -> bool:
        """Whether the kind stands on a pole."""
        return self.family in {Family.BULLISH_PENNANT, Family.BEARISH_PENNANT}

    @property
    def shortest_leg(self) -> int:
        """The fewest bars of a leg."""
        return 2 if self.pennant else 4


RECIPES = {
    "rising wedge": Recipe(Family.RISING_WEDGE, (5, 7), (26, 90), (-1,)),
    "falling wedge": Recipe(Family.FALLING_WEDGE, (5, 7), (26, 90), (1,)),
    "symmetrical triangle": Recipe(Family.TRIANGLE, (4, 7), (22, 90), (-1, 1)),
    "ascending triangle": Recipe(Family.TRIANGLE, (4, 7), (22, 90), (1,)),
    "descending triangle": Recipe(Family.TRIANGLE, (4, 7), (22, 90), (-1,)),
    "bullish pennant": Recipe(Family.BULLISH_PENNANT, (4, 5), (9, 18), (1,)),
    "bearish pennant": Recipe(Family.BEARISH_PENNANT, (4, 5), (9, 18), (-1,)),
}
KINDS = tuple(RECIPES)


@dataclass(frozen=True, slots=True, eq=False)
class Plant:
    """A series with one pattern.

    `start` is the bar of the first contact, `end` that of the breakout (the first close beyond a
    line since `start`), `direction` its sign. `unit` is the mean true range in log price of the
    bars around the start, or before a pennant's pole.
    """

    kind: str
    family: Family
    noise: float
    bars: Bars
    lines: Lines
    start: int
    end: int
    unit: float
    direction: int


@dataclass(frozen=True, slots=True)
class Geometry:
    """The drawn geometry, in log price and in bars since the first contact.

    `pole` is the number of bars of a pennant's pole and `run` its signed move; for other kinds
    they are the trend that leads to the first contact. `rough` is as in `CarvedShape`.
    """

    recipe: Recipe
    lines: Lines
    turns: tuple[Turn, ...]
    bars: int
    unit: float
    direction: int
    pole: int
    run: float
    rough: float

    @property
    def height(self) -> float:
        """The width of the pattern at its start."""
        return self.lines.upper - self.lines.lower


def plant(rng: Rng, kind: str, noise: float) -> Plant:
    """A series of 150-470 bars with one pattern of a kind, whose contacts miss by `noise`.

    Args:
        rng: the only source of chance.
        kind: one of `KINDS`.
        noise: the sd of a contact's distance from its line in mean true ranges, as in `NOISES`.
    """
    for _ in range(ATTEMPTS):
        plan = _plan(rng, kind, noise)
        if plan is not None:
            drawn = _draw(rng, plan)
            unit = drawn.unit(plan.bars, plan.pole if plan.recipe.pennant else 0)
            if _textbook(drawn, plan, unit):
                return _planted(rng, kind, noise, plan, drawn, unit)
    raise RuntimeError(f"no sound {kind} in {ATTEMPTS} attempts")


def _moves(rng: Rng, kind: str, closing: float) -> tuple[float, float]:
    """How far the upper and the lower line move by the end, in heights, given how they close."""
    share = rng.uniform(0.35, 0.65)
    tilt = rng.uniform(0.35, 0.9)
    flat = rng.uniform(-0.03, 0.03)
    return {
        "rising wedge": (tilt, tilt + closing),
        "falling wedge": (-tilt - closing, -tilt),
        "ascending triangle": (flat, flat + closing),
        "descending triangle": (flat - closing, flat),
    }.get(kind, (-share * closing, (1 - share) * closing))


def _plan(rng: Rng, kind: str, noise: float) -> Geometry | None:
    """A geometry of the kind, or None where its legs would be too steep or too slow."""
    recipe = RECIPES[kind]
    unit = RANGE_OF_VOLATILITY * daily_volatility(rng)
    bars = int(rng.integers(recipe.bars[0], recipe.bars[1] + 1))
    contacts = int(rng.integers(recipe.contacts[0], recipe.contacts[1] + 1))
    failing = not recipe.pennant and rng.random() < noise
    turns = contacts + failing
    end_width = rng.uniform(*END_WIDTH)
    legs = np.linspace(1, end_width, turns + 1)[:-1]
    least, most = _heights(recipe, bars / float(legs.sum()))
    if bars < (turns + 0.5) * recipe.shortest_leg or least > most:
        return None
    height = rng.uniform(least, most)
    moves = np.array(_moves(rng, kind, 1 - end_width)) * height * unit / bars
    lines = Lines(0, 0.0, float(moves[0]), -height * unit, float(moves[1]))
    when = turn_bars(rng, legs[:turns], bars, recipe.shortest_leg)
    direction = int(rng.choice(recipe.breaks))
    first = _first_side(rng, recipe, direction, turns)
    drawn = touch(rng, lines, when, first, noise * unit)
    if failing:
        _fail_a_leg(rng, lines, drawn)
    pole, run = _run_up(rng, recipe, first, height)
    return Geometry(
        recipe, lines, tuple(drawn), bars, unit, direction, pole, run * unit, 0.8 + noise
    )


def _heights(recipe: Recipe, bars_a_leg: float) -> tuple[float, float]:
    """The range of heights, in mean true ranges, that legs of so many bars can fill."""
    if recipe.pennant:
        return PENNANT_HEIGHT
    return max(HEIGHT[0], PACE[0] * bars_a_leg), min(HEIGHT[1], PACE[1] * bars_a_leg)


def _first_side(rng: Rng, recipe: Recipe, direction: int, turns: int) -> int:
    """The side of the first contact: a pole's end, or most often so that the last leg breaks."""
    if recipe.pennant:
        return direction
    last = -direction if rng.random() < 0.7 else direction
    return last if turns % 2 else -last


def _fail_a_leg(rng: Rng, lines: Lines, turns: list[Turn]) -> None:
    """Turn one inner contact, of a side that has a third, into one well short of its line."""
    sides = [turn.side for turn in turns]
    spare = [place for place in range(2, len(turns) - 1) if sides.count(sides[place]) > 2]
    which = int(rng.choice(spare))
    turn = turns[which]
    short = rng.uniform(0.25, 0.45) * float(lines.width(turn.bar))
    turns[which] = Turn(turn.bar, turn.side, turn.level - turn.side * short, False)


def _run_up(rng: Rng, recipe: Recipe, first: int, height: float) -> tuple[int, float]:
    """Bars and signed move, in mean true ranges, of the run to the first contact."""
    if recipe.pennant:
        run = max(MIN_POLE + 1, height / rng.uniform(0.2, 0.36))
        return int(np.clip(round(run / rng.uniform(1.1, 1.8)), 5, 12)), first * run
    run = height * rng.uniform(1.0, 2.0)
    return round(run / rng.uniform(0.25, 0.5)), first * run


def _draw(rng: Rng, plan: Geometry) -> Carved:
    """The series of a plan."""
    volatility = plan.unit / RANGE_OF_VOLATILITY
    width = plan.lines.width(np.arange(plan.bars)) / plan.height
    calm = np.sqrt(width) * (0.75 if plan.recipe.pennant else 1.0)
    bottom, top = band(plan.lines, list(plan.turns), plan.bars)
    edge = float(top[-1] if plan.direction > 0 else bottom[-1])
    back = min(rng.uniform(0.2, 0.8) * plan.unit * calm[-1], 0.4 * float(top[-1] - bottom[-1]))
    shape = CarvedShape(plan.turns, top, bottom, calm, plan.rough, edge - plan.direction * back)
    lead = wander(rng, max(40, int(rng.integers(90, 251)) - plan.pole), volatility)
    rough = volatility * (0.9 if plan.recipe.pennant else 1.0)
    run = np.diff(bridge(rng, np.full(plan.pole, rough), plan.run), prepend=0.0)
    after = _aftermath(rng, plan, shape.finish, volatility)
    return carve(rng, shape, np.concatenate([lead, run]), after, plan.unit)


def _aftermath(rng: Rng, plan: Geometry, finish: float, volatility: float) -> Floats:
    """Returns from the breakout on: beyond the line, then mostly on its way, then a market's."""
    line = float(plan.lines.at(plan.bars)[0 if plan.direction > 0 else 1])
    beyond = line + plan.direction * rng.uniform(0.25, 0.8) * plan.unit
    days = int(rng.integers(60, 121))
    returns = wander(rng, days, volatility)
    returns[0] = beyond - finish
    push = int(rng.integers(10, 31))
    returns[1 : push + 1] += plan.direction * rng.normal(0.5, 0.5) * plan.height / push
    return returns


def _textbook(drawn: Carved, plan: Geometry, unit: float) -> bool:
    """Whether the bars came out as the plan means them: their sizes, the way in and the break."""
    candles, end = drawn.candles, drawn.start + plan.bars
    ranges = candles.true_range()
    upper, lower = plan.lines.moved(drawn.start, 0.0).at(np.arange(drawn.start, end))
    closes = candles.close[drawn.start : end]
    limit = MAX_PENNANT_BAR if plan.recipe.pennant else MAX_BAR
    held = bool(np.all((closes < upper) & (closes > lower)))
    small = float(ranges[drawn.start + 1 : end + 1].max()) < limit * plan.height
    first = plan.turns[0]
    run = slice(drawn.start - min(plan.pole, 12), drawn.start)
    extreme = (candles.high if first.side > 0 else candles.low)[run]
    pivot = bool(np.all(first.side * extreme <= first.side * first.level))
    return held and small and pivot and _in_scale(drawn, plan, ranges, unit)


def _in_scale(drawn: Carved, plan: Geometry, ranges: Floats, unit: float) -> bool:
    """Whether the pattern has its size in mean true ranges, and a pennant its pole."""
    if not plan.recipe.pennant:
        return HEIGHT[0] <= plan.height / unit <= HEIGHT[1]
    pole = slice(drawn.start - plan.pole, drawn.start + 1)
    move = abs(plan.turns[0].level - float(drawn.candles.close[pole.start - 1]))
    steps = np.diff(drawn.candles.close[pole.start - 1 : pole.stop])
    straight = abs(float(steps.sum())) / float(np.abs(steps).sum()) >= STRAIGHT_POLE
    even = float(ranges[pole].max()) <= MAX_POLE_BAR * move
    long = move >= MIN_POLE * unit and plan.height < RETRACED * move
    return straight and even and long and plan.height >= MIN_PENNANT * unit


def _planted(
    rng: Rng, kind: str, noise: float, plan: Geometry, drawn: Carved, unit: float
) -> Plant:
    """The plan and its drawing as bars at a price level, and lines at the same level."""
    end = drawn.start + plan.bars
    drawn.busy[end] *= 1.8  # a breakout comes with volume
    bars = to_bars(rng, drawn.candles, drawn.busy)
    level = float(np.log(bars.close[0]) - drawn.candles.close[0])
    lines = plan.lines.moved(drawn.start, level)
    family, direction = plan.recipe.family, plan.direction
    return Plant(kind, family, noise, bars, lines, drawn.start, end, unit, direction)
