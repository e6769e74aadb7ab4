// Adds and removes conditions in place; without this script the form and the links do the same.
const form = document.getElementById("query");

form?.querySelector("[data-add]").addEventListener("click", async (event) => {
  if (!form.elements.add.value) return;
  event.preventDefault();
  const query = new URLSearchParams(new FormData(form));
  const answer = await fetch(`${form.action}?${query}`).catch(() => null);
  if (!answer?.ok && answer?.status !== 400) return form.submit();
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById("conditions");
  if (!fresh) return form.submit();
  const waiting = fresh.querySelectorAll("[autofocus]");
  for (const field of waiting) field.removeAttribute("autofocus");
  document.getElementById("conditions").replaceWith(fresh);
  form.elements.add.value = "";
  waiting[waiting.length - 1]?.focus();
});

form?.addEventListener("click", (event) => {
  if (!event.target.matches("a.remove")) return;
  event.preventDefault();
  event.target.closest("fieldset").remove();
  form.requestSubmit();
});
