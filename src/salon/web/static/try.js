// The page to try a scoring service. Whatever comes from outside (names of files, answers) is text here, never markup.

const $ = (id) => document.getElementById(id);
const main = $("main");
const most = Number(main.dataset.most);
const keepsLog = main.dataset.log === "yes";
const KEY = "salon-token";
let chosen = [];
let criteria = [];
let under = null;
let again = 0;

/** An element with a class and text; nothing is ever parsed as HTML. */
function make(tag, look, text, ...inside) {
  const made = document.createElement(tag);
  if (look) made.className = look;
  if (text !== undefined && text !== null) made.textContent = text;
  made.append(...inside);
  return made;
}

function picture(one) {
  const made = make("img");
  made.src = one.url;
  made.alt = "";
  return made;
}

const short = (id) => id.slice(id.lastIndexOf("/") + 1).replaceAll("-", " ");
const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
const sentence = (text) => (text ? text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".") : "");

/** A number with three digits that count, or with as many after the point as `like` has. */
function number(value, like = value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(like);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  const written = value.toFixed(digits);
  return Number(written) === 0 ? written.replace("-", "") : written.replace("-", "−");
}

function ordinal(place) {
  const tail = place % 100 > 10 && place % 100 < 14 ? "th" : ["th", "st", "nd", "rd"][place % 10] ?? "th";
  return `${place}${tail}`;
}

// -- the token, in this tab alone -------------------------------------------------------------------------------------

function token() {
  return $("token")?.value.trim() ?? "";
}

function remember() {
  try {
    sessionStorage.setItem(KEY, token());
  } catch {
    // a browser that keeps nothing: the field still holds it
  }
}

// -- asking -----------------------------------------------------------------------------------------------------------

class Refused extends Error {
  constructor(status, record) {
    super(record.needed ?? "");
    this.status = status;
    this.record = record;
  }

  get words() {
    const { needed, found, where, remedy } = this.record;
    const place = /^images\.(\d+)$/.exec(where ?? "");
    const about = place && chosen[place[1]] ? `${chosen[place[1]].name}: ` : "";
    return [about + sentence(needed), found && sentence(`Found: ${found}`), remedy && sentence(remedy)]
      .filter(Boolean)
      .join(" ");
  }
}

