"""The blind test of `prove.heads`: posters and designers of another seed, asked of heads trained on the first study.

Fixed before any of its answers were seen: the seed, the number of prompts, the encoder, and which form is the one to
look at. Every prompt is asked of the heads that were trained without its words.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from prove._head_runs import FOLDS, Bench, Floats, fold_split, hits, opened, with_split
from prove._head_tables import FORMS, LOOK, PROMPTS, accuracy
from salon.collect.simulate.taste_drawn import draw_taste_study
from salon.stats import Estimate
from salon.train.head_data import head_data
from salon.train.head_loop import pair_logits, train_heads

FRESH_SEED = 4242
FRESH_PROMPTS = 16
"""For each criterion: the first of the first study's words, drawn and judged anew."""


def fresh_figures(bench: Bench, scratch: Path) -> dict[str, Estimate]:
    """The accuracy of each form over the look encoder on the fresh study."""
    folder = scratch / "fresh"
    study, _ = draw_taste_study(folder, prompts=FRESH_PROMPTS, seed=FRESH_SEED)
    fresh, _ = opened(study, folder, (LOOK,), PROMPTS)
    forms = [form for form, settings in FORMS.items() if settings.encoder == LOOK]
    return {form: accuracy(fresh, hits(fresh, _asked(bench, fresh, form))) for form in forms}


def _asked(bench: Bench, fresh: Bench, form: str) -> Floats:
    """(pairs,) log-odds on the fresh pairs, each by the fold whose test tenths hold its words."""
    settings = FORMS[form]
    logits = np.full(fresh.pairs.num_rows, np.nan)
    for fold in range(FOLDS):
        split = fold_split(bench, fold, 1.0)
        fit = train_heads(head_data(with_split(bench.pairs, split), bench.encoded[LOOK], settings), settings)
        asked = {prompt: "validation" if at == "test" else "train" for prompt, at in split.items()}
        data = head_data(with_split(fresh.pairs, asked), fresh.encoded[LOOK], settings)
        there = [split[prompt] == "test" for prompt in fresh.column("group")]
        logits[np.array(there)] = pair_logits(fit.network, data, data.validation)
    return logits
