"""Clean posters read by an OCR engine, misspelled ones too, and contrast measured in the pixels.

python -m prove.posters [posters]

Writes docs/methods/poster-evidence.md.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import numpy as np
from scipy import stats

from prove._page import table, wrapped
from prove._read_posters import FADED, Faded, Reading, WordRead, fade, read_again, read_poster, sample
from salon.engine import map_processes
from salon.judge.measurements.text import fold_words
from salon.render import STYLES
from salon.stats import Estimate, bootstrap_totals, wilson

OUT = Path(__file__).parents[1] / "docs/methods/poster-evidence.md"
POSTERS, TARGET = 102, 0.97
MISSPELLED = (0.1, 0.25, 0.5, 1.0)
EDGES = (0, 30, 40, 60, 120, 10_000)
Task, Result = TypeVar("Task"), TypeVar("Result")


def main(posters: int) -> None:
    cases = list(sample(posters))
    some = cases[: max(1, posters // 6 // len(STYLES)) * len(STYLES)]
    faded = [text for texts in _all(fade, cases) for text in texts]
    clean = _all(read_poster, [(case, 0.0) for case in cases])
    wrong = _all(read_poster, [(case, share) for share in MISSPELLED for case in some])
    by_share = {share: wrong[i * len(some) : (i + 1) * len(some)] for i, share in enumerate(MISSPELLED)}
    parts = [
        _head(clean, len(some)),
        _targets(clean, by_share, faded),
        _reading(clean),
        _misses(clean),
        _spelling({0.0: clean[: len(some)], **by_share}),
        _contrast(faded),
    ]
    OUT.write_text("\n".join(parts), encoding="utf-8")
    _say(f"wrote {OUT.name}")


def _all(function: Callable[[Task], Result], tasks: Sequence[Task]) -> list[Result]:
    found: dict[int, Result] = {}
    for index, result in map_processes(function, tasks):
        if isinstance(result, Exception):
            raise result
        found[index] = result
        if len(found) % 10 == 0:
            _say(f"{function.__name__}: {len(found)} of {len(tasks)}")
    return [found[index] for index in range(len(tasks))]


def _say(text: str) -> None:
    print(text, flush=True)


def _head(clean: Sequence[Reading], some: int) -> str:
    made = f"""
        {len(clean)} posters of the house `proof`, which plants no flaw: briefs drawn from all categories of the
        built-in set in turn (seed 4), given the {len(STYLES)} styles in turn whatever style a brief asks for, poster
        seeds 0 to {len(clean) - 1}. None was left out. Misspelling is measured on the first {some}. The engine is
        RapidOCR {version("rapidocr")} (PP-OCRv6 small, inside the package) at its default settings; it gets the whole
        poster at its own size (shorter side 1,024 px), and no word of the brief."""
    words = """
        *Word accuracy*: the share of words set that were read. A word is what stands between spaces and holds a letter
        or a digit. Words are compared without case and without anything but letters and digits; accents count. Engines
        put spaces wrong, so runs are compared: consecutive words of one line as set, written together, with consecutive
        words of one line as read, written together. The longest runs are struck out first, and every word read accounts
        for at most one run: a word set three times has to be read three times. Words read that nobody set cost
        nothing."""
    title = "# What machines see in the posters"
    see = "Written by `make prove ONLY=posters`; see [houses](houses.md) for the posters and their flaws."
    return "\n\n".join([title, see, wrapped(made), wrapped(words)]) + "\n"


def _targets(clean: Sequence[Reading], wrong: dict[float, list[Reading]], faded: Sequence[Faded]) -> str:
    accuracy = _accuracy(clean)
    same = {(one.brief.id, one.seed): one for one in clean}
    off = [
        _fall(same[one.brief.id, one.seed], one) - one.changed / one.asked for some in wrong.values() for one in some
    ]
    posters = _by(faded, lambda text: text.poster).values()
    falling = sum(all(text.falls for text in texts) for texts in posters)
    verdicts = [accuracy.value >= TARGET, abs(np.mean(off)) <= 0.02, falling == len(posters)]
    rows = [
        ["word accuracy on clean posters", ">= 97%", _with_interval(accuracy)],
        ["accuracy lost by misspelling, less the share planted", "0", f"{100 * np.mean(off):+.1f} points on average"],
        ["contrast in the pixels falls at every step of the knob, in every text", "all posters",
         f"{falling} of {len(posters)}"],
    ]  # fmt: skip
    rows = [[*row, "yes" if met else "**no**"] for row, met in zip(rows, verdicts)]
    return f"## Targets\n\n{table(['figure', 'target', 'found', 'met'], rows)}"


def _by(things: Iterable[Result], key: Callable[[Result], str]) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for thing in things:
        found.setdefault(key(thing), []).append(thing)
    return found


# -- clean posters ---------------------------------------------------------------------------------------------------


def _accuracy(readings: Sequence[Reading]) -> Estimate:
    """Share of words read, with a bootstrap over posters."""
    counts = [[one.found, len(one.words)] for one in readings]
    return bootstrap_totals(_ratio, counts, draws=2000, rng=np.random.default_rng(0), unit="poster")


def _ratio(totals: np.ndarray) -> np.ndarray:
    return totals[:, 0] / totals[:, 1]


def _with_interval(share: Estimate) -> str:
    return f"{share.value:.1%} ({share.low:.1%} to {share.high:.1%})"


def _reading(clean: Sequence[Reading]) -> str:
    words = [word for one in clean for word in one.words]
    whole = wilson(sum(one.found == len(one.words) for one in clean), len(clean))
    said = f"""
        {sum(one.found for one in clean):,} of {len(words):,} words: {_with_interval(_accuracy(clean))}, the interval
        from a bootstrap over posters. Posters read without a miss: {_with_interval(whole)} (Wilson). In the tables
        Wilson's intervals take the words for independent; misses come together, so they are a little narrow."""
    tables = [
        _posters_table("style", _by(clean, lambda one: str(one.brief.style))),
        _posters_table("category", _by(clean, lambda one: one.brief.category)),
        _posters_table("format", _by(clean, lambda one: one.brief.format)),
        _words_table("role", _by(words, lambda word: word.role)),
        _words_table("size of type, px", _by(sorted(words, key=lambda word: word.size), _size)),
        _words_table("family", dict(sorted(_by(words, lambda word: word.family).items()))),
    ]
    return "\n\n".join(["## Clean posters", wrapped(said)]) + "\n\n" + "\n".join(tables)


