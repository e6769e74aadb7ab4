"""The shapes of the API's answers, as its OpenAPI document has them.

Written by `UPDATE_GOLDEN=1 pytest tests/examples/test_client.py`; do not edit. A field that older
nights lack is not required.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


class AfterCosts(TypedDict):
    """Average R after round-trip costs of so many basis points of the entry price."""

    bp_10: float
    bp_25: float


class AppliedFilters(TypedDict):
    """What a scan was narrowed by; null where nothing was sent."""

    family: Family | None
    direction: Literal["bullish", "bearish"] | None
    max_distance_pct: float | None
    predicates: list[dict[str, Any]]
    """In canonical form and order."""


class AsServed(TypedDict):
    """Live results, by the ledger of nights: trades that nights published before they ended.
    `track_record` is the backtest. It leaves out trades that were open on the first night, and
    trades that triggered and ended between two nights. A trade whose symbol left the bars stays
    open.
    """

    sample_size: int
    """Resolved first attempts entered after `first_session`."""
    wins: int
    losses: int
    win_rate_pct: float
    win_rate_ci95: list[float]
    avg_win_pct: float | None
    """Null when there was no win."""
    avg_loss_pct: float | None
    """Negative; null when no trade was lost."""
    avg_r: float
    open: int
    """Trades that are not resolved, even if the symbol left the bars."""
    first_session: str
    """The first night of the ledger."""
    last_session: str
    summary: str
    """Quote it whole."""


class Attempt(TypedDict):
    """Which attempt of the lineage this is, of how many."""

    number: int | None
    count: int | None


Family: TypeAlias = Literal[
    "rising_wedge", "falling_wedge", "bullish_pennant", "bearish_pennant", "triangle"
]


class FamilyEntry(TypedDict):
    """A family and its sealed track record, null when there is none."""

    family: Family
    label: str
    track_record: TrackRecord | None
    as_served: NotRequired[AsServed | None]
    """The record of trades that nights served before they ended, unlike the backtest of
    `track_record`; null until 30 of the family are resolved.
    """


class HistoryRow(TypedDict):
    """One past occurrence on a ticker."""

    setup_id: str | None
    lineage_id: str | None
    family: Family | Literal["other"]
    family_label: str
    pattern_type: (
        Literal[
            "rising_wedge",
            "falling_wedge",
            "symmetrical_triangle",
            "ascending_triangle",
            "descending_triangle",
            "squeeze_consolidation",
        ]
        | None
    )
    direction: Literal["bullish", "bearish"] | None
    outcome: Literal["win", "loss", "open"]
    entry_date: str | None
    entry_price: float | None
    """Close of the breakout bar."""
    stop_price: float | None
    target_price: float | None
    exit_date: str | None
    exit_price: float | None
    realized_move_pct: float | None
    target_move_pct: float | None
    """From the line that was broken to the target. A win, from the entry, is mostly less."""
    r_multiple: float | None
    unrealized_r: float | None
    """Null too if the night does not cover the ticker: the trade may have ended."""
    hold_bars: int | None
    """Daily bars from entry to exit; days on which nothing traded are not counted."""
    attempt: Attempt
    exit_reason: NotRequired[Literal["target", "stop", "delisted"] | None]
    """Null while open. A delisted trade closed at the last close of its symbol; it counts as a
    loss, since the target was not reached.
    """


class KeyView(TypedDict):
    """The calling key, without its secret."""

    prefix: str
    name: str
    created_at: str
    expires_at: str | None
    """When the key stops working; null if never, or for a connected app."""
    read_only: bool
    """Whether it cannot change the watchlist."""


class LimitsView(TypedDict):
    """The limits in force for the caller."""

    tracked_tickers: int
    requests_per_minute: int
    requests_per_day: int
    account_requests_per_minute: int
    """All keys and apps together."""
    account_requests_per_day: int


class Line(TypedDict):
    """A trend line with the swings that touch it."""

    start: PricePoint
    end: PricePoint
    touch_count: int
    touches: list[PricePoint]


class Lines(TypedDict):
    """The two trend lines of a pattern."""

    upper: Line
    lower: Line


class Plan(TypedDict):
    """A trade plan: where it fires, where it is wrong, where it is done."""

    direction: Literal["bullish", "bearish"]
    trigger_price: float
    stop_price: float
    target_price: float


class PricePoint(TypedDict):
    """A price on a date."""

    date: str
    price: float


class ScanSetup(TypedDict):
    """A row of the market-wide scan: a setup with its rank and the numbers behind the rank."""

    setup_id: str
    """Valid for this session only."""
    lineage_id: str
    symbol: str
    interval: Literal["D"]
    family: Family
    family_label: str
    pattern_type: Literal[
        "rising_wedge",
        "falling_wedge",
        "symmetrical_triangle",
        "ascending_triangle",
        "descending_triangle",
        "squeeze_consolidation",
    ]
    direction: Literal["bullish", "bearish"]
    status: Literal["forming", "in_progress"]
    pattern_start: str
    pattern_end: str
    as_of_session: str
    last_close: float
    price_scale: Literal["log"]
    lines: Lines
    """Straight over sessions on a log price axis."""
    trigger_rule: str
    plans: list[Plan]
    """Trigger, stop and target of a trade, in `currency`."""
    track_record: TrackRecords
    attempt: NotRequired[Attempt | None]
    """`number` above 1: a later attempt, which track records do not count."""
    sessions_since_trigger: NotRequired[int | None]
    """Since the breakout bar; null while forming."""
    last_close_side: NotRequired[Literal["before", "beyond"] | None]
    """Which side of the next session's trigger, of either plan, the last close is on; null while
    running.
    """
    entry_price: NotRequired[float | None]
    """Close of the breakout bar, the entry of an open trade; null while forming. Stop, target and
    gain are measured from here, not from `trigger_price`.
    """
    entry_date: NotRequired[str | None]
    """Session of the entry."""
    gain_pct: NotRequired[float | None]
    """Open P/L at the last close, percent of `entry_price`, positive in the trade's favour; null
    while forming.
    """
    gain_r: NotRequired[float | None]
    """Open P/L as a multiple of the distance from entry to stop."""
    currency: NotRequired[str]
    """Currency of all prices: an ISO 4217 code, or `GBX` for pence."""
    quality_pct: NotRequired[float | None]
    """The chance that two chart readers, vision-language models, accept this drawing; it is not
    about the outcome. An open trade keeps the quality of its trigger; null in nights of an older
    detector.
    """
    rank: int
    """1 has the largest `expected_gain_pct`, which is not about the odds."""
    expected_gain_pct: float | None
    """Median winning trade, percent: of the ticker, blended with its family's, scaled to the
    symbol's ATR. It may exceed the move to this setup's target: see `target_move_pct`.
    """
    win_rate_pct: float | None
    win_rate_trades: int
    distance_to_trigger_pct: float
    """Distance from the last close to the trigger, percent; for an open trade see `gain_pct`."""
    target_move_pct: NotRequired[float | None]
    """From the trigger, or the entry of an open trade, to the target, percent; null in nights
    sealed before rows had it.
    """


class Setup(TypedDict):
    """One current pattern on a ticker."""

    setup_id: str
    """Valid for this session only."""
    lineage_id: str
    symbol: str
    interval: Literal["D"]
    family: Family
    family_label: str
    pattern_type: Literal[
        "rising_wedge",
        "falling_wedge",
        "symmetrical_triangle",
        "ascending_triangle",
        "descending_triangle",
        "squeeze_consolidation",
    ]
    direction: Literal["bullish", "bearish"]
    status: Literal["forming", "in_progress"]
    pattern_start: str
    pattern_end: str
    as_of_session: str
    last_close: float
    price_scale: Literal["log"]
    lines: Lines
    """Straight over sessions on a log price axis."""
    trigger_rule: str
    plans: list[Plan]
    """Trigger, stop and target of a trade, in `currency`."""
    track_record: TrackRecords
    attempt: NotRequired[Attempt | None]
    """`number` above 1: a later attempt, which track records do not count."""
    sessions_since_trigger: NotRequired[int | None]
    """Since the breakout bar; null while forming."""
    last_close_side: NotRequired[Literal["before", "beyond"] | None]
    """Which side of the next session's trigger, of either plan, the last close is on; null while
    running.
    """
    entry_price: NotRequired[float | None]
    """Close of the breakout bar, the entry of an open trade; null while forming. Stop, target and
    gain are measured from here, not from `trigger_price`.
    """
    entry_date: NotRequired[str | None]
    """Session of the entry."""
    gain_pct: NotRequired[float | None]
    """Open P/L at the last close, percent of `entry_price`, positive in the trade's favour; null
    while forming.
    """
    gain_r: NotRequired[float | None]
    """Open P/L as a multiple of the distance from entry to stop."""
    currency: NotRequired[str]
    """Currency of all prices: an ISO 4217 code, or `GBX` for pence."""
    quality_pct: NotRequired[float | None]
    """The chance that two chart readers, vision-language models, accept this drawing; it is not
    about the outcome. An open trade keeps the quality of its trigger; null in nights of an older
    detector.
    """


class SideRecord(TypedDict):
    """How the trades of one direction did, in a family that is traded both ways."""

    sample_size: int
    """Resolved trades."""
    wins: int
    win_rate_pct: float
    win_rate_ci95: NotRequired[list[float] | None]
    """95% Wilson interval."""
    avg_win_pct: NotRequired[float | None]
    """Null when there was no win."""
    avg_loss_pct: float | None
    """Negative; null when no trade was lost."""
    avg_r: float
    expected_r: float
    compared: int
    """Trades with random entries of their own; the next four fields cover only these, and are null
    if there are none.
    """
    placebo_win_rate_pct: float | None
    placebo_avg_r: float | None
    lift_r: float | None
    lift_r_se: float | None
    verdict: Literal["too_few", "not_distinguishable", "above_random", "below_random"]
    summary: NotRequired[str | None]
    """The summary of this direction, to be quoted whole in place of that of both; null in nights
    sealed before it was written.
    """


class Sides(TypedDict):
    """The records of both directions; null for a direction without a resolved trade."""

    bullish: SideRecord | None
    bearish: SideRecord | None


class ToldChange(TypedDict):
    """A change as answers tell it."""

    change: Literal["new", "triggered", "stopped", "reached", "expired"]
    """`expired`: no longer listed, even if the trade is still open."""
    reason: Literal[
        "found",
        "breakout",
        "stop",
        "target",
        "delisted",
        "too_old",
        "missed",
        "invalidated",
        "superseded",
        "apex",
        "stale",
        "too_long",
        "data_gap",
        "faded",
        "left_out",
        "revised",
    ]
    """Why; the agent reference explains each."""
    symbol: str
    family: Family
    family_label: str
    pattern_type: Literal[
        "rising_wedge",
        "falling_wedge",
        "symmetrical_triangle",
        "ascending_triangle",
        "descending_triangle",
        "squeeze_consolidation",
    ]
    direction: Literal["bullish", "bearish"]
    lineage_id: str
    setup_id: str | None
    """This night's id; null if no longer listed."""
    attempt: int
    """Which attempt of the lineage."""
    session: str | None
    """Day of the breakout or the exit, if there was one."""
    price: float | None
    """Entry or exit price."""
    currency: NotRequired[str]
    """Currency of `price`."""
    r_multiple: float | None
    """Result of a trade that ended."""
    quality_pct: NotRequired[float | None]
    """Quality in this night; null if no longer listed."""
    last_close: NotRequired[float | None]
    """This night's close where it has bars of the symbol; null for a trade that ended. The levels
    are this night's or, if it is no longer listed, the last ones. All are null in nights that
    are older than these fields.
    """
    trigger_price: NotRequired[float | None]
    """While forming."""
    entry_price: NotRequired[float | None]
    """Entry of a trade."""
    stop_price: NotRequired[float | None]
    target_price: NotRequired[float | None]
    distance_to_trigger_pct: NotRequired[float | None]
    """While forming: from the last close to the trigger, without a sign."""
    gain_pct: NotRequired[float | None]
    """P/L of a trade, open or at its exit, positive in its favour."""
    heading: Literal["new", "near", "triggered", "ended", "gone"]
    """That of the pattern, which an evening lists once: another attempt may have decided it."""
    why: str
    """`reason` in words."""
    night: str
    """Session of the night that found it."""
    opposite_plan: NotRequired[dict[str, Any] | None]
    """The second plan of a triangle that may break either way; left out where there is none."""


