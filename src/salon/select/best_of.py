"""Best of N from beginning to end: items drawn or found, scored, chosen, recorded.

    OUT/best.json        the report
    OUT/picks.jsonl      one line for each prompt: items, standings, what was chosen and why
    OUT/picks.csv        one row for each prompt
    OUT/index.html       for each prompt the pick beside its runner-up, why, and the others

Pictures and scores are kept as they come (`generate`, `judge`): the same call goes on where it stopped, tries again
what failed, and writes the same files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from markupsafe import Markup
from pydantic import Field

from salon.errors import BadValue
from salon.generate import GenerateSettings, GenerationFailure, generate_items
from salon.judge import MEASUREMENTS, SCORES_FOLDER as SCORES, PictureSource, ScoreSettings, make_scorer
from salon.report import (
    Badge,
    Block,
    Card,
    Chart,
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
    element,
    join_names,
    located,
    missing_section,
    one_way,
    rect,
    score_text,
    sentence,
    value,
)
from salon.report.words import fixed
from salon.select.best import (
    BestReport,
    ItemStanding,
    MissingPicture,
    OfferedPicture,
    PromptPick,
    RunnerUp,
    choose_best,
)
from salon.select.explanation import Contribution
from salon.select.route import RouteChoice
from salon.select.scores import StepCallback, no_progress, picture_scores, score_columns, study_scores
from salon.select.settings import PickSettings
from salon.select.weights import Blend, ScorerColumn, ScoreReference, blend_columns, read_weights
from salon.store import open_study, picture_url, whole_file, write_json, write_plain
from salon.study import Generator, Noun, Prompt, Scorer, builtin_criteria

BEST_FOLDER = "best"
Routing = Mapping[str, RouteChoice]
"""Who draws a prompt, and why, by the prompt's id."""


class BestSettings(Noun):
    """What is wanted: weights, how scales are made one, and how one of several is chosen."""

    weights: str | None = Field(None, description="Criterion weights: typography=3,mood=1; *=1 for all others.")
    reference: ScoreReference | None = None
    equal_scales: bool = False
    pick: PickSettings = PickSettings()

    def blend(self, columns: Sequence[ScorerColumn]) -> Blend:
        """How columns of scores become one number."""
        weights = read_weights(self.weights, [column.criterion for column in columns])
        return blend_columns(columns, weights, reference=self.reference, equal=self.equal_scales)


def best_of_study(
    folder: Path,
    words: Sequence[str],
    wish: BestSettings,
    *,
    scorers: Sequence[Scorer] = (),
    scoring: ScoreSettings | None = None,
    watch: StepCallback = no_progress,
    not_made: Sequence[MissingPicture] = (),
    among: Callable[[OfferedPicture], bool] = lambda picture: True,
    routing: Routing | None = None,
    notes: Sequence[str] = (),
) -> BestReport:
    """The best item of every prompt of a study."""
    study = open_study(folder)
    if not study.counts.get("items"):
        if not not_made:
            raise BadValue("a study with items is needed", found="none", where=str(folder))
        kinds = ", ".join(dict.fromkeys(f"{missing.kind}: {missing.reason}" for missing in not_made))
        raise BadValue(
            "pictures to choose from are needed",
            found=f"none of {len(not_made)} was made ({kinds})",
            where=str(folder),
            remedy="the same command tries again; or choose another generator",
        )
    table = study_scores(study, folder, words, scoring, watch, scorers=scorers, check=wish.blend)
    items = {item.id: item for item in study.nouns("items")}
    offered = [
        OfferedPicture(item=id, prompt=items[id].prompt, generator=items[id].generator, image=items[id].image)
        for id in table.items
    ]
    texts = {prompt.id: prompt.view() for prompt in study.nouns("prompts")}
    return choose_best(
        list(filter(among, offered)), table, wish.blend(table.columns), wish.pick, place=str(folder), texts=texts,
        not_made=not_made, routes=routing, notes=notes,
    )  # fmt: skip


def best_of_pictures(
    source: PictureSource,
    scores: Path,
    words: Sequence[str],
    wish: BestSettings,
    *,
    place: str,
    scoring: ScoreSettings | None = None,
    watch: StepCallback = no_progress,
) -> BestReport:
    """The best of the pictures of every prompt, where they are no study; tables of scores go to `scores`."""
    table = picture_scores(source, scores, words, scoring, watch, check=wish.blend)
    scored_items = set(table.items)
    offered: list[OfferedPicture] = []
    texts: dict[str, str] = {}
    for picture in source:
        if picture.item not in scored_items:
            continue
        image = str(picture.image) if isinstance(picture.image, Path) else None
        offered.append(
            OfferedPicture(item=picture.item, prompt=picture.prompt.id if picture.prompt else None, image=image)
        )
        texts |= {picture.prompt.id: picture.prompt.view()} if picture.prompt else {}
    return choose_best(offered, table, wish.blend(table.columns), wish.pick, place=place, texts=texts)


