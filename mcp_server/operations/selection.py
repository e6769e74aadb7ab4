"""Selection: which setups of a night a scan keeps, by which of their plans, and in what order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import and_, or_
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from mcp_server.filters.filters import Mask, Predicate
from mcp_server.filters.scan_order import COLUMNS, NEARNESS, RANK
from mcp_server.operations.arguments import ScanArguments
from store.nights.book import Book, PerBook
from store.nights.feature_table import FeatureTable, Labels
from store.wire.scan_index import ARMED_PCT, OF_A_PLAN, OPPOSITE


class Matches(NamedTuple):
    """The rows that match a scan, in each status."""

    forming: Mask
    in_progress: Mask
    by_second: Mask
    """Those of which the second plan counts: the first does not match, or comes later in the order,
    or has the farther trigger where the scan asks for the distance.
    """
    without_evidence: Mapping[str, int]
    """By kind of filter: rows of the status, family and direction that have no number for it."""
    alone: Sequence[tuple[str, int]] = ()
    """How many rows of the status each condition keeps by itself, if nothing matches."""
    unvalued: Sequence[tuple[str, int]] = ()
    """Kinds of filter for which none of so many rows has a value: those that fulfil all other
    conditions, if nothing matches.
    """

    def groups(self, status: str) -> Sequence[Mask]:
        """The rows of a status, in groups that are listed one after the other."""
        both = (self.forming, self.in_progress)
        return {"forming": both[:1], "in_progress": both[1:]}.get(status, both)


Condition = tuple[str | Predicate, Mask]
"""A condition, which its `str` has in words, and the rows that fulfil it."""


class Side(NamedTuple):
    """The setups by their first plan or by their second one."""

    features: FeatureTable
    rows: Mask
    """Those that have this plan."""
    plain: list[Condition]
    predicates: list[tuple[Predicate, Mask]]

    @property
    def conditions(self) -> Sequence[Condition]:
        """All that a scan asks for."""
        return (*self.plain, *self.predicates)

    def all_of(self, conditions: Iterable[Condition]) -> Mask:
        """The rows that fulfil all of some conditions."""
        return reduce(and_, (mask for _, mask in conditions), self.rows)


def select(book: Book, arguments: ScanArguments) -> Matches:
    """The matching rows. A forming triangle that may break out either way matches if one of its
    plans fulfils all conditions.
    """
    features = book.features
    if not len(features.bodies):
        none = np.zeros(0, bool)
        return Matches(none, none, none, {})
    sides, forming = _sides(book, arguments), features.labels["status"].equal("forming")
    running, every = ~forming, sides[0].rows
    of_status = {"forming": forming, "in_progress": running}.get(arguments.status, every)
    found = [side.all_of(side.conditions) for side in sides]
    matching, by_second = reduce(or_, found), ~every
    if sides[1:]:
        by_second = found[1] & (~found[0] | _is_second_first(features, arguments))
    missing = dict(_lacking(sides, arguments.filters, of_status))
    without = {kind: count for kind, count in missing.items() if count}
    matches = Matches(matching & forming, matching & running, by_second, without)
    if (matching & of_status).any():
        return matches
    alone, unvalued = (list(tell(sides, of_status)) for tell in (_alone, _unvalued))
    return matches._replace(alone=alone, unvalued=unvalued)


def _sides(book: Book, arguments: ScanArguments) -> list[Side]:
    """The setups by each of their plans; by one if all have one."""
    tables, wanted = TABLES.of(book), wanted_of(arguments)
    rest = [p for p in arguments.filters if p.kind.name != "direction"]
    return [
        Side(
            table,
            rows,
            list(_plain_conditions(book, table, arguments)),
            [(p, _match(table, p, wanted)) for p in rest],
        )
        for table, rows in tables
    ]


def _alone(sides: Sequence[Side], of_status: Mask) -> Iterator[tuple[str, int]]:
    """How many rows of a status each condition keeps."""
    for same in zip(*(side.conditions for side in sides), strict=True):
        kept = (side.rows & mask for side, (_, mask) in zip(sides, same, strict=True))
        yield str(same[0][0]), size(of_status & reduce(or_, kept))


def _unvalued(sides: Sequence[Side], of_status: Mask) -> Iterator[tuple[str, int]]:
    """The kinds of which no row has a value that fulfils all other conditions, with the number of
    these.
    """
    every = len(sides[0].conditions)
    fulfilled = [np.sum([mask for _, mask in side.conditions], axis=0) for side in sides]
    for at, (predicate, _) in enumerate(sides[0].predicates):
        others = [
            of_status & side.rows & (number - side.predicates[at][1] == every - 1)
            for side, number in zip(sides, fulfilled, strict=True)
        ]
        count = size(reduce(or_, others))
        if count and not _valued(sides, others, predicate.column):
            yield predicate.kind.name, count


def wanted_of(arguments: ScanArguments) -> str | None:
    """The direction that a scan asks for; None for both."""
    named = (str(p.value) for p in arguments.filters if p.kind.name == "direction")
    return arguments.direction or next(named, None)


def is_about_distance(arguments: ScanArguments) -> bool:
    """Whether a scan asks for the distance to the trigger, or is sorted by it."""
    kinds = {predicate.kind.name for predicate in arguments.filters}
    return (
        arguments.max_distance_pct is not None
        or not kinds.isdisjoint(("dist_to_entry", "phase"))
        or not sorted_by(arguments).isdisjoint(("distance", NEARNESS))
    )


def _plain_conditions(
    book: Book, features: FeatureTable, arguments: ScanArguments
) -> Iterator[Condition]:
    """The conditions that are arguments of their own, and that of a direction."""
    if arguments.family is not None:
        yield f"family {arguments.family}", features.labels["family"].equal(arguments.family)
    if arguments.direction is not None:
        directed = features.labels["direction"].equal(arguments.direction)
        yield f"direction {arguments.direction}", directed
    for predicate in arguments.filters:
        if predicate.kind.name == "direction":
            yield predicate, features.labels["direction"].equal(str(predicate.value))
    if arguments.symbols is not None:
        asked_for = frozenset(arguments.symbols)
        listed = np.array([view.symbol in asked_for for view in book.scan.rows])
        yield "tracked" if arguments.tracked else "the list of symbols", listed
    if arguments.min_sample is not None:
        enough = features.numbers["sample"] >= arguments.min_sample
        yield f"min_sample {arguments.min_sample}", enough
    if (most := arguments.max_distance_pct) is not None:
        near = features.numbers["dist_to_entry"] <= most
        unfiltered = "" if arguments.status == "forming" else " (which filters no open trade)"
        words = f"max_distance_pct {most:g}{unfiltered}"
        yield words, near | ~features.labels["status"].equal("forming")


def page(
    features: FeatureTable, matches: Matches, arguments: ScanArguments
) -> tuple[int, list[int]]:
    """The number of matching rows, and the rows of one page.

    By rank the forming ones come first; by a column all are sorted together, and those that are
    equal in it stand in the order of rank.
    """
    rows = np.concatenate([np.flatnonzero(group) for group in matches.groups(arguments.status)])
    if arguments.sort != RANK and len(rows):
        rows = np.sort(rows)
        numbers = sort_column(features, matches, arguments)[rows]
        downward = arguments.sort.startswith("-")
        rows = rows[np.argsort(-numbers if downward else numbers, kind="stable")]
    return len(rows), rows[arguments.offset : arguments.offset + arguments.limit].tolist()


def sort_column(
    features: FeatureTable, matches: Matches, arguments: ScanArguments
) -> npt.NDArray[np.float64]:
    """The numbers of the order, each of the plan that counts."""
    name = COLUMNS[arguments.sort.lstrip("-")].name
    if name not in OF_A_PLAN:
        return features.numbers[name]
    second = features.numbers[f"{OPPOSITE}{name}"]
    return np.where(matches.by_second, second, features.numbers[name])


def sorted_by(arguments: ScanArguments) -> set[str]:
    """The column of the order; none for the rank."""
    return {COLUMNS[arguments.sort.lstrip("-")].name} if arguments.sort != RANK else set()


def size(rows: Mask) -> int:
    """How many rows a mask keeps."""
    return int(np.count_nonzero(rows))


OTHER: Final = {"bullish": "bearish", "bearish": "bullish"}


def _tables(book: Book) -> list[tuple[FeatureTable, Mask]]:
    """The features by each plan, and the rows that have it."""
    first, second = book.features, _has_second(book.features)
    tables = [(first, np.ones(len(second), bool))]
    return [*tables, (_by_second_plan(first), second)] if second.any() else tables


TABLES: Final = PerBook(_tables)


def _by_second_plan(features: FeatureTable) -> FeatureTable:
    """The features with both plans changed for each other, and their directions."""
    numbers = dict(features.numbers)
    for name in OF_A_PLAN.keys() & numbers:
        other = f"{OPPOSITE}{name}"
        numbers[name], numbers[other] = numbers[other], numbers[name]
    first = features.labels["direction"]
    directions = Labels({OTHER[name]: code for name, code in first.labels.items()}, first.codes)
    return replace(features, numbers=numbers, labels={**features.labels, "direction": directions})


def _has_second(features: FeatureTable) -> Mask:
    """The forming setups that have a plan of each direction."""
    return features.known[f"{OPPOSITE}distance"]


def _is_second_first(features: FeatureTable, arguments: ScanArguments) -> Mask:
    """The setups whose second plan comes first in the order, or else has the nearer trigger where a
    scan asks for the distance.
    """
    name, sign = "distance", 1  # also downward: none counts as far by its other trigger
    if found := sorted_by(arguments) & OF_A_PLAN.keys() - {name}:
        (name,), sign = found, -1 if arguments.sort.startswith("-") else 1
    elif not is_about_distance(arguments):
        return np.zeros(len(features.bodies), bool)
    first, second = features.numbers[name], features.numbers[f"{OPPOSITE}{name}"]
    comes_first: Mask = (sign * second < sign * first) | (np.isnan(first) & ~np.isnan(second))
    return comes_first


def _match(features: FeatureTable, predicate: Predicate, wanted: str | None) -> Mask:
    """The rows of which a plan fulfils a predicate. A setup is as near as its nearer trigger: where
    no direction is wanted it does not count as far by the other.
    """
    if predicate.kind.name == "phase":
        return _phased(features, str(predicate.value), wanted)
    if predicate.kind.takes == "choice":
        return features.labels[predicate.column].equal(str(predicate.value))
    found = predicate.match(features.numbers[predicate.column])
    if predicate.kind.name == "dist_to_entry" and wanted is None:
        return found & predicate.match(_nearest(features))
    return found


def _nearest(features: FeatureTable) -> npt.NDArray[np.float64]:
    """The distance to the nearer trigger."""
    columns = (features.numbers[name] for name in ("dist_to_entry", f"{OPPOSITE}dist_to_entry"))
    nearest: npt.NDArray[np.float64] = np.fmin(*columns)
    return nearest


def _phased(features: FeatureTable, phase: str, wanted: str | None) -> Mask:
    """The setups of a phase; one with two plans is armed if the trigger of a wanted one is near."""
    distance, bound = features.numbers["dist_to_entry"], np.fmax(features.numbers["atr"], ARMED_PCT)
    far = (_nearest(features) if wanted is None else distance) > bound
    by_plan = {"armed": distance <= bound, "forming": far}.get(phase, np.False_)
    return np.where(_has_second(features), by_plan, features.labels["phase"].equal(phase))


def _lacking(
    sides: Sequence[Side], predicates: Sequence[Predicate], of_status: Mask
) -> Iterator[tuple[str, int]]:
    """By kind of predicate: how many of the rows that are asked for have no value by any plan."""
    asked = [of_status & side.all_of(side.plain) for side in sides]
    rows = size(reduce(or_, asked))
    for predicate in predicates:
        yield predicate.kind.name, rows - _valued(sides, asked, predicate.column)


def _valued(sides: Sequence[Side], asked: Sequence[Mask], column: str) -> int:
    """How many of the rows that are asked for have a value in a column, by any plan."""
    known = (each & side.features.known[column] for each, side in zip(asked, sides, strict=True))
    return size(reduce(or_, known))