class TrackRecord(TypedDict):
    """How the same pattern did: resolved first attempts only, never without its sample."""

    scope: str
    """`family` for a family record."""
    family: Family
    symbol: str | None
    """Null for a family record."""
    win_rate_pct: float
    sample_size: int
    """Resolved trades."""
    wins: int
    losses: int
    avg_win_pct: float | None
    """Null when there was no win."""
    avg_loss_pct: float | None
    """Negative; null when no trade was lost."""
    median_win_pct: float | None
    """Null when there was no win."""
    avg_trade_pct: float
    avg_r: float
    """Average R multiple per trade."""
    expected_r: float
    """Expectancy: average R, each trade capped to -3 and 10, shrunk with the weight of 60 trades. A
    family is shrunk toward zero, a ticker toward its family in the direction of its setup. It
    includes market drift: lift_r compares with random entries, not the difference to
    placebo_avg_r.
    """
    profit_factor: float | None
    """Null when there was no loss."""
    avg_hold_bars: float
    """Average of daily bars from entry to exit, over wins and losses; days without a trade are not
    counted.
    """
    backtest_range: list[str]
    """From the first bar that has 60 traded bars of its symbol before it to the session."""
    detector: NotRequired[int | None]
    """Version of the detector that drew the patterns."""
    method_version: NotRequired[int | None]
    """Version of the method that measured the trades."""
    win_rate_ci95: NotRequired[list[float] | None]
    """95% Wilson interval of win_rate_pct."""
    compared: NotRequired[int | None]
    """Trades with random entries of their own; the next four fields cover only these, and are null
    if there are none.
    """
    placebo_win_rate_pct: NotRequired[float | None]
    """How often random entries with the same stop and target distances reached the target."""
    placebo_avg_r: NotRequired[float | None]
    """Average R of these random entries."""
    lift_r: NotRequired[float | None]
    """Mean R of the `compared` trades minus that of their own random entries; avg_r is of all
    trades, so do not subtract placebo_avg_r from it.
    """
    lift_r_se: NotRequired[float | None]
    """Standard error of lift_r, by half years of entry; null with too few trades."""
    verdict: NotRequired[
        Literal["too_few", "not_distinguishable", "above_random", "below_random"] | None
    ]
    """What lift_r says, corrected for every comparison made."""
    avg_r_after_costs: NotRequired[AfterCosts | None]
    """Average R after round trips of 10 and 25 basis points."""
    by_direction: NotRequired[Sides | None]
    """Each direction separately; null in a family that is traded one way."""
    measured: str
    """What was measured, without open trades."""
    summary: str
    """Quote it whole."""


