// A public arena: the newcomer's puzzle, and an order of four by choosing one after the other.

// -- SHA-256 of an ASCII text, as in FIPS 180-4; pages without https have no crypto.subtle ---------------------

const primes = [];
for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p)) primes.push(n);
const fraction = (x) => ((x - Math.floor(x)) * 2 ** 32) | 0;
const K = primes.map((p) => fraction(Math.cbrt(p)));
const START = primes.slice(0, 8).map((p) => fraction(Math.sqrt(p)));
const turn = (x, by) => (x >>> by) | (x << (32 - by));

function sha256(text) {
  const length = text.length, words = new Int32Array((((length + 8) >> 6) + 1) * 16);
  for (let n = 0; n < length; n++) words[n >> 2] |= text.charCodeAt(n) << (24 - 8 * (n & 3));
  words[length >> 2] |= 0x80 << (24 - 8 * (length & 3));
  words[words.length - 1] = 8 * length;
  const h = START.slice(), w = new Int32Array(64);
  for (let block = 0; block < words.length; block += 16) {
    for (let n = 0; n < 64; n++) {
      if (n < 16) { w[n] = words[block + n]; continue; }
      const x = w[n - 15], y = w[n - 2];
      w[n] = (w[n - 16] + (turn(x, 7) ^ turn(x, 18) ^ (x >>> 3)) + w[n - 7] + (turn(y, 17) ^ turn(y, 19) ^ (y >>> 10))) | 0;
    }
    let [a, b, c, d, e, f, g, i] = h;
    for (let n = 0; n < 64; n++) {
      const one = (i + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + K[n] + w[n]) | 0;
      const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      i = g; g = f; f = e; e = (d + one) | 0; d = c; c = b; b = a; a = (one + two) | 0;
    }
    [a, b, c, d, e, f, g, i].forEach((x, n) => { h[n] = (h[n] + x) | 0; });
  }
  return h;
}

function zeros(hash) {
  const place = hash.findIndex((word) => word !== 0);
  return place < 0 ? 256 : 32 * place + Math.clz32(hash[place]);
}

// -- the puzzle: solved a little at a time, so that the page stays alive ---------------------------------------

function solve(form) {
  const puzzle = form.elements.puzzle, solution = form.elements.solution;
  if (!puzzle) return;  // another captcha
  const bits = Number(puzzle.dataset.bits), words = form.querySelector(".working");
  let number = 0, wanted = false;
  const work = () => {
    const until = performance.now() + 40;
    while (performance.now() < until) {
      if (zeros(sha256(`${puzzle.value}:${number}`)) >= bits) {
        solution.value = String(number);
        words.textContent = "";
        if (wanted) form.submit();
        return;
      }
      number++;
    }
    setTimeout(work);
  };
  form.addEventListener("submit", (event) => {
    if (solution.value) return;
    event.preventDefault();
    wanted = true;
    words.textContent = form.dataset.wordsWorking;
  });
  work();
}

// -- an order of four: choose the best, then the next ----------------------------------------------------------

function order(form) {
  const buttons = [...form.querySelectorAll("figcaption .answer")];
  const send = form.querySelector(".send"), again = form.querySelector(".again");
  let chosen = [];
  const show = () => {
    for (const button of buttons) {
      const place = chosen.indexOf(button.value) + 1, words = button.querySelector("span");
      button.dataset.plain ??= words.textContent;
      button.classList.toggle("placed", place > 0);
      button.setAttribute("aria-pressed", place > 0);
      words.textContent = place ? button.dataset.words.replace("#", place) : button.dataset.plain;
    }
    send.hidden = send.disabled = again.hidden = !chosen.length;
    send.value = chosen.join("");
  };
  for (const button of buttons) {
    button.type = "button";
    button.addEventListener("click", () => {
      chosen = chosen.includes(button.value) ? chosen.slice(0, chosen.indexOf(button.value)) : [...chosen, button.value];
      show();
    });
  }
  again.addEventListener("click", () => { chosen = []; show(); });
  show();
}

document.querySelectorAll("form[data-puzzle]").forEach(solve);
document.querySelectorAll("form[data-order]").forEach(order);
