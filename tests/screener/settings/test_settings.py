"""Settings: what the operator writes, as the service uses it, and what is never printed of it."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from screener.settings.setting_types import SecretAddress
from screener.settings.settings import Settings, SettingsError, load_settings
from tests.screener.command import run

SECRET = "hunter2hunter2"
ADDRESSES = {
    "database_url": f"postgresql://ada:{SECRET}@db.invalid/x",
    "limits_url": f"redis://:{SECRET}@redis.invalid:6379/0",
    "nights_url": f"s3://ada:{SECRET}@nights",
    "scratch_url": f"s3://nights?key={SECRET}",
    "notify": f"json://ada:{SECRET}@hooks.invalid",
}
"""For each setting that may hold a secret an address that does."""
SPEAKS_OF_SECRETS = re.compile(
    r"password|passphrase|token|secret|credential|Apprise|://|_url$", re.I
)
PUBLIC = {"public_url", "refresh_leeway_seconds"}
"""What speaks of one and holds none: an address that all clients know, and a number."""


FIELDS = Settings.model_fields


def marked() -> set[str]:
    return {name for name, field in FIELDS.items() if _holds_secret(field.annotation)}


def _holds_secret(kind: object) -> bool:
    parts = getattr(kind, "__args__", ())
    return (isinstance(kind, type) and issubclass(kind, SecretAddress)) or any(
        map(_holds_secret, parts)
    )


def test_a_setting_that_speaks_of_a_secret_is_marked_as_one() -> None:
    speaks = {
        name
        for name, field in FIELDS.items()
        if SPEAKS_OF_SECRETS.search(name) or SPEAKS_OF_SECRETS.search(field.description or "")
    }

    assert speaks - PUBLIC <= marked()
    assert marked() == set(ADDRESSES)


def test_every_setting_is_described() -> None:
    assert [name for name, field in FIELDS.items() if not field.description] == []


def prints(settings: Settings, name: str) -> Iterator[str]:
    """A setting by whatever a program prints values with."""
    value = getattr(settings, name)
    yield from (repr(settings), str(settings), str(value), repr(value), f"{value}", f"{value!r:>9}")
    yield from (settings.model_dump_json(), repr(settings.model_dump()), str(vars(settings)))
    yield settings.model_dump_json(include={name})


ODD_STORES = [
    {"nights_url": form.format(SECRET)} for form in ("{}", "s3:ada:{}@nights", "az://c/p;Key={}")
]


@pytest.mark.parametrize("address", ODD_STORES)
def test_an_address_that_is_none_of_a_store_is_printed_by_nothing(address: dict[str, str]) -> None:
    settings = load_settings(**address)

    assert all(SECRET not in text for text in prints(settings, "nights_url"))


@pytest.mark.parametrize(("name", "address"), ADDRESSES.items())
def test_a_secret_is_printed_by_nothing_that_prints_settings(
    name: str, address: str, tmp_path: Path
) -> None:
    settings = load_settings(**{name: address})

    assert all(SECRET not in text for text in prints(settings, name))
    (held,) = settings.notify if name == "notify" else (getattr(settings, name),)
    assert held.get_secret_value() == address
    for command in ("settings", "doctor"):
        printed = run(tmp_path, command, **{f"SCREENER_{name.upper()}": address})
        assert SECRET not in printed.stdout + printed.stderr
        assert printed.stdout


STORES = ("s3://AKIA:hunter2@nights", "az://nights?sig=hunter2", "s3://a:hunter2@[nights")
DATABASES = (
    ("postgresql+asyncpg://ada:hunter2@db/screener", "postgresql+asyncpg://ada:***@db/screener"),
    ("postgres://ada:hunter2@db/x?sslmode=require", "postgres://ada:***@db/x?sslmode=require"),
    ("postgresql://ada@db/x?sslpassword=hunter2", "postgresql://ada@db/x?sslpassword="),
    ("postgresql+asyncpg://ada@db/x?password=hunter2", "postgresql+asyncpg://ada@db/x?password="),
    *((url, "***") for url in ("postgresql+asyncpg://ada:a@hunter2/b@db/x", "hunter2")),
    ("postgresql+asyncpg://ada:x@db:hunter2/x", "***"),
)
REDISES = (
    *("redis://localhost", "redis://:hunter2@localhost:6380/2"),
    "rediss://name:hunter2@redis.example.com/0?ssl_check_hostname=false",
    "unix://:hunter2@/run/redis.sock?db=1",
)


@pytest.mark.parametrize(
    ("name", "url", "shown"),
    [
        *(("database_url", *pair) for pair in DATABASES),
        *((name, url, "***") for name in ("nights_url", "scratch_url") for url in STORES),
        *(("limits_url", url, url.replace("hunter2", "***")) for url in REDISES),
    ],
)
def test_an_address_is_shown_without_its_password(name: str, url: str, shown: str) -> None:
    settings = load_settings(**{name: url})

    assert str(getattr(settings, name)).startswith(shown)
    assert "hunter2" not in repr(settings)


WRONG: list[tuple[str, object]] = [
    *((name, wrong) for name in ADDRESSES for wrong in ([SECRET], {"a": SECRET})),
    *(("limits_url", SECRET), ("limits_url", f"redis://h:{SECRET}/0"), ("notify", SECRET)),
]


@pytest.mark.parametrize(("name", "wrong"), WRONG)
def test_a_refusal_quotes_no_secret(name: str, wrong: object) -> None:
    with pytest.raises(SettingsError, match=f"SCREENER_{name.upper()}: ") as refused:
        load_settings(**{name: wrong})

    assert SECRET not in "".join(traceback.format_exception(refused.value))


def test_the_public_address_is_compared_in_lower_case() -> None:
    """Clients send a host in lower case, however the operator wrote it."""
    settings = Settings(public_url="https://SCREENER.Example.com/")

    assert settings.url == "https://screener.example.com"
    assert settings.offer.mcp_url == "https://screener.example.com/mcp"


@pytest.mark.parametrize("blank", ["", " ", "\t\n"])
@pytest.mark.parametrize("name", ["data_dir", "privacy", "terms", "host", "metrics_host"])
def test_a_blank_path_or_host_is_refused(name: str, blank: str) -> None:
    """A blank path would be the current folder, a blank host every address."""
    with pytest.raises(SettingsError, match=f"SCREENER_{name.upper()}: must not be blank"):
        load_settings(**{name: blank})


def test_every_number_has_a_bound_and_one_too_large_is_refused() -> None:
    """A billion calls a minute used to end the start in a traceback."""
    for name, field in FIELDS.items():
        if "int" in str(field.annotation) and "Literal" not in str(field.annotation):
            with pytest.raises(SettingsError, match=f"SCREENER_{name.upper()}: .*at most"):
                load_settings(**{name: 10**12})
