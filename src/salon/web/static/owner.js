// The owner's pages, kept fresh. Everything works without this; reloading does the same.
const EVERY = 5000;

async function refresh() {
  if (document.hidden) return;
  const answer = await fetch(location.href, { credentials: "same-origin" }).catch(() => null);
  if (answer === null || !answer.ok || answer.redirected) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of document.querySelectorAll("[data-live]")) {
    const newer = fresh.querySelector(`[data-live="${part.dataset.live}"]`);
    const busy = part.contains(document.activeElement) || part.querySelector("details[open]");
    if (newer && !busy && newer.innerHTML !== part.innerHTML) part.replaceChildren(...newer.childNodes);
  }
}

document.querySelector("nav [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
if (document.querySelector("[data-live]")) setInterval(refresh, EVERY);

for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const field = document.getElementById(button.dataset.copy);
    const text = field.value ?? field.textContent;
    const before = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      field.select?.(); // without https a browser keeps its clipboard shut: the text is marked for copying by hand
      return;
    }
    button.textContent = button.dataset.done;
    setTimeout(() => { button.textContent = before; }, 1500);
  });
}