class TrackRecords(TypedDict):
    """The record of the family and, where there is one, of the ticker."""

    family: TrackRecord | None
    ticker: TrackRecord | None


class TrackedTicker(TypedDict):
    """A tracked ticker and whether tonight's night covers it."""

    symbol: str
    covered: bool


class UnknownListed(TypedDict):
    """What a list of another program names and the service does not know."""

    given: str
    """As it stands in the list, cut to 64 characters."""
    nearest: list[str]
    """Known symbols that may be meant, the nearest first; looked up for the first 20."""


class Envelope(TypedDict):
    """What every JSON success answer begins with."""

    api_version: Literal["v1"]
    as_of_session: str | None
    """Null before the first night."""
    data_version: dict[str, Any]
    """Identifier of the nightly manifest that the records were sealed in; null before the first
    night.
    """
    source: dict[str, Any]
    """Data source."""
    disclaimer: str
    """Repeat it where a person might act."""
    next_session: NotRequired[str | None]
    """The next session that a night is due for; once it is over, this night is old."""
    is_current: NotRequired[bool | None]
    """Whether no session has ended since this one; null where the night names no later session."""


class Me(TypedDict):
    """The calling account."""

    key: KeyView
    plan: str
    """`beta` while the API is in beta."""
    limits: LimitsView
    tracked_ticker_count: int
    docs_url: str
    mcp_url: str


