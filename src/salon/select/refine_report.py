"""The report of a loop as one page: does looking help, and what happened to each prompt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from markupsafe import Markup

from salon.report import (
    SMALL,
    Badge,
    Block,
    Card,
    Chart,
    ChartRow,
    Column,
    Details,
    FilmFrame,
    Filmstrip,
    Note,
    Page,
    Section,
    Table,
    Tone,
    brief,
    charts,
    columns_of,
    count_noun,
    estimate_value,
    located,
    missing_section,
    one_way,
    score_text,
    sentence,
    strip_section,
    waiting_section,
)
from salon.report.words import fixed
from salon.select.refine_scores import (
    RefineChain,
    RefineReport,
    RoundDifference,
    RoundMean,
    RoundPicture,
    RoundStep,
    ScorerResult,
)
from salon.stats import Estimate
from salon.store import picture_url
from salon.study import Prompt

LOOPS_SHOWN = 24
"""Prompts that are shown."""
LOOPS_OPEN = 3
"""Of these, open at once."""
_WIDTH, _NARROW = 360, 200
_UNREAD_NOTES = {"unread": "The answer was not read ({reason}): the next round keeps this prompt.",
           "none": "There was no answer ({reason}): the next round keeps this prompt."}  # fmt: skip


def refine_page(report: RefineReport, folder: Path, most: int = LOOPS_SHOWN) -> Page:
    """The page; pictures come from the study `folder`."""
    here = located(report)
    groups = {"answer not read": here.unread, "picture not made": here.failed}
    groups |= {f"no {scores.scorer}": scores.unscored for scores in here.scores}
    missing = [(what, why, count) for what, some in groups.items() for why, count in some.items()]
    lacking = missing_section(missing, "What could not be read, made or scored")
    blocks = [_strip(here, chain, folder, open=n < LOOPS_OPEN) for n, chain in enumerate(here.chains[:most])]
    strips = strip_section(
        blocks,
        len(here.chains),
        "The picture of every round, its prompt, and what was said of it. "
        "New words are underlined, lost ones struck out.",
    )
    figures = [
        Chart(_drawing(scores), heading=scores.scorer)
        for scores in here.scores
        if any(level.figure for level in scores.levels)
    ]
    text = (
        "Means over prompts by round; bands are intervals. The control draws the original prompt from the same seeds."
    )
    return Page(
        title="Drawn, looked at, drawn again",
        tab=f"Loop: {brief(report.generator)}",
        subtitle=Markup("{} draws, {} looks; {} over {}.").format(
            brief(report.generator),
            brief(report.vlm),
            count_noun(here.prompts, "prompt"),
            count_noun(here.rounds, "round"),
        ),
        kicker="Salon select refine",
        cards=_cards(here),
        sections=[
            *waiting_section(here.waiting),
            Section("By round", [ChartRow(figures)] if figures else [Note("No scorer gave a number.")], text),
            _differences(here),
            *lacking,
            strips,
        ],
        notes=[
            Markup("Intervals in brackets, at {}, over prompts.").format(fixed(here.level, 2)),
            *report.policies,
            *map(sentence, report.notes),
        ],
        signature=one_way(report.signature),
    )


def _cards(report: RefineReport) -> list[Card]:
    looks = sum(report.replies.values())
    read = report.replies.get("revised", 0)
    cards = [Card("Answers read", Markup("{} of {}").format(fixed(read, 0), fixed(looks, 0)), "by the VLM that looks")]
    last = f"round {report.rounds}"
    for scores in report.scores:
        differences = {(apart.first, apart.second): apart for apart in scores.differences}
        apart = differences.get((last, f"control {report.rounds}")) or differences.get((last, "round 0"))
        if apart is not None:
            tone = gain_tone(apart.figure, scores.higher_is_better)
            words = f"{apart.first} less {apart.second}"
            cards.append(Card(scores.scorer, estimate_value(apart.figure, None), words, tone))
    return cards[:5]


def gain_tone(gain: Estimate, higher_is_better: bool = True) -> Tone:
    """The tone of a gain: open while its interval holds 0."""
    if gain.low is None or gain.high is None or gain.low <= 0 <= gain.high:
        return "open"
    return "clear" if (gain.low > 0) == higher_is_better else "alert"


def round_curve(label: str, points: Iterable[tuple[int, Estimate | None]]) -> charts.Curve:
    """Estimates by round, with their intervals; rounds without one are left out."""
    known = [(number, figure) for number, figure in points if figure is not None]
    return charts.Curve(
        label,
        [number for number, _ in known],
        [figure.value for _, figure in known],
        low=[figure.low for _, figure in known],
        high=[figure.high for _, figure in known],
    )


# -- numbers ---------------------------------------------------------------------------------------------------------


def _drawing(scores: ScorerResult) -> str:
    first = [level for level in scores.levels if level.round == 0]
    arms = {"revised": [level for level in scores.levels if level.arm == "round"],
            "control": [*first, *(level for level in scores.levels if level.arm == "control")]}  # fmt: skip
    curves = [round_curve(name, ((level.round, level.figure) for level in levels)) for name, levels in arms.items()]
    drawn_curves = [curve for curve in curves if len(curve.x) > 1 or curve.label == "revised"]
    return charts.line_curves(drawn_curves, title=f"{scores.scorer} by round", x_label="round", height=240, width=SMALL)


def difference_table(results: Sequence[ScorerResult]) -> Table:
    """Rounds less others, prompt by prompt."""
    columns = [
        *columns_of(ScorerResult, "scorer"),
        *columns_of(RoundDifference, "first", "second", "figure", "p", "holm"),
        Column("n", "Prompts", "count"),
        *columns_of(RoundDifference, "missing"),
    ]
    rows = [
        {**vars(apart), "scorer": scores.scorer if number == 0 else "", "n": apart.figure.n}
        for scores in results
        for number, apart in enumerate(scores.differences)
    ]
    return Table(columns, rows, caption="Differences, prompt by prompt", sortable=False)


def _differences(report: RefineReport) -> Section:
    blocks: list[Block] = [difference_table(report.scores)]
    best = [
        {"scorer": scores.scorer, "arm": f"best of {'rounds' if level.arm == 'round' else 'controls'}",
         "figure": level.figure, "missing": level.missing}
        for scores in report.scores
        for level in scores.best
    ]  # fmt: skip
    if best:
        caption = f"Of all pictures of a prompt, the one with the best {report.pick}"
        columns = [
            *columns_of(ScorerResult, "scorer"),
            *columns_of(RoundMean, "arm", "figure", "missing", arm="Chosen among"),
        ]
        blocks.append(Table(columns, best, caption=caption, sortable=False))
    return Section("Does looking help?", blocks, "Round r and control r are drawn from the same seeds: "
                   "they differ in the prompt and in nothing else.")  # fmt: skip


# -- filmstrips --------------------------------------------------------------------------------------------------------


def _strip(report: RefineReport, chain: RefineChain, folder: Path, *, open: bool) -> Details:
    frames = [_frame(chain, step, folder) for step in chain.steps]
    blocks: list[Block] = [Filmstrip(frames)]
    if chain.control:
        again = [
            FilmFrame(f"Control {step.round}", _picture(shot, folder, _NARROW), shot.item, _missing(shot),
                  numbers=_numbers(shot))
            for step in chain.control
            for shot in step.shots[:1]
        ]  # fmt: skip
        blocks.append(Filmstrip(again, "The original prompt again, from the same seeds.", size="small"))
    if chain.waits:
        outcome = Markup("waits for {}").format(chain.waits)
    elif chain.best_round is None:
        outcome = Markup("{}").format(chain.why)
    else:
        outcome = Markup("best: round {}").format(fixed(chain.best_round, 0))
    return Details(prompt_title(chain.prompt, outcome), blocks, open=open)


def prompt_title(prompt: Prompt, outcome: Markup) -> Markup:
    """The title of a fold: the prompt, and what came of it."""
    soft = Markup('<span class="soft">{}</span>').format(outcome)
    return Markup("{} {}").format(brief(prompt.view() or prompt.id, 90), soft)


def _frame(chain: RefineChain, step: RoundStep, folder: Path) -> FilmFrame:
    preferred = [shot for name in (chain.best, step.seen) for shot in step.shots if shot.item == name]
    shot = next(iter([*preferred, *(shot for shot in step.shots if shot.image), *step.shots]))
    before = chain.steps[step.round - 1].prompt if step.round and step.changed else None
    note = _UNREAD_NOTES.get(step.outcome or "", "").format(reason=step.reason)
    if step.round and not step.changed and step.prompt is not None:
        note = f"The prompt of the round before. {note}".strip()
    chosen = Badge("chosen", "clear", chain.why) if shot is not None and shot.item == chain.best else None
    several = f", {len(step.shots)} pictures" if len(step.shots) > 1 else ""
    return FilmFrame(
        title=f"Round {step.round}{several}",
        picture=_picture(shot, folder, _WIDTH),
        alt=f"{shot.item}",
        missing=_missing(shot) if step.prompt is not None else "waits for the round before",
        prompt=step.prompt.view() if step.prompt is not None and (step.changed or not step.round) else "",
        before=None if before is None else before.view(),
        remarks=[(remark.about, remark.finding) for remark in step.remarks],
        note=note,
        numbers=_numbers(shot),
        badge=chosen,
    )


def _missing(shot: RoundPicture) -> str:
    return f"not made: {shot.failed}" if shot.failed else "no picture yet"


def _numbers(shot: RoundPicture) -> list[tuple[str, Markup | str]]:
    return [(brief(name, 26), score_text(value, shot.sigmas.get(name))) for name, value in shot.scores.items()]


def _picture(shot: RoundPicture, folder: Path, width: int) -> str:
    return "" if shot.image is None else picture_url(folder / shot.image, width)
