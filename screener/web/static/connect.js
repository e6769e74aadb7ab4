// Says which host is shown to who cannot see it; without this script, the page works the same.
const links = [...document.querySelectorAll(".hosts h2 a")];

function mark() {
  const shown = links.find((link) => link.hash === location.hash) ?? links[0];
  for (const link of links) {
    if (link === shown) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

addEventListener("hashchange", mark);
mark();
