"""Credentials that sign-in hands out: what they look like and how long they live.

They are opaque. Their prefix tells people and secret scanners what they found, and no API key
begins with it.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import secrets
from enum import StrEnum

from store.accounts import ALPHABET

BRAND = "pso_"
"""What every credential and id of sign-in begins with."""

SECRET_LENGTH = 43
"""Random characters of a credential (256 bits)."""

APP_ID_LENGTH = 8
"""Random characters of a grant's id, which has 16 as a key's prefix has."""


class Kind(StrEnum):
    """What a credential is for."""

    CODE = "code"
    ACCESS = "access"
    REFRESH = "refresh"


PREFIXES = {Kind.CODE: "pso_ac_", Kind.ACCESS: "pso_at_", Kind.REFRESH: "pso_rt_"}

LIFETIMES = {
    Kind.CODE: dt.timedelta(seconds=60),
    Kind.ACCESS: dt.timedelta(days=7),
    Kind.REFRESH: dt.timedelta(days=90),
}


def new_credential(kind: Kind) -> str:
    """A credential nobody has seen before."""
    return PREFIXES[kind] + _random(SECRET_LENGTH)


def new_seed() -> str:
    """What makes the successors of a refresh token differ from all others."""
    return _random(SECRET_LENGTH)


def successor(kind: Kind, refresh_token: str, seed: str) -> str:
    """The credential that follows a refresh token: the same again for the same seed.

    HMAC-SHA256 under the token, which only its owner has: neither the seed nor the hashes in the
    database lead to it.
    """
    digest = hmac.digest(refresh_token.encode(), f"{kind}:{seed}".encode(), hashlib.sha256)
    number, letters = int.from_bytes(digest), ""
    for _ in range(SECRET_LENGTH):
        number, index = divmod(number, len(ALPHABET))
        letters += ALPHABET[index]
    return PREFIXES[kind] + letters


def new_grant_prefix() -> str:
    """The id of a grant, which stands where a key's prefix does."""
    return "pso_app_" + _random(APP_ID_LENGTH)


def new_client_id() -> str:
    """The id of a client; not a secret."""
    return "pso_client_" + _random(24)


def new_client_secret() -> str:
    """A client's secret, of unreserved characters alone: some hosts do not encode it for Basic."""
    return "pso_cs_" + _random(SECRET_LENGTH)


def _random(length: int) -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(length))
