"""Does looking at a picture and revising the prompt make the next picture better, or do more draws alone do that?

    python -m prove.loop [FOLDER]         writes docs/evidence/loop.md

True quality of what houses draw, round by round, against a control that draws the original prompt from the same seeds.
With a FOLDER the loops stay there, and an interrupted proof goes on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from prove._page import table, wrapped
from salon.collect import TRUTH
from salon.generate import house_generator, read_prompts, take_category_turns
from salon.generate.houses import HEEDED
from salon.judge import Conversation, Reply, Vlm
from salon.judge.diagnosis import prompts_in_question
from salon.judge.measuring_judge import BOUNDS, diagnosis_answer, flaws_in_pixels, layout_diagnosis, pixel_diagnosis
from salon.render import DEFECTS
from salon.report import p_value
from salon.select import RefineSettings, refine_study
from salon.select.refine_run import DRAWS
from salon.select.refine_scores import RefineReport
from salon.stats import bootstrap_totals, paired_difference
from salon.study import Ask, GeneratedPicture, Prompt, Signature

BRIEFS, ROUNDS = 24, 3
HOUSES = ("atelier", "carnival", "ledger", "mirage")
SMALL = "256x362"
"""The oracle reads records, not pixels: small pictures do."""
SEEN_HOUSES = ("mirage", "atelier")
"""Houses whose flaws can for the greater part be found in pixels."""
CLEAN, FLAWED, STRENGTH, CLEAN_SEED, FLAWED_SEED = 44, 13, 0.6, 901, 902
"""Posters that the bounds were set on; the loops draw from other seeds."""
PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "loop.md"
Rows = dict[str, dict[tuple[str, int], np.ndarray]]
"""House to (arm, round) to true quality by prompt."""


class Blind:
    """Asks for everything and looks at nothing."""

    name = "blind"
    signature = Signature(method="blind")

    def reply(self, conversations: Iterable[Conversation]) -> Iterator[tuple[int, Reply]]:
        """The same asks for every picture."""
        for index, asked in enumerate(conversations):
            yield (
                index,
                Reply(
                    text=diagnosis_answer(prompts_in_question(asked)[-1], [(kind, "not looked at") for kind in DEFECTS])
                ),
            )


def loops(
    name: str, vlm: Callable[[], Vlm], houses: Sequence[str], home: Path, briefs: Sequence[Prompt], **settings: object
) -> Rows:
    """True quality by round of every house."""
    found: Rows = {}
    for house in houses:
        wanted = RefineSettings(**settings)
        report = refine_study(briefs, house_generator(house, 1), vlm(), wanted, home / f"{name}-{house}")
        print(f"{name} {house}: {report.replies}", flush=True)
        found[house] = _qualities(report)
    return found


def _qualities(report: RefineReport) -> dict[tuple[str, int], np.ndarray]:
    found: dict[tuple[str, int], list[float]] = {}
    for chain in report.chains:
        for arm, steps in (("round", chain.steps), ("control", chain.control)):
            for step in steps:
                found.setdefault((arm, step.round), []).append(step.shots[0].scores[TRUTH])
    return {key: np.array(values) for key, values in found.items()}


# -- figures ---------------------------------------------------------------------------------------------------------


def level(rows: Sequence[np.ndarray]) -> str:
    """Mean over houses and prompts, with the interval over prompts."""
    by_prompt = np.mean(rows, axis=0)
    data = np.column_stack([by_prompt, np.ones(len(by_prompt))])
    mean = bootstrap_totals(lambda t: t[:, 0] / t[:, 1], data, draws=DRAWS, rng=np.random.default_rng(0))
    return f"{mean.value:.3f} [{mean.low:.3f}, {mean.high:.3f}]"


def apart(rows: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> str:
    """Difference of the same, paired by house, prompt and seed, with p by flipping the signs of prompts."""
    one, other = np.mean(rows, axis=0), np.mean(others, axis=0)
    found = paired_difference(one, other, np.arange(len(one)), draws=DRAWS, rng=np.random.default_rng(0))
    shown = found.difference
    return f"{shown.value:+.3f} [{shown.low:+.3f}, {shown.high:+.3f}], p {p_value(found.p)}"


def round_rows(loop: Rows, both: Rows) -> list[list[str]]:
    """One line for each round: control, loop, loop with memory, and the differences."""

    def of(rows: Rows, arm: str, number: int) -> list[np.ndarray]:
        return [rows[house][arm if number else "round", number] for house in rows]

    return [
        [str(n), level(of(loop, "control", n)), level(of(loop, "round", n)), level(of(both, "round", n)),
         apart(of(loop, "round", n), of(loop, "control", n)) if n else "–",
         apart(of(both, "round", n), of(loop, "control", n)) if n else "–"]
        for n in range(ROUNDS + 1)
    ]  # fmt: skip


def house_rows(loop: Rows, rounds: Sequence[int]) -> list[list[str]]:
    """One line for each house and round: control and loop, and the difference."""
    return [
        [house, str(n), level([by["control", n]]), level([by["round", n]]),
         apart([by["round", n]], [by["control", n]])]
        for house, by in loop.items()
        for n in rounds
    ]  # fmt: skip


def best_row(loop: Rows) -> list[str]:
    """The best of all rounds by true quality itself against the best of as many draws of the original."""
    best = {
        arm: [np.max([by[arm if n else "round", n] for n in range(ROUNDS + 1)], axis=0) for by in loop.values()]
        for arm in ("control", "round")
    }
    return [level(best["control"]), level(best["round"]), apart(best["round"], best["control"])]


# -- bounds ----------------------------------------------------------------------------------------------------------


def bound_rows(home: Path) -> list[list[str]]:
    """How often each flaw is found where it is not, and where it is."""
    briefs = read_prompts("briefs")
    clean = [kinds for kinds, _ in _looked("proof", briefs[::2][:CLEAN], CLEAN_SEED, home)]
    rows = []
    for kind in DEFECTS:
        if kind not in (*BOUNDS, "misspelling", "missing-text"):
            continue
        looked = _looked(f"proof+{kind}@{STRENGTH}", briefs[1::6][:FLAWED], FLAWED_SEED, home)
        flawed = [kinds for kinds, planted in looked if kind in planted]
        bound = f"below {BOUNDS[kind].least:g}" if kind in BOUNDS else "by words"
        false = sum(kind in kinds for kinds in clean)
        right = sum(kind in kinds for kinds in flawed)
        rows.append([kind, bound, f"{false} of {len(clean)}", f"{right} of {len(flawed)}"])
    return rows


def _looked(house: str, briefs: Sequence[Prompt], seed: int, home: Path) -> Iterator[tuple[set[str], str]]:
    """The flaws found in each poster, and its record."""
    for index, made in house_generator(house, 1).make([Ask(prompt=brief, seed=seed) for brief in briefs]):
        if isinstance(made, GeneratedPicture):
            path = home / "looked.png"
            path.write_bytes(made.image)
            planted = (made.layout or "").partition('"defects"')[2]
            yield {kind for kind, _ in flaws_in_pixels((path, briefs[index]))}, planted


# -- the page --------------------------------------------------------------------------------------------------------


def page(loop: Rows, both: Rows, blind: Rows, pixels: Rows, bounds: list[list[str]]) -> str:
    """The page of the docs."""
    asked = [rows["round", 1] for rows in blind.values()]
    looked, control = ([rows[arm, 1] for rows in loop.values()] for arm in ("round", "control"))
    last = max(n for _, n in next(iter(pixels.values())))
    parts = [
        "# Does looking help? The loop on houses",
        wrapped(f"""Written by `python -m prove.loop`. {BRIEFS} built-in briefs, drawn by {len(loop)} houses
        ({', '.join(loop)}), one picture a round. Every number is true quality: the mean over criteria of what the flaws
        on record leave. Intervals are 95%, over prompts ({DRAWS:,} bootstrap draws). Differences are paired by house,
        prompt and seed, with p by flipping the signs of prompts ({1 / (DRAWS + 1):.4f} is the least that {DRAWS:,} sign
        patterns can give). What a house does with an ask is stipulated: the flaw then befalls {HEEDED:g} times as often
        ([houses](../methods/built-in-generators.md)). So the table shows that the loop works as built, and what its
        parts do. It does not show that a real generator heeds a real VLM."""),
        "## By round, with the oracle looking",
        wrapped("""The oracle knows every flaw. *Loop* is shown the picture and the original prompt, as in the paper;
        *with both* also the prompt that the picture was drawn from, whose asks it keeps."""),
        table(["round", "control", "loop", "with both", "loop less control", "with both less control"],
              round_rows(loop, both)),
        "## By house",
        "The last round of the same loops.",
        table(["house", "round", "control", "loop", "loop less control"], house_rows(loop, [ROUNDS])),
        "## Best of rounds",
        wrapped(f"""The best of the {ROUNDS + 1} pictures of a prompt, chosen by true quality itself, beside the best of
        as many draws of the original prompt: what choosing alone brings stands in the first column."""),
        table(["best of controls", "best of rounds", "difference"], [best_row(loop)]),
        "## Without looking",
        wrapped("""Asking for everything at once, in round 1, whatever the picture shows. Houses heed every ask at no
        cost, so this is the most that asks can bring."""),
        table(["control 1", "loop, round 1", "asks for everything", "everything less loop"],
              [[level(control), level(looked), level(asked), apart(asked, looked)]]),
        "## By pixels",
        wrapped(f"""The same loop where `--measured pixels` looks: it reads and measures the picture, and knows nothing
        of its record. Houses {' and '.join(pixels)}."""),
        table(["house", "round", "control", "loop", "loop less control"], house_rows(pixels, range(1, last + 1))),
        "## The bounds of `--measured pixels`",
        wrapped(f"""How often a flaw is found in {CLEAN} clean posters of `proof`, and in those of {FLAWED} posters in
        which it could be planted at {STRENGTH}. The bounds were set on these posters, so the rates flatter a little;
        the loops above draw from other seeds. Five flaws have no rule: clashing colors, crowding, pairs of typefaces,
        style against the mood, things nobody asked for."""),
        table(["flaw", "found", "in clean posters", "where planted"], bounds),
    ]  # fmt: skip
    return "\n\n".join(part.strip() for part in parts) + "\n"


def main(home: Path) -> None:
    """Every loop, then the page."""
    home.mkdir(parents=True, exist_ok=True)
    briefs = take_category_turns(read_prompts("briefs"), BRIEFS)
    quick = {"size": SMALL, "rounds": ROUNDS}
    loop = loops("layout", lambda: layout_diagnosis("layout"), HOUSES, home, briefs, **quick)
    both = loops("both", lambda: layout_diagnosis("layout"), HOUSES, home, briefs, **quick, sees="both", control=False)
    blind = loops("blind", Blind, HOUSES, home, briefs, size=SMALL, rounds=1, control=False)
    pixels = loops("pixels", lambda: pixel_diagnosis("pixels", 1), SEEN_HOUSES, home, briefs, rounds=2)
    PAGE.write_text(page(loop, both, blind, pixels, bound_rows(home)), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with TemporaryDirectory(prefix="salon-") as folder:
            main(Path(folder))