def draw_and_pick(
    prompts: Sequence[Prompt],
    generators: Sequence[Generator],
    drawing: GenerateSettings,
    folder: Path,
    words: Sequence[str],
    wish: BestSettings,
    *,
    routing: Routing | None = None,
    scorers: Sequence[Scorer] = (),
    scoring: ScoreSettings | None = None,
    watch: StepCallback = no_progress,
    notes: Sequence[str] = (),
) -> BestReport:
    """Draw N pictures of every prompt (N = `drawing.seeds`, of each generator), then choose the best of each.

    With `routing`, each prompt is drawn only by the generator it names.
    """
    everyone = [*(make_scorer(word, scoring) for word in words), *scorers]
    wish.blend(score_columns(everyone))  # refused before anything is drawn
    lost: list[GenerationFailure] = []
    all_notes: list[str] = list(notes)
    prompt_ids = {prompt.id for prompt in prompts}
    generator_names = {generator.name for generator in generators}
    for share, some in _shares(prompts, generators, routing):
        report = generate_items(
            share, some, drawing, folder, lambda now: watch("drawing", now.made + now.reused + now.failed, now.wanted)
        )
        lost += report.failures
        all_notes += report.notes
    last = drawing.seed + drawing.seeds
    seeds = {str(seed) for seed in range(drawing.seed, last)}
    return best_of_study(
        folder,
        (),
        wish,
        scorers=everyone,
        scoring=scoring,
        watch=watch,
        routing=routing,
        notes=tuple(dict.fromkeys(all_notes)),
        not_made=[
            MissingPicture(prompt=entry.prompt, generator=entry.generator, kind=entry.kind, reason=entry.reason)
            for entry in lost
        ],
        among=lambda entry: (
            entry.prompt in prompt_ids
            and entry.generator in generator_names
            and (routing is None or routing[entry.prompt or ""].generator == entry.generator)
            and entry.item.rpartition("/")[2] in seeds
        ),
    )


def _shares(
    prompts: Sequence[Prompt], generators: Sequence[Generator], routing: Routing | None
) -> list[tuple[list[Prompt], list[Generator]]]:
    """Who draws what: all draw everything, or each what it was chosen for."""
    if routing is None:
        return [(list(prompts), list(generators))]
    shares = [
        ([prompt for prompt in prompts if routing[prompt.id].generator == generator.name], [generator])
        for generator in generators
    ]
    return [share for share in shares if share[0]]


# -- the record --------------------------------------------------------------------------------------------------------


def write_best(report: BestReport, out: Path, pictures: Path) -> Path:
    """Write the report, its table and its page to the folder `out`; the page's place."""
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "best.json", report, indent=None)
    with whole_file(out / "picks.jsonl") as file:
        for prompt_pick in report.picks:
            file.write(
                json.dumps(prompt_pick.model_dump(mode="json"), ensure_ascii=False, allow_nan=False).encode() + b"\n"
            )
    write_plain(picks_table(report), out / "picks.csv", overwrite=True)
    return best_page(report, pictures).write(out / "index.html")


def picks_table(report: BestReport) -> pa.Table:
    """One row for each prompt."""
    kinds = {"prompt": pa.string(), "outcome": pa.string(), "chosen": pa.string(), "generator": pa.string(),
             "image": pa.string(), "total": pa.float64(), "sd": pa.float64(), "bound": pa.float64(),
             "margin": pa.float64(), "tied": pa.int64(), "items": pa.int64(), "unscored": pa.int64(),
             "not_made": pa.int64()}  # fmt: skip
    return pa.Table.from_pylist(report.rows(), pa.schema(list(kinds.items())))


def scores_beside(place: Path, out: Path | None) -> Path:
    """Where the scores of pictures that are no study go."""
    if out is not None:
        return out / SCORES
    return place / SCORES if place.is_dir() else place.with_name(f"{place.stem}-{SCORES}")


# -- the page ----------------------------------------------------------------------------------------------------------

