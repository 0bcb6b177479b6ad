// What plain forms cannot do: countdowns, keys, zoom, order by hand, and an answer sent again until it is saved.

const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const now = () => performance.now() / 1000;

// -- least times: the server decides, this only tells ---------------------------------------------------------

function hold(form) {
  const until = now() + Number(form.dataset.wait || 0);
  const words = $(".waiting", form);
  form.held = () => until - now() > 0;
  const tell = () => {
    const left = until - now();
    form.classList.toggle("held", left > 0);
    if (words) words.textContent = left > 0 ? words.dataset.words.replace("#", Math.ceil(left)) : "";
    if (left > 0) setTimeout(tell, Math.min(250, Math.ceil(1000 * left)));
  };
  tell();
}

function countDown(form) {
  const whole = Number(form.dataset.countdown);
  const until = now() + whole;
  const words = $(".countdown", form), bar = $(".time", form);
  const tick = () => {
    const left = until - now();
    if (left <= 0) return form.requestSubmit();
    words.textContent = words.dataset.words.replace("#", Math.ceil(left));
    bar.value = left;
    setTimeout(tick, 200);
  };
  tick();
}

// -- saving: the same key again and again, until the studio has answered -----------------------------------------

function say(form, text) {
  const words = $(".waiting", form);
  if (words) words.textContent = text;
}

async function save(form, button) {
  const body = new URLSearchParams(new FormData(form, button));
  const to = button?.getAttribute("formaction") || form.action;
  form.classList.add("sending");
  for (let pause = 1; ; pause = Math.min(pause * 2, 15)) {
    try {
      const answer = await fetch(to, { method: "POST", body, headers: { "X-Salon-Script": "1" } });
      if (answer.ok) return go(answer.headers.get("X-Next") || "/");
      if (answer.status < 500 && answer.status !== 429) return go("/");
    } catch { /* no network: wait, and send it again */ }
    form.classList.add("unsaved");
    addEventListener("beforeunload", stay);
    say(form, navigator.onLine ? form.dataset.wordsFailed : form.dataset.wordsOffline);
    await waited(pause);
  }
}

function go(there) {
  removeEventListener("beforeunload", stay);
  location.assign(there);
}

// Whoever closes the page now is asked: their answer is not saved yet.
const stay = (event) => event.preventDefault();

const waited = (seconds) => new Promise((done) => {
  const over = () => { clearTimeout(timer); removeEventListener("online", over); done(); };
  const timer = setTimeout(over, seconds * 1000);
  addEventListener("online", over);
});

function guard(form) {
  let sent = false;
  form.addEventListener("submit", (event) => {
    if (sent || (form.held && form.held())) return event.preventDefault();
    sent = true;
    if (!("saving" in form.dataset)) return;
    event.preventDefault();
    save(form, event.submitter);
  });
}

// -- keys ------------------------------------------------------------------------------------------------------

const isTyping = (target) => target.closest("textarea, select, input:not([type=radio], [type=checkbox])");

function keys() {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if ($("dialog[open]")) return;
    const control = wanted(event);
    if (!control || (event.key === "Enter" && event.target.closest("button, a, summary"))) return;
    event.preventDefault();
    if (control.type === "radio") mark(control);
    else control.click();
  });
}

function wanted(event) {
  const key = event.key === "t" ? "ArrowDown" : event.key;
  if (key === "z" || key === " ") return event.target.closest("button, summary, label") ? null : $(".picture[data-full]");
  const found = $$(`[data-key="${CSS.escape(key)}"]`).filter((one) => !one.disabled);
  const group = current();
  return found.find((one) => one.closest("[data-group]") === group) || found.find((one) => !one.closest("[data-group]"));
}

// The group that a key is about: the one with the focus, else the first without an answer.
function current() {
  const groups = $$("[data-group]");
  return groups.find((group) => group.contains(document.activeElement) && !$(":checked", group))
    || groups.find((group) => !$(":checked", group)) || groups.at(-1);
}

function mark(radio) {
  radio.checked = true;
  const open = $$("[data-group]").find((group) => !$(":checked", group));
  const next = open ? $("input", open) : $(".foot button.main");
  if (next) next.focus({ preventScroll: false });
}

// -- zoom: side by side at their own size, moving together; on a phone in one place, and a tap shows the next one ----

const narrow = matchMedia("(max-width: 40rem)");

