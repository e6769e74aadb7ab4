"""Draw charts for blind rating, tally the answers, show what is kept, and learn from it.

python -m research.chartist draw --bars BARS.parquet --out DIR --seed 1 NAME=detect.json ...
python -m research.chartist tally --key DIR/key.json --round 3 --readers TEXT --into F A B
python -m research.chartist show
python -m research.chartist fit
python -m research.chartist renumber --bars BARS.parquet
python -m research.chartist curve --bars BARS.parquet
python -m research.chartist draw-evening --bars BARS.parquet --out DIR --seed 1
python -m research.chartist draw-views --bars BARS.parquet --out DIR --seed 1
python -m research.chartist tally-views --bars BARS.parquet --key DIR/key.json --round 1 \\
    --readers TEXT --into F A B
python -m research.chartist evening --bars BARS.parquet

Give each of two readers `briefing.md` (for charts without lines `question.md` too) and the folder
DIR/pictures, and nothing else.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from research.chartist.charts import Chart, bar_of, charts_of, is_among, sample
from research.chartist.controls import controls, planted
from research.chartist.curve import curve, read_market
from research.chartist.evening import count, found_evenings, rated_evenings, reports_now, told
from research.chartist.finding import (
    Sighting,
    View,
    finds,
    kept_mark,
    read_marks,
    read_sightings,
    views,
    write_sightings,
)
from research.chartist.fit import is_set_aside, report, trees_file
from research.chartist.lessons import lessons
from research.chartist.pictures import read_key, write_set, write_views
from research.chartist.ratings import (
    FOLDER,
    Rating,
    join,
    read_ratings,
    read_readings,
    rounds,
    spans_of,
    write_ratings,
)
from research.chartist.renumber import renumbered
from research.chartist.served import chosen, never_drawn, served
from screener.nightly.detector.parameters import Parameters

SYMBOLS: dict[str, Callable[[str], bool]] = {
    "free": lambda symbol: not is_set_aside(symbol),
    "set-aside": is_set_aside,
    "all": lambda _: True,
}


def draw(given: argparse.Namespace) -> None:
    """Write a set of charts from detectors' logs, none of which was rated before, and of random
    lines.
    """
    rng = np.random.default_rng(given.seed)
    market = read_market(given.bars, SYMBOLS[given.symbols])
    rated = spans_of(kept())
    chosen: list[Chart] = []
    for name, path in given.logs:
        found = charts_of(json.loads(path.read_text()), market, name)
        recent = [one for one in found if given.since is None or one.date(one.last) >= given.since]
        fresh = [one for one in recent if not is_among(one, rated)]
        drawn = sample(fresh, given.each, rng)
        print(f"{name}: {len(drawn)} of {len(fresh)} lineages")
        chosen += drawn
    chosen += controls(market, given.random, rng, given.since)
    chosen += planted(given.planted, given.seed)
    write_set(chosen, given.out, given.seed)
    print(f"{len(chosen)} charts in {given.out / 'pictures'}")


def draw_evening(given: argparse.Namespace) -> None:
    """Write a set of what is forming on random sessions, mixed with random lines."""
    rng = np.random.default_rng(given.seed)
    rated = {one.symbol for one in kept() if one.quality is not None and one.symbol is not None}
    market = never_drawn(read_market(given.bars, SYMBOLS[given.symbols]), rated)
    parameters = Parameters() if given.quality is None else Parameters(quality_min=given.quality)
    found = list(served(market, parameters, given.sessions, rng))
    drawn = chosen(found, given.whole, given.each_band, given.each_kind, rng)
    taken = {one.chart.symbol for one in drawn}
    lines = controls(never_drawn(market, taken), given.random, rng)
    charts = [one.chart for one in drawn] + lines
    qualities = [one.quality for one in drawn] + [None] * len(lines)
    write_set(charts, given.out, given.seed, qualities)
    print(f"{len(found)} drawings on random sessions; {len(charts)} charts in {given.out}/pictures")


def draw_views(given: argparse.Namespace) -> None:
    """Write a set of charts without lines."""
    rng = np.random.default_rng(given.seed)
    market = read_market(given.bars, SYMBOLS[given.symbols])
    drawn = views(market, given.count, rng, {one.symbol for one in read_sightings()})
    write_views(drawn, given.out)
    print(f"{len(drawn)} charts in {given.out}/pictures")


def tally_views(given: argparse.Namespace) -> None:
    """Join two readers' marks with the key and keep them, without prices."""
    key = read_key(given.key)
    market = read_market(given.bars, {entry["symbol"] for entry in key.values()}.__contains__)
    marks = [read_marks(path, key) for path in given.answers]
    seen = []
    for number, entry in key.items():
        bars = market[entry["symbol"]]
        view = View(entry["symbol"], bars, bar_of(bars, entry["last"]) or 0)
        one, other = (kept_mark(reader[number], view) for reader in marks)
        seen.append(Sighting(given.round, given.readers, view.symbol, entry["last"], (one, other)))
    write_sightings(seen, given.into)
    print(f"{sum(one.is_formation for one in seen)} formations on {len(seen)} charts")