class Scan(TypedDict):
    """One page of the scan."""

    available: bool
    """False when no book exists for the session."""
    status: Literal["forming", "in_progress", "all"]
    filters: AppliedFilters
    sort: NotRequired[str]
    """The order of the rows."""
    without_evidence: NotRequired[dict[str, int]]
    """By kind of filter: how many setups of this status, family and direction have no number for it
    and so cannot match.
    """
    notes: NotRequired[list[str]]
    """What a reader could take for something else: filters that count another number than rows
    show, rows that match by their opposite_plan, open trades, what the night does not cover.
    """
    count: int
    """Matches before paging."""
    limit: int
    offset: int
    setups: list[ScanSetup]


class Changes(TypedDict):
    """What changed since the night before, the last one of an earlier session, or since `since`."""

    available: bool
    """False when there is no earlier night."""
    since_session: str | None
    since_version: str | None
    detector_changed: NotRequired[bool]
    """Whether the night before had another detector: then `new` and `expired` are not listed,
    because the detector would cause them.
    """
    change: Literal["new", "triggered", "stopped", "reached", "expired"] | None
    """The kind asked for; null for all."""
    count: int
    """Matches before paging."""
    limit: int
    offset: int
    next_offset: NotRequired[int | None]
    """Where the next page begins; null after the last row."""
    near_count: NotRequired[int | None]
    """Forming setups near their trigger (phase armed), new ones included; null where a kind is
    asked for.
    """
    near: NotRequired[list[dict[str, Any]]]
    """The nearest of them, on the first page, each with the plan of its nearer trigger, or of the
    direction asked for.
    """
    not_covered: NotRequired[list[str]]
    """Those of `symbols` that the night does not cover."""
    notes: NotRequired[list[str]]
    """What the answer cannot tell, as of days before the earliest night that is kept."""
    changes: list[ToldChange]


