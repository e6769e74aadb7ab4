"""Reasons: every rule of the detector in words, with the number that failed it and the bound."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from nightly.events import Rule
from nightly.kernel.rules import Finding

MOST_DECIMALS = 6


class Form(NamedTuple):
    """How a number is written: times a factor, with so many decimals and a unit behind it."""

    factor: float
    decimals: int
    unit: str


COUNT = Form(1.0, 0, "")
NUMBER = Form(1.0, 2, "")
SHARE = Form(100.0, 0, "%")
PERCENT = Form(1.0, 1, "%")


class Words(NamedTuple):
    """The sentence of a rule. `{limit}` becomes `the least is` or `the most is` with the bound."""

    text: str
    form: Form


WORDS: Mapping[Rule, Words] = MappingProxyType(
    {
        Rule.CONVERGENCE: Words("the lines are {value} ATR apart today; {limit}", NUMBER),
        Rule.LENGTH: Words("its length in bars is {value}; {limit}", COUNT),
        Rule.PROGRESS: Words("it has come {value} of the way to the apex; {limit}", SHARE),
        Rule.OFFSET: Words("the second line starts after {value} of the length; {limit}", SHARE),
        Rule.RECENCY: Words("one line was last touched {value} of the length ago; {limit}", SHARE),
        Rule.HEIGHT: Words("it is {value} ATR high where the second line starts; {limit}", NUMBER),
        Rule.SLOPES: Words(
            "the flatter line moves {value} widths, which fits no type; {limit}", NUMBER
        ),
        Rule.POLE_HEIGHT: Words("the pole is {value} ATR high; {limit}", NUMBER),
        Rule.POLE_BARS: Words("the length of the pole in bars is {value}; {limit}", COUNT),
        Rule.POLE_SPEED: Words("the pole moves {value} ATR a bar; {limit}", NUMBER),
        Rule.POLE_STEP: Words("one close makes up {value} of the pole; {limit}", SHARE),
        Rule.POLE_GAP: Words("one gap makes up {value} of the pole; {limit}", SHARE),
        Rule.POLE_STRAIGHTNESS: Words(
            "the pole's net move is {value} of all its moves; {limit}", SHARE
        ),
        Rule.POLE_WIDTH: Words("its width is {value} of the pole's height; {limit}", SHARE),
        Rule.DRIFT: Words("its middle drifts {value} widths along the pole; {limit}", NUMBER),
        Rule.POLE_RETRACE: Words("price has given back {value} of the pole; {limit}", SHARE),
        Rule.EARLY_CLOSE: Words(
            "a close before the second line starts is {value} ATR beyond it; {limit}", NUMBER
        ),
        Rule.TOUCHES: Words("both lines together have {value} touches; {limit}", COUNT),
        Rule.CROSSINGS: Words(
            "the changes of side between its touches are {value}; {limit}", COUNT
        ),
        Rule.TOUCH_GAP: Words("no touch lies in {value} of the length; {limit}", SHARE),
        Rule.LARGEST_BAR: Words("one bar spans {value} of the width; {limit}", SHARE),
        Rule.LARGEST_GAP: Words("one gap spans {value} of the width; {limit}", SHARE),
        Rule.DIRECTNESS: Words("its legs make up {value} of all moves of closes; {limit}", SHARE),
        Rule.THIN: Words("{value} of its bars have no range; {limit}", SHARE),
        Rule.SCORE: Words("its score is {value}; {limit}", PERCENT),
    }
)
"""A sentence for each rule that a pair of lines can fail."""

PARTING = "the lines do not converge; today they are {value} ATR apart"
"""Convergence, if the width today is not what fails."""

LEAST_TOUCHED = "the line with fewer touches has {value}; {limit}"
"""Touches, if one line alone fails: the kernel needs two on each."""

EACH_LINE = 2.0


def words(finding: Finding) -> str:
    """Why a pair of lines fails a rule, in one sentence without a full stop."""
    rule = Rule(finding.rule)
    text, form = WORDS[rule]
    if rule is Rule.CONVERGENCE and finding.value > finding.bound:
        text = PARTING
    elif rule is Rule.TOUCHES and finding.bound == EACH_LINE:
        text = LEAST_TOUCHED
    value, bound = numbers(finding, form)
    side = "least" if finding.value < finding.bound else "most"
    return text.format(value=value, limit=f"the {side} is {bound}")


def numbers(finding: Finding, form: Form) -> tuple[str, str]:
    """The number and the bound of a finding, never rounded so far that they look equal."""
    value, bound = form.factor * finding.value, form.factor * finding.bound
    decimals = form.decimals
    while decimals < MOST_DECIMALS and round(value, decimals) == round(bound, decimals):
        decimals += 1
    # Adding zero turns a minus zero into zero.
    return f"{round(value, decimals) + 0.0:.{decimals}f}{form.unit}", f"{bound:g}{form.unit}"
