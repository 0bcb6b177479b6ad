
(() => {
  const root = document.documentElement;
  const isView = (hash) => hash.includes("=");
  const view = new URLSearchParams(isView(location.hash) ? location.hash.slice(1) : "");
  const keep = (name, value) => {
    if (value) view.set(name, value); else view.delete(name);
    const words = view.toString();
    history.replaceState(null, "", words ? "#" + words : location.pathname + location.search);
  };

  const theme = document.getElementById("theme");
  const asked = view.get("theme");
  if (asked === "dark" || asked === "light") {
    root.dataset.theme = asked;
    theme.textContent = asked === "dark" ? "Light" : "Dark";
  }
  theme.addEventListener("click", () => keep("theme", root.dataset.theme));

  const FIRST = 15, MORE = 30; // rows: a thousand take long to lay out; a screen of them comes with the click,
  const NEAR = 1500; // pixels: and more as the reader nears their end. Taking a thousand off takes long, too:
  const idle = window.requestIdleCallback ?? setTimeout; // back at the head of the table, those far below go
  const collator = new Intl.Collator(undefined, { numeric: true });
  const held = new Map();
  document.querySelectorAll("table.ranked").forEach((table) => {
    const body = table.tBodies[0];
    const all = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    let rows = all, dressing = () => () => {}, dress, dressed = new Set(), left = [], onPaper = false;
    const watch = () => {
      near.disconnect();
      if (left.length) near.observe(body.lastElementChild);
    };
    const more = (count) => {
      const next = left.splice(0, count);
      next.filter((row) => !dressed.has(row)).forEach((row) => { dress(row); dressed.add(row); });
      body.append(...next);
      watch();
    };
    const near = new IntersectionObserver((seen) => {
      if (seen.some((one) => one.isIntersecting)) more(MORE);
    }, { rootMargin: NEAR + "px" });
    const trim = () => {
      const last = body.rows[body.rows.length - MORE - 1];
      if (onPaper || !last || last.getBoundingClientRect().top < innerHeight + 2 * NEAR) return;
      const off = [...body.rows].slice(-MORE);
      off.forEach((row) => row.remove());
      left.unshift(...off);
      watch();
      idle(trim);
    };
    new IntersectionObserver(trim, { rootMargin: NEAR + "px" }).observe(table.tHead);
    const put = () => {
      dress = dressing();
      dressed = new Set();
      left = rows.filter((row) => !row.hidden);
      body.replaceChildren();
      more(FIRST);
    };
    addEventListener("beforeprint", () => { onPaper = true; more(left.length); });
    addEventListener("afterprint", () => { onPaper = false; trim(); });
    held.set(table.id, { all, put });
    const keys = new Map();
    const read = (column) => all.map((row) => {
      const cell = row.cells[column];
      const raw = cell.dataset.sort ?? cell.textContent.trim();
      return { row, raw, number: Number(raw) };
    });
    const order = (column, up) => {
      if (!keys.has(column)) keys.set(column, read(column));
      const keyed = keys.get(column).slice();
      const words = keyed.some((one) => one.raw !== "" && Number.isNaN(one.number));
      keyed.sort((a, b) => {
        if (a.raw === "" || b.raw === "") return (a.raw === "") - (b.raw === "");
        return (words ? collator.compare(a.raw, b.raw) : a.number - b.number) * (up ? 1 : -1);
      });
      return keyed.map((one) => one.row);
    };
    const ranked = (column) => {
      if (!heads[column].dataset.axis) return (row) => row.classList.remove("starts");
      heads[0].lastElementChild.textContent = heads[column].textContent;
      let last = null;
      return (row) => {
        const { rank, range, tier } = row.cells[column].dataset;
        const place = row.cells[0];
        place.firstElementChild.textContent = rank || "–";
        place.children[1].textContent = tier ? ", tie group " + tier + ", ranks " : "";
        place.lastElementChild.textContent = range || "";
        row.classList.toggle("starts", tier !== last);
        row.classList.toggle("shaded", Number(tier) % 2 === 1);
        last = tier;
      };
    };
    const sort = (column, up) => {
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      heads[column].setAttribute("aria-sort", up ? "ascending" : "descending");
      rows = order(column, up);
      dressing = () => ranked(column);
      put();
    };
    heads.forEach((head, column) => {
      if (!head.dataset.column) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const words = head.dataset.first === "up";
        const now = head.getAttribute("aria-sort");
        const up = now ? now === "descending" : words;
        sort(column, up);
        keep("sort", (up ? "" : "-") + head.dataset.column);
      });
    });
    const wanted = view.get("sort");
    const column = wanted ? heads.findIndex((head) => head.dataset.column === wanted.replace(/^-/, "")) : -1;
    if (column >= 0) sort(column, !wanted.startsWith("-"));
    else if (all.length > 3 * MORE) put();
  });

  document.querySelectorAll("form.filter").forEach((form) => {
    const { all: rows, put } = held.get(form.dataset.rows);
    const count = form.querySelector("output");
    const fields = [...form.querySelectorAll("input, select")];
    const apply = () => {
      let shown = 0, changed = false;
      const [search, ...chosen] = fields.map((field) => field.value.trim().toLowerCase());
      const parts = search.split(/\s+/);
      rows.forEach((row) => {
        const words = row.dataset.words;
        const out = !parts.every((part) => words.includes(part)) ||
          !chosen.every((value, at) => !value || row.getAttribute("data-" + fields[at + 1].name).toLowerCase() === value);
        changed ||= out !== row.hidden;
        row.hidden = out;
        shown += !out;
      });
      count.textContent = shown === rows.length ? "" : shown + " of " + rows.length;
      if (changed) put();
    };
    fields.forEach((field) => {
      field.value = view.get(field.name) || "";
      field.addEventListener("input", () => { apply(); keep(field.name, field.value); });
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
    apply();
    addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.matches("input, select, textarea")) return;
      event.preventDefault();
      fields[0].focus();
    });
  });

  addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.target.closest("input, select, textarea, .scroll") || document.querySelector("dialog[open]")) return;
    const way = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
    const link = way && document.querySelector("a[rel=" + way + "]");
    if (!link) return;
    event.preventDefault();
    location.assign(link.href + (view.get("theme") ? "#theme=" + view.get("theme") : ""));
  });

  const pictures = [...document.querySelectorAll("a.seen")];
  if (pictures.length) {
    const view = document.createElement("dialog");
    const large = document.createElement("img");
    const words = document.createElement("p");
    view.id = "view";
    view.setAttribute("aria-label", "Picture");
    view.append(large, words);
    document.body.append(view);
    let at = 0;
    const show = (place) => {
      at = (place + pictures.length) % pictures.length;
      const small = pictures[at].firstElementChild;
      large.src = pictures[at].href;
      large.alt = small.alt;
      words.textContent = small.alt;
      if (!view.open) view.showModal();
    };
    pictures.forEach((link, place) => link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
      event.preventDefault();
      show(place);
    }));
    view.addEventListener("click", () => view.close());
    view.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      show(at + step);
    });
    view.addEventListener("close", () => pictures[at].focus());
  }

  addEventListener("hashchange", () => { if (isView(location.hash)) location.reload(); });
})();