def evening(given: argparse.Namespace) -> None:
    """Print how good and how full an evening is: rated charts, finds, and counts of 20 years."""
    market = read_market(given.bars, SYMBOLS["all"])
    print(*rated_evenings(kept()), *reports_now(kept()), sep="\n")
    for minimum in sorted({Parameters().quality_min, 60.0, 50.0, 40.0}, reverse=True):
        print(f"At a minimum quality of {minimum:g}:")
        parameters = Parameters(quality_min=minimum)
        print(*found_evenings(finds(read_sightings(), market, parameters)), sep="\n")
    print(*told(count(market, Parameters())), sep="\n")


def tally(given: argparse.Namespace) -> None:
    """Join two readers' answers with the key, keep the ratings and print their acceptance."""
    key = read_key(given.key)
    one, other = (read_readings(path, key) for path in given.answers)
    ratings = join(key, (one, other), given.round, given.readers)
    write_ratings(ratings, given.into)
    print(*rounds(ratings), sep="\n")


def show(given: argparse.Namespace) -> None:
    """Print the acceptance of the rounds in some files, or of all that are kept."""
    chosen = [rating for path in given.files for rating in read_ratings(path)]
    print(*rounds(chosen or kept()), sep="\n")


def kept() -> list[Rating]:
    """The ratings of all rounds."""
    paths = [path for path in sorted(FOLDER.glob("*.json")) if not path.name.startswith("find-")]
    return [rating for path in paths for rating in read_ratings(path)]


def fit(given: argparse.Namespace) -> None:
    """Print how well the score predicts ratings, and write its trees if asked to."""
    rated, taught = kept(), list(lessons())
    print(*report(rated, taught), sep="\n")
    if given.into:
        given.into.write_text(trees_file(rated, taught))


def renumber(given: argparse.Namespace) -> None:
    """Give all kept ratings the numbers that they lack, after the judgement has new ones."""
    market = read_market(given.bars, SYMBOLS["all"])
    for path in sorted(FOLDER.glob("*.json")):
        if path.name.startswith("find-"):
            continue
        before = read_ratings(path)
        after = [
            renumbered(one, market[one.symbol]) if one.symbol and one.symbol in market else one
            for one in before
        ]
        write_ratings(after, path)
        counts = (sum(one.shape is not None for one in ratings) for ratings in (before, after))
        print(f"{path.name}: {{}} ratings had numbers, {{}} have them".format(*counts))


def draw_curve(given: argparse.Namespace) -> None:
    """Print the curve of acceptance, recall and yield."""
    for line in curve(kept(), read_market(given.bars, SYMBOLS["all"])):
        print(line, flush=True)


def log(text: str) -> tuple[str, Path]:
    """NAME=FILE."""
    name, _, path = text.partition("=")
    if not name or not path:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=FILE")
    return name, Path(path)


def add_draw(parser: argparse.ArgumentParser) -> None:
    """The options of `draw`."""
    parser.set_defaults(run=draw)
    add = parser.add_argument
    add("--bars", type=Path, required=True, help="Parquet: the bars that the detectors were given")
    add("--out", type=Path, required=True, help="new folder for pictures/ and key.json")
    add("--seed", type=int, required=True, help="decides the sample and its order")
    add("--each", type=int, default=6, help="charts of a kind and detector (%(default)s)")
    add("--random", type=int, default=20, help="charts of random lines (%(default)s)")
    add("--planted", type=int, default=0, help="charts of planted patterns (%(default)s)")
    add("--symbols", choices=SYMBOLS, default="free", help="`set-aside`: only in the last round")
    add("--since", type=dt.date.fromisoformat, help="leave out charts that end before this date")
    add("logs", type=log, nargs="*", metavar="NAME=FILE", help="what `screener detect` wrote")