PROMPTS_SHOWN, PROMPTS_OPEN, ITEMS_SHOWN = 24, 4, 12
"""Prompts that are shown, those open at once, and items of each."""
_WIDTH, _LARGE = 320, 720
"""Pixels across of a small picture, and of the two that are shown side by side."""
_REACH = 100
"""Half the width of the drawing that shows for which of the two a criterion speaks."""
_OUTCOME_WORDS = {
    "best": "chosen",
    "only": "the only one",
    "equal": "equal items",
    "none good enough": "none is good enough",
    "none scored": "none has a score",
    "none made": "no picture was made",
}


def best_page(report: BestReport, pictures: Path) -> Page:
    """The page; pictures come from the folder `pictures`."""
    here = located(report)
    groups = {"no score": here.reasons, "not made": here.not_made}
    missing = [(what, why, count) for what, some in groups.items() for why, count in some.items()]
    missing_sections = missing_section(missing, "What could not be made or scored")
    return Page(
        title="The best of each",
        tab=f"Best of {brief(report.place, 40)}",
        subtitle=Markup("{} of {}, chosen by {}.{}").format(
            count_noun(here.chosen, "picture"),
            count_noun(here.items, "item"),
            brief(", ".join(criterion_name(id) for id, share in report.weights.items() if share > 0), 120),
            " Some pictures were not made or have no score: see Missing." if report.unscored or report.not_made else "",
        ),
        kicker="Salon select best",
        sections=[
            _picks(here, pictures),
            _rule(here),
            *missing_sections,
            Section("In numbers", [_Cards(_cards(here)), *_leads(here)]),
        ],
        notes=[*map(sentence, report.policies), *map(sentence, report.notes)],
        signature=one_way(str(report.signature)),
    )


def criterion_name(id: str) -> str:
    """What a criterion is called: its own name where Salon knows it, else its id."""
    criterion = builtin_criteria().get(id)
    return criterion.title if criterion else id


def criterion_question(id: str) -> str:
    """What is asked under a criterion, or what its measurement tells; empty for one that Salon does not know."""
    criterion = builtin_criteria().get(id)
    if criterion:
        return criterion.question or ""
    return MEASUREMENTS[id].tells if id in MEASUREMENTS else ""


@dataclass(frozen=True)
class _Cards(Block):
    """Cards below the pictures: at the head of a page they would come before them."""

    cards: list[Card]

    def __html__(self) -> str:
        return element("div", *(Markup(card.__html__()) for card in self.cards), class_="cards")


def _cards(report: BestReport) -> list[Card]:
    sure = any(standing.sd is not None for pick in report.picks if pick.pick for standing in pick.pick.standings)
    cards = [
        Card("Chosen", Markup("{} of {}").format(fixed(report.chosen, 0), fixed(report.prompts, 0)), "prompts"),
        Card("Tied", fixed(report.tied, 0),
             "chosen, and a tie is declared" if sure else "no scorer states an error: only equal totals tie",
             "open" if report.tied else "clear" if sure else "thin"),
    ]  # fmt: skip
    refused = report.outcomes.get("none good enough", 0)
    if report.settings.least is not None:
        cards.append(Card("None good enough", fixed(refused, 0), "prompts", "open" if refused else "clear"))
    if report.unscored:
        cards.append(Card("Without a score", fixed(report.unscored, 0), "items, never chosen", "alert"))
    if report.not_made:
        lost = sum(report.not_made.values())
        cards.append(Card("Not made", Markup("{} of {}").format(str(lost), fixed(report.wanted, 0)), "pictures wanted",
                          "alert"))  # fmt: skip
    return cards


def _rule(report: BestReport) -> Section:
    rows = [
        {"criterion": column.criterion, "share": report.weights[column.criterion], "scorer": column.scorer,
         "higher_is_better": "higher" if column.higher_is_better else "lower"}
        for column in report.columns
    ]  # fmt: skip
    columns = columns_of(Contribution, "criterion", "share", "scorer", "higher_is_better")
    k, least = report.settings.k, report.settings.least
    sentence = Markup("The weighted mean of these, in {}; less {} standard deviations where scorers state one.").format(
        brief(report.scale, 120), value(k, None, f"{k:g}")
    )
    if least is not None:
        sentence += Markup(" Below {} nothing is chosen.").format(score_text(least))
    return Section("By what", [Table(columns, rows, caption="Weights sum to 1", sortable=False)], sentence)


# -- prompts -----------------------------------------------------------------------------------------------------------


