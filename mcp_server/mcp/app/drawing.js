// Drawing: the setup on the bars, as a primitive of lightweight-charts.

const COLOURS = ["paper", "title", "muted", "rule", "grid", "up", "down", "line", "body", "trigger",
  "target", "stop", "reward", "risk", "entry", "last", "on-level", "sma-20", "sma-50", "sma-200"];

/** The colours that are in force in an element, in any notation of CSS, as rgba; and its font. */
function themeColours(place) {
  const probe = place.appendChild(element("i"));
  const pen = element("canvas").getContext("2d", { willReadFrequently: true });
  const found = {};
  for (const name of COLOURS) {
    probe.style.color = `var(--${name})`;
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = getComputedStyle(probe).color;
    pen.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = pen.getImageData(0, 0, 1, 1).data;
    found[name] = `rgba(${red}, ${green}, ${blue}, ${(alpha / 255).toFixed(3)})`;
  }
  found.font = getComputedStyle(place).fontFamily;
  probe.remove();
  return found;
}

/** The price of a line at a session index: straight over the sessions in log price. */
function lineAt({ start, end }, index) {
  if (end.index <= start.index) return start.price;
  const share = (index - start.index) / (end.index - start.index);
  return start.price * (end.price / start.price) ** share;
}

/** The index where a forming pattern's extension ends: `edge`, or the apex before it. */
function reachOf({ upper, lower }, edge) {
  const slope = ({ start, end }) => Math.log(end.price / start.price) / (end.index - start.index || 1);
  const closing = slope(lower) - slope(upper);
  const end = Math.max(upper.end.index, lower.end.index);
  if (closing <= 0) return edge;
  const width = Math.log(lineAt(upper, end) / lineAt(lower, end));
  return Math.min(edge, end + Math.max(0, width / closing));
}

/** Least share of the height that the core has: beside levels, and beside these and the bars around. */
const BESIDE_LEVELS = 0.58, BESIDE_ALL = 0.4;

/**
 * The range of the price axis, which is that of the pictures: all of the core, as many levels as leave it its share, those
 * of the first plan and the nearest first, and what fits of the bars around it. What does not is cut at the edge.
 */
function priceRange(core, around, plans) {
  let [from, to] = core.map(Math.log);
  if (to - from < 0.01) [from, to] = [from - 0.005, to + 0.005];
  const span = to - from;
  for (const levels of plans) {
    const away = (level) => Math.max(from - level, level - to);
    for (const level of levels.map(Math.log).sort((a, b) => away(a) - away(b))) {
      if (Math.max(to, level) - Math.min(from, level) <= span / BESIDE_LEVELS) [from, to] = [Math.min(from, level), Math.max(to, level)];
    }
  }
  const [under, over] = [Math.max(0, from - Math.log(around[0])), Math.max(0, Math.log(around[1]) - to)];
  const share = Math.min(1, (span / BESIDE_ALL - (to - from)) / Math.max(under + over, 1e-12));
  return { minValue: Math.exp(from - under * share), maxValue: Math.exp(to + over * share) };
}

class SetupDrawing {
  constructor(data, price, place) {
    this.data = data;
    this.price = price;
    this.last = data.bars.close.length - 1;
    this.start = data.entry ? "entry" : "trigger";
    this.colours = themeColours(place);
    const view = (zOrder, draw) => ({
      zOrder: () => zOrder,
      renderer: () => ({ draw: (target) => target.useMediaCoordinateSpace((scope) => this.paint(scope, draw)) }),
    });
    this.views = [view("bottom", () => this.drawTints()), view("normal", () => this.drawSetup())];
    this.labels = this.axisLabels();
  }

  /** The levels of a plan: where a running trade was entered or else the trigger, stop, target, and its trigger. */
  levelsOf(plan) {
    const levels = [[this.start, plan.start_price], ["stop", plan.stop_price], ["target", plan.target_price]];
    return this.data.entry ? [...levels, ["trigger", plan.trigger_price]] : levels;
  }

  /** A label for each price, once: of two equal ones the entry's or the trigger's. */
  axisLabels() {
    const { data } = this;
    const levels = [0, 1, 2, 3].flatMap((at) => data.plans.flatMap((plan) => this.levelsOf(plan).slice(at, at + 1)));
    const known = new Map([...levels, ["last", data.last_close]].reverse().map(([kind, value]) => [this.price(value), [kind, value]]));
    return [...known.values()].map(([kind, value]) => this.axisLabel(kind, value));
  }

  attached({ chart, series, requestUpdate }) { Object.assign(this, { chart, series, requestUpdate }); }
  paneViews() { return this.views; }
  priceAxisViews() { return this.labels; }