def add_evening(parser: argparse.ArgumentParser) -> None:
    """The options of `draw-evening`."""
    parser.set_defaults(run=draw_evening)
    add = parser.add_argument
    add("--bars", type=Path, required=True, help="Parquet: daily bars")
    add("--out", type=Path, required=True, help="new folder for pictures/ and key.json")
    add("--seed", type=int, required=True, help="decides the sample and its order")
    add("--symbols", choices=SYMBOLS, default="free", help="`set-aside`: only for a report")
    add("--quality", type=float, help="minimum of what is served, percent (the detector's)")
    add("--sessions", type=int, default=60, help="random sessions of a symbol (%(default)s)")
    add("--whole", type=int, default=160, help="charts as an evening has them (%(default)s)")
    add("--each-band", type=int, default=80, help="charts of each band of quality (%(default)s)")
    add("--each-kind", type=int, default=25, help="charts of each kind (%(default)s)")
    add("--random", type=int, default=20, help="charts of random lines (%(default)s)")


def add_views(parser: argparse.ArgumentParser) -> None:
    """The options of `draw-views`."""
    parser.set_defaults(run=draw_views)
    add = parser.add_argument
    add("--bars", type=Path, required=True, help="Parquet: daily bars")
    add("--out", type=Path, required=True, help="new folder for pictures/ and key.json")
    add("--seed", type=int, required=True, help="decides the sample")
    add("--symbols", choices=SYMBOLS, default="free", help="`set-aside`: only for a report")
    add("--count", type=int, default=300, help="charts (%(default)s)")


def add_tally_views(parser: argparse.ArgumentParser) -> None:
    """The options of `tally-views`."""
    add_tally(parser)
    parser.set_defaults(run=tally_views)
    parser.add_argument("--bars", type=Path, required=True, help="the bars that were drawn")


def add_tally(parser: argparse.ArgumentParser) -> None:
    """The options of `tally`."""
    parser.set_defaults(run=tally)
    add = parser.add_argument
    add("--key", type=Path, required=True, help="the key.json that `draw` wrote")
    add("--round", required=True, help="the name of the round")
    add("--readers", required=True, help="who the readers were; say so if they were models")
    add("--into", type=Path, required=True, help="file for the ratings; it is written anew")
    add("answers", type=Path, nargs=2, metavar="ANSWER", help="JSON list of one reader")


def add_show(parser: argparse.ArgumentParser) -> None:
    """The options of `show`."""
    parser.set_defaults(run=show)
    parser.add_argument(
        "files", type=Path, nargs="*", metavar="RATINGS", help="all, if none is given"
    )


def main() -> None:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(
        prog="python -m research.chartist",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True)
    add_evening(commands.add_parser("draw-evening", help="draw what is served on random sessions"))
    add_views(commands.add_parser("draw-views", help="draw charts without lines"))
    add_tally_views(commands.add_parser("tally-views", help="keep what readers marked on them"))
    told_ = commands.add_parser("evening", help="how good and how full an evening is")
    told_.set_defaults(run=evening)
    told_.add_argument("--bars", type=Path, required=True, help="Parquet: daily bars")
    add_draw(commands.add_parser("draw", help="draw charts for blind rating"))
    add_tally(commands.add_parser("tally", help="join readers' answers with the key and keep them"))
    add_show(commands.add_parser("show", help="print the acceptance of rounds that are kept"))
    fitted = commands.add_parser("fit", help="learn the score from ratings and planted patterns")
    fitted.set_defaults(run=fit)
    fitted.add_argument("--into", type=Path, metavar="CSV", help="file for the trees of the score")
    again = commands.add_parser("renumber", help="give ratings new numbers")
    again.set_defaults(run=renumber)
    again.add_argument("--bars", type=Path, required=True, help="the bars that were drawn")
    curved = commands.add_parser("curve", help="acceptance and recall against yield, by the score")
    curved.add_argument("--bars", type=Path, required=True, help="Parquet: daily bars")
    curved.set_defaults(run=draw_curve)
    given = parser.parse_args()
    try:
        given.run(given)
    except (OSError, ValueError) as error:
        parser.exit(1, f"{error}\n")


if __name__ == "__main__":
    main()
