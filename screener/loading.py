"""Loading: what a service imports lives as long as it does, and is not looked through for garbage.

Doing so is a quarter of the time that the imports take.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Imports within the block are not interrupted by the collector, neither then nor later."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