def _picks(report: BestReport, pictures: Path) -> Section:
    blocks = [
        _prompt(prompt_pick, pictures, open=number < PROMPTS_OPEN)
        for number, prompt_pick in enumerate(report.picks[:PROMPTS_SHOWN])
    ]
    count_note = (
        f" The first {len(blocks)} of {len(report.picks)} prompts are shown." if len(blocks) < report.prompts else ""
    )
    return Section(
        "The picks", blocks,
        f"The pick of each prompt beside the runner-up, and what speaks for which of them.{count_note}",
    )  # fmt: skip


def _prompt(prompt_pick: PromptPick, pictures: Path, *, open: bool) -> Details:
    soft = Markup('<span class="soft">{}</span>').format(_OUTCOME_WORDS[prompt_pick.outcome])
    title = Markup("{} {}").format(brief(prompt_pick.text or prompt_pick.prompt or "no prompt", 90), soft)
    blocks: list[Block] = [] if prompt_pick.route is None else [Note(sentence(prompt_pick.route.why))]
    if prompt_pick.pick is None:
        return Details(
            title, [*blocks, Note(f"None of {prompt_pick.wanted} pictures was made.", tone="open")], open=open
        )
    tone: Tone = "clear" if prompt_pick.pick.chosen is not None else "open"
    first = 1 if prompt_pick.runner_up is None else 2
    large = [_large(prompt_pick, standing, pictures) for standing in prompt_pick.pick.standings[:first]]
    blocks += [Filmstrip(large, size="duel"), Note(pick_reason(prompt_pick), tone=tone)]
    if prompt_pick.runner_up is not None:
        blocks.append(_Balance(prompt_pick, prompt_pick.runner_up))
    rest = prompt_pick.pick.standings[first:ITEMS_SHOWN]
    if rest:
        left = len(prompt_pick.pick.standings) - first - len(rest)
        label = f"best first; {left} more are not shown" if left else "best first"
        summary = Markup('The other {} <span class="soft">{}</span>').format(count_noun(len(rest), "item"), label)
        frames = [_frame(prompt_pick, standing, pictures) for standing in rest]
        blocks.append(Details(summary, [Filmstrip(frames, size="small")]))
    if prompt_pick.not_made:
        lost = ", ".join(f"{count} {kind}" for kind, count in prompt_pick.not_made.items())
        blocks.append(Note(f"Not made, of {prompt_pick.wanted} wanted: {lost}.", tone="open"))
    return Details(title, blocks, open=open)


def pick_reason(prompt_pick: PromptPick) -> Markup:
    """Why this item and not the runner-up, in words; then by what rule."""
    pick, second = prompt_pick.pick, prompt_pick.runner_up
    if pick is None:
        return Markup("")
    rule = Markup.escape(sentence(pick.why))
    if second is None or pick.outcome == "equal":
        return rule
    speaks = [_name(id) for id, part in second.ahead.items() if part > 0]
    against = [_name(id) for id, part in reversed(second.ahead.items()) if part < 0]
    best = "The pick" if pick.chosen is not None else "The best"
    if sum(second.ahead.values()) <= 0:
        words = Markup("{} has no higher total than the runner-up, but its scorers are surer of it.").format(best)
    elif against:
        words = Markup("{} is ahead of the runner-up in {}, and behind in {}: what it gains is more.").format(
            best, join_names(speaks), join_names(against)
        )
    elif len(second.ahead) == 1:
        words = Markup("{} is ahead of the runner-up in {}, the only criterion.").format(best, join_names(speaks))
    elif len(speaks) == len(second.ahead):
        words = Markup("{} is ahead of the runner-up in every criterion, most in {}.").format(best, speaks[0])
    else:
        words = Markup("{} is ahead of the runner-up in {}, and behind in nothing.").format(best, join_names(speaks))
    return words + " " + rule


def _name(id: str) -> Markup:
    return element("strong", brief(criterion_name(id), 40))


def _leads(report: BestReport) -> list[Block]:
    """How far each pick is ahead of its runner-up."""
    rows = [
        (brief(pick.text or pick.prompt or pick.items[0].item, 40), row["margin"], None, None, "")
        for pick, row in zip(report.picks[:PROMPTS_SHOWN], report.rows())
        if row["margin"] is not None
    ]
    if not rows:
        return []
    drawing = charts.dot_intervals(rows, 0.0, title="Lead of the picks", x_label="lead in the total", null_label="even")
    return [Chart(drawing, "How far each pick is ahead of its runner-up, largest lead first.")]


