// Words: numbers, dates and sentences. Text reaches the page through text nodes alone.

const DAY = 86_400_000;
const byId = (id) => document.getElementById(id);

/** An element with text or elements in it. */
function element(name, className, ...parts) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...parts.map((part) => (part instanceof Node ? part : String(part))));
  return made;
}

function dateText(date, options = {}) {
  const shape = { weekday: "short", year: "numeric", month: "short", day: "numeric", timeZone: "UTC" };
  return new Intl.DateTimeFormat("en-US", { ...shape, ...options }).format(date);
}

const isoDate = (text) => new Date(`${text}T00:00:00Z`);

/** Decimals for the smallest price: two from one dollar up, else five significant digits. */
function decimalsOf(price) {
  return price >= 1 ? 2 : Math.min(12, 4 - Math.floor(Math.log10(price)));
}

/** Prices as the service's sentences have them: rounded by their exact value, in groups of three. */
function priceFormat(decimals) {
  return (price) => price.toFixed(decimals).replace(/\B(?=(\d{3})+(?=\.))/g, ",");
}

const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 3 });
const volumeText = (volume) => (volume === null ? "not known" : compact.format(volume));

function percentText(value, decimals = 2) {
  if (value === null || value === undefined) return "none";
  return `${value < 0 ? "-" : "+"}${Math.abs(value).toFixed(decimals)}%`;
}

const statusText = (status) => (status === "in_progress" ? "triggered" : status);
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** Whether the night is old on a day: a session has ended from the UTC day after its date on. */
function ageText(data, today) {
  const night = dateText(isoDate(data.as_of_session));
  if (!data.next_session) return `The night of ${night} does not say which session follows it.`;
  if (today.getTime() < isoDate(data.next_session).getTime() + DAY) return "";
  const next = dateText(isoDate(data.next_session));
  return `This night is old: it is the night of ${night}, and the session of ${next} has ended since.`;
}

/** The chart in words, for a reader who cannot see it. */
function chartText(data, price) {
  const plans = data.plans.map((plan) => {
    const start = data.entry ? `entered on ${data.entry.date} at` : "trigger";
    return `${capital(plan.direction)} plan: ${start} ${price(plan.start_price)}, ` +
      `stop ${price(plan.stop_price)}, target ${price(plan.target_price)}.`;
  });
  const lines = ["upper", "lower"].map((side) => {
    const { start, end, touches } = data.lines[side];
    return `${capital(side)} line from ${price(start.price)} on ${start.date} to ` +
      `${price(end.price)} on ${end.date}, ${touches.length} touches.`;
  });
  return [
    `${[`Daily candles of ${data.symbol} on a log price axis`, ...pricedIn(data), "with volume"].join(", ")}.`,
    `${data.pattern}, ${directionText(data)}, ${statusText(data.status)}, as of ${data.as_of_session}.`,
    `Last close ${price(data.last_close)}.`, ...lines, ...plans,
  ].join(" ").trim();
}

/** The direction of a setup, or those of its plans if they differ. */
const directionText = (data) => [...new Set(data.plans.map((plan) => plan.direction))].join(" or ");

/** Symbol and pattern, then direction and status as badges in the colour of their kind. */
function titleParts(data) {
  const kind = (value, known) => (known.includes(value) ? `badge ${value}` : "badge");
  const name = `${data.symbol}  ·  ${data.pattern}`;
  const direction = directionText(data);
  return [name, " ", element("span", kind(direction, ["bullish", "bearish"]), capital(direction)), " ",
    element("span", kind(data.status, ["forming", "in_progress"]), capital(statusText(data.status)))];
}

/** The currency of all prices, where it is not dollars. */
function pricedIn(data) {
  return data.currency === "USD" ? [] : [`prices in ${data.currency}`];
}

function factsText(data) {
  const facts = [`As of ${dateText(isoDate(data.as_of_session))}`, "daily bars", "log price axis", ...pricedIn(data)];
  const { number, count } = data.attempt ?? {};
  if (typeof data.quality_pct === "number") facts.push(`quality ${data.quality_pct.toFixed(1)}%`);
  if (number > 1 || count > 1) facts.push(`attempt ${number} of ${count}`);
  return facts.join("  ·  ");
}

function ruleText(data) {
  const beyond = data.last_close_side === "beyond";
  return data.trigger_rule + (beyond ? ` The last close is already beyond ${data.plans.length > 1 ? "a" : "the"} trigger.` : "");
}

