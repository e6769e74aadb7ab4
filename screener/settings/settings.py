"""Settings: the only reader of what the operator sets. Every one is `SCREENER_` and its name.

Every command reads them, so what few of them need is imported where it is needed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, Self, TypeVar

from pydantic import BeforeValidator, Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from screener.settings.errors import SettingsError as SettingsError
from screener.settings.errors import in_words
from screener.settings.logs import LogFormat, LogLevel
from screener.settings.setting_types import (
    Address,
    FilledPath,
    Host,
    KeyPrefix,
    Origin,
    OrUnset,
    Proxy,
    RedisAddress,
    RegistryName,
    SecretAddress,
    ServerAddress,
    StoreAddress,
    Symbol,
    Url,
    overlap,
)
from store.folder.layout import DataFolder

if TYPE_CHECKING:
    from mcp_server.limits.limits import Quotas
    from mcp_server.presentation.offer import Offer
    from store.database.database import Database

PREFIX: Final = "SCREENER_"

OTHERS: Final = frozenset({"KEY", "URL", "SHARED", "TEST_NIGHT"})
"""Variables of clients, benchmarks and tests, which the service does not read."""

DISCLAIMER = "Educational chart analysis, not investment advice."

MAX_DAYS = 36_500
"""A hundred years; the dates of a calendar end not much later."""

MAX_PER_MINUTE = 1_000_000
MAX_PER_DAY = 1_000_000_000
"""Limits of calls: larger ones cost no memory, but an absurd one is a slip."""

MAX_ADDRESSES = 32
"""That are told of a night, all at once."""


def _split(value: object) -> object:
    if isinstance(value, str):
        return tuple(word.strip() for word in value.split(",") if word.strip())
    return value


T = TypeVar("T")
Words = Annotated[tuple[T, ...], NoDecode, BeforeValidator(_split)]
"""A setting of several words, separated by commas."""


class Settings(BaseSettings):
    """What the operator can set, each with a default that works on one machine.

    A setting that may hold a password or a token is a `SecretAddress`: it is printed without them,
    and no error quotes it. `screener settings` prints the text below each setting.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        frozen=True,
        extra="ignore",
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )

    data_dir: FilledPath = Path("data")
    """Folder of nights, charts and accounts."""
    database_url: OrUnset[ServerAddress] = None
    """Address of the accounts, postgresql://USER:PASSWORD@HOST/DATABASE; SQLite in the data folder
    when unset.
    """
    database_pool: int = Field(default=8, ge=1, le=500)
    """Connections of one process to PostgreSQL, at most, besides the one that listens."""
    database_seconds: float = Field(default=5, ge=0.1, le=600)
    """Seconds for which a call waits for PostgreSQL: for a connection, a lock, a statement."""
    limits_url: OrUnset[RedisAddress] = None
    """Redis in which the limits are counted, for several machines: redis://HOST:PORT/NUMBER,
    rediss:// by TLS; the memory of this machine when unset.
    """
    limits_away: Literal["local", "refuse"] = "local"
    """What happens while that Redis is away: each machine counts by itself (local), or calls answer
    503 (refuse).
    """
    nights_url: OrUnset[StoreAddress] = None
    """Where nights are published for several machines: s3://BUCKET/PREFIX, gs://, az:// or
    file:///SHARED/FOLDER; only the data folder when unset.
    """
    nights_seconds: float = Field(default=20, ge=0.2, le=3600)
    """Seconds between two checks of SCREENER_NIGHTS_URL by a server."""
    nights_kept: int = Field(default=3, ge=1, le=10_000)
    """Nights that a server keeps on its own disk of those at SCREENER_NIGHTS_URL."""
    scratch_url: OrUnset[StoreAddress] = None
    """Where a nightly with --executor puts the sorted bars for its workers while it runs: an
    address as of SCREENER_NIGHTS_URL, which is used when unset.
    """
    public_url: OrUnset[Url] = None
    """Address that clients use; http://HOST:PORT of the server when unset."""
    operator: str | None = Field(default=None, max_length=200)
    """The operator and how to reach them, as pages show it."""
    privacy: FilledPath | None = None
    """Markdown file of your privacy page; a generated one when unset."""
    terms: FilledPath | None = None
    """Markdown file of your terms; short ones when unset."""
    registry_name: OrUnset[RegistryName] = None
    """Name in the MCP registry, such as com.example/screener; from the public address when unset.
    """
    host: Address = "127.0.0.1"
    """Address to listen on."""
    port: int = Field(default=8000, ge=1, le=65535)
    """Port to listen on."""
    workers: int = Field(default=1, ge=1, le=64)
    """Processes that serve together."""
    trusted_proxies: Words[Proxy] = ()
    """Proxies whose X-Forwarded-For is believed: addresses or networks."""
    allowed_hosts: Words[Host] = ()
    """Host headers accepted besides the public one and loopback."""
    allowed_origins: Words[Origin] = ()
    """Origins of pages that may call a private MCP address, besides its own and loopback."""
    demo_symbols: Words[Symbol] = (  # large companies, those of the sample first
        *("AAPL", "MSFT", "GOOG", "IBM", "NVDA", "AMZN", "META", "TSLA", "ORCL", "CSCO"),
        *("INTC", "DIS", "JPM", "BAC", "V", "JNJ", "UNH", "MRK", "PG", "KO", "WMT", "HD"),
        *("XOM", "CVX", "CAT"),
    )
    """Symbols that anybody may read."""
    key_prefix: KeyPrefix = "ps_live_"
    """First 8 characters of every API key."""
    open_pages: bool = False
    """Whether everybody who calls the service by its own name or an IP address sees its scan and
    charts as pages, without signing in; for a private machine.
    """
    extended: bool = True
    """Whether /mcp/extended offers more tools than the seven."""
    beta: bool = True
    """Whether Premium accounts have API access too."""
    source: str = "Pattern screener nightly"
    """Data source label, sealed."""
    disclaimer: str = DISCLAIMER
    """Disclaimer, sealed with each night."""
    key_per_minute: int = Field(default=60, ge=1, le=MAX_PER_MINUTE)
    """Calls a minute with one key."""
    key_per_day: int = Field(default=10_000, ge=1, le=MAX_PER_DAY)
    """Calls a UTC day with one key."""
    account_multiple: int = Field(default=3, ge=1, le=1_000)
    """How many keys' worth of calls one account has, with all its keys and apps."""
    keyless_per_minute: int = Field(default=30, ge=1, le=MAX_PER_MINUTE)
    """Calls a minute from one address without a key, on each of REST and MCP."""
    other_per_minute: int = Field(default=300, ge=1, le=MAX_PER_MINUTE)
    """Requests a minute that are not calls, of each kind: lists of one account, pages of one
    sign-in; lists, pages and refused requests of one address. Pictures of pages are four times as
    many.
    """
    connections: int = Field(default=1024, ge=8, le=100_000)
    """Open connections of one process, at most."""
    requests_at_once: int = Field(default=256, ge=8, le=100_000)
    """Requests under way in one process, at most."""
    registrations_per_minute: int = Field(default=60, ge=1, le=MAX_PER_MINUTE)
    """Apps that may register a minute from one address."""
    client_metadata_documents: bool = True
    """Whether apps may be known by an https address, from which they are read."""
    sign_up: bool = False
    """Whether visitors may make accounts: Premium while in beta."""
    session_idle_days: int = Field(default=7, ge=1, le=MAX_DAYS)
    """Days without a visit that end a browser's sign-in."""
    session_days: int = Field(default=30, ge=1, le=MAX_DAYS)
    """Days after which a browser must sign in again."""
    audit_days: int = Field(default=400, ge=1, le=MAX_DAYS)
    """Days for which audit events are kept."""
    usage_days: int = Field(default=400, ge=1, le=MAX_DAYS)
    """Days for which usage is kept."""
    refresh_leeway_seconds: int = Field(default=0, ge=0, le=60)
    """Seconds in which a refresh token, shown again, gives the same tokens again."""
    session_quorum: float = Field(default=0.8, gt=0, le=1)
    """Share of the active symbols that must have a session before a night is made for it."""
    behind_limit: float = Field(default=0.1, ge=0, le=1)
    """A night is held back if a larger share of the active symbols is behind it."""
    running_sessions: int = Field(default=120, ge=1, le=MAX_DAYS)
    """Sessions after its trigger in which a running trade is served as a setup."""
    min_quality: float | None = Field(default=None, ge=0, le=100)
    """Quality, 0 to 100, from which a nightly serves a setup: lower serves more drawings that
    readers refuse; the detector's own when unset.
    """
    chart_symbols: int | None = Field(default=None, ge=0, le=10_000_000)
    """Symbols with setups whose prices a night keeps for charts; every covered symbol's when unset.
    """
    charts_warm: bool = True
    """Whether the process that draws charts (about 45 MB) starts with the service; else it starts
    with the first chart, which then takes a second longer.
    """
    log_level: LogLevel = "warning"
    """debug, info, warning or error."""
    log_format: LogFormat = "console"
    """How log lines are written: console, for people, or json."""
    access_log: bool = False
    """Whether each request is a log line: time, operation, code, milliseconds, beginning of the
    key, request id.
    """
    metrics_host: Address = "127.0.0.1"
    """Address on which /metrics listens, if it has a port."""
    metrics_port: int | None = Field(default=None, ge=1, le=65535)
    """Port of /metrics, in the form of Prometheus; none when unset."""
    notify: Annotated[tuple[SecretAddress, ...], NoDecode] = Field(
        default=(), max_length=MAX_ADDRESSES
    )
    """Apprise addresses, separated by spaces or commas, that get a message when a night is
    published, held back, fails or is withdrawn; `screener notify --test` tries them.
    """
    notify_symbols: Words[Symbol] = ()
    """Symbols whose changes are listed when a night is published."""
    notify_screens: Words[str] = Field(default=(), max_length=MAX_ADDRESSES)
    """Links to the screen, as its page copies them: what entered and left each is told when a night
    is published.
    """

    @field_validator("notify", mode="before")
    @classmethod
    def _addresses(cls, value: object) -> object:
        if isinstance(value, str):  # an address may have commas of its own
            words = re.split(r"\s+|,(?=[A-Za-z0-9]+://)", value)
            return tuple(word.strip(",") for word in words if word.strip(","))
        return value

    @field_validator("notify")
    @classmethod
    def _with_schemes(cls, value: tuple[SecretAddress, ...]) -> tuple[SecretAddress, ...]:
        for place, address in enumerate(value, 1):
            if not re.match(r"[A-Za-z0-9]+://", address.get_secret_value()):
                raise ValueError(
                    f"address {place} must begin with what it is of, such as mailto://"
                )
        return value

    @model_validator(mode="after")
    def _two_ports(self) -> Self:
        if self.metrics_port == self.port and overlap(self.host, self.metrics_host):
            raise SettingsError(
                f"SCREENER_METRICS_PORT: {self.port} is the port of the service; choose another."
            )
        return self

    @field_validator("log_level", mode="before")
    @classmethod
    def _level(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value

    @property
    def url(self) -> str:
        """The address that clients use, without a slash at its end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.public_url or f"http://{host}:{self.port}"

    @property
    def accounts_url(self) -> str:
        """The SQLAlchemy URL of the account database."""
        if self.database_url is not None:
            return self.database_url.get_secret_value()
        return f"sqlite+aiosqlite:///{DataFolder(self.data_dir).accounts}"

    def database(self, url: str | None = None) -> Database:
        """The account database, or another one that is waited for as long.

        Raises:
            DatabaseError: none can be opened with its URL.
        """
        from store.database.database import Database

        return Database(
            url or self.accounts_url, pool=self.database_pool, seconds=self.database_seconds
        )

    @property
    def notify_addresses(self) -> tuple[str, ...]:
        """The addresses of `notify` as Apprise takes them."""
        return tuple(address.get_secret_value() for address in self.notify)

    @property
    def offer(self) -> Offer:
        """What the service tells its clients."""
        from mcp_server.presentation.offer import Offer

        return Offer(
            public_url=self.url,
            demo_symbols=self.demo_symbols,
            beta=self.beta,
            extended=self.extended,
            registry_name=self.registry_name,
            operator=self.operator,
        )

    @property
    def quotas(self) -> Quotas:
        """The rate limits."""
        from mcp_server.limits.limits import Quotas

        return Quotas(
            key_per_minute=self.key_per_minute,
            key_per_day=self.key_per_day,
            keyless_per_minute=self.keyless_per_minute,
            account_multiple=self.account_multiple,
            other_per_minute=self.other_per_minute,
            apps_per_minute=self.registrations_per_minute,
        )


def unknown_settings() -> dict[str, str | None]:
    """The variables of the environment that look like settings and are none, by name: the setting
    that each is nearest to, None if none is near.
    """
    known = {name.upper() for name in Settings.model_fields}
    unknown = {
        name: bare
        for name in sorted(os.environ)
        if name.upper().startswith(PREFIX)
        and (bare := name.upper().removeprefix(PREFIX)) not in known | OTHERS
    }
    return {name: _nearest(bare, known) for name, bare in unknown.items()}


def _nearest(name: str, known: set[str]) -> str | None:
    from rapidfuzz.distance import OSA
    from rapidfuzz.process import extractOne

    # A quarter of the letters: enough for each slip of a hand, and too few for another word.
    most = max(1, len(name) // 4)
    nearest = extractOne(name, sorted(known), scorer=OSA.distance, score_cutoff=most)
    return f"{PREFIX}{nearest[0]}" if nearest else None


def load_settings(**overrides: object) -> Settings:
    """The settings of the environment, with the options of the command line instead.

    Raises:
        SettingsError: one is malformed or misspelt; the text names it.
    """
    for unknown, meant in unknown_settings().items():
        if meant:
            raise SettingsError(
                f"{unknown} is not a setting; did you mean {meant}? `screener settings` lists them "
                "all."
            )
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**given)  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = f"SCREENER_{str(first['loc'][0]).upper()}"
        raise SettingsError(
            f"{name}: {in_words(error)}; `screener settings` lists them all."
        ) from error