  /** The prices of the axis while these bars are in view; without any, as the library has it. */
  autoscale(original) {
    const { from: first, to: last } = this.chart.timeScale().getVisibleLogicalRange() ?? {};
    const { data } = this;
    const from = Math.max(0, Math.floor(first)), to = Math.min(this.last, Math.ceil(last));
    if (!(from <= to)) return original();
    const extent = (at) => [Math.min(...data.bars.low.slice(at, to + 1)), Math.max(...data.bars.high.slice(at, to + 1))];
    const starts = [data.lines.upper.start, data.lines.lower.start, ...(data.pole ?? [])].map(({ index }) => Math.floor(index));
    const start = Math.max(from, Math.min(...starts));
    let [low, high] = extent(start <= to ? start : from);
    const reach = high / low;
    for (const line of Object.values(data.lines)) {
      for (const { index } of [line.start, line.end]) {
        const at = lineAt(line, Math.min(Math.max(index, from), to));
        if (index >= from && index <= to && at >= low / reach && at <= high * reach) [low, high] = [Math.min(low, at), Math.max(high, at)];
      }
    }
    const plans = data.plans.map((plan) => this.levelsOf(plan).map(([, price]) => price));
    return { priceRange: priceRange([low, high], extent(from), last >= this.last ? plans : []) };
  }

  /** After the name and the price of a level off the axis, the arrow to where it is. */
  arrow(y) { return y < 0 ? " ↑" : y > this.room() ? " ↓" : ""; }
  room() { return this.chart.panes()[0].getHeight(); }

  axisLabel(kind, value) {
    return {
      coordinate: () => Math.min(Math.max(this.y(value) ?? -1000, 9), this.room() - 9),
      text: () => `${kind === "last" ? "Last " : ""}${this.price(value)}${this.arrow(this.y(value))}`,
      textColor: () => this.colours["on-level"],
      backColor: () => this.colours[kind],
      visible: () => this.isNamed(kind) && this.y(value) !== null,
      tickVisible: () => true,
    };
  }

  /** Whether a level is shown: on a narrow chart, a running trade has no trigger. */
  isNamed(kind) { return kind !== "trigger" || !this.data.entry || this.width >= 480; }

  /** The pixel of a session index, also of one between two bars, for which the library has none. */
  x(index) {
    const scale = this.chart.timeScale(), whole = Math.floor(index);
    const [left, right] = [whole, whole + 1].map((at) => scale.logicalToCoordinate(at));
    return left === null ? null : left + (index - whole) * (right - left);
  }

  y(price) { return this.series.priceToCoordinate(price); }
  point({ index, price }) { return [this.x(index), this.y(price)]; }

  /** Where each touch is marked: on its line, at its bar. */
  touchesOf(line) {
    return line.touches.map(({ index }) => [this.x(index), this.y(lineAt(line, index))]);
  }

  /** Where the levels of each plan stand: boxes side by side from the last bar or the entry on. */
  boxes(width) {
    const { data } = this;
    const start = this.x(data.entry ? data.entry.index : this.last + 0.5);
    const wide = data.plans.length > 1 ? (width - start) / data.plans.length : width - start;
    return data.plans.map((plan, at) => ({
      plan,
      left: start + at * wide + (at ? 3 : 0),
      right: start + (at + 1) * wide,
    }));
  }

  /** Every place of the drawing, in pixels of the chart's main pane. */
  places() {
    const { lines, entry } = this.data;
    const ends = (line) => ({ start: this.point(line.start), end: this.point(line.end), touches: this.touchesOf(line) });
    return {
      upper: ends(lines.upper),
      lower: ends(lines.lower),
      entry: entry && this.point(entry),
      boxes: this.boxes(this.chart.timeScale().width()).map(({ plan, left, right }) => ({
        left, right, levels: Object.fromEntries(this.levelsOf(plan).map(([kind, price]) => [kind, this.y(price)])),
      })),
    };
  }

  paint({ context, mediaSize }, draw) {
    this.pen = context;
    this.width = mediaSize.width;
    this.height = mediaSize.height;
    if (this.x(0) === null || this.y(this.data.last_close) === null) return;
    context.save();
    context.lineCap = "round";
    draw();
    context.restore();
  }

  drawTints() {
    const { pen, colours } = this;
    const { upper, lower } = this.data.lines;
    const from = Math.max(upper.start.index, lower.start.index), to = Math.min(upper.end.index, lower.end.index);
    if (from < to) {
      pen.fillStyle = colours.body;
      pen.beginPath();
      for (const [line, index] of [[upper, from], [upper, to], [lower, to], [lower, from]]) pen.lineTo(this.x(index), this.y(lineAt(line, index)));
      pen.fill();
    }
    for (const box of this.boxes(this.width)) {
      for (const [level, colour] of [[box.plan.target_price, colours.reward], [box.plan.stop_price, colours.risk]]) {
        const [top, bottom] = [this.y(box.plan.start_price), this.y(level)].sort((a, b) => a - b);
        pen.fillStyle = colour;
        pen.fillRect(box.left, top, Math.max(0, box.right - box.left), bottom - top);
      }
    }
  }