function zoom() {
  const dialog = $("dialog.zoom");
  if (!dialog) return;
  const panes = $(".panes", dialog), switches = $(".switch", dialog), whole = $(".full-size", dialog);
  const isInPlace = () => dialog.classList.contains("in-place");
  const current = () => $(".current", panes);
  const show = (next) => {
    const before = current();
    for (const one of panes.children) one.classList.toggle("current", one === next);
    if (before) align(before, next);
    [...switches.children].forEach((button, place) => button.setAttribute("aria-pressed", panes.children[place] === next));
  };
  const open = (event) => {
    event.preventDefault();
    const pictures = $$(".picture[data-full]");
    panes.replaceChildren(...pictures.map(pane));
    dialog.classList.toggle("in-place", narrow.matches && pictures.length > 1);
    switches.replaceChildren(...(isInPlace() ? pictures : []).map((picture, place) => nameButton(picture, () => show(panes.children[place]))));
    whole.hidden = !isInPlace();
    show(panes.children[pictures.indexOf(event.currentTarget)]);
    dialog.showModal();
  };
  $$(".picture[data-full]").forEach((picture) => picture.addEventListener("click", open));
  whole.addEventListener("click", () => whole.setAttribute("aria-pressed", dialog.classList.toggle("large")));
  panes.addEventListener("click", () => {
    if (isInPlace()) show(current().nextElementSibling || panes.firstElementChild);
    else dialog.close();
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.key !== "z" && (event.key !== " " || event.target.closest("button"))) return;
    event.preventDefault();
    dialog.close();
  });
}

function nameButton(picture, press) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = picture.dataset.name;
  button.addEventListener("click", press);
  return button;
}

function pane(picture) {
  const made = document.createElement("div");
  made.className = "pane";
  made.tabIndex = 0;
  const image = new Image();
  image.src = picture.dataset.full;
  image.alt = $("img", picture).alt;
  made.append(image);
  made.addEventListener("scroll", () => together(made));
  return made;
}

function together(leader) {
  if (!leader.matches(":hover, :focus")) return;
  for (const other of leader.parentNode.children) if (other !== leader) align(leader, other);
}

function align(leader, other) {
  const part = (size, inner, at) => (size > inner ? at / (size - inner) : 0);
  other.scrollLeft = part(leader.scrollWidth, leader.clientWidth, leader.scrollLeft) * (other.scrollWidth - other.clientWidth);
  other.scrollTop = part(leader.scrollHeight, leader.clientHeight, leader.scrollTop) * (other.scrollHeight - other.clientHeight);
}

// -- order by hand -----------------------------------------------------------------------------------------------

function board(list) {
  const rows = $$("li", list);
  const rank = (row) => Number($("select", row).value);
  rows.sort((a, b) => rank(a) - rank(b)).forEach((row) => list.append(row));
  list.classList.add("live");
  let tied = list.dataset.ties === "1" && new Set(rows.map(rank)).size < rows.length;
  const number = () => $$("li", list).forEach((row, place) => {
    if (!tied) $("select", row).value = String(place + 1);
    $("label", row).dataset.rank = $("select", row).value;
  });
  const move = (row, by) => {
    tied = false;
    const other = by < 0 ? row.previousElementSibling : row.nextElementSibling;
    if (other) (by < 0 ? other.before(row) : other.after(row));
    number();
  };
  for (const row of rows) {
    row.draggable = true;
    $$(".moves", row).forEach((one) => { one.hidden = false; });
    $$("[data-move]", row).forEach((one) => one.addEventListener("click", () => { move(row, Number(one.dataset.move)); one.focus(); }));
    row.addEventListener("dragstart", (event) => { event.dataTransfer.effectAllowed = "move"; row.classList.add("dragging"); });
    row.addEventListener("dragend", () => { row.classList.remove("dragging"); number(); });
    row.addEventListener("dragover", (event) => {
      const moved = $(".dragging", list);
      if (!moved) return;
      event.preventDefault();
      tied = false;
      const box = row.getBoundingClientRect();
      const before = event.clientX < box.left + box.width / 2;
      if (moved !== row) (before ? row.before(moved) : row.after(moved));
    });
  }
  number();
}

// -- a break: said once, and again after as much work ---------------------------------------------------------------

function breaks() {
  const note = $(".break");
  if (!note) return;
  const worked = Number(note.dataset.worked), every = Number(note.dataset.every);
  const passed = Number(sessionStorage.getItem("break") || 0);
  note.hidden = passed > 0 && worked >= passed && worked < passed + every;
  const button = $("button", note);
  button.hidden = false;
  button.addEventListener("click", () => { sessionStorage.setItem("break", Math.max(worked, 1)); note.hidden = true; });
}

// -- small things ------------------------------------------------------------------------------------------------

function localTimes() {
  $$("time[data-words]").forEach((one) => {
    const at = new Date(one.dateTime);
    const date = at.toLocaleDateString(document.documentElement.lang, { dateStyle: "long" });
    const time = at.toLocaleTimeString(document.documentElement.lang, { timeStyle: "short" });
    one.textContent = one.dataset.words.replace("#date", date).replace("#time", time);
  });
}

function menus() {
  addEventListener("click", (event) => {
    $$(".menu[open], .rubric[open], .skipping[open]").forEach((one) => { if (!one.contains(event.target)) one.open = false; });
  });
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") $$(".menu[open], .rubric[open], .skipping[open]").forEach((one) => { one.open = false; });
  });
}

$$("form[data-wait]").forEach(hold);
$$("form").filter((form) => form.method !== "dialog").forEach(guard);
$$("form[data-countdown]").forEach(countDown);
$$("[data-board]").forEach(board);
keys();
zoom();
breaks();
localTimes();
menus();
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
