"""The page of a run of chains: means by round, who was chosen, and the filmstrip of every prompt."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from salon.report import (
    MISSING,
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
    brief,
    charts,
    columns_of,
    common_decimals,
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
from salon.select.cohp import (
    ChainDecision,
    ChainLevel,
    ChainPicture,
    CohpReport,
    GeneratorMean,
    PromptChain,
    best_picture,
)
from salon.select.refine_report import gain_tone, prompt_title, round_curve
from salon.store import picture_url

CHAINS_SHOWN, CHAINS_OPEN = 16, 2
"""Prompts that are shown, and of these open at once."""
_WIDTH, _NARROW = 320, 180
"""Narrowest frame: four stand in a row."""


def cohp_page(report: CohpReport, folder: Path) -> Page:
    """The page; pictures come from the study `folder`."""
    here = located(report)
    scorers = brief(", ".join(column.scorer for column in report.columns), 120)
    missing = [("picture not made", kind, count) for kind, count in here.failed.items()]
    if here.unscored:
        missing.append(("picture without a score", "see the strips", here.unscored))
    if here.empty_rounds:
        missing.append(("round without a scored picture", "the next had the same start", here.empty_rounds))
    missing_sections = missing_section(missing, "What could not be made or scored")
    blocks = [_strip(here, chain, folder, open=n < CHAINS_OPEN) for n, chain in enumerate(here.chains[:CHAINS_SHOWN])]
    text = "The best picture of each generator, then the best of each round; behind the fold all others."
    strips = strip_section(blocks, len(here.chains), text)
    weights = ", ".join(f"{id} {share:.3g}" for id, share in here.weights.items() if share > 0)
    notes = [Note(Markup("Score: {}, in {}.").format(brief(weights, 200), brief(here.scale, 120)))]
    if here.redrawn:
        notes.append(
            Note(
                f"Drew anew in every round, because they cannot start from a picture: {', '.join(here.redrawn)}.",
                tone="open",
            )
        )
    return Page(
        title="Who draws, then which picture",
        tab=f"CoHP: {brief(', '.join(report.generators), 60)}",
        subtitle=Markup("{} and {}; {} decides.").format(
            count_noun(len(report.generators), "generator"), count_noun(here.prompts, "prompt"), scorers
        ),
        kicker="Salon select cohp",
        cards=_cards(here),
        sections=[
            *waiting_section(here.waiting),
            _rounds(here),
            Section("Who draws", [generator_counts(here), *notes]),
            *missing_sections,
            strips,
        ],
        notes=[*report.policies, *map(sentence, report.notes)],
        signature=one_way(report.signature),
    )


def _cards(report: CohpReport) -> list[Card]:
    lost = sum(report.failed.values())
    ties = Markup("{} of {}").format(fixed(report.not_apart, 0), fixed(report.prompts, 0))
    made_count = Markup("{} of {}").format(fixed(report.asked - lost, 0), fixed(report.asked, 0))
    cards = [
        Card("Pictures", made_count, "made of those asked for", "alert" if lost else "plain"),
        Card("Generators tied", ties, "prompts, in stage 1", "open" if report.not_apart else "clear"),
    ]  # fmt: skip
    for name, gain in (("Gain of stage 2", report.gain), ("Gain in true quality", report.true_gain)):
        if gain is not None:
            cards.append(Card(name, estimate_value(gain, None), "answer less the best of stage 1", gain_tone(gain)))
    return cards


# -- numbers ---------------------------------------------------------------------------------------------------------


def _rounds(report: CohpReport) -> Section:
    curves = [("score", [("best of the round", "best"), ("best so far", "so_far")])]
    if report.truth:
        curves.append(("true quality", [("best of the round", "true_best"), ("best so far", "true_so_far")]))
    figures = []
    for title, lines in curves if report.levels else ():
        drawn_curves = [
            round_curve(label, ((level.round, getattr(level, field)) for level in report.levels))
            for label, field in lines
        ]
        drawing = charts.line_curves(drawn_curves, title=f"{title} by round", x_label="round", height=240, width=SMALL)
        figures.append(Chart(drawing, heading=title))
    text = "Means over prompts, with intervals over prompts. Round 0 is stage 1: every generator, drawn from text."
    blocks: list[Block] = [ChartRow(figures)] if figures else []
    return Section("By round", [*blocks, round_table(report)], text)


def round_table(report: CohpReport) -> Table:
    """Where the chains stood after each round."""
    columns = [
        *columns_of(ChainLevel, "round"),
        Column("strength", "Strength", hint="How far the round leaves the picture it starts from."),
        *columns_of(ChainLevel, "best", "so_far", *(["true_so_far"] if report.truth else [])),
        Column("answers", "Answers", "count", hint="Prompts whose answer comes from this round."),
        *columns_of(ChainLevel, "missing"),
    ]
    rows = [
        {**vars(level), "round": f"{level.round}" if level.round else "stage 1",
         "strength": _strengths(report, level.round), "answers": report.answers.get(level.round, 0)}
        for level in report.levels
    ]  # fmt: skip
    return Table(columns, rows, caption="By round", sortable=False)


def _strengths(report: CohpReport, number: int) -> str:
    if not number:
        return MISSING
    used = {decision.strength for chain in report.chains for decision in chain.decisions if decision.round == number}
    return ", ".join("drawn anew" if strength is None else f"{strength:g}" for strength in sorted(used, key=str))


def generator_counts(report: CohpReport) -> Table:
    """How often each generator was chosen in stage 1, and what it lacks."""
    means = {name: [m for c in report.chains for d in c.decisions[:1] for m in d.means if m.generator == name]
             for name in report.generators}  # fmt: skip
    counts = ("asked", "failed", "unscored")
    columns = [
        *columns_of(GeneratorMean, "generator"),
        Column("chosen", "Chosen", "count", hint="Prompts for which it had the highest mean."),
        *columns_of(GeneratorMean, *counts),
    ]
    rows = [
        {"generator": name, "chosen": report.chosen.get(name, 0),
         **{count: sum(getattr(mean, count) for mean in some) for count in counts}}
        for name, some in means.items()
    ]  # fmt: skip
    return Table(columns, rows, caption="Stage 1, over all prompts", sortable=False)


# -- filmstrips --------------------------------------------------------------------------------------------------------


def _strip(report: CohpReport, chain: PromptChain, folder: Path, *, open: bool) -> Details:
    blocks: list[Block] = []
    if chain.decisions:
        first = chain.decisions[0]
        blocks.append(Filmstrip([_generator(report, chain, mean, folder) for mean in first.means],
                                f"Stage 1: {first.why}.", size="four"))  # fmt: skip
    if len(chain.decisions) > 1:
        rounds = [_round(report, chain, decision, folder) for decision in chain.decisions[1:]]
        blocks.append(Filmstrip(rounds, f"Stage 2, drawn by {chain.decisions[0].generator}.", size="four"))
        blocks.append(Details("All pictures of the rounds", [_all(report, chain, decision, folder)
                                                             for decision in chain.decisions[1:]]))  # fmt: skip
    if chain.answer is None:
        outcome = Markup("waits for {}").format(chain.waits)
    elif chain.answer.item is None:
        outcome = Markup("no answer: {}").format(chain.answer.why)
    else:
        where = "stage 1" if chain.answer.round == 0 else f"round {chain.answer.round}"
        outcome = Markup("answer from {}: {}").format(where, chain.answer.why)
    return Details(prompt_title(chain.prompt, outcome), blocks, open=open)


def _generator(report: CohpReport, chain: PromptChain, mean: GeneratorMean, folder: Path) -> FilmFrame:
    first = chain.decisions[0]
    mine = [picture for picture in first.seen if picture.generator == mean.generator]
    best = best_picture(mine) or mine[0]
    lost = f" {mean.failed} not made, {mean.unscored} without a score." if mean.failed or mean.unscored else ""
    figures = [other.figure for other in first.means if other.figure is not None]
    decimals = common_decimals((figure.low, figure.high) for figure in figures)  # as many for all generators
    value = "" if mean.figure is None else estimate_value(mean.figure, None, decimals)
    chosen = Badge("goes on", "clear", first.why) if mean.generator == first.generator else None
    tied = Badge("tied", "open", "its mean does not differ significantly from the chosen one's") if (
        mean.generator in first.tied) else None  # fmt: skip
    return FilmFrame(
        title=mean.generator,
        picture=_picture(report, best, folder, _WIDTH),
        alt=best.item,
        missing=best.missing or "no picture",
        numbers=[*_numbers(report, best), *([(f"mean of {mean.figure.n}", value)] if mean.figure else [])],
        note=f"The best of {mean.asked}.{lost}",
        badge=_answer(chain, best) or chosen or tied,
    )


def _round(report: CohpReport, chain: PromptChain, decision: ChainDecision, folder: Path) -> FilmFrame:
    best = best_picture(decision.seen) or decision.seen[0]
    start = "/".join((decision.began or "").rsplit("/", 2)[1:])  # without its prompt
    how = "Drawn anew" if decision.strength is None else f"Started from {start} at strength {decision.strength:g}"
    return FilmFrame(
        title=f"Round {decision.round}",
        picture=_picture(report, best, folder, _WIDTH),
        alt=best.item,
        missing=best.missing or "no picture",
        numbers=_numbers(report, best),
        note=f"{how}. Chosen: {decision.why}.",
        badge=_answer(chain, best),
    )


def _all(report: CohpReport, chain: PromptChain, decision: ChainDecision, folder: Path) -> Filmstrip:
    frames = [
        FilmFrame(
            str(number),
            _picture(report, picture, folder, _NARROW),
            picture.item,
            picture.missing or "no picture",
            numbers=_numbers(report, picture),
            badge=_answer(chain, picture)
            or (Badge("best", "clear", decision.why) if picture.item == decision.best else None),
        )
        for number, picture in enumerate(decision.seen, 1)
    ]
    return Filmstrip(frames, f"All pictures of round {decision.round}.", size="small")


def _answer(chain: PromptChain, picture: ChainPicture) -> Badge | None:
    if chain.answer is None or picture.item != chain.answer.item:
        return None
    return Badge("answer", "clear", chain.answer.why)


def _numbers(report: CohpReport, picture: ChainPicture) -> list[tuple[str, Markup | str]]:
    numbers: list[tuple[str, Markup | str]] = [] if picture.score is None else [("score", score_text(picture.score))]
    values = report.values.get(picture.item, {})
    if len(report.columns) > 1:
        numbers += [(brief(name, 26), score_text(value)) for name, value in values.items()]
    oracle = {column.scorer for column in report.columns} == {"true-quality"}
    if picture.item in report.truth and not oracle:
        numbers.append(("true quality", fixed(report.truth[picture.item], 3)))
    return numbers


def _picture(report: CohpReport, picture: ChainPicture, folder: Path, width: int) -> str:
    path = report.images.get(picture.item)
    return "" if path is None else picture_url(folder / path, width)
