// Search within the page. Without this script there is no field, and the browser's own search
// finds everything, also in samples that are closed.
const MAX_PLACES = 12, AROUND = 40;
const form = document.querySelector(".docs .search");
const field = form.querySelector("input");
const status = form.querySelector("[role=status]");
const list = form.querySelector("ol");
const places = [...document.querySelectorAll(
  ".reference h2, .reference h3, .reference p, .reference li, .reference tbody tr, .reference .sample"
)].map((element) => ({ element, text: element.textContent.replace(/\s+/g, " ").trim(), part: part(element) }));

form.hidden = false;
form.addEventListener("submit", (event) => {
  event.preventDefault();
  list.querySelector("a")?.click();
});
field.addEventListener("input", search);
form.addEventListener("keydown", (event) => {
  const links = [...list.querySelectorAll("a")];
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "Escape") {
    field.value = "";
    search();
    field.focus();
  } else if (step && links.length) {
    event.preventDefault();
    (links[links.indexOf(document.activeElement) + step] ?? field).focus();
  }
});
addEventListener("hashchange", open);
open();

function part(element) {
  const sample = element.closest(".sample");
  if (sample) return sample.querySelector("summary").textContent;
  let before = element;
  while (before && before.tagName !== "H2") {
    before = before.previousElementSibling ?? before.parentElement.closest(".reference > *")?.previousElementSibling;
  }
  return before?.textContent ?? document.title;
}

function search() {
  const words = field.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const found = words.length
    ? places.filter(({ text }) => words.every((word) => text.toLowerCase().includes(word)))
    : [];
  status.textContent = words.length
    ? `${found.length || "No"} ${found.length === 1 ? "place" : "places"}${found.length > MAX_PLACES ? `, the first ${MAX_PLACES} here` : ""}`
    : "";
  list.replaceChildren(...found.slice(0, MAX_PLACES).map((place) => result(place, words[0])));
}

function result({ element, text, part }, word) {
  const item = document.createElement("li"), link = document.createElement("a");
  const name = document.createElement("strong"), mark = document.createElement("mark");
  const at = text.toLowerCase().indexOf(word), start = Math.max(0, at - AROUND);
  element.id ||= `place-${places.findIndex((place) => place.element === element)}`;
  link.href = `#${element.id}`;
  link.addEventListener("click", () => open(link.hash));
  name.textContent = part;
  mark.textContent = text.slice(at, at + word.length);
  link.append(name, start ? "…" : "", text.slice(start, at), mark, text.slice(at + word.length, at + word.length + AROUND), "…");
  item.append(link);
  return item;
}

function open(hash) {
  const id = decodeURIComponent((typeof hash === "string" ? hash : location.hash).slice(1));
  const sample = document.getElementById(id)?.closest(".sample");
  if (sample) sample.open = true;
}
