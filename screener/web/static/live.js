// Keeps an open page up to date by the news of /events: how far the nightly is, and that another
// night is out. Without this script a page is as it was loaded.
const place = document.getElementById("live");
const work = document.getElementById("work");
const banner = document.querySelector("aside[data-state]");
const AGAIN_MS = 30_000;
let news = null;

const make = (tag, text, parent) => parent.appendChild(Object.assign(document.createElement(tag), { textContent: text }));
const fill = (name, text) => {
  for (const each of document.querySelectorAll(`[data-news="${name}"]`)) if (each.textContent !== text) each.textContent = text;
};

// A browser opens few connections to one host: pages that nobody looks at give theirs back.
function listen() {
  if (news || document.hidden) return;
  news = new EventSource("/events");
  news.addEventListener("night", (event) => tellNight(JSON.parse(event.data)));
  news.addEventListener("progress", (event) => tellProgress(JSON.parse(event.data)));
  news.addEventListener("error", () => {
    if (news?.readyState !== EventSource.CLOSED) return; // else the browser opens it again
    news = null;
    setTimeout(listen, AGAIN_MS);
  });
}

function rest() {
  news?.close();
  news = null;
}

function reload() {
  rest();
  setTimeout(() => location.reload(), 250);
}

function tellNight(night) {
  if (work) return reload();
  place.replaceChildren();
  if (night.data_version === place.dataset.night) return;
  const which = night.as_of_session < place.dataset.session ? "Another" : "A newer";
  const note = make("p", `${which} night is out, as of ${night.as_of_session}: `, place);
  note.className = "note good";
  make("a", "reload", note).href = "";
}

function tellProgress(progress) {
  const shown = (work ?? banner)?.dataset.state;
  // A night that was just published is opened within two seconds, and then told as a night.
  if (work && shown !== progress.state && progress.state !== "published") return reload();
  if (banner) showBanner(progress.state);
  fill("bars", progress.bars);
  fill("message", progress.message);
  fill("step", (progress.step || "starting").replace(/^./, (letter) => letter.toUpperCase()));
  fill("count", progress.total ? `${progress.done.toLocaleString("en")} of ${progress.total.toLocaleString("en")}` : "");
  for (const bar of document.querySelectorAll("progress[data-news]")) {
    if (progress.total) Object.assign(bar, { max: progress.total, value: progress.done });
    else bar.removeAttribute("value");
  }
  if (work) showLeft(progress.left);
}

function showBanner(state) {
  banner.dataset.state = state;
  const parts = [...banner.querySelectorAll("[data-when]")];
  for (const part of parts) part.hidden = !part.dataset.when.split(" ").includes(state);
  banner.hidden = parts.every((part) => part.hidden);
}

function showLeft(left) {
  const part = document.querySelector("details[data-news]");
  if (!part) return;
  const all = left.reduce((sum, reason) => sum + reason.count, 0);
  const list = document.createElement("dl");
  for (const { words, count, named } of left) {
    make("span", count.toLocaleString("en"), make("dt", `${words} `, list)).className = "soft";
    const reasons = Object.entries(named);
    for (const [name, why] of reasons) {
      const row = make("dd", "", list);
      make("strong", name, row);
      row.append(` ${why}`);
    }
    const unnamed = count - reasons.length;
    if (unnamed && reasons.length) make("dd", `and ${unnamed.toLocaleString("en")} more`, list).className = "soft";
  }
  part.hidden = !all;
  fill("left-count", all.toLocaleString("en"));
  part.querySelector("dl").replaceWith(list);
}

document.addEventListener("visibilitychange", () => (document.hidden ? rest() : listen()));
addEventListener("pagehide", rest);
addEventListener("pageshow", listen);
listen();