def _size(word: WordRead) -> str:
    at = int(np.searchsorted(EDGES, word.size, side="right"))
    return f"{EDGES[at - 1]} to {EDGES[at]}" if at < len(EDGES) - 1 else f"{EDGES[at - 1]} and more"


def _posters_table(head: str, groups: dict[str, list[Reading]]) -> str:
    rows = [
        [name, str(len(group)), *_shares([word for one in group for word in one.words])]
        for name, group in sorted(groups.items())
    ]
    return table([head, "posters", "words", "read", "accuracy"], rows)


def _words_table(head: str, groups: dict[str, list[WordRead]]) -> str:
    return table([head, "words", "read", "accuracy"], [[name, *_shares(group)] for name, group in groups.items()])


def _shares(words: Sequence[WordRead]) -> list[str]:
    found = sum(word.found for word in words)
    return [str(len(words)), str(found), _with_interval(wilson(found, len(words)))]


def _misses(clean: Sequence[Reading]) -> str:
    missed = [one for one in clean if one.found < len(one.words)]
    again = [read_again((one.brief, one.seed)) if shutil.which("tesseract") else () for one in missed]
    rows = [_miss(one, second) for one, second in zip(missed, again)]
    head = ["poster (brief, seed)", "style", "words", "set in", "read beside the words set", "Tesseract"]
    said = "Every miss. Tesseract was given the same posters, at their own size, told to look for sparse text."
    return f"### What was not read\n\n{said}\n\n{table(head, rows)}"


def _miss(one: Reading, second: Sequence[WordRead]) -> list[str]:
    places = [at for at, word in enumerate(one.words) if not word.found]
    words = [one.words[at] for at in places]
    known = {word.text for word in one.words if word.found}
    odd = [token for line in one.lines for token in line.split() if not known.issuperset(fold_words([token]))]
    return [
        f"{one.brief.id}, {one.seed}",
        str(one.brief.style),
        ", ".join(word.text for word in words),
        "; ".join(dict.fromkeys(f"{word.family}, {word.size:.0f} px ({word.role})" for word in words)),
        ", ".join(odd).replace("|", "\\|") or "nothing",
        ", ".join("read" if second[at].found else "not read" for at in places) if second else "not asked",
    ]


# -- misspelling -----------------------------------------------------------------------------------------------------


def _fall(clean: Reading, wrong: Reading) -> float:
    """Accuracy against the text asked for, lost."""
    return clean.asked_found / clean.asked - wrong.asked_found / wrong.asked


def _spelling(by_share: dict[float, list[Reading]]) -> str:
    rows = [_share_row(share, by_share[0.0], some) for share, some in by_share.items()]
    planted = np.array([one.changed / one.asked for some in by_share.values() for one in some])
    lost = np.array([_fall(*pair) for some in by_share.values() for pair in zip(by_share[0.0], some)])
    said = f"""
        The same {len(by_share[0.0])} posters with a share of their words misspelled. *planted*: words asked for that
        the record has otherwise, of all words; numbers and words of one or two letters are never changed. *lost*:
        accuracy against the text asked for on the clean poster, less that on the misspelled one. *lost - planted* with
        a bootstrap over posters. *corrected*: misspelled words that the engine read as asked all the same. Over single
        posters at all strengths, lost on planted (least squares through 0) has slope
        {planted @ lost / (planted @ planted):.3f}, r = {np.corrcoef(planted, lost)[0, 1]:.3f}."""
    head = ["knob", "words", "planted", "accuracy, as drawn", "accuracy, as asked", "lost", "lost - planted, points",
            "corrected"]  # fmt: skip
    return f"## Misspelled posters\n\n{wrapped(said)}\n\n{table(head, rows)}"


