(() => {
  const rows = [...document.querySelectorAll(".row")];
  const form = document.getElementById("filter");
  const find = document.getElementById("find");
  const category = document.getElementById("category");
  const chips = [...form.querySelectorAll(".chip input")];
  const count = document.getElementById("count");

  const apply = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = category ? category.value : "";
    const off = new Set(chips.filter((chip) => !chip.checked).map((chip) => chip.value));
    let shown = 0;
    for (const row of rows) {
      const fits = (!wanted || row.dataset.category === wanted) && words.every((word) => row.dataset.words.includes(word));
      row.hidden = !fits;
      shown += fits;
      for (const cell of row.querySelectorAll(".cell")) cell.hidden = off.has(cell.dataset.generator);
    }
    if (chips.length) document.body.style.setProperty("--columns", Math.max(1, chips.length - off.size));
    count.textContent = shown + " of " + rows.length + (rows.length === 1 ? " prompt" : " prompts");
    document.getElementById("nothing").hidden = shown > 0;
  };
  form.hidden = false;
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  apply();

  const view = document.getElementById("view");
  const large = view.querySelector("img");
  const told = view.querySelector("p");
  let at = null;
  const visible = () => [...document.querySelectorAll(".tile a")].filter((link) => !link.closest("[hidden]"));
  const show = (link) => {
    at = link;
    large.src = link.href || link.querySelector("img").src;
    large.alt = link.querySelector("img").alt;
    told.textContent = link.dataset.told;
    if (!view.open) view.showModal();
  };
  const plain = (event) => event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey;
  document.getElementById("main").addEventListener("click", (event) => {
    const link = event.target.closest(".tile a");
    if (link && plain(event)) { event.preventDefault(); show(link); }
  });
  document.getElementById("main").addEventListener("keydown", (event) => {
    const link = event.target.closest(".tile a[role]");
    if (link && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); show(link); }
  });
  view.addEventListener("click", () => view.close());
  view.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const links = visible();
    show(links[(links.indexOf(at) + step + links.length) % links.length]);
  });
  view.addEventListener("close", () => { large.removeAttribute("src"); if (at) at.scrollIntoView({ block: "nearest" }); });
})();