@dataclass(frozen=True)
class _Balance(Block):
    """Criterion by criterion: the score of the pick on the left, of the runner-up on the right, and who is ahead."""

    prompt_pick: PromptPick
    second: RunnerUp

    def __html__(self) -> str:
        return element("ul", *self._rows(), class_="balance")

    def _rows(self) -> Iterator[Markup]:
        assert self.prompt_pick.pick is not None
        best = self.prompt_pick.pick.standings[0].index
        largest = max(map(abs, self.second.ahead.values()), default=0.0) or 1.0
        for id, ahead in self.second.ahead.items():
            values = self.prompt_pick.values[id]
            words = "the pick is ahead" if ahead > 0 else "the pick is behind" if ahead < 0 else "the two are even"
            adds = Markup("; in the total that is {}").format(score_text(ahead)) if ahead else None
            part = float(ahead) / largest
            length = abs(part) * _REACH
            start = _REACH - length if part > 0 else _REACH
            bar = rect(start, 2, length, 8, "", fill="var(--good)" if part > 0 else "var(--cohort-2)")
            middle = rect(_REACH - 0.5, 0, 1, 12, "", fill="var(--rule-strong)")
            balance_bar = element(
                "svg",
                bar,
                middle,
                viewBox=f"0 0 {2 * _REACH} 12",
                preserveAspectRatio="none",
                aria_hidden="true",
                class_="balance-bar",
            )
            yield element(
                "li",
                element("p", _name(id), " ", element("span", brief(criterion_question(id), 160), class_="soft")
                        if criterion_question(id) else None, class_="balance-name"),
                element("span", score_text(values[best]), class_="balance-value"),
                balance_bar,
                element("span", score_text(values[self.second.index]), class_="balance-value"),
                element("p", words, adds, class_="balance-said"),
            )  # fmt: skip


def _large(prompt_pick: PromptPick, standing: ItemStanding, pictures: Path) -> FilmFrame:
    offered = prompt_pick.items[standing.index]
    if prompt_pick.pick is not None and standing.item == prompt_pick.pick.chosen:
        title = "The pick"
    elif prompt_pick.runner_up is not None and standing.item == prompt_pick.runner_up.item:
        title = "The runner-up"
    else:
        title = "The best" if standing.rank is not None else "Not ranked"
    return FilmFrame(
        title=title,
        picture=_picture(offered, pictures, _LARGE),
        alt=offered.item,
        note=_note(prompt_pick, offered, standing),
        badge=_badge(prompt_pick, standing),
    )


def _frame(prompt_pick: PromptPick, standing: ItemStanding, pictures: Path) -> FilmFrame:
    offered = prompt_pick.items[standing.index]
    numbers: list[tuple[str, Markup | str]] = []
    if standing.total is not None:
        numbers.append(("total", score_text(standing.total, standing.sd)))
        numbers += [] if standing.sd is None else [("lower bound", score_text(standing.bound))]
    if len(standing.contributions) > 1:
        names = {id: brief(id.rpartition("/")[2], 26) for id in standing.contributions}
        numbers += [(names[id], score_text(part)) for id, part in standing.contributions.items()]
    return FilmFrame(
        title=f"Rank {standing.rank}" if standing.rank is not None else "Not ranked",
        picture=_picture(offered, pictures, _WIDTH),
        alt=offered.item,
        numbers=numbers,
        note=_note(prompt_pick, offered, standing),
        badge=_badge(prompt_pick, standing),
    )


def _badge(prompt_pick: PromptPick, standing: ItemStanding) -> Badge | None:
    if prompt_pick.pick is not None and standing.item == prompt_pick.pick.chosen:
        return Badge("chosen", "clear", prompt_pick.pick.why)
    if standing.rank is None:
        return Badge("no score", "alert", "never chosen")
    return Badge("tied", "open", "does not differ significantly from the best") if standing.tied else None


def _note(prompt_pick: PromptPick, offered: OfferedPicture, standing: ItemStanding) -> str:
    missing = f"No score under {', '.join(standing.missing)}. " if standing.missing else ""
    standings = prompt_pick.pick.standings if prompt_pick.pick else ()
    leads = []
    for id, own in standing.contributions.items():
        parts = [entry.contributions[id] for entry in standings if id in entry.contributions]
        if min(parts) < max(parts) == own:  # nothing is better, and something is worse
            leads.append(criterion_name(id))
    best = f"The best of all in {', '.join(leads)}. " if leads and len(standing.contributions) > 1 else ""
    return missing + best + brief(f"{offered.item}", 60)


def _picture(offered: OfferedPicture, pictures: Path, width: int) -> str:
    return "" if offered.image is None else picture_url(pictures / offered.image, width)