/** The levels of each plan with their distance from the entry or, before one, the trigger. */
function planElements(data, price) {
  const level = (kind, name, value, note) =>
    element("div", kind, element("dt", "", name), element("dd", "", price(value), " ", element("small", "", note)));
  return data.plans.flatMap((plan) => {
    const { start_price: start, stop_price: stop, target_price: target } = plan;
    const from = data.entry ? " from the entry" : "";
    const reward = plan.reward_to_risk === null ? "" : `, reward to risk ${plan.reward_to_risk.toFixed(2)}${from}`;
    const list = element("dl", "levels");
    if (data.entry) {
      const entered = dateText(isoDate(data.entry.date), { weekday: undefined });
      list.append(level("entry", "Entry", start, entered));
    } else list.append(level("trigger", "Trigger", start, `last close ${price(data.last_close)}`));
    list.append(level("stop", "Stop", stop, percentText(plan.stop_pct)));
    list.append(level("target", "Target", target, `${percentText(plan.target_pct)}${reward}`));
    if (data.entry) list.append(level("last", "Last close", data.last_close, gainText(data)));
    const title = data.plans.length > 1 ? [element("h2", "", `${capital(plan.direction)} plan`)] : [];
    return [...title, list];
  });
}

/** What a running trade has gained so far; empty if the night does not say. */
function gainText({ gain_pct: gain, gain_r: risk }) {
  if (typeof gain !== "number") return "";
  const multiple = typeof risk === "number" ? ` (${risk < 0 ? "" : "+"}${risk.toFixed(2)} R)` : "";
  return `open P/L ${percentText(gain)}${multiple}`;
}

/** What a verdict says of the trades of a record beside random entries. */
const VERDICTS = {
  too_few: "there are too few trades to tell a difference",
  not_distinguishable: "no difference can be shown",
  above_random: "the trades did better",
  below_random: "the trades did worse",
};

/** How often random entries reached the target, and what to make of it; empty on older nights. */
function chanceText(name, record) {
  const verdict = VERDICTS[record.verdict];
  if (!verdict || typeof record.placebo_win_rate_pct !== "number") return "";
  return `${name}: random entries with the same stop and target distances reached the target in ` +
    `${record.placebo_win_rate_pct.toFixed(2)}% of cases; ${verdict}.`;
}

/** The track records: never a win rate without its sample and the average loss. */
function recordElements(data) {
  const { records, symbol } = data;
  const known = [["Family", records.family], [symbol, records.ticker]].filter(([, record]) => record);
  const heading = element("h2", "", "Track record");
  if (!known.length) return [heading, element("p", "", "No trade of this pattern has been resolved yet.")];
  const names = ["", "Trades", "Win rate", "Avg win", "Avg loss"];
  const head = element("tr", "", ...names.map((name) => element("th", "", name)));
  const rows = known.map(([name, record]) => element("tr", "", element("th", "", name),
    element("td", "", record.sample_size),
    element("td", "", `${record.win_rate_pct.toFixed(2)}%`),
    element("td", "", percentText(record.avg_win_pct)),
    element("td", "", percentText(record.avg_loss_pct))));
  for (const cell of head.children) cell.scope = "col";
  for (const row of rows) row.firstChild.scope = "row";
  const table = element("table", "numbers", element("thead", "", head), element("tbody", "", ...rows));
  const later = data.attempt?.number > 1 ? "This is a later attempt; records count only first attempts. " : "";
  const note = later + known.map(([name, record]) => chanceText(name, record)).join(" ").trim();
  const summaries = known.map(([, record]) => element("p", "summary", record.summary));
  return [heading, table, ...(note ? [element("p", "quiet", note)] : []), ...summaries];
}

/** Why a result shows no chart, in one sentence; an error's own text. */
function absenceText(result) {
  const blocks = Array.isArray(result.content) ? result.content : [];
  const said = blocks.find((block) => block?.type === "text")?.text;
  if (result.isError) return typeof said === "string" ? said.slice(0, 2000) : "The call failed.";
  const setups = result.structuredContent?.setups;
  if (Array.isArray(setups) && !setups.length) {
    return "There is no chart: this ticker has no current setup.";
  }
  return "There is no chart: the result has no bars to draw.";
}
