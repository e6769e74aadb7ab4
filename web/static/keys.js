// "/" goes to the search of the head; j and k, or the arrows within a list, go from row to row.
const typing = (one) => one.closest("input, select, textarea, [contenteditable]");

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  if (event.key === "/") {
    event.preventDefault();
    document.querySelector(".find input").focus();
    return;
  }
  const rows = [...document.querySelectorAll("[data-row]")];
  const place = rows.indexOf(document.activeElement);
  const step = { j: 1, k: -1, ...(place >= 0 && { ArrowDown: 1, ArrowUp: -1 }) }[event.key];
  if (!step || !rows.length) return;
  event.preventDefault();
  const next = rows[Math.min(Math.max(place + step, 0), rows.length - 1)];
  next.focus({ preventScroll: true });
  next.closest("tr, li").scrollIntoView({ block: "nearest" });
});
