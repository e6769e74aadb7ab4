// What a person would complain about on a page as it stands; each complaint is a sentence.
() => {
  const complaints = [];
  const tell = (what, text) => complaints.push(`${what}: ${text.trim().slice(0, 60)}`);
  const wide = document.documentElement;
  if (wide.scrollWidth > wide.clientWidth) tell("the page scrolls sideways", String(wide.scrollWidth));

  const scrolls = (element) => /auto|scroll/.test(getComputedStyle(element).overflowX);
  const boxes = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const holder = node.parentElement;
    if (!node.data.trim() || holder.closest("script, option, svg") || !holder.checkVisibility()) continue;
    const inBox = (() => {
      for (let one = holder; one; one = one.parentElement) if (scrolls(one)) return true;
      return false;
    })();
    const range = document.createRange();
    range.selectNodeContents(node);
    const { overflowX, textOverflow } = getComputedStyle(holder);
    const shortened = overflowX === "hidden" && textOverflow === "ellipsis";
    for (const line of range.getClientRects()) {
      if (line.right <= 0 || line.width < 1 || shortened) continue;
      if (!inBox && line.right > wide.clientWidth + 1) tell("text leaves the page", node.data);
      boxes.push({ line, node });
    }
    if (holder.closest("table, .facts")) {
      // An address longer than a column may be broken; a name never.
      for (const name of node.data.matchAll(/(?<!\S)\S{2,28}(?!\S)/g)) {
        for (const word of name[0].matchAll(/[\w.]+/g)) {
          range.setStart(node, name.index + word.index);
          range.setEnd(node, name.index + word.index + word[0].length);
          const lines = new Set([...range.getClientRects()].map((one) => Math.round(one.top)));
          if (lines.size > 1) tell("a word or number is split", word[0]);
        }
      }
    }
  }
  for (const element of document.querySelectorAll("main *, header *, footer *")) {
    const style = getComputedStyle(element);
    const cut = style.overflowX === "hidden" && element.scrollWidth > element.clientWidth + 1;
    if (cut && style.textOverflow !== "ellipsis") tell("text is cut", element.textContent);
  }

  boxes.sort((one, other) => one.line.top - other.line.top);
  boxes.forEach(({ line, node }, index) => {
    for (let next = index + 1; next < boxes.length && boxes[next].line.top < line.bottom; next += 1) {
      const other = boxes[next];
      const across = Math.min(line.right, other.line.right) - Math.max(line.left, other.line.left);
      const down = Math.min(line.bottom, other.line.bottom) - other.line.top;
      if (other.node !== node && across > 2 && down > 0.5 * Math.min(line.height, other.line.height)) {
        tell("texts overlap", `${node.data.trim()} / ${other.node.data.trim()}`);
      }
    }
  });
  return complaints;
}
