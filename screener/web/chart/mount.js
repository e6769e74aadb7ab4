// Mounts: the interactive chart in place of each picture of a page, in the same box.

const KEYS = "Left and right arrow keys read the bars one by one, plus and minus zoom, Home and End go to the first " +
  "and the last bar, 0 resets the view.";
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function toolButton(text, label, press) {
  const made = element("button", "", text);
  made.type = "button";
  if (label) made.setAttribute("aria-label", label);
  made.onclick = press;
  return made;
}

/** The elements of one chart; `id` tells those of several charts apart. */
function chartParts(id) {
  const legend = element("p", "legend");
  const tools = element("div", "tools");
  tools.setAttribute("role", "group");
  tools.setAttribute("aria-label", "View of the chart");
  const canvas = element("div", "canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-describedby", id);
  canvas.tabIndex = 0;
  const keys = element("p", "away", KEYS);
  keys.id = id;
  const spoken = element("p", "away");
  spoken.setAttribute("role", "status");
  const view = element("div", "interactive", element("div", "bar", legend, tools), canvas, keys, spoken);
  return { view, legend, tools, canvas, spoken };
}

function listenTo(shown, { tools, canvas, legend, spoken }) {
  tools.append(
    toolButton("−", "Zoom out", () => shown.zoom(1.33)),
    toolButton("+", "Zoom in", () => shown.zoom(0.75)),
    toolButton("Reset", "", () => shown.reset()),
    ...averageButtons(shown),
  );
  canvas.onkeydown = (event) => pressKey(event, shown, legend, spoken);
  dark.addEventListener("change", () => shown.applyTheme());
}

/** Draw the data over the picture of a place, and take the picture away. */
function mount(place, data, id) {
  check(data);
  const parts = chartParts(id);
  place.append(parts.view);
  try {
    const read = (chart, index) => parts.legend.replaceChildren(...legendParts(chart, index));
    const shown = new SetupChart(parts.canvas, data, read);
    parts.canvas.setAttribute("aria-label", chartText(data, shown.price));
    listenTo(shown, parts);
    place.querySelector("picture").hidden = true;
    place.chart = shown;
  } catch (error) {
    parts.view.remove();
    throw error;
  }
}

async function load(place, id) {
  try {
    const answer = await fetch(place.dataset.chart);
    if (answer.ok) mount(place, await answer.json(), id);
  } catch {
    // The picture says the same, and stays.
  }
}

const near = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    near.unobserve(target);
    load(target, `keys-${[...places].indexOf(target)}`);
  }
}, { rootMargin: "400px" });
const places = document.querySelectorAll("[data-chart]");
places.forEach((place) => near.observe(place));
