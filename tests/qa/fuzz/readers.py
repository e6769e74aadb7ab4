"""Readers: what reads files and texts in process, and the errors that it may raise.

A check takes bytes and returns what is wrong; valid files, changed, are the strategies' start.
"""

from __future__ import annotations

import datetime as dt
import gzip
import io
import lzma
import shutil
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import orjson
import polars as pl
import zstandard
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from mcp_server.calls.errors import ApiError
from mcp_server.filters.filters import read_filters
from screener.nightly.errors import NightlyError
from screener.nightly.reading.opening import open_source
from screener.nightly.reference.reference import read_reference
from store.errors import LedgerError, ManifestError
from store.ledger.ledger import Ledger
from store.ledger.manifest import read_manifest
from store.ledger.objects import Name, decoded, first_line
from store.ledger.verify import verify
from tests.qa.fuzz.calls import filters
from tests.qa.fuzz.hostile import changed, damaged, encoded, recut
from tests.qa.fuzz.trial import SLOW
from tests.screener.nightly.vendor_files import READ, REFUSED, Example
from tests.screener.nightly.workbooks import workbook
from tests.store.ledger.ledgers import files, four, manifest_of

MAX_SECONDS = 2.0
"""Of processor time, for one small file."""


@dataclass(frozen=True)
class Reader:
    """A reader under test."""

    name: str
    strategy: SearchStrategy[bytes]
    read: Callable[[bytes, Path], None]
    """Reads bytes, in an empty folder; raises what it should not."""

    def check(self, data: bytes) -> tuple[float, list[str]]:
        """The seconds of processor that it takes, and what is wrong."""
        folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
        before = time.process_time()
        try:
            self.read(data, folder)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            return time.process_time() - before, [f"{type(error).__name__} comes out"]
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        spent = time.process_time() - before
        return spent, [SLOW] if spent > MAX_SECONDS else []


def _filters(data: bytes, _folder: Path) -> None:
    try:
        read_filters(data.decode("utf-8", "replace"))
    except ApiError:
        return


def _manifest(data: bytes, folder: Path) -> None:
    path = folder / "manifest.json"
    path.write_bytes(data)
    try:
        read_manifest(path)
    except ManifestError:
        return


def _ledger_file(data: bytes, _folder: Path) -> None:
    for read in (first_line, lambda body: decoded(Name(1, "20240328-0123456789ab"), body).lines()):
        try:
            read(data)
        except LedgerError:
            continue


def _chain(data: bytes, folder: Path) -> None:
    """A ledger of four objects, of which one is replaced: the newest, or `head.json`."""
    shutil.copytree(four() / "ledger", folder / "ledger")
    newest = "head.json" if data[:1] == b"{" else files(folder)[-1].name
    (folder / "ledger" / newest).write_bytes(data)
    verify(Ledger(folder))


def _reference(data: bytes, folder: Path) -> None:
    path = folder / ("reference.parquet" if data[:4] == b"PAR1" else "reference.csv")
    path.write_bytes(data)
    try:
        read_reference(path)
    except NightlyError:
        return


ENDINGS = {
    b"PAR1": ".parquet",
    b"PK\x03\x04": ".zip",
    b"\x1f\x8b": ".csv.gz",
    b"\xfd7zXZ": ".csv.xz",
    b"\x28\xb5\x2f\xfd": ".csv.zst",
    b"[": ".json",
    b"{": ".ndjson",
}


def _bars(data: bytes, folder: Path) -> None:
    """One file in a folder, and the same file alone."""
    ending = next((end for mark, end in ENDINGS.items() if data.startswith(mark)), ".csv")
    bars = folder / "bars"
    bars.mkdir()
    (bars / f"AAPL{ending}").write_bytes(data)
    for number, path in enumerate((bars, bars / f"AAPL{ending}")):
        try:
            source = open_source(path, folder / f"work{number}").source
            list(source.load(source.names()))
        except NightlyError:
            continue


def _packed(name: str, data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(name), data)
    return out.getvalue()


