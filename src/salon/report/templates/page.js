(() => {
  const root = document.documentElement;
  const theme = document.getElementById("theme");
  const stored = () => { try { return localStorage.getItem("salon-theme"); } catch { return null; } };
  const store = (name) => { try { localStorage.setItem("salon-theme", name); } catch { /* a file page may not */ } };
  const isDark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const name = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
  if (stored()) root.dataset.theme = stored();
  theme.hidden = false;
  name();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
  theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; store(root.dataset.theme); name(); });

  const copy = document.getElementById("copy");
  if (copy) {
    copy.hidden = false;
    copy.addEventListener("click", async () => {
      const line = document.getElementById("signature");
      try { await navigator.clipboard.writeText(line.textContent); copy.textContent = "Copied"; }
      catch { getSelection().selectAllChildren(line); copy.textContent = "Selected"; }
      setTimeout(() => { copy.textContent = "Copy"; }, 1600);
    });
  }

  const tip = document.getElementById("tip");
  document.querySelectorAll("svg.chart").forEach((chart) => {
    chart.querySelectorAll("title").forEach((title) => {
      if (title.parentNode !== chart) { title.parentNode.dataset.tip = title.textContent; title.remove(); }
    });
    chart.addEventListener("pointermove", (event) => {
      const mark = event.target.closest("[data-tip]");
      tip.hidden = !mark;
      if (!mark) return;
      tip.textContent = mark.dataset.tip;
      const box = tip.getBoundingClientRect();
      tip.style.left = Math.max(8, Math.min(event.clientX + 14, innerWidth - box.width - 8)) + "px";
      tip.style.top = (event.clientY - box.height - 12 < 0 ? event.clientY + 18 : event.clientY - box.height - 12) + "px";
    });
    chart.addEventListener("pointerleave", () => { tip.hidden = true; });
  });
  addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));

  const bare = []; // a head that holds a button is not repeated on every sheet: on paper its words stand alone
  addEventListener("beforeprint", () => document.querySelectorAll("thead button").forEach((button) => {
    bare.push([button.parentNode, button]);
    button.replaceWith(...button.childNodes);
  }));
  addEventListener("afterprint", () => bare.splice(0).forEach(([head, button]) => {
    button.append(...head.childNodes);
    head.append(button);
  }));
  document.querySelectorAll("table.sortable").forEach((table) => {
    const body = table.tBodies[0];
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") === "descending";
        const value = (row) => row.cells[column].dataset.sort ?? row.cells[column].textContent.trim();
        const order = (a, b) => {
          const [x, y] = [value(a), value(b)];
          if (x === "" || y === "") return (x === "") - (y === "");
          const gap = Number(x) - Number(y);
          return (Number.isNaN(gap) ? x.localeCompare(y, undefined, { numeric: true }) : gap) * (up ? 1 : -1);
        };
        [...table.tHead.rows[0].cells].forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        body.append(...[...body.rows].sort(order));
      });
    });
  });
})();
