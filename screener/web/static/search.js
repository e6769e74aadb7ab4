// Suggests symbols while somebody types into the search of the head, by the browser's own list.
// Without this script the form searches as it is sent.
const WAIT_MS = 150;
const box = document.querySelector(".find input");
const list = Object.assign(document.createElement("datalist"), { id: "suggested" });
let waiting, asked;

async function suggest() {
  const query = new URLSearchParams({ search: box.value });
  asked = new AbortController();
  const answer = await fetch(`/symbols.json?${query}`, { signal: asked.signal }).catch(() => null);
  const found = answer?.ok ? await answer.json().catch(() => []) : [];
  list.replaceChildren(...found.map(({ symbol, name }) => new Option(`${symbol} ${name}`, symbol)));
}

box.addEventListener("input", ({ inputType }) => {
  clearTimeout(waiting);
  asked?.abort();
  const isChosen = !inputType || inputType === "insertReplacementText";
  if (isChosen && [...list.options].some(({ value }) => value === box.value)) return box.form.requestSubmit();
  if (box.value.trim()) waiting = setTimeout(suggest, WAIT_MS);
  else list.replaceChildren();
});
box.after(list);
box.setAttribute("list", list.id);