def _share_row(share: float, clean: Sequence[Reading], wrong: Sequence[Reading]) -> list[str]:
    counts = np.array([[a.asked_found, b.asked_found, b.changed, b.asked] for a, b in zip(clean, wrong)])
    before, after, changed, asked = counts.sum(axis=0)
    rest = bootstrap_totals(
        lambda t: (t[:, 0] - t[:, 1] - t[:, 2]) / t[:, 3], counts, draws=2000, rng=np.random.default_rng(0)
    )
    off = "" if share == 0 else f"{100 * rest.value:+.1f} ({100 * rest.low:+.1f} to {100 * rest.high:+.1f})"
    return [
        f"{share:g}",
        str(asked),
        f"{changed / asked:.1%}",
        f"{_accuracy(wrong).value:.1%}",
        f"{after / asked:.1%}",
        f"{(before - after) / asked:.1%}",
        off,
        f"{sum(one.corrected for one in wrong)} of {changed}",
    ]


# -- contrast --------------------------------------------------------------------------------------------------------


def _contrast(faded: Sequence[Faded]) -> str:
    recorded, seen = (np.array([getattr(text, name) for text in faded]) for name in ("recorded", "seen"))
    off = np.abs(seen / recorded - 1)
    rho = stats.spearmanr(recorded.ravel(), seen.ravel()).statistic
    said = f"""
        {len(faded)} texts, low-contrast at {", ".join(f"{s:g}" for s in FADED)}. Ink and ground are found in the pixels
        of each word alone: split in two by luminance (Otsu), the upper quartile of the light part against the lower
        quartile of the dark one, as a WCAG 2 ratio; a text has the median of its words. The colors on record are not
        looked at. Against the ratio on record: Spearman {rho:.4f} over all texts and strengths;
        {np.mean(off <= 0.05):.1%} within 5%, {np.mean(off <= 0.2):.1%} within 20%, the median
        off by {np.median(off):.2%}."""
    levels = [
        [f"{s:g}", f"{np.median(recorded[:, i]):.2f}", f"{np.median(seen[:, i]):.2f}",
         f"{np.quantile(seen[:, i], 0.05):.2f} to {np.quantile(seen[:, i], 0.95):.2f}"]
        for i, s in enumerate(FADED)
    ]  # fmt: skip
    by_level = table(["knob", "on record, median", "in the pixels, median", "middle 90%"], levels)
    by_style = _by(sorted(faded, key=lambda text: text.style), lambda text: text.style)
    head = ["style", "effects on headlines", "headlines: pixels / record at 0", "at .25", "at .5", "other texts, at 0",
            "texts that fall at every step", "posters where all do", "Spearman"]  # fmt: skip
    styles = table(head, [_style_row(name, texts) for name, texts in by_style.items()])
    about = """
        By style: the median ratio of contrast in the pixels to that on record; below 1 the pixels have less.
        *Spearman*: of the knob and a poster's median contrast in the pixels, the mean over posters; -1 falls at every
        step."""
    parts = [
        "## Contrast in the pixels",
        wrapped(said),
        by_level + "\n" + wrapped(about),
        styles + "\n" + _rises(faded),
    ]
    return "\n\n".join(parts)


def _rises(faded: Sequence[Faded]) -> str:
    """Every text that gains contrast at a step."""
    rows = [
        [
            text.poster,
            text.style,
            text.role,
            ", ".join(text.effects) or "none",
            *map(_three, (text.recorded, text.seen)),
        ]
        for text in faded
        if not text.falls
    ]
    head = ["brief", "style", "text", "effects", "on record", "in the pixels"]
    return (
        f"Texts that do not fall at every step:\n\n{table(head, rows)}" if rows else "All texts fall at every step.\n"
    )


def _three(ratios: Sequence[float]) -> str:
    return ", ".join(f"{ratio:.3g}" for ratio in ratios)


def _style_row(name: str, texts: Sequence[Faded]) -> list[str]:
    heads = [text for text in texts if text.role == "headline"]
    others = [text for text in texts if text.role != "headline"]
    posters = _by(texts, lambda text: text.poster).values()
    rho = [stats.spearmanr(FADED, np.median([text.seen for text in some], axis=0)).statistic for some in posters]
    return [
        name,
        ", ".join(sorted({effect for text in heads for effect in text.effects})) or "none",
        *(_median_ratio(heads, at) for at in (0, 1, 2)),
        _median_ratio(others, 0),
        f"{sum(text.falls for text in texts)} of {len(texts)}",
        f"{sum(all(text.falls for text in some) for some in posters)} of {len(posters)}",
        f"{np.mean(rho):.2f}",
    ]


def _median_ratio(texts: Sequence[Faded], at: int) -> str:
    return f"{np.median([text.seen[at] / text.recorded[at] for text in texts]):.2f}" if texts else ""


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else POSTERS)
