"""Preference heads on a drawn study in the shape of TASTE; writes docs/evidence/heads.md and its pictures.

python -m prove.heads [scratch folder]

Everything slow is kept in the scratch folder (posters, vectors, readings, runs): a proof that was stopped goes on.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import gettempdir

import numpy as np

from prove._head_fresh import FRESH_PROMPTS, FRESH_SEED, fresh_figures
from prove._head_runs import (
    FOLDS,
    SEED,
    Bench,
    Floats,
    fold_run,
    hits,
    house_logits,
    opened,
    ridge_logits,
    scorer_logits,
)
from prove._head_tables import (
    DRAWS,
    FORMS,
    LOOK,
    PROMPTS,
    SCORED,
    SCORERS,
    SEEDS,
    SHARES,
    VARIANTS,
    VARIED,
    Found,
    Row,
    accuracy,
    best_form,
    best_scorer,
    ceiling,
    criteria_table,
    forms_table,
    head_on_tenth,
    scorers_table,
    told,
    variants_table,
)
from prove._page import table, wrapped
from salon.collect import PlantedTruth
from salon.collect.simulate.taste_drawn import draw_taste_study
from salon.engine import cores
from salon.report import Curve
from salon.report.charts import dot_intervals, line_curves
from salon.report.page import standalone_svg
from salon.store import open_study
from salon.study import Study
from salon.train import HeadSettings
from salon.train.settings import HEAD_ENCODER

DOCS = Path(__file__).parents[1] / "docs/evidence"


# -- running -----------------------------------------------------------------------------------------------------------


def head_row(
    found: Found, scratch: Path, name: str, settings: HeadSettings, seeds: Sequence[int], **how: object
) -> Row:
    """One way of training, on all folds and seeds."""
    by_seed, runs = [], []
    for seed in seeds:
        right = np.full(found.bench.pairs.num_rows, np.nan)
        for fold in range(FOLDS):
            run = fold_run(found.bench, scratch, fold, settings.model_copy(update={"seed": seed}), **how)
            right = np.where(np.isnan(run.logits), right, hits(found.bench, run.logits))
            runs.append(run)
        by_seed.append(right)
        print(f"{name}, seed {seed}: {right.mean():.3f}, {sum(r.seconds for r in runs[-FOLDS:]):.0f} s", flush=True)
    return Row(name, np.mean(by_seed, axis=0), tuple(float(one.mean()) for one in by_seed), tuple(runs))


def plain_row(bench: Bench, name: str, ask: Callable[[Bench, int], Floats]) -> Row:
    """A predictor without chance in it, on all folds."""
    right = np.full(bench.pairs.num_rows, np.nan)
    for fold in range(FOLDS):
        logits = ask(bench, fold)
        right = np.where(np.isnan(logits), right, hits(bench, logits))
    return Row(name, right)


def run_all(found: Found, scratch: Path) -> None:
    """All runs, the most needed first; the page is written again whenever a part of it is there."""
    found.rows["ridge"] = plain_row(found.bench, "ridge on the image part alone", ridge_logits)
    found.rows["house"] = plain_row(found.bench, "knows the house, sees nothing", house_logits)
    _forms(found, scratch, SEEDS[:1])
    found.rows["shuffled"] = head_row(found, scratch, "shuffled labels", FORMS[VARIED], SEEDS[:1], shuffled=True)
    write_page(found)
    for name in SCORERS:
        found.scorers[name] = scorer_logits(found.bench, name, SCORED)
        print(name, f"{np.nanmean(hits(found.bench, found.scorers[name][0])):.3f}", flush=True)
    write_page(found)
    found.fresh = fresh_figures(found.bench, scratch)
    write_page(found)
    for share in SHARES:
        row = head_row(found, scratch, f"share {share:g}", FORMS[VARIED], SEEDS[:1], share=share)
        found.curve[share] = accuracy(found.bench, row.right)
    write_page(found)
    for name, change in VARIANTS.items():
        found.rows[name] = head_row(found, scratch, name, FORMS[VARIED].model_copy(update=change), SEEDS[:1])
        write_page(found)
    _forms(found, scratch, SEEDS)
    write_page(found)


def _forms(found: Found, scratch: Path, seeds: Sequence[int]) -> None:
    for form, settings in FORMS.items():
        found.rows[form] = head_row(found, scratch, form, settings, seeds)


# -- the page ----------------------------------------------------------------------------------------------------------

INTRO = f"""
Pictures are drawn, not described: {{items:,}} posters by four built-in houses for {{prompts}} briefs, {PROMPTS} for
each
of nine criteria, with the defects that befall each house's work ([houses](../methods/built-in-generators.md)). Two
cohorts of five simulated
designers rank the four posters of every brief; what they answer follows the defects, their own tastes and noise
([simulate](../guide/simulate.md#drawn-posters)). `taste_drawn.toml` fixed all of it before the first head was trained.
Nobody gave these answers: this page shows that the method finds what is there, not what people like.
"""
HOW = f"""
Accuracy is against the majority of five designers, chance is .5, undecided pairs count ½ and every pair of every prompt
is in the denominator. {FOLDS} folds over prompts: heads learn from seven tenths, their best state is chosen on one, and
two are asked; briefs with the same words always fall together. So each of the {{pairs:,}} pairs is asked once a seed,
by
heads that never saw its prompt. Intervals: 95%, {DRAWS:,} bootstrap draws of prompts. Two frozen encoders:
`{HEAD_ENCODER}`, and `{LOOK}` in the rows with *look* ([encoders](../methods/heads.md#encoders)); heads at their
default settings.
"""
CHOSEN = f"""
**What was chosen, and on what.** The study and its settings were fixed first. Heads over the default encoder,
`{HEAD_ENCODER}`, were trained on it and stayed less than .10 above chance; the defaults of heads were settled on
other posters, with the figures of one fold of this study known. Then other descriptions of the same pictures were
tried with ridge regressions on these folds (the network's features, what is seen, colors, thumbnails, edges, strokes,
alone and together, about twenty sets), ranked by validation error; `{LOOK}` is made of the best. Its test accuracy
under ridge was seen as well before heads were trained on it, and a tenth that validates in one fold is asked in
another. So the *look* rows are not a blind test, and some of their lead may come of choosing. The fresh study below is
one.
"""
READ_FORMS = """
*next rater*: one more designer from the same population; *oracle*: a predictor that knows every pair's chances
([ceilings](../methods/ceilings.md)). *knows the house*: names the poster of the house that won more often in
training under the
criterion, and looks at nothing: houses differ by design, so it goes far, and no scorer is told it. *ridge*: vote
shares by ridge regression on differences of the picture's `image` vectors, no text and no layers. *beyond the house*:
correlation of log-odds and vote shares, both less their mean over the pairs of the same two houses and criterion; 0 for
whoever only recognises houses. *shuffled labels*: every training and validation pair given to either side by a coin.
*seeds*: lowest and highest accuracy of a seed. *seconds*: training of one fold on {cores} cores that others used too,
vectors in the cache.
"""
FRESH = f"""
Posters of {FRESH_PROMPTS} briefs for each criterion, drawn and judged anew with seed {FRESH_SEED} by other designers of
the same kind, and asked of heads that were trained on the study above without these briefs' words. Seed, size, encoder
and the form to look at (pairwise, the one chosen above) were fixed before any answer was seen; nothing was changed
after.
"""
VARIANTS_SAID = f"""
One thing changed at a time, on the {VARIED} form, one seed. *less the plain form*: paired, same folds and seed.
"""
SCORERS_SAID = """
The same {pairs} pairs for heads and scorers: one tenth of the prompts ({prompts} prompts, {items} posters), asked by
the heads that did not train on it. A scorer has one number for a picture whatever the criterion; a pair with a picture
it
cannot score counts ½. *head less scorer*: the {best} form, chosen by validation loss, seed {seed}; paired over prompts,
p by sign flips with Holm's correction. *best at*: the criterion where the scorer does best, on {each} pairs, and the
head there.
"""


def write_page(found: Found) -> None:
    """The page with what there is by now."""
    bench = found.bench
    facts = {
        "items": bench.study.counts["items"],
        "prompts": bench.study.counts["prompts"],
        "pairs": bench.pairs.num_rows,
        "cores": cores(),
    }
    parts = [
        "# Preference heads on drawn posters\n",
        f"Written by `make prove ONLY=heads` (seed {SEED}); what the heads are: [heads](../methods/heads.md).\n",
        wrapped(INTRO.format(**facts)) + "\n",
        wrapped(_verdict(found)) + "\n",
        "## Accuracy on held-out prompts\n",
        wrapped(HOW.format(**facts)) + "\n",
        forms_table(found),
        wrapped(READ_FORMS.format(**facts)) + "\n",
        wrapped(CHOSEN) + "\n",
        "![Accuracy of heads, scorers and controls](heads-accuracy.svg)\n",
        "## By criterion\n",
        criteria_table(found),
    ]
    if found.fresh:
        parts += ["## A fresh study\n", wrapped(FRESH) + "\n", _fresh_table(found)]
    if any(name in found.rows for name in VARIANTS):
        parts += ["## Variants\n", wrapped(VARIANTS_SAID) + "\n", variants_table(found)]
    if found.scorers:
        parts += ["## Against the scorers of the house\n", _scorers_said(found), scorers_table(found)]
    if found.curve:
        parts += ["## More prompts\n", _curve_part(found)]
    parts += ["## Time\n", wrapped(_times(found)) + "\n", f"Signature: `{_signature(found)}`\n"]
    (DOCS / "heads.md").write_text("\n".join(parts), encoding="utf-8")
    _draw(found)


def _verdict(found: Found) -> str:
    best = best_form(found.rows)
    figure = accuracy(found.bench, found.rows[best].right)
    words = f"**The {best} form, chosen by validation loss, names the majority in {told(figure)} of the pairs**"
    words += f": {figure.value - 0.5:.3f} above chance" + (", the lower end of its interval " if figure.low else "")
    words += f"{figure.low - 0.5:.3f}." if figure.low else "."
    default = max((form for form in FORMS if FORMS[form].encoder != LOOK), key=lambda one: found.rows[one].right.mean())
    figure = accuracy(found.bench, found.rows[default].right)
    words += f" The best over the default encoder, {default}, has {told(figure)}; knowing the house alone would give "
    words += f"{told(accuracy(found.bench, found.rows['house'].right))}, more than any head."
    if "shuffled" in found.rows:
        words += f" Shuffled labels: {told(accuracy(found.bench, found.rows['shuffled'].right))}."
    if found.scorers:
        name, other = best_scorer(found)
        head = accuracy(found.bench, head_on_tenth(found))
        words += f" On the tenth of the prompts that scorers were asked, it has {told(head)}, the best of "
        words += f"{len(found.scorers)} scorers, `{name}`, {told(other)}."
    return words


def _fresh_table(found: Found) -> str:
    return table(["heads", "accuracy"], [[form, told(figure)] for form, figure in found.fresh.items()])


def _scorers_said(found: Found) -> str:
    asked = ~np.isnan(head_on_tenth(found))
    prompts = len(np.unique(found.bench.column("group")[asked].astype(str)))
    facts = {"pairs": f"{int(asked.sum()):,}", "prompts": prompts, "items": 4 * prompts, "best": best_form(found.rows)}
    return wrapped(SCORERS_SAID.format(**facts, each=int(asked.sum()) // 9, seed=SEEDS[0])) + "\n"


def _curve_part(found: Found) -> str:
    words = f"The {VARIED} form, seed {SEEDS[0]}, on a share of each fold's training prompts (56 for each criterion)."
    rows = [[f"{share:.1%}", f"{56 * share:.0f}", told(figure)] for share, figure in found.curve.items()]
    picture = "![Accuracy over training prompts](heads-curve.svg)\n"
    return "\n".join(
        [wrapped(words), "", table(["share", "prompts for each criterion, about", "accuracy"], rows), picture]
    )


def _times(found: Found) -> str:
    seconds, items = found.seconds, found.bench.study.counts["items"]
    words = f"On {cores()} cores that others used too, so upper bounds."
    for name, said in (
        ("drawing", "Drawing, judging and saving"),
        (HEAD_ENCODER, f"Vectors of `{HEAD_ENCODER}`"),
        (LOOK, f"Vectors of `{LOOK}`"),
    ):
        if seconds.get(name, 0) > 20:  # less than that was only looked up
            words += f" {said}: {seconds[name]:.0f} s for {items:,} posters, once."
    return words + " Training: the columns of seconds above, one fold each."


def _signature(found: Found) -> str:
    shown = HeadSettings().model_dump(include={"width", "dropout", "weight_decay", "lr", "batch", "epochs", "patience"})
    settings = "|".join(f"{name}:{value}" for name, value in shown.items())
    data = f"data:{found.bench.study.hash[:12]}|encoder:{HEAD_ENCODER},{LOOK}"
    seeds = max(len(row.seeds) for row in found.rows.values())
    return f"heads|{data}|folds:{FOLDS}|{settings}|seeds:{seeds}|seed:{SEED}"


def _draw(found: Found) -> None:
    bench = found.bench
    rows = []
    for name in (*FORMS, "ridge", "house", "shuffled"):
        if name in found.rows:
            figure = accuracy(bench, found.rows[name].right)
            rows.append(
                (found.rows[name].name, figure.value, figure.low, figure.high, "heads" if name in FORMS else "controls")
            )
    for name, (logits, _) in found.scorers.items():
        figure = accuracy(bench, hits(bench, logits))
        rows.append((name, figure.value, figure.low, figure.high, "scorers (one tenth)"))
    top = ceiling(bench)
    drawing = dot_intervals(
        rows, 0.5, [("next rater", top.next_rater.value), ("oracle", top.oracle.value)],
        title="Accuracy on held-out prompts", x_label="accuracy against the majority", null_label="chance",
        groups=("heads", "scorers (one tenth)", "controls"),
    )  # fmt: skip
    (DOCS / "heads-accuracy.svg").write_text(standalone_svg(drawing), encoding="utf-8")
    if len(found.curve) > 1:
        points = list(found.curve.items())
        curve = Curve(VARIED, [56 * share for share, _ in points], [f.value for _, f in points],
                      [f.low or f.value for _, f in points], [f.high or f.value for _, f in points])  # fmt: skip
        drawing = line_curves(
            [curve], title="Accuracy over training prompts", x_label="training prompts for each criterion",
            y_label="accuracy", reference_lines=[("chance", 0.5), ("next rater", top.next_rater.value)],
        )  # fmt: skip
        (DOCS / "heads-curve.svg").write_text(standalone_svg(drawing), encoding="utf-8")


def _drawn(scratch: Path) -> tuple[Study, list[PlantedTruth]]:
    """The study, drawn once; what was planted is found by a long simulation, so it is kept as well."""
    kept = scratch / "planted.json"
    if not kept.is_file():
        _, planted = draw_taste_study(scratch / "study", prompts=PROMPTS, seed=SEED)
        kept.write_text(json.dumps([asdict(one) for one in planted]), encoding="utf-8")
    return open_study(scratch / "study"), [PlantedTruth(**one) for one in json.loads(kept.read_text(encoding="utf-8"))]


def _slowest(scratch: Path, seconds: dict[str, float]) -> dict[str, float]:
    """The longest time of each step so far: a run that finds everything done says nothing about it."""
    kept = scratch / "seconds.json"
    known = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
    slowest = {name: max(value, known.get(name, 0.0)) for name, value in seconds.items()}
    kept.write_text(json.dumps(slowest), encoding="utf-8")
    return slowest


def main(scratch: Path) -> None:
    """Draw, encode, train, ask, write."""
    os.environ.setdefault("SALON_CACHE", str(scratch / "cache"))
    started = time.perf_counter()
    study, planted = _drawn(scratch)
    seconds = {"drawing": time.perf_counter() - started}
    bench, vectors = opened(study, scratch / "study", (HEAD_ENCODER, LOOK), PROMPTS)
    run_all(Found(bench, planted, _slowest(scratch, seconds | vectors)), scratch)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(gettempdir()) / "salon-heads")
