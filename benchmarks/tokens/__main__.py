"""Print how many tokens the tools and their answers are, and write it into README.md.

python -m benchmarks.tokens [--data FOLDER] [--write]

Counts what a live service sends, on the sample night and on a made market of 300 setups, or on the
night of a data folder. It needs Node and npm.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.tokens.collect import collect
from benchmarks.tokens.counter import CounterError
from benchmarks.tokens.tables import answer_table, offer_table, with_tables
from screener.commands.nightly import seal_sample
from screener.settings.settings import Settings
from tests.conftest import seal_night
from tests.contract.market import write_market

PAGE = Path(__file__).parent / "README.md"
SAMPLE, MARKET = "the sample night", "a night of 300 setups"


def measure(nights: dict[str, Path]) -> str:
    """The tables of what is sent on some nights, by their names."""
    found = {name: collect(folder) for name, folder in nights.items()}
    offers = next(iter(found.values())).offers
    parts = [f"At `{address}`:\n\n{offer_table(offer)}" for address, offer in offers.items()]
    answers = answer_table({name: one.answers for name, one in found.items()})
    return "\n\n".join([*parts, f"Answers, the middle one to the largest:\n\n{answers}"])


def seal_nights(folder: Path) -> dict[str, Path]:
    """Seal the sample night, and the market that is made from it, each in a folder of its own."""
    sample, reference, market = (folder / name for name in ("sample", "reference", "market"))
    seal_sample(Settings(data_dir=sample))
    seal_night(reference)
    write_market(reference, market)
    return {SAMPLE: sample, MARKET: market}


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tokens",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, help="count on the night of this data folder")
    parser.add_argument("--write", action="store_true", help="write the tables into README.md")
    given = parser.parse_args()
    if given.data and given.write:
        parser.error("the page has the sample night and the made market; leave --data out")
    try:
        with tempfile.TemporaryDirectory() as folder:
            nights = {"this night": given.data} if given.data else seal_nights(Path(folder))
            tables = measure(nights)
    except CounterError as error:
        parser.exit(1, f"{error}\n")
    print(tables)
    if given.write:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(with_tables(page, tables), encoding="utf-8")


if __name__ == "__main__":
    main()
