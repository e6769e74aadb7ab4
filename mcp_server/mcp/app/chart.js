// The chart: lightweight-charts with candles, volume and the drawing of the setup.

const { createChart, CandlestickSeries, HistogramSeries, LineSeries, PriceScaleMode, CrosshairMode, TickMarkType } = LightweightCharts;
const PLAIN = { priceLineVisible: false, lastValueVisible: false };
const MIN_BARS = 60, MAX_BARS = 260;

/** A date on the time axis: a year, a month or a day. */
function tickText(date, kind) {
  const shapes = { [TickMarkType.Year]: { year: "numeric" }, [TickMarkType.Month]: { month: "short" } };
  const shape = shapes[kind] ?? { month: "short", day: "numeric" };
  return new Intl.DateTimeFormat("en-US", { ...shape, timeZone: "UTC" }).format(date);
}

class SetupChart {
  constructor(container, data, onBar) {
    this.data = data;
    this.last = data.bars.close.length - 1;
    this.times = data.bars.day.map((day) => day * DAY / 1000);
    this.decimals = decimalsOf(Math.min(data.last_close, ...data.plans.map((plan) => plan.stop_price)));
    this.price = priceFormat(this.decimals);
    this.container = container;
    this.onBar = onBar;
    this.moved = false;
    this.at = null;
    this.averages = new Map();
    this.drawing = new SetupDrawing(data, this.price, container);
    this.chart = createChart(container, this.options());
    try {
      this.show();
    } catch (error) {
      this.end();
      throw error;
    }
  }

  show() {
    this.addSeries();
    this.chart.subscribeCrosshairMove(({ time, logical }) => this.read(time === undefined ? null : logical));
    this.watch();
    this.applyTheme();
    this.read(null);
  }

  /** Tell which bar is read; the last one while none is pointed at. */
  read(index) {
    this.at = index;
    this.onBar(this, index ?? this.last);
  }

  options() {
    return {
      autoSize: true,
      layout: { attributionLogo: false, fontSize: 11, panes: { enableResize: false } },
      localization: { locale: "en-US", timeFormatter: (time) => dateText(new Date(time * 1000)) },
      rightPriceScale: { mode: PriceScaleMode.Logarithmic, entireTextOnly: true, scaleMargins: { top: 0.07, bottom: 0.08 } },
      timeScale: { minBarSpacing: 0.6, minimumHeight: 26, tickMarkFormatter: (time, kind) => tickText(new Date(time * 1000), kind) },
      crosshair: { mode: CrosshairMode.Normal },
      handleScroll: { mouseWheel: false, vertTouchDrag: false },
      handleScale: { mouseWheel: false, axisPressedMouseMove: { time: true, price: false } },
    };
  }

  addSeries() {
    const { bars } = this.data;
    const priceFormat = { type: "custom", formatter: this.price, minMove: 10 ** -this.decimals };
    const autoscaleInfoProvider = (original) => this.drawing.autoscale(original);
    this.candles = this.chart.addSeries(CandlestickSeries, { priceFormat, autoscaleInfoProvider, ...PLAIN });
    this.candles.setData(this.times.map((time, at) => ({
      time, open: bars.open[at], high: bars.high[at], low: bars.low[at], close: bars.close[at],
    })));
    this.candles.attachPrimitive(this.drawing);
    if (!bars.volume?.some((volume) => volume !== null)) return;
    const options = { priceFormat: { type: "volume" }, ...PLAIN };
    this.volume = this.chart.addSeries(HistogramSeries, options, 1);
    this.volume.priceScale().applyOptions({ mode: PriceScaleMode.Normal, scaleMargins: { top: 0.15, bottom: 0 } });
    const [prices, volumes] = this.chart.panes();
    prices.setStretchFactor(5);
    volumes.setStretchFactor(1);
  }

  /** Show a moving average of the close, or take it away; whether it is shown now. */
  toggleAverage(count) {
    const shown = this.averages.get(count);
    if (shown) this.chart.removeSeries(shown.series);
    const isShown = shown ? !this.averages.delete(count) : Boolean(this.averages.set(count, this.average(count)));
    this.read(this.at);
    return isShown;
  }

  average(count) {
    const values = movingAverage(this.data.bars.close, count);
    const format = { type: "custom", formatter: this.price, minMove: 10 ** -this.decimals };
    const series = this.chart.addSeries(LineSeries, {
      title: `SMA ${count}`, color: this.drawing.colours[`sma-${count}`], lineWidth: 2, priceFormat: format,
      priceLineVisible: false, crosshairMarkerVisible: false, autoscaleInfoProvider: () => null,
    });
    series.setData(this.times.map((time, at) => (values[at] === null ? { time } : { time, value: values[at] })));
    return { values, series };
  }

