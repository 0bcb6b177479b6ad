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
  document.addEventListener("click", (event) => { // a finger cannot hover: it taps a header, a badge or a cell for its hint
    const hinted = event.target.closest("[title]:not(.term)");
    if (!hinted || matchMedia("(hover: hover)").matches) return;
    tip.textContent = hinted.title;
    tip.hidden = false;
    const box = tip.getBoundingClientRect(), place = hinted.getBoundingClientRect();
    tip.style.left = Math.max(8, Math.min(place.left, innerWidth - box.width - 8)) + "px";
    tip.style.top = (place.top - box.height - 8 < 0 ? place.bottom + 8 : place.top - box.height - 8) + "px";
  });
  addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

  // Each chart can be saved: as SVG and PNG in the widths of one and two columns of a paper, and its numbers as CSV.
  const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
    "stroke-linecap", "stroke-linejoin", "paint-order", "font-size", "font-weight", "text-anchor"];
  const SVG = document.querySelector("svg.chart")?.namespaceURI, EDGE = 4, DPI = 300;
  const save = (blob, file) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const part = (tag, attributes, words) => {
    const made = document.createElementNS(SVG, tag);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    if (words) made.textContent = words;
    return made;
  };
  const onPaper = (take) => { // styles as they are in the light theme on white
    const before = root.dataset.theme;
    root.dataset.theme = "light";
    root.style.setProperty("--paper", "#ffffff");
    try { return take(); } finally {
      root.style.removeProperty("--paper");
      if (before) root.dataset.theme = before; else delete root.dataset.theme;
    }
  };
  const alone = (figure, millimeters) => onPaper(() => { // the drawing whose own width is nearest, with its styles inside
    const far = (chart) => Math.abs(chart.viewBox.baseVal.width - 4 * millimeters);
    const chart = [...figure.querySelectorAll("svg.chart")].sort((a, b) => far(a) - far(b))[0];
    const copy = chart.cloneNode(true);
    const inside = [...copy.querySelectorAll("*")];
    [...chart.querySelectorAll("*")].forEach((from, at) => {
      const to = inside[at], style = getComputedStyle(from);
      if (/^(rect|line|circle|path|text)$/.test(from.tagName)) {
        STYLES.forEach((key) => to.setAttribute(key, style.getPropertyValue(key)));
        if (from.matches(".hit")) to.remove();
      }
      ["class", "data-tip", "data-key", "data-value"].forEach((key) => to.removeAttribute(key));
    });
    const keys = [...(figure.closest(".figures")?.querySelectorAll(".keys li") ?? [])];
    const { width, height } = chart.viewBox.baseVal, lead = 18 * keys.length;
    const whole = [width + 2 * EDGE, height + lead + 2 * EDGE];
    ["class", "role", "aria-labelledby"].forEach((key) => copy.removeAttribute(key));
    Object.entries({ viewBox: `${-EDGE} ${-EDGE - lead} ${whole.join(" ")}`, width: millimeters + "mm",
      height: (whole[1] / whole[0] * millimeters).toFixed(2) + "mm", "font-family": "Helvetica, Arial, sans-serif" })
      .forEach(([key, value]) => copy.setAttribute(key, value));
    copy.prepend(part("rect", { x: -EDGE, y: -EDGE - lead, width: whole[0], height: whole[1], fill: "#ffffff" }));
    keys.forEach((key, row) => {
      const swatch = getComputedStyle(key.firstElementChild), thin = parseFloat(swatch.borderTopWidth) > 0;
      const y = 18 * row - lead;
      copy.append(part("rect", { x: 1, y: y + (thin ? 5 : 0), width: 12, height: thin ? 2 : 12,
        fill: thin ? swatch.borderTopColor : swatch.backgroundColor }));
      copy.append(part("text", { x: 20, y: y + 11, "font-size": 12, fill: getComputedStyle(key).color }, key.textContent));
    });
    return new XMLSerializer().serializeToString(copy);
  });
  const pixels = (text, millimeters) => new Promise((done, failed) => {
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = Math.round(millimeters / 25.4 * DPI);
      canvas.height = Math.round(canvas.width * image.naturalHeight / image.naturalWidth);
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(done, "image/png");
    };
    image.onerror = failed;
    image.src = "data:image/svg+xml," + encodeURIComponent(text);
  });
  const saves = {
    SVG: (figure, wide) => new Blob([alone(figure, wide)], { type: "image/svg+xml" }),
    PNG: (figure, wide) => pixels(alone(figure, wide), wide),
    CSV: (figure) => new Blob([figure.dataset.csv], { type: "text/csv" }),
  };
  document.querySelectorAll("figure.saveable").forEach((figure) => {
    const bar = document.createElement("div"), open = document.createElement("button"), menu = document.createElement("span");
    bar.className = "save";
    open.type = "button";
    open.textContent = "Save";
    open.setAttribute("aria-label", "Save chart: " + figure.dataset.name.replaceAll("-", " "));
    open.setAttribute("aria-expanded", "false");
    menu.hidden = true;
    const wide = [...figure.querySelectorAll("svg.chart")].some((chart) => chart.viewBox.baseVal.width > 4 * 85 + 50);
    const widths = wide ? [85, 178] : [85]; // a small chart enlarged would be all letters
    [...widths.map((wide) => ["SVG", wide]), ...widths.map((wide) => ["PNG", wide]), ["CSV", 0]].forEach(([kind, wide]) => {
      const item = document.createElement("button");
      item.type = "button";
      item.textContent = wide ? `${kind} ${wide} mm` : kind;
      item.addEventListener("click", async () =>
        save(await saves[kind](figure, wide), `${figure.dataset.name}${wide ? `-${wide}mm` : ""}.${kind.toLowerCase()}`));
      menu.append(item);
    });
    open.addEventListener("click", () => {
      menu.hidden = !menu.hidden;
      open.setAttribute("aria-expanded", String(!menu.hidden));
    });
    bar.append(menu, open);
    figure.append(bar);
  });

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