class TrackedTickers(TypedDict):
    """The tracked tickers in the user's order, and the cap."""

    count: int
    cap: int
    added: list[str]
    """What this change added."""
    removed: list[str]
    """What it dropped."""
    not_covered: NotRequired[list[str]]
    """What it was asked to track and this night does not cover: it has no setup until one does."""
    tickers: list[TrackedTicker]


class ImportedTickers(TypedDict):
    """The tracked tickers after a list was added to them as far as possible."""

    count: int
    cap: int
    added: list[str]
    """What this change added."""
    removed: list[str]
    """What it dropped."""
    not_covered: NotRequired[list[str]]
    """What it was asked to track and this night does not cover: it has no setup until one does."""
    tickers: list[TrackedTicker]
    unknown: list[UnknownListed]
    """What was not added, since no known symbol is certainly meant."""
    over_cap: list[str]
    """What is known, and was not added for want of room."""


class ExportedTickers(TypedDict):
    """The tracked tickers as a text for other programs."""

    format: Literal["tradingview", "csv"]
    count: int
    text: str
    """The content of the file."""


class Patterns(TypedDict):
    """The setups of one ticker."""

    symbol: str
    available: bool
    reason: NotRequired[Literal["not_covered"] | None]
    setups: list[Setup]


class History(TypedDict):
    """The past occurrences of one ticker, newest entry first."""

    symbol: str
    available: bool
    covered: bool
    last_bar_date: NotRequired[str | None]
    """Where the history of one that is not covered ends; null in nights sealed earlier."""
    notes: NotRequired[list[str]]
    """What is not known of a ticker that is not covered."""
    occurrences: list[HistoryRow]
    count: int
    total: int
    wins: int
    """These three count all that match but for `outcome`, on this page or not."""
    losses: int
    open: int
    currency: NotRequired[str]
    """Currency of all prices."""


