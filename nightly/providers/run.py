"""The run: asks a provider for many symbols, and ends early where asking on is useless."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from nightly.providers.fetch import Fetched

GIVE_UP: Final = 3
"""So many symbols in a row that fail for one cause, which is not theirs, end the run."""


class Run:
    """Symbols under way. Take the `results`, and in any case `end` it for what is left."""

    def __init__(
        self, fetch: Callable[[str], Fetched], symbols: Sequence[str], parallel: int
    ) -> None:
        self.gave_up = ""
        """Why the run ended before its last symbol; empty if it did not."""
        self._executor = ThreadPoolExecutor(parallel)
        self._left: list[tuple[str, Future[Fetched]]] = [
            (symbol, self._executor.submit(fetch, symbol)) for symbol in symbols
        ]
        self._left.reverse()

    def results(self) -> Iterator[Fetched]:
        """The results in the order of the symbols, until too many in a row fail for one cause."""
        row: list[Fetched] = []
        while self._left:
            fetched = self._left[-1][1].result()
            self._left.pop()
            row = [*row, fetched] if row and row[0].cause == fetched.cause else [fetched]
            yield fetched
            if len(row) == GIVE_UP and fetched.cause in ("busy", "store") and self._left:
                self.gave_up = f"{GIVE_UP} symbols in a row failed: {fetched.reason}"
                return

    def end(self, reason: str = "") -> list[Fetched]:
        """Wait for what is under way, and return it with the symbols that were not asked for."""
        self._executor.shutdown(wait=True, cancel_futures=True)
        why = self.gave_up or reason
        left = [
            Fetched(symbol, "untried", reason=why) if future.cancelled() else future.result()
            for symbol, future in reversed(self._left)
        ]
        self._left.clear()
        return left