  /** The wheel zooms only while the chart has the focus, so that the conversation can be scrolled. */
  watch() {
    const { container, chart } = this;
    const wheel = (on) => () => chart.applyOptions({ handleScale: { mouseWheel: on }, handleScroll: { mouseWheel: on } });
    const stop = { signal: (this.ending = new AbortController()).signal };
    container.addEventListener("focus", wheel(true), stop);
    container.addEventListener("blur", wheel(false), stop);
    container.addEventListener("pointerdown", () => { this.moved = true; container.focus({ focusVisible: false }); }, stop);
    container.addEventListener("wheel", () => { this.moved ||= document.activeElement === container; }, { passive: true, ...stop });
    this.sized = new ResizeObserver(() => { if (!this.moved) this.reset(); });
    this.sized.observe(container);
  }

  applyTheme() {
    const colours = this.drawing.colours = themeColours(this.container);
    const lines = { color: colours.grid };
    const crosshair = { color: colours.muted, labelBackgroundColor: colours.muted };
    this.chart.applyOptions({
      layout: {
        background: { color: colours.paper }, textColor: colours.muted, fontFamily: colours.font,
        panes: { separatorColor: colours.rule, separatorHoverColor: colours.rule },
      },
      grid: { vertLines: lines, horzLines: lines },
      crosshair: { vertLine: crosshair, horzLine: crosshair },
      rightPriceScale: { borderColor: colours.rule },
      timeScale: { borderColor: colours.rule },
    });
    this.candles.applyOptions({
      upColor: colours.paper, borderUpColor: colours.up, wickUpColor: colours.up,
      downColor: colours.down, borderDownColor: colours.down, wickDownColor: colours.down,
    });
    for (const [count, { series }] of this.averages) series.applyOptions({ color: colours[`sma-${count}`] });
    const { open, close, volume } = this.data.bars;
    const faint = { up: colours.up.replace(/[^,]+\)$/, " 0.36)"), down: colours.down.replace(/[^,]+\)$/, " 0.36)") };
    this.volume?.setData(this.times.map((time, at) => (volume[at] === null ? { time }
      : { time, value: volume[at], color: close[at] >= open[at] ? faint.up : faint.down })));
  }

  /** The pattern, 0.6 times as many bars before it (fewer on a phone), and room for the levels. */
  reset() {
    const width = this.chart.timeScale().width();
    if (!width) return;
    const { upper, lower } = this.data.lines;
    const span = this.last + 1 - Math.min(upper.start.index, lower.start.index);
    const context = width < 480 ? 1.25 : 1.6;
    const wanted = Math.max(width < 480 ? MIN_BARS * 0.75 : MIN_BARS, Math.min(MAX_BARS, span * context), span + 2);
    const bars = Math.min(wanted, this.last + 1);
    const free = Math.min(width * 0.42, (width < 480 ? 66 : 128) * this.data.plans.length);
    const ahead = Math.max(3, (free / (width - free)) * bars);
    this.chart.timeScale().setVisibleLogicalRange({ from: this.last + 0.5 - bars, to: this.last + ahead });
    this.moved = false;
  }

  zoom(factor) {
    const scale = this.chart.timeScale();
    const { from, to } = scale.getVisibleLogicalRange();
    const width = Math.min(Math.max((to - from) * factor, 10), 2 * (this.last + 1));
    const right = Math.min(to, this.last + (to - from) / 3);
    scale.setVisibleLogicalRange({ from: right - width, to: right });
    this.moved = true;
  }

  /** Put the crosshair on a bar, and bring the bar into view. */
  goTo(index) {
    const at = Math.min(Math.max(index, 0), this.last);
    const scale = this.chart.timeScale();
    const { from, to } = scale.getVisibleLogicalRange();
    const shift = at < from + 1 ? at - from - 1 : Math.max(0, at - to + 1);
    if (shift) scale.setVisibleLogicalRange({ from: from + shift, to: to + shift });
    this.moved ||= shift !== 0;
    this.chart.setCrosshairPosition(this.data.bars.close[at], this.times[at], this.candles);
    this.read(at);
    return at;
  }

  /** What a key does; the index of a bar that it went to, or whether it did anything. */
  press(key) {
    const at = this.at ?? this.last + 1;
    const moves = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: this.last };
    if (key in moves) return this.goTo(moves[key]);
    if (key === "+" || key === "=") this.zoom(0.8);
    else if (key === "-") this.zoom(1.25);
    else if (key === "0") this.reset();
    else if (key === "Escape") {
      this.chart.clearCrosshairPosition();
      this.read(null);
    }
    else return false;
    return true;
  }

  end() {
    this.ending?.abort();
    this.sized?.disconnect();
    this.chart.remove();
  }
}

/** Do what a key does to a chart, if one is shown; what the legend has of the bar that it went to is spoken. */
function pressKey(event, chart, legend, spoken) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const done = chart?.press(event.key) ?? false;
  if (done === false) return;
  event.preventDefault();
  if (typeof done === "number") spoken.textContent = legend.textContent;
}

/** A button for each moving average; it cannot be pressed where there are too few bars. */
function averageButtons(chart) {
  return AVERAGES.map((count) => {
    const made = element("button", `sma-${count}`, `SMA ${count}`);
    made.type = "button";
    made.setAttribute("aria-pressed", "false");
    made.disabled = chart.data.bars.close.length < count;
    made.onclick = () => made.setAttribute("aria-pressed", String(chart.toggleAverage(count)));
    return made;
  });
}
