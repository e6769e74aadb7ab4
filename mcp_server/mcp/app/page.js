// The page: takes a tool's result from the host, and shows it.

let shown = null;

/** The arguments of the call whose result the host shows. */
let asked = null;

function say(text) {
  byId("setup").hidden = true;
  byId("message").hidden = false;
  byId("message").textContent = text;
}

function showResult(result) {
  shown?.end();
  shown = null;
  const data = result._meta?.[DATA_KEY];
  // The service cannot know of earlier revisions' hosts that they show pages, so the page asks.
  if (!result.isError && !data && asked && result.structuredContent?.setups?.length !== 0) return ask(result);
  if (result.isError || !data) return say(absenceText(result));
  try {
    check(data);
    byId("message").textContent = "";
    byId("message").hidden = true;
    byId("setup").hidden = false;
    shown = new SetupChart(byId("chart"), data, showBar);
    byId("averages").replaceChildren(...averageButtons(shown));
    showWords(data, result.structuredContent?.setups?.length ?? 1);
  } catch {
    shown?.end();
    shown = null;
    say("There is no chart: its data cannot be drawn.");
  }
}

function ask(result) {
  const call = { name: asked.setup_id ? "get_pattern_chart" : "demo", arguments: { ...asked, [DATA_KEY]: true } };
  asked = null;
  say(absenceText(result)); // as long as the host does not answer
  host.request("tools/call", call).then(showResult, () => {});
}

function showWords(data, setups) {
  document.title = `${data.symbol}: ${data.family_label}`;
  byId("title").replaceChildren(...titleParts(data));
  byId("facts").textContent = factsText(data);
  byId("age").textContent = ageText(data, new Date());
  byId("age").hidden = !byId("age").textContent;
  byId("more").textContent = `The first of ${setups} current setups.`;
  byId("more").hidden = setups < 2;
  byId("chart").setAttribute("aria-label", chartText(data, shown.price));
  byId("plans").replaceChildren(...planElements(data, shown.price));
  byId("rule").textContent = ruleText(data);
  byId("records").replaceChildren(...recordElements(data));
  byId("disclaimer").textContent = data.disclaimer;
  byId("source").textContent = data.source ? `Source: ${data.source}.` : "";
}

function showBar(chart, index) {
  byId("legend").replaceChildren(...legendParts(chart, index));
}

function useContext({ theme, styles, displayMode, availableDisplayModes, containerDimensions, safeAreaInsets }) {
  const root = document.documentElement;
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  for (const [name, value] of Object.entries(styles?.variables ?? {})) {
    if (/^--(color|font)-[a-z0-9-]+$/.test(name) && typeof value === "string") root.style.setProperty(name, value);
  }
  if (availableDisplayModes) byId("full").hidden = !availableDisplayModes.includes("fullscreen");
  if (displayMode) {
    root.toggleAttribute("data-fill", displayMode === "fullscreen");
    byId("full").dataset.mode = displayMode;
    byId("full").textContent = displayMode === "fullscreen" ? "Leave full screen" : "Full screen";
  }
  if (Number.isFinite(containerDimensions?.height)) root.toggleAttribute("data-fill", true);
  if (safeAreaInsets) document.body.style.padding = ["top", "right", "bottom", "left"].map((side) => `${Number(safeAreaInsets[side]) || 0}px`).join(" ");
  shown?.applyTheme();
}

function listen() {
  byId("zoom-in").onclick = () => shown?.zoom(0.75);
  byId("zoom-out").onclick = () => shown?.zoom(1.33);
  byId("reset").onclick = () => shown?.reset();
  byId("full").onclick = async ({ target }) => {
    const mode = target.dataset.mode === "fullscreen" ? "inline" : "fullscreen";
    const answer = await host.request("ui/request-display-mode", { mode });
    useContext({ displayMode: answer.mode });
  };
  byId("attribution").onclick = (event) => {
    event.preventDefault();
    host.request("ui/open-link", { url: event.currentTarget.href }).catch(() => {});
  };
  byId("chart").onkeydown = (event) => pressKey(event, shown, byId("legend"), byId("spoken"));
}

async function start() {
  const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  useContext({ theme: dark ? "dark" : "light" });
  listen();
  const size = new ResizeObserver(() => {
    const { width, height } = document.body.getBoundingClientRect();
    host.notify("ui/notifications/size-changed", { width: Math.ceil(width), height: Math.ceil(height) });
  });
  const answer = await host.connect({
    ping: () => ({}),
    "ui/notifications/tool-input": (input) => {
      asked = input.arguments ?? {};
    },
    "ui/notifications/tool-result": showResult,
    "ui/notifications/tool-cancelled": () => say("The call was cancelled."),
    "ui/notifications/host-context-changed": useContext,
    "ui/resource-teardown": () => {
      size.disconnect();
      shown?.end();
      shown = null;
      say("The chart was closed.");
    },
  });
  useContext(answer.hostContext ?? {});
  size.observe(document.body);
}

/** For tests and the console: what is drawn, and where. */
Object.defineProperty(window, "patternChart", { get: () => shown });
start().catch(() => say("There is no chart: the host refused the handshake."));
