// Shows the copy button if the browser can copy; without this script, the text is selected by hand.
for (const button of document.querySelectorAll("button[data-copy]")) {
  if (!navigator.clipboard) break;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
    button.setAttribute("aria-live", "polite");
  });
}
