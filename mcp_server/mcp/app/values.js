// Values: which data can be drawn, and what the legend says of one bar.

/** More days from 1970 than any date has. */
const LAST_DAY = 1e8;

/** Sessions of the simple moving averages of the close that may be shown. */
const AVERAGES = [20, 50, 200];

/** The mean of so many closes up to each bar; null where there are fewer. */
function movingAverage(close, count) {
  let sum = 0;
  return close.map((value, at) => {
    sum += value - (at >= count ? close[at - count] : 0);
    return at >= count - 1 ? sum / count : null;
  });
}

/** Refuses data that cannot be drawn. */
function check({ bars, lines, plans, pole }) {
  const columns = [bars.day, bars.open, bars.high, bars.low, bars.close];
  const drawable = bars.day.length > 0 && bars.day.length <= 5000 && columns.every((column) => Array.isArray(column)
    && column.length === bars.day.length && column.every(Number.isFinite)) && bars.day.every((day) => Math.abs(day) < LAST_DAY);
  const points = [lines.upper, lines.lower].flatMap(({ start, end, touches }) => [start, end, ...touches]).concat(pole ?? []);
  const priced = points.every(({ index, price }) => Number.isFinite(index) && price > 0)
    && plans.every((plan) => [plan.trigger_price, plan.start_price, plan.stop_price, plan.target_price].every((price) => price > 0));
  if (!drawable || !plans.length || !priced) throw new Error("The chart data cannot be drawn.");
}

/** The values of a bar in the legend; the lines and averages where they are drawn. */
function legendParts({ data, price, averages }, index) {
  const means = [...averages].map(([count, { values }]) => [`sma-${count}`, `SMA ${count}`, values[index]]);
  const shown = means.filter(([, , value]) => value !== null).map(([kind, name, value]) => [kind, name, price(value)]);
  return barValues(data, price, index).concat(shown).flatMap(([kind, name, value]) =>
    [element("span", kind, name ? `${name} ` : "", element("b", "", value)), " "]);
}

function barValues(data, price, index) {
  const { day, open, high, low, close, volume } = data.bars;
  const values = [["date", "", dateText(new Date(day[index] * DAY))]];
  const columns = [["O", open], ["H", high], ["L", low], ["C", close]];
  const side = close[index] >= open[index] ? "up" : "down";
  values.push(...columns.map(([name, column]) => [side, name, price(column[index])]));
  if (index) values.push([close[index] >= close[index - 1] ? "up" : "down", "", percentText((close[index] / close[index - 1] - 1) * 100)]);
  if (volume) values.push(["volume", "Vol", volumeText(volume[index])]);
  for (const name of ["upper", "lower"]) {
    const line = data.lines[name];
    if (index >= line.start.index && index <= line.end.index) values.push(["line", capital(name), price(lineAt(line, index))]);
  }
  return values;
}
