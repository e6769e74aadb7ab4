"""The ledger of a year: how long it takes to verify, and how large an object is.

    python -m benchmarks.ledger [NIGHTS]

Writes a ledger of `NIGHTS` nights (252 by default) of a market of 1,000 symbols, and one object of
a market of 11,000, with a setup for every seven symbols, far more than real bars have. Prints the
seconds to verify the year beside those that hashing and decompressing the same files alone takes,
and the sizes.
"""

from __future__ import annotations

import datetime as dt
import gzip
import hashlib
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from nightly.since import SETTLED_DAYS
from store.ledger.ledger import Ledger, NightEntry
from store.ledger.manifest import BookFile, Counts, Inputs, Manifest, derive_version
from store.ledger.served import (
    FollowedTrade,
    Line,
    ServedLines,
    ServedOutcome,
    ServedSetup,
    SettledTrade,
    Tally,
    Terms,
)
from store.ledger.verify import verify
from store.wire.families import Family
from store.wire.records import Plan, PricePoint

FIRST = dt.date(2025, 1, 2)
DAY = dt.timedelta(days=1)
SYMBOLS_PER_SETUP = 7
NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def manifest_of(number: int) -> Manifest:
    """The manifest of a night."""
    session = FIRST + number * DAY
    inputs = Inputs(
        bars="bars", bars_sha256="", reference_sha256=None, parameters={}, code_version="1"
    )
    version = derive_version(session, "", "", inputs)
    return Manifest(
        data_version=version,
        as_of_session=session,
        source="",
        disclaimer="",
        schema_version=1,
        book=BookFile(file=f"{version}.book", sha256=f"{number:064x}", bytes=1),
        counts=Counts(known=0, covered=0, setups=0, history=0, resolved=0),
        inputs=inputs,
    )


def letters(chance: Random, number: int) -> str:
    """Letters by chance."""
    return "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=number))


def price(chance: Random) -> float:
    """A price of seven digits."""
    return round(chance.uniform(10, 99), 5)


def setup_of(chance: Random, session: dt.date) -> ServedSetup:
    """A running setup with numbers by chance."""
    entry = session - chance.randrange(60) * DAY
    ends = [PricePoint(date=entry - days * DAY, price=price(chance)) for days in (90, 1)]
    prices = {f"{name}_price": price(chance) for name in ("trigger", "stop", "target")}
    return ServedSetup(
        symbol=letters(chance, 4).upper(),
        lineage_id=letters(chance, 16),
        attempt=1,
        setup_id=letters(chance, 16),
        family=Family.TRIANGLE,
        pattern_type="symmetrical_triangle",
        direction="bullish",
        status="in_progress",
        last_session=session,
        last_close=price(chance),
        lines=ServedLines(upper=ends, lower=ends[::-1]),
        plans=[Plan(direction="bullish", **prices)],
        entry_date=entry,
        entry_price=price(chance),
    )


def lines_of(chance: Random, symbols: int, session: dt.date) -> Iterator[Line]:
    """The setups of a market, a tenth as many followed trades, and a few outcomes."""
    for number in range(symbols // SYMBOLS_PER_SETUP):
        setup = setup_of(chance, session)
        yield setup
        trade = setup.trade()
        if number % 10 == 0 and trade is not None:
            yield trade
        if number % 50 == 0 and trade is not None:
            yield (outcome := resolved(trade, session))
            yield from settled(chance, outcome)


def settled(chance: Random, outcome: ServedOutcome) -> Iterator[SettledTrade]:
    """A settled trade for every session that it is named."""
    for days in range(0, SETTLED_DAYS, 7):
        for day in range(days, days + 5):
            yield SettledTrade(
                symbol=letters(chance, 4).upper(),
                lineage_id=letters(chance, 16),
                attempt=1,
                exit_date=outcome.exit_date - day * DAY,
            )


def resolved(trade: FollowedTrade, session: dt.date) -> ServedOutcome:
    """The trade after its stop was hit."""
    terms: Terms = trade.terms
    return ServedOutcome(
        **trade.model_dump(include={"symbol", "lineage_id", "attempt", "family", "direction"}),
        pattern_type=trade.pattern_type,
        terms=terms,
        exit_reason="stop",
        exit_date=session,
        exit_price=terms.stop_price,
        move_pct=-5.0,
        r_multiple=-1.0,
    )


def append(ledger: Ledger, number: int, symbols: int, tally: Tally) -> Tally:
    """Add a night; returns the totals up to it."""
    manifest = manifest_of(number)
    lines = list(lines_of(Random(number), symbols, manifest.as_of_session))  # noqa: S311
    tally = tally.plus(line for line in lines if isinstance(line, ServedOutcome))
    entry = NightEntry(2, 3, NOW, number or None, tally, lines)
    appended = ledger.night(manifest, entry)
    assert appended is not None
    ledger.add(appended)
    return tally


def main() -> None:
    """Write both ledgers and print their figures."""
    nights = int(sys.argv[1]) if sys.argv[1:] else 252
    with tempfile.TemporaryDirectory() as folder:
        ledger, tally = Ledger(Path(folder) / "year"), Tally.begun(FIRST)
        for number in range(nights):
            tally = append(ledger, number, 1000, tally)
        paths = [ledger.folder / name.file for name in ledger.names()]
        start = time.perf_counter()
        faults = verify(ledger).faults
        verified = time.perf_counter() - start
        assert not faults, faults
        start = time.perf_counter()
        for path in paths:
            body = path.read_bytes()
            hashlib.sha256(body)
            gzip.decompress(body)
        plain = time.perf_counter() - start
        market = Ledger(Path(folder) / "market")
        append(market, 0, 11_000, Tally.begun(FIRST))
        (name,) = market.names()
        large = (market.folder / name.file).stat().st_size
        year = sum(path.stat().st_size for path in paths)
    setups = 11_000 // SYMBOLS_PER_SETUP
    print(
        f"{nights} nights of 1,000 symbols, {year / 1e6:.1f} MB: verified in {verified:.2f} s; "
        f"hashing and decompressing alone {plain:.2f} s ({verified / plain:.1f} times)\n"
        f"one night of 11,000 symbols ({setups:,} setups): {large / 1e3:,.0f} KB"
    )


if __name__ == "__main__":
    main()