  drawSetup() {
    const { data, colours } = this;
    const edge = this.chart.timeScale().coordinateToLogical(this.width) ?? this.last;
    const reach = data.status === "forming" ? reachOf(data.lines, edge) : -Infinity;
    for (const line of Object.values(data.lines)) {
      this.stroke(this.point(line.start), this.point(line.end), colours.line, 2);
      if (reach > line.end.index) {
        const beyond = [this.x(reach), this.y(lineAt(line, reach))];
        this.stroke(this.point(line.end), beyond, colours.line, 1.6, [2, 5]);
      }
    }
    if (data.pole) this.stroke(...data.pole.map((end) => this.point(end)), colours.muted, 2);
    for (const box of this.boxes(this.width)) this.drawLevels(box);
    for (const line of Object.values(data.lines)) for (const at of this.touchesOf(line)) this.dot(at, colours.line, this.width < 480 ? 2.8 : 3.6);
    if (data.status === "forming") this.dot([this.x(this.last + 1), this.y(data.plans[0].trigger_price)], colours.trigger, 4.5);
    if (data.entry) {
      const [x, y] = this.point(data.entry);
      this.stroke([x, 0], [x, this.height], colours.entry, 1, [1, 4]);
      this.dot([x, y], colours.entry, 5);
      const words = `Breakout ${this.dayText(data.entry.date)}`;
      const fits = x > this.wide(words) + 12;
      this.text(words, fits ? x - 6 : x + 6, this.height - 9, colours.entry, fits ? "right" : "left");
    }
  }

  /** A session as people write it, with its year if that is not the one of the night. */
  dayText(day) {
    const year = day.slice(0, 4) === this.data.as_of_session.slice(0, 4) ? undefined : "numeric";
    return dateText(isoDate(day), { weekday: undefined, year });
  }

  drawLevels({ plan, left, right }) {
    const { colours, start, data } = this;
    const sign = plan.target_price > plan.start_price ? -1 : 1;
    const shown = this.levelsOf(plan).filter(([kind]) => this.isNamed(kind));
    const y = Object.fromEntries(shown.map(([kind, price]) => [kind, this.y(price)]));
    for (const [kind] of [...shown].reverse()) {
      this.stroke([left, y[kind]], [right, y[kind]], colours[kind], kind === start ? 2 : 1.4, kind === start ? [] : [5, 4]);
    }
    const free = Math.min(right, this.width) - Math.max(left, this.x(this.last) + 6);
    const room = Math.abs(y.target - y[start]) > 36 ? -sign : sign;
    const after = { stop: percentText(plan.stop_pct), target: percentText(plan.target_pct) };
    if (!data.entry && data.trigger_session) after.trigger = `for ${this.dayText(data.trigger_session)}`;
    const sides = { target: room, stop: -sign, trigger: -sign, [start]: sign };
    for (const [kind] of shown) {
      const name = capital(kind), away = this.arrow(y[kind]);
      const whole = `${name}${after[kind] ? ` ${after[kind]}` : ""}${away}`;
      const words = this.wide(whole) <= free - 8 ? whole : `${name}${away}`;
      const near = y[kind] + sides[kind] * 10, inside = near > 8 && near < this.height - 8;
      const at = Math.min(Math.max(inside ? near : y[kind] - sides[kind] * 10, 8), this.height - 8);
      this.text(words, Math.min(right, this.width) - 5, at, colours[kind], "right");
    }
  }

  wide(text) {
    this.pen.font = `600 11px ${this.colours.font}`;
    return this.pen.measureText(text).width;
  }

  text(words, x, y, colour, align) {
    const { pen, colours } = this;
    pen.font = `600 11px ${colours.font}`;
    pen.textAlign = align;
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    pen.setLineDash([]);
    pen.lineWidth = 3;
    pen.strokeStyle = colours.paper;
    pen.strokeText(words, x, y);
    pen.fillStyle = colour;
    pen.fillText(words, x, y);
  }

  stroke([x1, y1], [x2, y2], colour, width, dashes = []) {
    const { pen } = this;
    pen.setLineDash(dashes);
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.beginPath();
    pen.moveTo(x1, y1);
    pen.lineTo(x2, y2);
    pen.stroke();
  }

  dot([x, y], colour, radius) {
    const { pen } = this;
    for (const [size, fill] of [[radius + 1.5, this.colours.paper], [radius, colour]]) {
      pen.fillStyle = fill;
      pen.beginPath();
      pen.arc(x, y, size, 0, 2 * Math.PI);
      pen.fill();
    }
  }
}
