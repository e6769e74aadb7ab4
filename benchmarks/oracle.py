"""The detector's reference prototype, read from outside the tree, and its log as event rows."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl

from nightly.bars import Bars, Floats
from nightly.events import TRADE, VERSION, EndReason, EventLog, Rows
from nightly.kernel import compiler

SHARED = Path(os.environ.get("SCREENER_SHARED", Path(__file__).parents[2] / "shared"))
FOLDER = SHARED / "detector_reference"
REAL_BARS = SHARED / "data" / "bars.parquet"

MISSING = f"the reference prototype and its bars are not at {SHARED}"
PRESENT = (FOLDER / "core.py").exists() and REAL_BARS.exists()

# Room for any log, so that the prototype never overflows.
ROOM = 20_000

REASONS = {
    0: EndReason.FORMING,
    1: EndReason.TRIGGERED,
    2: EndReason.TRIGGERED,
    3: EndReason.INVALIDATED,
    4: EndReason.APEX,
    5: EndReason.STALE,
    6: EndReason.TOO_LONG,
    7: EndReason.MISSED,
    9: EndReason.SUPERSEDED,
}

VERSION_COLUMNS = {
    "type": "S_TY",
    "scale": "S_SC",
    "direction": "S_PRI",
    "upper_start": "S_UI",
    "upper_value": "S_UY",
    "upper_slope": "S_UM",
    "lower_start": "S_LI",
    "lower_value": "S_LY",
    "lower_slope": "S_LM",
    "first_served": "S_T0",
    "last_touch": "S_LT",
    "quality": "S_Q",
    "height": "S_H",
    "width": "S_WS",
    "approach": "S_PRE",
    "upper_touches": "S_TU",
    "lower_touches": "S_TL",
    "crossings": "S_SW",
    "lineage": "S_LIN",
    "attempt": "S_ATT",
}

TRADE_COLUMNS = {
    "version": "T_ROW",
    "direction": "T_DIR",
    "entry": "T_EI",
    "entry_price": "T_EP",
    "stop_price": "T_SP",
    "target_price": "T_TP",
    "exit": "T_XI",
    "exit_price": "T_XP",
    "outcome": "T_OUT",
    "atr": "T_ATR",
}


class Oracle:
    """The prototype; its machine code is cached beside that of our kernel."""

    def __init__(self) -> None:
        self.core = prototype("core.py")
        self.parameters = self.core.params()

    def run(self, bars: Bars) -> tuple[Any, ...]:
        """The prototype's own arrays: versions, trades, forming setups and counts."""
        # Writable copies: read-only arrays would be compiled for once more.
        prices = [np.array(part) for part in (bars.open, bars.high, bars.low, bars.close)]
        result: tuple[Any, ...] = self.core.run_symbol(
            *prices, self.parameters, capS=ROOM, capT=ROOM
        )
        return result

    def log(self, bars: Bars) -> EventLog:
        """The prototype's log, in the rows of `nightly.events`.

        Raises:
            OverflowError: the prototype lost events for want of room.
        """
        versions, trades, _, counts = self.run(bars)
        if counts[3]:
            raise OverflowError(f"the prototype lost {counts[3]} events")
        return EventLog(self._versions(versions), self._trades(trades))

    def _versions(self, columns: Floats) -> Rows:
        rows = np.zeros(len(columns), VERSION)
        for name, column in VERSION_COLUMNS.items():
            rows[name] = columns[:, getattr(self.core, column)]
        rows["end"] = columns[:, self.core.SC]
        rows["end_reason"] = [REASONS[int(reason)] for reason in columns[:, self.core.SC + 1]]
        return rows

    def _trades(self, columns: Floats) -> Rows:
        rows = np.zeros(len(columns), TRADE)
        for name, column in TRADE_COLUMNS.items():
            rows[name] = columns[:, getattr(self.core, column)]
        rows["exit_price"][rows["exit"] < 0] = np.nan
        return rows


def prototype(file: str) -> ModuleType:
    """A module of the reference.

    Numba's cache files name the module that they come from; our compiler, imported first, sends
    them to its folder, since the prototype's own may be read-only.
    """
    assert compiler.SETTINGS["CACHE_DIR"]
    name = f"detector_reference_{file.removesuffix('.py')}"
    spec = importlib.util.spec_from_file_location(name, FOLDER / file)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot import {FOLDER / file}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def real_bars(count: int) -> dict[str, Bars]:
    """The bars of `count` symbols spread over the alphabet."""
    everything = pl.scan_parquet(REAL_BARS)
    symbols = everything.select("symbol").unique().sort("symbol").collect()["symbol"].to_list()
    chosen = symbols[:: max(1, len(symbols) // count)][:count]
    table = everything.filter(pl.col("symbol").is_in(chosen)).collect()
    parts = table.partition_by("symbol", as_dict=True)
    return {str(symbol): bars_of(part) for (symbol,), part in sorted(parts.items())}


def bars_of(table: pl.DataFrame) -> Bars:
    return Bars(
        table["date"].to_physical().to_numpy().astype(np.int32),
        *(table[name].to_numpy() for name in ("open", "high", "low", "close", "volume")),
    )
