"""Wire records: the shapes that the nightly writes and that every answer serves.

The nightly validates each record against these models before it seals a night, so a reader may
splice the stored JSON without looking at it again. The text below a field is what clients read of
it; some fields have shorter words as well, for agents. The module is long because everything that
clients are told of a shape stands here.
"""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    WithJsonSchema,
    model_serializer,
)
from pydantic.config import JsonDict
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from store.wire.currency import DOLLARS
from store.wire.families import QUALITY, Direction, Family

SHORT: Final = "x-short"
"""The schema keyword of shorter words; empty where the name of a field says enough."""


def short(words: str = "") -> JsonDict:
    """The words of a field for agents, who read every schema before anybody asks anything."""
    return {SHORT: words}


MAX_SYMBOL: Final = 24
"""Characters of a symbol at most."""

Price = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3,5}$")]
Number = Annotated[float, Field(allow_inf_nan=False)]
Percent = Annotated[float, Field(allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]
Interval = Annotated[list[Share], Field(min_length=2, max_length=2)]
Win = Annotated[
    Percent | None, Field(description="Null when there was no win.", json_schema_extra=short())
]
Loss = Annotated[
    Percent | None,
    Field(description="Negative; null when no trade was lost.", json_schema_extra=short()),
]
Symbol = Annotated[str, Field(pattern=r"^[A-Z0-9.]+$", max_length=MAX_SYMBOL)]
Status = Literal["forming", "in_progress"]
Outcome = Literal["win", "loss", "open"]
ExitReason = Literal["target", "stop", "delisted"]
Verdict = Literal["too_few", "not_distinguishable", "above_random", "below_random"]
CloseSide = Literal["before", "beyond"]
ChangeKind = Literal["new", "triggered", "stopped", "reached", "expired"]
ChangeHeading = Literal["new", "near", "triggered", "ended", "gone"]
ChangeReason = Literal[
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
PatternType = Literal[
    "rising_wedge",
    "falling_wedge",
    "symmetrical_triangle",
    "ascending_triangle",
    "descending_triangle",
    "squeeze_consolidation",
]


class Record(BaseModel):
    """A frozen record that refuses fields it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """The schema, in which a description that takes several lines here takes one."""
        schema = handler(core_schema)
        for field in handler.resolve_ref_schema(schema).get("properties", {}).values():
            if "description" in field:
                field["description"] = " ".join(field["description"].split())
        return schema


class PricePoint(Record):
    """A price on a date."""

    date: dt.date
    price: Price


class PastLine(Record):
    """A trend line by its dated endpoints; straight over the bar index on a log price axis."""

    start: PricePoint
    end: PricePoint


class PastLines(Record):
    """The two trend lines of a past trade."""

    upper: PastLine
    lower: PastLine


class Line(PastLine):
    """A trend line with the swings that touch it."""

    touch_count: Count
    touches: list[PricePoint]


class Lines(Record):
    """The two trend lines of a pattern."""

    upper: Line
    lower: Line


class Plan(Record):
    """A trade plan: where it fires, where it is wrong, where it is done."""

    direction: Direction
    trigger_price: Price
    stop_price: Price
    target_price: Price


class AfterCosts(Record):
    """Average R after round-trip costs of so many basis points of the entry price."""

    bp_10: Number
    bp_25: Number


class SideRecord(Record):
    """How the trades of one direction did, in a family that is traded both ways."""

    sample_size: Annotated[int, Field(ge=1)]
    """Resolved trades."""
    wins: Count
    win_rate_pct: Share
    win_rate_ci95: Interval | None = Field(default=None, json_schema_extra=short())
    """95% Wilson interval."""
    avg_win_pct: Win = None
    avg_loss_pct: Loss
    avg_r: Number
    expected_r: Number
    compared: Count = Field(json_schema_extra=short("Trades with random entries of their own."))
    """Trades with random entries of their own; the next four fields cover only these, and are null
    if there are none.
    """
    placebo_win_rate_pct: Share | None
    placebo_avg_r: Number | None
    lift_r: Number | None
    lift_r_se: Number | None
    verdict: Verdict
    summary: str | None = None
    """The summary of this direction, to be quoted whole in place of that of both; null in nights
    sealed before it was written.
    """


class Sides(Record):
    """The records of both directions; null for a direction without a resolved trade."""

    bullish: SideRecord | None
    bearish: SideRecord | None


class TrackRecord(Record):
    """How the same pattern did: resolved first attempts only, never without its sample."""

    scope: Annotated[
        Literal["family", "ticker"],
        WithJsonSchema({"type": "string", "description": "`family` for a family record."}),
    ]
    family: Family
    symbol: Symbol | None
    """Null for a family record."""
    win_rate_pct: Share
    sample_size: Annotated[int, Field(ge=1)]
    """Resolved trades."""
    wins: Count
    losses: Count
    avg_win_pct: Win
    avg_loss_pct: Percent | None = Field(json_schema_extra=short("Negative."))
    """Negative; null when no trade was lost."""
    median_win_pct: Win
    avg_trade_pct: Percent
    avg_r: Number
    """Average R multiple per trade."""
    expected_r: Number = Field(
        json_schema_extra=short(
            "avg_r, each trade capped to -3 and 10, shrunk by 60 trades: a family toward zero, a "
            "ticker toward its family in the setup's direction. It includes market drift: see "
            "lift_r."
        )
    )
    """Expectancy: average R, each trade capped to -3 and 10, shrunk with the weight of 60 trades. A
    family is shrunk toward zero, a ticker toward its family in the direction of its setup. It
    includes market drift: lift_r compares with random entries, not the difference to placebo_avg_r.
    """
    profit_factor: Number | None = Field(json_schema_extra=short())
    """Null when there was no loss."""
    avg_hold_bars: Number = Field(json_schema_extra=short("Traded days to exit, won or lost."))
    """Average of daily bars from entry to exit, over wins and losses; days without a trade are not
    counted.
    """
    backtest_range: Annotated[list[dt.date], Field(min_length=2, max_length=2)] = Field(
        json_schema_extra=short()
    )
    """From the first bar that has 60 traded bars of its symbol before it to the session."""
    detector: int | None = Field(
        default=None, json_schema_extra=short("Version of the pattern detector.")
    )
    """Version of the detector that drew the patterns."""
    method_version: int | None = Field(default=None, json_schema_extra=short())
    """Version of the method that measured the trades."""
    win_rate_ci95: Interval | None = None
    """95% Wilson interval of win_rate_pct."""
    compared: Count | None = None
    """Trades with random entries of their own; the next four fields cover only these, and are null
    if there are none.
    """
    placebo_win_rate_pct: Share | None = Field(
        default=None,
        json_schema_extra=short("Result of random entries, same stop and target distances."),
    )
    """How often random entries with the same stop and target distances reached the target."""
    placebo_avg_r: Number | None = Field(
        default=None, json_schema_extra=short("Average R of these random entries.")
    )
    """Average R of these random entries."""
    lift_r: Number | None = None
    """Mean R of the `compared` trades minus that of their own random entries; avg_r is of all
    trades, so do not subtract placebo_avg_r from it.
    """
    lift_r_se: Number | None = None
    """Standard error of lift_r, by half years of entry; null with too few trades."""
    verdict: Verdict | None = None
    """What lift_r says, corrected for every comparison made."""
    avg_r_after_costs: AfterCosts | None = Field(
        default=None, json_schema_extra=short("After round trips of 10 and 25 basis points.")
    )
    """Average R after round trips of 10 and 25 basis points."""
    by_direction: Sides | None = Field(
        default=None, json_schema_extra=short("Null in a family that is traded one way.")
    )
    """Each direction separately; null in a family that is traded one way."""
    measured: str
    """What was measured, without open trades."""
    summary: str
    """Quote it whole."""


class TrackRecords(Record):
    """The record of the family and, where there is one, of the ticker."""

    family: TrackRecord | None
    ticker: TrackRecord | None


class Attempt(Record):
    """Which attempt of the lineage this is, of how many."""

    number: Annotated[int, Field(ge=1)] | None
    count: Annotated[int, Field(ge=1)] | None


class Setup(Record):
    """One current pattern on a ticker."""

    setup_id: str
    """Valid for this session only."""
    lineage_id: str
    symbol: Symbol
    interval: Literal["D"]
    family: Family
    family_label: str
    pattern_type: PatternType
    direction: Direction
    status: Status
    pattern_start: dt.date
    pattern_end: dt.date
    as_of_session: dt.date
    last_close: Price
    price_scale: Literal["log"]
    lines: Lines
    """Straight over sessions on a log price axis."""
    trigger_rule: str
    plans: Annotated[list[Plan], Field(min_length=1)]
    """Trigger, stop and target of a trade, in `currency`."""
    track_record: TrackRecords
    attempt: Attempt | None = None
    """`number` above 1: a later attempt, which track records do not count."""
    sessions_since_trigger: Count | None = None
    """Since the breakout bar; null while forming."""
    last_close_side: CloseSide | None = None
    """Which side of the next session's trigger, of either plan, the last close is on; null while
    running.
    """
    entry_price: Price | None = Field(
        default=None,
        json_schema_extra=short(
            "Entry of an open trade; stop, target and gain are measured from it."
        ),
    )
    """Close of the breakout bar, the entry of an open trade; null while forming. Stop, target and
    gain are measured from here, not from `trigger_price`.
    """
    entry_date: dt.date | None = None
    """Session of the entry."""
    gain_pct: Percent | None = Field(
        default=None, json_schema_extra=short("Open P/L, positive in the trade's favour.")
    )
    """Open P/L at the last close, percent of `entry_price`, positive in the trade's favour;
    null while forming.
    """
    gain_r: Number | None = Field(default=None, json_schema_extra=short("Open P/L in R."))
    """Open P/L as a multiple of the distance from entry to stop."""
    currency: Currency = Field(default=DOLLARS, json_schema_extra=short("Currency of all prices."))
    """Currency of all prices: an ISO 4217 code, or `GBX` for pence."""
    quality_pct: Share | None = Field(
        default=None,
        description=f"{QUALITY} An open trade keeps the quality of its trigger; null in nights of "
        "an older detector.",
        json_schema_extra=short(QUALITY),
    )


class ScanSetup(Setup):
    """A row of the market-wide scan: a setup with its rank and the numbers behind the rank."""

    rank: Annotated[int, Field(ge=1)]
    """1 has the largest `expected_gain_pct`, which is not about the odds."""
    expected_gain_pct: Percent | None
    """Median winning trade, percent: of the ticker, blended with its family's, scaled to the
    symbol's ATR. It may exceed the move to this setup's target: see `target_move_pct`.
    """
    win_rate_pct: Share | None
    win_rate_trades: Count
    distance_to_trigger_pct: Percent
    """Distance from the last close to the trigger, percent; for an open trade see `gain_pct`.
    """
    target_move_pct: Percent | None = None
    """From the trigger, or the entry of an open trade, to the target, percent; null in nights
    sealed before rows had it.
    """


class NearestDrawing(Record):
    """The drawing that came furthest on a symbol without a setup; named and drawn if it fails no
    rule but the score.
    """

    rule: str
    """The first rule that it fails, a key of `DRAWING_RULES` in `store.wire.labels`."""
    value: Number
    bound: Number
    """What the rule needs: more than the value at least, else at most."""
    family_label: str | None = None
    pattern_type: PatternType | None = None
    quality_pct: Share | None = None
    lines: PastLines | None = None


class HistoryRow(Record):
    """One past occurrence on a ticker."""

    setup_id: str | None
    lineage_id: str | None
    family: Family | Literal["other"]
    family_label: str
    pattern_type: PatternType | None
    direction: Direction | None
    outcome: Outcome
    entry_date: dt.date | None
    entry_price: Price | None
    """Close of the breakout bar."""
    stop_price: Price | None
    target_price: Price | None
    exit_date: dt.date | None
    exit_price: Price | None
    realized_move_pct: Percent | None
    target_move_pct: Percent | None = Field(json_schema_extra=short())
    """From the line that was broken to the target. A win, from the entry, is mostly less."""
    r_multiple: Number | None
    unrealized_r: Number | None = Field(json_schema_extra=short())
    """Null too if the night does not cover the ticker: the trade may have ended."""
    hold_bars: Annotated[int, Field(ge=1)] | None = Field(json_schema_extra=short())
    """Daily bars from entry to exit; days on which nothing traded are not counted."""
    attempt: Attempt
    exit_reason: ExitReason | None = Field(
        default=None,
        json_schema_extra=short(
            "Null while open; `delisted` closed at the last close of its symbol, a loss."
        ),
    )
    """Null while open. A delisted trade closed at the last close of its symbol; it counts as a
    loss, since the target was not reached.
    """


class PastTrade(HistoryRow):
    """A past occurrence as a night keeps it, with its lines as they were when the trigger fired.

    Answers leave them out, since they make a history half as long again: its chart draws them.
    """

    lines: PastLines | None = None
    """Each from its first touch to the bar before the trigger; null in a night sealed earlier."""


class Envelope(Record):
    """What every JSON success answer begins with."""

    api_version: Literal["v1"]
    as_of_session: dt.date | None
    """Null before the first night."""
    data_version: Annotated[
        str | None,
        WithJsonSchema(
            {
                "description": "Identifier of the nightly manifest that the records were sealed "
                "in; null before the first night.",
                **short("Id of the night."),
            }
        ),
    ]
    source: Annotated[str, WithJsonSchema({"description": "Data source."})]
    disclaimer: str
    """Repeat it where a person might act."""
    next_session: dt.date | None = Field(
        default=None, json_schema_extra=short("Once it is over, this night is old.")
    )
    """The next session that a night is due for; once it is over, this night is old."""
    is_current: bool | None = Field(default=None, json_schema_extra=short())
    """Whether no session has ended since this one; null where the night names no later session."""


class Availability(Record):
    """Whether the night has what was asked of a ticker."""

    symbol: Symbol
    available: bool
    reason: Literal["not_covered", "not_sealed"] | None = None

    @model_serializer(mode="wrap")
    def _leave_out_absent_reason(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = handler(self)
        if self.reason is None:
            del fields["reason"]
        return fields


class Patterns(Availability):
    """The setups of one ticker."""

    reason: Literal["not_covered"] | None = None
    setups: list[Setup]


class TickerRecord(Availability):
    """The own records of one ticker, also without a current setup."""

    reason: Literal["not_covered", "not_sealed"] | None = None
    """`not_sealed`: the night was sealed without such records."""
    records: list[TrackRecord]
    """One for each family in which the ticker has a resolved trade. `expected_r` of a family that
    is traded both ways is of both directions, shrunk towards the family's; `by_direction` has that
    of each.
    """


class Demo(Patterns):
    """The setups of one demo symbol."""

    demo: Literal[True]
    next: str
    """How to get a key."""
    chart_url: str | None = None
    """The picture of the first setup; left out without one."""


class History(Record):
    """The past occurrences of one ticker, newest entry first."""

    symbol: Symbol
    available: bool
    covered: bool
    last_bar_date: dt.date | None = Field(default=None, json_schema_extra=short())
    """Where the history of one that is not covered ends; null in nights sealed earlier."""
    notes: list[str] = Field(default=[], json_schema_extra=short())
    """What is not known of a ticker that is not covered."""
    occurrences: list[HistoryRow]
    count: Count
    total: Count
    wins: Count = Field(json_schema_extra=short("These three count all outcomes."))
    """These three count all that match but for `outcome`, on this page or not."""
    losses: Count
    open: Count
    currency: Currency = Field(default=DOLLARS, json_schema_extra=short())
    """Currency of all prices."""


class AsServed(Record):
    """Live results, by the ledger of nights: trades that nights published before they ended.
    `track_record` is the backtest.

    It leaves out trades that were open on the first night, and trades that triggered and ended
    between two nights. A trade whose symbol left the bars stays open.
    """

    sample_size: Annotated[int, Field(ge=1)]
    """Resolved first attempts entered after `first_session`."""
    wins: Count
    losses: Count
    win_rate_pct: Share
    win_rate_ci95: Interval
    avg_win_pct: Win
    avg_loss_pct: Loss
    avg_r: Number
    open: Count = Field(json_schema_extra=short("Not resolved, even if the symbol left the bars."))
    """Trades that are not resolved, even if the symbol left the bars."""
    first_session: dt.date
    """The first night of the ledger."""
    last_session: dt.date
    summary: str
    """Quote it whole."""


class FamilyEntry(Record):
    """A family and its sealed track record, null when there is none."""

    family: Family
    label: str
    track_record: TrackRecord | None
    as_served: AsServed | None = Field(
        default=None,
        json_schema_extra=short(
            "Live results: trades that nights published before they ended; null below 30."
        ),
    )
    """The record of trades that nights served before they ended, unlike the backtest of
    `track_record`; null until 30 of the family are resolved.
    """


class Families(Record):
    """All five families, in their fixed order."""

    families: Annotated[list[FamilyEntry], Field(min_length=5, max_length=5)]


class TrackedTicker(Record):
    """A tracked ticker and whether tonight's night covers it."""

    symbol: Symbol
    covered: bool


class EditedTickers(Record):
    """What a change of the tracked list did, and how long the list is now."""

    count: Count
    cap: Count
    added: list[Symbol]
    """What this change added."""
    removed: list[str]
    """What it dropped."""
    not_covered: list[Symbol] = Field(default=[], json_schema_extra=short())
    """What it was asked to track and this night does not cover: it has no setup until one does."""


class TrackedTickers(EditedTickers):
    """The tracked tickers in the user's order, and the cap."""

    tickers: list[TrackedTicker]


class UnknownListed(Record):
    """What a list of another program names and the service does not know."""

    given: str
    """As it stands in the list, cut to 64 characters."""
    nearest: list[Symbol]
    """Known symbols that may be meant, the nearest first; looked up for the first 20."""


class ImportedTickers(TrackedTickers):
    """The tracked tickers after a list was added to them as far as possible."""

    unknown: list[UnknownListed]
    """What was not added, since no known symbol is certainly meant."""
    over_cap: list[Symbol]
    """What is known, and was not added for want of room."""


class ExportedTickers(Record):
    """The tracked tickers as a text for other programs."""

    format: Literal["tradingview", "csv"]
    count: Count
    text: str
    """The content of the file."""


class AppliedFilters(Record):
    """What a scan was narrowed by; null where nothing was sent."""

    family: Family | None
    direction: Direction | None
    max_distance_pct: Number | None
    predicates: list[dict[str, Any]]
    """In canonical form and order."""


WITHOUT_EVIDENCE: Final = (
    "By kind of filter: how many setups of this status, family and direction have no number for it "
    "and so cannot match."
)
NOTES: Final = (
    "What a reader could take for something else: filters that count another number than rows "
    "show, rows that match by their opposite_plan, open trades, what the night does not cover."
)


class Scan(Record):
    """One page of the scan."""

    available: bool
    """False when no book exists for the session."""
    status: Literal["forming", "in_progress", "all"]
    filters: AppliedFilters
    sort: str = "rank"
    """The order of the rows."""
    without_evidence: dict[str, int] = Field(default={}, description=WITHOUT_EVIDENCE)
    notes: list[str] = Field(default=[], description=NOTES)
    count: Count
    """Matches before paging."""
    limit: Count
    offset: Count
    setups: list[ScanSetup]


class ScanRows(Record):
    """One page of the scan, in short rows or full ones."""

    available: bool
    status: Literal["forming", "in_progress", "all"]
    filters: dict[str, Any]
    sort: str
    without_evidence: dict[str, int] = Field(description=WITHOUT_EVIDENCE)
    notes: list[str] = Field(description=NOTES)
    count: Count
    """Matches before paging."""
    limit: Count
    offset: Count
    covered: dict[str, int]
    """Symbols that the night covers, by asset type."""
    counts: dict[str, int]
    """Matches by status, including those not asked for."""
    next_offset: Count | None = None
    """Where the next page begins; null after the last row."""
    family_records: dict[str, Any] = {}
    """With full rows: the track_record.family of each family in them, once."""
    setups: list[dict[str, Any]]
    """Compact rows: rank, symbol, setup_id, family, direction, status, attempt, quality_pct,
    distance_to_trigger_pct, last_close_side (forming), gain_pct, gain_r, entry_price and
    entry_date (in_progress), last_close, trigger_price, stop_price, target_price, reward_to_risk
    (from the trigger or entry) and reward_to_risk_left (from the last close, in_progress; null
    within 0.25 R of the stop), expected_r with its scope and sample, placebo_avg_r, the R of random
    entries, with placebo_scope, expected_gain_pct (estimated win; may exceed
    target_move_pct), and win_rate_pct and verdict with win_rate_scope, win_rate_trades and
    avg_loss_pct. ticker_...: the ticker's own record, if a filter looks at it.
    other_attempts: setup_ids of the same pattern. opposite_plan: the second plan of a triangle that
    may break either way, with its numbers. currency: if not USD.
    """


class Change(Record):
    """A change of a setup since the night before."""

    change: ChangeKind
    """`expired`: no longer listed, even if the trade is still open."""
    reason: ChangeReason
    """Why; the agent reference explains each."""
    symbol: Symbol
    family: Family
    family_label: str
    pattern_type: PatternType
    direction: Direction
    lineage_id: str
    setup_id: str | None
    """This night's id; null if no longer listed."""
    attempt: Annotated[int, Field(ge=1)]
    """Which attempt of the lineage."""
    session: dt.date | None
    """Day of the breakout or the exit, if there was one."""
    price: Price | None
    """Entry or exit price."""
    currency: Currency = DOLLARS
    """Currency of `price`."""
    r_multiple: Number | None
    """Result of a trade that ended."""
    quality_pct: Share | None = None
    """Quality in this night; null if no longer listed."""
    last_close: Price | None = None
    """This night's close where it has bars of the symbol; null for a trade that ended. The levels
    are this night's or, if it is no longer listed, the last ones. All are null in nights that are
    older than these fields.
    """
    trigger_price: Price | None = None
    """While forming."""
    entry_price: Price | None = None
    """Entry of a trade."""
    stop_price: Price | None = None
    target_price: Price | None = None
    distance_to_trigger_pct: Percent | None = None
    """While forming: from the last close to the trigger, without a sign."""
    gain_pct: Percent | None = None
    """P/L of a trade, open or at its exit, positive in its favour."""


class DrawnChange(Change):
    """A change as a night keeps it. Answers leave the drawing out; its chart has it."""

    lines: PastLines | None = None
    """The lines of a setup that is not listed any more, to the bar that ended or triggered it."""
    crossed: PricePoint | None = None
    """The close beyond its other line that ended it, if one did: the lines end on that day."""


class ToldChange(Change):
    """A change as answers tell it."""

    heading: ChangeHeading
    """That of the pattern, which an evening lists once: another attempt may have decided it."""
    why: str
    """`reason` in words."""
    night: dt.date
    """Session of the night that found it."""
    opposite_plan: dict[str, Any] | None = None
    """The second plan of a triangle that may break either way; left out where there is none."""


class Changes(Record):
    """What changed since the night before, the last one of an earlier session, or since `since`."""

    available: bool
    """False when there is no earlier night."""
    since_session: dt.date | None
    since_version: str | None
    detector_changed: bool = False
    """Whether the night before had another detector: then `new` and `expired` are not listed,
    because the detector would cause them.
    """
    change: ChangeKind | None
    """The kind asked for; null for all."""
    count: Count
    """Matches before paging."""
    limit: Count
    offset: Count
    next_offset: Count | None = None
    """Where the next page begins; null after the last row."""
    near_count: Count | None = None
    """Forming setups near their trigger (phase armed), new ones included; null where a kind is
    asked for.
    """
    near: list[dict[str, Any]] = []
    """The nearest of them, on the first page, each with the plan of its nearer trigger, or of the
    direction asked for.
    """
    not_covered: list[str] = []
    """Those of `symbols` that the night does not cover."""
    notes: list[str] = []
    """What the answer cannot tell, as of days before the earliest night that is kept."""
    changes: list[ToldChange]


class KeyView(Record):
    """The calling key, without its secret."""

    prefix: Annotated[str, Field(min_length=16, max_length=16)]
    name: str
    created_at: dt.datetime
    expires_at: dt.datetime | None
    """When the key stops working; null if never, or for a connected app."""
    read_only: bool
    """Whether it cannot change the watchlist."""


class LimitsView(Record):
    """The limits in force for the caller."""

    tracked_tickers: Count
    requests_per_minute: Count
    requests_per_day: Count
    account_requests_per_minute: Count
    """All keys and apps together."""
    account_requests_per_day: Count


class Me(Record):
    """The calling account."""

    key: KeyView
    plan: str
    """`beta` while the API is in beta."""
    limits: LimitsView
    tracked_ticker_count: Count
    docs_url: str
    mcp_url: str