class TickerRecord(TypedDict):
    """The own records of one ticker, also without a current setup."""

    symbol: str
    available: bool
    reason: NotRequired[Literal["not_covered", "not_sealed"] | None]
    """`not_sealed`: the night was sealed without such records."""
    records: list[TrackRecord]
    """One for each family in which the ticker has a resolved trade. `expected_r` of a family that
    is traded both ways is of both directions, shrunk towards the family's; `by_direction` has
    that of each.
    """


class Families(TypedDict):
    """All five families, in their fixed order."""

    families: list[FamilyEntry]


class Demo(TypedDict):
    """The setups of one demo symbol."""

    symbol: str
    available: bool
    reason: NotRequired[Literal["not_covered"] | None]
    setups: list[Setup]
    demo: Literal[True]
    next: str
    """How to get a key."""
    chart_url: NotRequired[str | None]
    """The picture of the first setup; left out without one."""


class Error(TypedDict):
    """The body of every error response. Branch on `error`, never on `message`."""

    error: Literal[
        "missing_api_key",
        "invalid_api_key",
        "forbidden",
        "ticker_not_tracked",
        "rate_limited",
        "bad_request",
        "invalid_symbol",
        "unknown_symbol",
        "ticker_cap_exceeded",
        "unknown_family",
        "setup_not_found",
        "chart_unavailable",
        "not_a_demo_symbol",
        "precondition_failed",
        "not_found",
        "method_not_allowed",
        "payload_too_large",
        "internal_error",
        "unavailable",
    ]
    message: str
    """Human text; may change."""
    fix: str
    """What to do next."""
    docs_url: str
    details: NotRequired[dict[str, Any]]
    """Present only with details to give: rejected, unknown, cap, retry_after_seconds, demo_symbols
    or allowed.
    """


class MeAnswer(Envelope, Me):
    """The answer of `GET /me`."""


class ScanAnswer(Envelope, Scan):
    """The answer of `GET /scan`."""


class ChangesAnswer(Envelope, Changes):
    """The answer of `GET /changes`."""


class TrackedTickersAnswer(Envelope, TrackedTickers):
    """The answer of `PUT /tickers`."""


class ImportedTickersAnswer(Envelope, ImportedTickers):
    """The answer of `POST /tickers/import`."""


class ExportedTickersAnswer(Envelope, ExportedTickers):
    """The answer of `GET /tickers/export`."""


class PatternsAnswer(Envelope, Patterns):
    """The answer of `GET /tickers/{symbol}/patterns`."""


class HistoryAnswer(Envelope, History):
    """The answer of `GET /tickers/{symbol}/history`."""


class TickerRecordAnswer(Envelope, TickerRecord):
    """The answer of `GET /tickers/{symbol}/record`."""


class FamiliesAnswer(Envelope, Families):
    """The answer of `GET /families`."""


class FamilyEntryAnswer(Envelope, FamilyEntry):
    """The answer of `GET /families/{family}/stats`."""


class DemoAnswer(Envelope, Demo):
    """The answer of `GET /demo/{symbol}`."""
