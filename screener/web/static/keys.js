// "/" goes to the search of the head. In a list j and k, or the arrows, go from row to row; on the
// page of a setup j and k turn to the next and the previous one of the list that led to it.
const LIST = "list";
const typing = (one) => one.closest("input, select, textarea, [contenteditable]");
const rows = () => [...document.querySelectorAll("[data-row]")];

document.addEventListener("click", ({ target }) => {
  if (!target.closest?.("[data-row]")) return;
  const list = rows().map((row) => row.pathname + row.hash);
  sessionStorage.setItem(LIST, JSON.stringify(list));
});

function showTurns() {
  const place = document.getElementById("turns");
  const list = JSON.parse(sessionStorage.getItem(LIST) ?? "[]");
  const { pathname, hash } = location;
  let here = list.indexOf(pathname + hash);
  if (here < 0) here = list.findIndex((address) => address.split("#")[0] === pathname);
  if (!place || here < 0) return;
  const turn = (rel, key, address, before, after) => address && Object.assign(document.createElement("a"), {
    rel, href: address, textContent: `${before}${address.split(/[/#]/)[2]}${after}`, ariaKeyShortcuts: key,
  });
  const count = Object.assign(document.createElement("span"), { className: "soft", textContent: `${here + 1} of ${list.length}` });
  const links = [turn("prev", "k", list[here - 1], "← ", ""), count, turn("next", "j", list[here + 1], "", " →")];
  place.replaceChildren(...links.filter(Boolean));
  place.hidden = false;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  if (event.key === "/") {
    event.preventDefault();
    document.querySelector(".find input").focus();
    return;
  }
  const turn = { j: "next", k: "prev" }[event.key];
  if (turn && document.getElementById("turns")) return document.querySelector(`#turns [rel=${turn}]`)?.click();
  const all = rows();
  const place = all.indexOf(document.activeElement);
  const step = { j: 1, k: -1, ...(place >= 0 && { ArrowDown: 1, ArrowUp: -1 }) }[event.key];
  if (!step || !all.length) return;
  event.preventDefault();
  const next = all[Math.min(Math.max(place + step, 0), all.length - 1)];
  next.focus({ preventScroll: true });
  next.closest("tr, li").scrollIntoView({ block: "nearest" });
});
addEventListener("hashchange", showTurns);
showTurns();