async function call(path, options = {}) {
  const headers = { ...options.headers };
  if (token()) headers.Authorization = `Bearer ${token()}`;
  let response;
  try {
    response = await fetch(path, { ...options, headers, credentials: "same-origin" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, { needed: "the service does not answer", remedy: "is it still running? Try again" });
  }
  const record = await response.json().catch(() => ({ needed: `an answer without words came, ${response.status}` }));
  if (!response.ok) throw new Refused(response.status, record);
  return record;
}

function asked(path, weights) {
  const form = new FormData();
  for (const one of chosen) form.append("images", one.file, one.name);
  if ($("prompt").value.trim()) form.append("prompt", $("prompt").value);
  if (weights) form.append("request", JSON.stringify({ weights }));
  return call(path, { method: "POST", body: form, signal: under.signal });
}

function tell(words) {
  $("status").textContent = words;
}

function wrong(error) {
  const box = $("wrong");
  box.replaceChildren();
  box.hidden = !error;
  if (!error) return;
  box.append(make("p", "", error instanceof Refused ? error.words : sentence(String(error.message ?? error))));
  if (error.status === 401 || error.status === 403) $("token")?.focus();
}

// -- what is served ---------------------------------------------------------------------------------------------------

async function served() {
  if (main.dataset.token === "yes" && !token()) {
    tell("Enter a token to begin.");
    return;
  }
  try {
    const found = await call("/v1/models");
    const active = found.models.find((one) => one.active);
    criteria = active.criteria;
    $("served").textContent = `${active.name} · version ${active.version}`;
    wrong(null);
    tell("");
    sliders();
  } catch (error) {
    wrong(error);
  }
}

/** Criteria that may be added as they stand count at first; those on scales of their own do not. */
function firstWeights() {
  const groups = new Map();
  for (const one of criteria) if (one.scale) groups.set(one.scale, (groups.get(one.scale) ?? 0) + 1);
  const largest = [...groups].sort((a, b) => b[1] - a[1])[0]?.[0];
  return criteria.map((one, place) => (largest ? Number(one.scale === largest) : Number(place === 0)));
}

function sliders() {
  const first = firstWeights();
  $("sliders").replaceChildren(
    ...criteria.map((one, place) => {
      const id = `weight-${place}`;
      const label = make("label", "", short(one.criterion));
      label.htmlFor = id;
      label.title = one.measures;
      if (!one.higher_is_better) label.append(" (lower is better)");
      const input = make("input");
      Object.assign(input, { type: "range", id, min: "0", max: "5", step: "0.5", value: String(first[place]) });
      const output = make("output", "", String(first[place]));
      output.htmlFor = id;
      input.addEventListener("input", () => {
        output.textContent = input.value;
        soon();
      });
      return make("div", "slider", null, label, input, output);
    }),
  );
  $("weights").hidden = criteria.length < 2;
}

function weights() {
  if (!criteria.length) return null;
  return Object.fromEntries(criteria.map((one, place) => [one.criterion, Number($(`weight-${place}`).value)]));
}

/** Weights moved: ask again, but only where there was an answer already. */
function soon() {
  clearTimeout(again);
  if (!$("scores").hidden) again = setTimeout(() => ask(), 350);
}

// -- pictures ---------------------------------------------------------------------------------------------------------

function add(files) {
  const pictures = [...files].filter((file) => file.type.startsWith("image/"));
  const room = most - chosen.length;
  for (const file of pictures.slice(0, Math.max(0, room))) {
    chosen.push({ file, name: file.name || `picture ${chosen.length + 1}`, url: URL.createObjectURL(file) });
  }
  const left = pictures.length - Math.max(0, room);
  const strange = files.length - pictures.length;
  const words = [chosen.length ? `${plural(chosen.length, "picture")} chosen.` : ""];
  if (left > 0) words.push(`${plural(left, "picture")} left out: at most ${most} at once.`);
  if (strange > 0) words.push(`${plural(strange, "file")} left out: no picture.`);
  tell(words.join(" ").trim());
  show();
}

function show() {
  $("chosen").replaceChildren(
    ...chosen.map((one, place) => {
      const off = make("button", "", "×");
      off.type = "button";
      off.setAttribute("aria-label", `Remove ${one.name}`);
      off.addEventListener("click", () => {
        chosen = chosen.filter((other) => other !== one);
        show();
        tell(`${plural(chosen.length, "picture")} chosen.`);
        ($("chosen").querySelectorAll("button")[Math.min(place, chosen.length - 1)] ?? $("files")).focus();
      });
      return make("li", "", null, picture(one), make("span", "", one.name), off);
    }),
  );
}

// -- answers ----------------------------------------------------------------------------------------------------------

async function ask() {
  if (!chosen.length) {
    tell("Choose a picture first.");
    $("files").focus();
    return;
  }
  under?.abort();
  const mine = (under = new AbortController());
  $("go").setAttribute("aria-busy", "true");
  tell(`Scoring ${plural(chosen.length, "picture")} …`);
  try {
    if (!criteria.length) await served();
    const pictures = [...chosen];
    const [answer, refused] = await picked();
    if (mine !== under) return;
    wrong(null);
    $("empty").hidden = true;
    verdict(answer, pictures, refused);
    panels(answer, pictures);
    disagreement(answer, pictures);
    tell(`Scored ${plural(pictures.length, "picture")}.`);
  } catch (error) {
    if (error.name === "AbortError" || mine !== under) return;
    wrong(error);
    tell("");
  } finally {
    if (mine === under) $("go").removeAttribute("aria-busy");
  }
}

/** The pick; where criteria cannot be added, the scores alone and why there is no pick. */
async function picked() {
  try {
    return [await asked("/v1/pick", weights()), null];
  } catch (error) {
    if (error.status !== 422 || !/one scale|weigh/.test(error.message)) throw error;
    return [await asked("/v1/score", null), error];
  }
}

function verdict(answer, pictures, refused) {
  const box = $("verdict");
  $("pick").hidden = false;
  $("standings").replaceChildren();
  $("later").hidden = true;
  if (refused) {
    box.replaceChildren(make("p", "won", "No pick"), make("p", "", refused.words));
    return;
  }
  const name = answer.chosen === null ? null : pictures[answer.chosen].name;
  const titles = { "none good enough": "None is good enough", "none scored": "None has a score" };
  box.replaceChildren(
    make("p", "won", name ?? titles[answer.outcome] ?? "None"),
    make("p", "", sentence(answer.why)),
    ...answer.notes.map((note) => make("p", "small", sentence(note))),
    make("p", "small", `The total is measured in ${answer.scale}.`),
  );
  $("standings").append(...answer.standings.map((one) => standing(one, answer, pictures)));
  $("later").hidden = !(keepsLog && answer.decision && pictures.length > 1);
}

function standing(one, answer, pictures) {
  const isPicked = one.index === answer.chosen;
  const head = make("p", "head", null, make("span", "place", one.rank === null ? "–" : ordinal(one.rank)));
  if (isPicked) head.append(make("span", "badge picked", "picked"));
  else if (one.tied) head.append(make("span", "badge", "tied"));
  else if (one.rank === null) head.append(make("span", "badge", "no score"));
  const made = make("li", isPicked ? "picked" : "", null, head, picture(pictures[one.index]));
  made.append(make("p", "file", pictures[one.index].name));
  if (one.total !== null) {
    const like = Math.max(...answer.standings.map((other) => Math.abs(other.total ?? 0))); // points line up
    const error = one.sd === null ? "" : ` ± ${number(one.sd, like)}`;
    made.append(make("p", "total", `total ${number(one.total, like)}${error}`), parts(one, like));
  } else made.append(make("p", "small", `No value under ${one.missing.map(short).join(", ")}.`));
  if (keepsLog && answer.decision && pictures.length > 1) made.append(would(one, answer, pictures));
  return made;
}

function parts(one, like) {
  const list = make("dl");
  const counted = Object.entries(one.contributions).filter(([id]) => weights()?.[id] !== 0);
  if (counted.length < 2) return "";
  counted.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  for (const [id, adds] of counted) {
    list.append(make("dt", "", short(id)), make("dd", "", (adds > 0 ? "+" : "") + number(adds, like)));
  }
  return make("details", "", null, make("summary", "", "What it is made of"), list);
}

function would(one, answer, pictures) {
  const button = make("button", "would", "I would pick this");
  button.type = "button";
  button.setAttribute("aria-label", `I would pick ${pictures[one.index].name}`);
  button.addEventListener("click", async () => {
    const rater = $("rater").value.trim();
    if (!rater) {
      $("kept").textContent = "A name is needed, so that two choices of one person are not counted as two people.";
      $("rater").focus();
      return;
    }
    const said = { decision: answer.decision, chosen: one.index, rater, criterion: "overall" };
    try {
      const kept = await call("/v1/feedback", {
        method: "POST",
        body: JSON.stringify(said),
        headers: { "Content-Type": "application/json" },
      });
      const agrees = kept.agrees === null ? "" : kept.agrees ? " You agree with the pick." : " The service had picked another.";
      $("kept").textContent = (kept.new ? "Kept." : "Kept before.") + agrees;
    } catch (error) {
      $("kept").textContent = error.words ?? String(error.message);
    }
  });
  return button;
}

// -- bars on a common axis --------------------------------------------------------------------------------------------

function panels(answer, pictures) {
  const shown = criteria.filter((one) => one.criterion in answer.images[0].scores);
  const axes = new Map();
  for (const one of shown) {
    const axis = axes.get(one.scale ?? one.criterion) ?? { low: one.low ?? 0, high: one.high ?? 0 };
    for (const { scores } of answer.images) {
      const { value, interval } = scores[one.criterion];
      for (const end of [value, ...(interval ?? [])]) {
        if (end !== null) Object.assign(axis, { low: Math.min(axis.low, end), high: Math.max(axis.high, end) });
      }
    }
    axes.set(one.scale ?? one.criterion, axis);
  }
  for (const axis of axes.values()) if (axis.high <= axis.low) axis.high = axis.low + 1;
  const intervals = answer.images.some(({ scores }) => Object.values(scores).some((one) => one.interval));
  const shared = shown.some((one) => shown.some((other) => other !== one && one.scale && one.scale === other.scale));
  $("scores-help").textContent = [
    shared ? "Criteria on one scale share one axis." : "Each criterion has an axis of its own.",
    intervals ? "Lines show where 19 of 20 voters see a picture." : "These scorers state no interval.",
  ].join(" ");
  $("panels").replaceChildren(...shown.map((one) => panel(one, axes.get(one.scale ?? one.criterion), answer, pictures)));
  $("scores").hidden = !shown.length;
}

const largest = (axis) => Math.max(Math.abs(axis.low), Math.abs(axis.high));

function panel(one, axis, answer, pictures) {
  const caption = make("caption", "", short(one.criterion), make("span", "", told(one)));
  const heads = [["who", "picture"], ["", "bar"], ["is", "score"]].map(([look, words]) => {
    const made = make("th", look, null, make("span", "visually-hidden", words));
    made.scope = "col";
    return made;
  });
  const rows = answer.images.map((image) => row(image, one, axis, pictures, image.index === answer.chosen));
  const ends = make("tr", "ends-row");
  ends.setAttribute("aria-hidden", "true");
  const marked = [axis.low, axis.high].map((end) => make("span", "", end === 0 ? "0" : number(end, largest(axis))));
  const scale = make("div", "ends", null, ...marked);
  ends.append(make("td"), make("td", "", null, scale), make("td"));
  const table = make("table", "", null, caption, make("thead", "", null, make("tr", "", null, ...heads)));
  const known = answer.images.some(({ scores }) => scores[one.criterion].value !== null);
  table.append(make("tbody", "", null, ...rows, ...(known ? [ends] : [])));
  return make("div", "panel", null, table);
}

function told(one) {
  return [one.measures, one.higher_is_better ? "" : "Lower is better."].filter(Boolean).join(" ");
}

function row(image, one, axis, pictures, isPicked) {
  const score = image.scores[one.criterion];
  const who = make("th", "who", pictures[image.index].name);
  who.scope = "row";
  who.title = pictures[image.index].name;
  const is = make("td", "is", number(score.value, largest(axis)));
  if (score.interval) is.append(make("small", "", `[${score.interval.map((end) => number(end, largest(axis))).join(", ")}]`));
  if (score.value === null) {
    const why = make("td", "why", sentence(score.unscored));
    why.colSpan = 2;
    return make("tr", isPicked ? "picked" : "", null, who, why);
  }
  return make("tr", isPicked ? "picked" : "", null, who, make("td", "", null, track(score, axis)), is);
}

function track(score, axis) {
  const at = (value) => (100 * (value - axis.low)) / (axis.high - axis.low);
  const base = Math.min(Math.max(0, axis.low), axis.high);
  const made = make("div", "track");
  made.setAttribute("aria-hidden", "true");
  const zero = make("span", "zero");
  zero.style.left = `${at(base)}%`;
  const bar = make("span", "bar");
  bar.style.left = `${at(Math.min(base, score.value))}%`;
  bar.style.width = `${Math.abs(at(score.value) - at(base))}%`;
  made.append(zero, bar);
  if (score.interval) {
    const reach = make("span", "reach");
    reach.style.left = `${at(score.interval[0])}%`;
    reach.style.width = `${at(score.interval[1]) - at(score.interval[0])}%`;
    made.append(reach);
  }
  return made;
}

// -- where scorers disagree -------------------------------------------------------------------------------------------

/** Places of all pictures under one criterion, 1 the best, equal ones in the middle of theirs; null without a score. */
function placesUnder(one, images) {
  const sign = one.higher_is_better ? 1 : -1;
  const values = images.map(({ scores }) => scores[one.criterion].value);
  if (values.includes(null)) return null;
  return values.map((value) => {
    const better = values.filter((other) => sign * other > sign * value).length;
    const equal = values.filter((other) => other === value).length;
    return better + (equal + 1) / 2;
  });
}

function disagreement(answer, pictures) {
  const every = criteria
    .filter((one) => one.criterion in answer.images[0].scores)
    .map((one) => ({ one, places: placesUnder(one, answer.images) }));
  const all = every.filter(({ places }) => places).map((found, number) => ({ ...found, letter: letterOf(number) }));
  const lacking = every.filter(({ places }) => !places).map(({ one }) => short(one.criterion));
  $("apart").hidden = all.length < 2 || pictures.length < 2;
  if ($("apart").hidden) return;
  $("key").replaceChildren(
    ...all.map(({ one, letter }) => make("li", "", null, make("span", "letter", letter), make("span", "", short(one.criterion)))),
  );
  $("lacking").textContent = lacking.length ? `Left out, without a value for some pictures: ${lacking.join(", ")}.` : "";
  const rows = pictures.map((one, place) => {
    const marks = all.map(({ one: criterion, letter, places }) => ({ criterion, letter, at: places[place] }));
    const ends = [Math.min(...marks.map(({ at }) => at)), Math.max(...marks.map(({ at }) => at))];
    return { one, marks, ends, spread: ends[1] - ends[0] };
  });
  rows.sort((a, b) => b.spread - a.spread);
  $("spread").replaceChildren(...rows.map((found) => apart(found, pictures.length)));
}

const letterOf = (number) => String.fromCharCode((number < 26 ? 65 : 71) + number);

function apart({ one, marks, ends, spread }, count) {
  const who = (at) => marks.filter((mark) => mark.at === at).map(({ criterion }) => short(criterion.criterion));
  const few = (names) => (names.length > 3 ? `${names.slice(0, 2).join(", ")} and ${names.length - 2} more` : names.join(", "));
  const words = spread
    ? `spread of ${number(spread).replace(/\.?0+$/, "")} of ${count - 1} places: best for ${few(who(ends[0]))}, worst for ${few(who(ends[1]))}`
    : "all scorers give it the same place";
  const told = make("p", "", null, make("strong", "", one.name), `: ${words}.`);
  const line = make("div", "places");
  line.setAttribute("aria-hidden", "true");
  line.append(make("span", "line"));
  const stacked = new Map();
  for (const { letter, at } of marks) {
    const height = stacked.get(at) ?? 0;
    stacked.set(at, height + 1);
    const mark = make("span", "letter", letter);
    mark.style.left = `${(100 * (at - 1)) / (count - 1)}%`;
    mark.style.bottom = `${0.35 + 1.5 * height}rem`;
    line.append(mark);
  }
  line.style.height = `${0.5 + 1.5 * Math.max(...stacked.values())}rem`;
  for (const place of count > 12 ? [1, count] : Array.from({ length: count }, (_, n) => n + 1)) {
    const at = make("span", "at", ordinal(place));
    at.style.left = `${(100 * (place - 1)) / (count - 1)}%`;
    line.append(at);
  }
  return make("div", "one", null, picture(one), told, line);
}

// -- what the reader does ---------------------------------------------------------------------------------------------

$("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
$("files").addEventListener("change", (event) => {
  add(event.target.files);
  event.target.value = "";
});
$("alike").addEventListener("click", () => {
  for (const [place, one] of criteria.entries()) {
    const input = $(`weight-${place}`);
    input.value = one.flag ? "0" : "1";
    input.dispatchEvent(new Event("input"));
  }
});
$("prompt").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) $("ask").requestSubmit();
});
document.addEventListener("paste", (event) => {
  const files = [...(event.clipboardData?.files ?? [])];
  if (files.length) {
    event.preventDefault();
    add(files);
  }
});
for (const kind of ["dragenter", "dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    if (![...(event.dataTransfer?.types ?? [])].includes("Files")) return;
    event.preventDefault();
    $("drop").classList.toggle("over", kind === "dragenter" || kind === "dragover");
    if (kind === "drop") add(event.dataTransfer.files);
  });
}
if ($("token")) {
  try {
    $("token").value = sessionStorage.getItem(KEY) ?? "";
  } catch {
    // a browser that keeps nothing
  }
  $("token").addEventListener("change", () => {
    remember();
    served();
  });
}
served();