ODD = {
    "struct": [{"last": 1.0}],
    "list": [[1.0, 2.0]],
    "duration": [dt.timedelta(1)],
    "time": [dt.time(1)],
    "bytes": [b"1.0"],
    "boolean": [True],
    "categorical": pl.Series(["1"], dtype=pl.Categorical),
    "decimal": pl.Series(["1.5"]).cast(pl.Decimal(10, 2)),
    "null": [None],
}
"""Columns of kinds that no price has."""


def _odd_table(close: object) -> bytes:
    """A Parquet file of one bar with an odd close."""
    frame = pl.DataFrame({"date": [dt.date(2024, 1, 2)], "open": [1.0], "high": [1.0]})
    rest = pl.DataFrame({"low": [1.0], "close": close, "volume": [1.0]}, strict=False)
    out = io.BytesIO()
    pl.concat([frame, rest], how="horizontal").write_parquet(out)
    return out.getvalue()


def _records(plain: bytes) -> list[bytes]:
    """The rows of a text as records of JSON, one a line, and as a workbook."""
    head, *rows = (line.decode().split(",") for line in plain.splitlines())
    records = [orjson.dumps(dict(zip(head, row, strict=True))) for row in rows]
    return [b"[" + b",".join(records) + b"]", b"\n".join(records), workbook([[head, *rows]])]


@cache
def bar_files() -> list[bytes]:
    """Valid files of bars of every form that is read, and of forms that are refused."""
    examples: list[Example] = [*READ, *REFUSED]
    found = [example.data for example in examples]
    plain = found[0]
    return [
        *found,
        *(text.encode("utf-16") for text in (plain.decode(), "a;b\n1;2\n")),
        gzip.compress(plain, mtime=0),
        lzma.compress(plain),
        zstandard.compress(plain),
        *_records(plain),
        _packed("AAPL.csv", plain),
        _packed("../AAPL.csv", plain),
        _packed("AAPL.zip", _packed("AAPL.csv", plain)),
        *map(_odd_table, ODD.values()),
    ]


@st.composite
def _changed_bars(draw: st.DrawFn) -> bytes:
    data = draw(st.sampled_from(bar_files()))
    text = b"\n" in data[:400] and b"\0" not in data[:400]
    if text and draw(st.booleans()):
        data = draw(recut(data))
        return draw(recut(data)) if draw(st.booleans()) else data
    return draw(damaged(data))


REFERENCE = (
    b"symbol,name,asset_type,exchange,industry,country,market_cap,adjustment,splits,"
    b"quote_currency,listed_until\n"
    b"AAPL,Apple,stock,XNAS,Hardware & Electronics,US,3e12,split,2020-08-31:4,USD,\n"
    b"BTCUSD,Bitcoin,crypto,,,,1e12,none,,USD,2030-01-01\n"
)


@cache
def _ledger_bytes() -> list[bytes]:
    folder = four()
    return [path.read_bytes() for path in files(folder)]


@st.composite
def _changed_ledger(draw: st.DrawFn) -> bytes:
    """An object with its bytes changed, or with its lines changed and packed again."""
    data = draw(st.sampled_from(_ledger_bytes()))
    if draw(st.booleans()):
        return draw(damaged(data))
    lines = gzip.decompress(data)
    return gzip.compress(draw(damaged(lines) | recut(lines)), mtime=0)


def readers() -> list[Reader]:
    """Every reader, each with what it is given."""
    manifest = orjson.loads(manifest_of(0).encode())
    manifests = changed(manifest).map(encoded)
    head = (four() / "ledger" / "head.json").read_bytes()
    return [
        Reader("filters", filters, _filters),
        Reader("manifest", manifests | manifests.flatmap(damaged), _manifest),
        Reader("ledger", _changed_ledger(), _ledger_file),
        Reader("chain", _changed_ledger() | damaged(head), _chain),
        Reader("reference", damaged(REFERENCE) | recut(REFERENCE), _reference),
        Reader("bars", _changed_bars(), _bars),
    ]
