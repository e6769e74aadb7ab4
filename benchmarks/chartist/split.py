"""The split: which symbols are set aside for the last round."""

from __future__ import annotations

from hashlib import blake2b


def is_set_aside(symbol: str) -> bool:
    """Whether a symbol belongs to the third that is drawn only in the last round.

    Nothing is chosen on these symbols: no rule, no threshold, no weight. The rule depends on the
    name alone, so it holds for symbols that come later, too.
    """
    digest = blake2b(symbol.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % 3 == 0
