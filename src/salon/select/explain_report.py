"""The page of an explanation: the picture, what its total is made of, judged neighbours, and measurements."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from salon.report import (
    MISSING,
    SIMULATED,
    Badge,
    Block,
    Card,
    Cell,
    Chart,
    FilmFrame,
    Filmstrip,
    Note,
    Page,
    Section,
    Table,
    brief,
    charts,
    columns_of,
    element,
    estimate_value,
    fold,
    located,
    one_way,
    rect,
    score_text,
    sentence,
)
from salon.report.words import fixed
from salon.select.explanation import (
    Contribution,
    Explanation,
    Neighbor,
    Occlusion,
    PictureExplanation,
    PictureMeasurement,
    ScoreDifference,
)
from salon.store import picture_url

_WIDTH = 420


def explain_page(explanation: Explanation, pictures: Sequence[Path], folder: Path | None = None) -> Page:
    """The page; `pictures` are those explained, `folder` is the study's, whose pictures are the neighbours."""
    here = located(explanation)
    pair = len(explanation.pictures) == 2
    names = ("first", "second") if len(pictures) == 2 else ("the picture",)
    frames = [
        FilmFrame(
            title=name,
            picture=_picture(path),
            alt=picture.picture,
            missing="the picture cannot be read",
            note=brief(picture.picture, 60),
            numbers=[("total", score_text(picture.total))] if picture.total is not None else [],
        )
        for name, path, picture in zip(names, pictures, here.pictures)
    ]
    sections = [
        Section("What was scored", [Filmstrip(frames)]),
        *([_difference_section(here.difference, here.scale)] if here.difference is not None else []),
        *(_contributions_section(picture, here.scale, pair) for picture in here.pictures),
        *(
            _occlusion_section(picture, picture.occlusion, path, pair)
            for picture, path in zip(here.pictures, pictures)
            if picture.occlusion is not None
        ),
        *(_neighbors_section(picture, folder, pair) for picture in here.pictures if picture.neighbours),
        *(_measurements_section(picture, pair) for picture in here.pictures if picture.measurements),
    ]
    return Page(
        title="Why one stands above the other" if pair else "Why this score",
        tab=" and ".join(brief(picture.picture, 30) for picture in explanation.pictures) + " explained",
        subtitle=Markup("{}, by {}.").format(
            " and ".join(brief(picture.picture, 40) for picture in explanation.pictures), brief(explanation.model, 120)
        ),
        kicker="Salon select explain",
        cards=_cards(here),
        sections=sections,
        notes=[explanation.caution, *map(sentence, explanation.notes)],
        signature=one_way(str(explanation.signature)),
        banner=SIMULATED if explanation.simulated else "",
    )


def _cards(explanation: Explanation) -> list[Card]:
    cards = []
    for place, picture in enumerate(explanation.pictures):
        label = "Total" if len(explanation.pictures) == 1 else f"Total of the {('first', 'second')[place]}"
        words = "no value under a criterion that counts" if picture.total is None else brief(explanation.scale, 60)
        total = score_text(picture.total, picture.sd)
        cards.append(Card(label, total if picture.total is not None else Markup("—"), words))
    if explanation.difference is not None and explanation.difference.total is not None:
        cards.append(Card("Difference", score_text(explanation.difference.total), "first less second"))
    return cards


# -- what is exact -----------------------------------------------------------------------------------------------------


def _contributions_section(picture: PictureExplanation, scale: str, pair: bool) -> Section:
    title = f"What the total of {brief(picture.picture, 40)} is made of" if pair else "What the total is made of"
    weighted = [part for part in picture.contributions if part.share > 0]
    blocks: list[Block] = []
    drawable = [part for part in weighted if part.adds is not None]
    if drawable:
        dots = [(_short(part.criterion), part.adds, *_reach(part), "") for part in drawable]
        caption = (
            "What each criterion adds to the total. "
            "Lines: 1.96 of the scorer's own standard deviations, where it states one."
        )
        blocks.append(Chart(charts.dot_intervals(dots, 0.0, title="Contributions", x_label=brief(scale, 60),
                                                  null_label="adds nothing"), caption))  # fmt: skip
    blocks.append(contribution_table(picture))
    lacking = [part for part in weighted if part.adds is None]
    blocks += [Note(f"{part.criterion} has no value: {part.unscored}.", tone="alert") for part in lacking]
    return Section(title, blocks, "weight × direction × (value − center) / unit, for each criterion; the parts sum to "
                   "the total exactly.")  # fmt: skip


def contribution_table(picture: PictureExplanation) -> Table:
    """The parts of a total, one for each criterion, and the total."""
    columns = columns_of(
        Contribution, "criterion", "adds", "value", "sigma", "share", "higher_is_better", "center", "unit"
    )
    rows: list[dict[str, object]] = [
        {
            **vars(part),
            "value": Cell(part.value, why=part.unscored or ""),
            "higher_is_better": "higher" if part.higher_is_better else "lower",
        }
        for part in picture.contributions
    ]
    total = {"criterion": "total", "higher_is_better": "", "adds": picture.total}
    rows.append(dict.fromkeys(Contribution.model_fields) | total)
    # columns that say nothing here go: no scorer states an sd, or values are taken as they stand
    bare = {"sigma"} if all(part.sigma is None for part in picture.contributions) else set()
    bare |= {"center", "unit"} if all((part.center, part.unit) == (0, 1) for part in picture.contributions) else set()
    columns = [column for column in columns if column.path not in bare]
    return Table(columns, rows, caption=f"Parts of the total of {brief(picture.picture, 40)}", sortable=False)


def _reach(part: Contribution) -> tuple[float | None, float | None]:
    if part.sigma is None or part.adds is None:
        return None, None
    half = part.share * 1.96 * part.sigma / part.unit
    return part.adds - half, part.adds + half


def _difference_section(difference: ScoreDifference, scale: str) -> Section:
    blocks: list[Block] = [Note(sentence(difference.told), tone="clear" if difference.total is not None else "open")]
    if difference.adds:
        rows = [(_short(id), adds, None, None, "") for id, adds in difference.adds.items()]
        caption = "Above 0 speaks for the first, below 0 for the second. The parts sum to the difference."
        blocks.append(Chart(charts.dot_intervals(rows, 0.0, title="What speaks for which", x_label=brief(scale, 60),
                                                  null_label="even"), caption))  # fmt: skip
    return Section("Why one stands above the other", blocks)


def _occlusion_section(picture: PictureExplanation, occlusion: Occlusion, path: Path, pair: bool) -> Section:
    title = f"Where {brief(picture.picture, 40)} is looked at" if pair else "Where it is looked at"
    words = "Covering no place lowers the total."
    if occlusion.largest is not None:
        row, column, drop = occlusion.largest
        words = f"Most is lost at row {row}, column {column} from the upper left: {drop:.3g}."
    return Section(
        title,
        [Chart(_map(occlusion, path), words), *fold("The same in numbers", Chart(_loss_map(occlusion)))],
        "One place after the other is painted over with the picture's mean color. Blue: the "
        "total falls without it. Orange: it rises. A covered picture is unlike those that were judged: a "
        "hint, no proof.",
    )


def _loss_map(occlusion: Occlusion) -> Markup:
    places = [str(number + 1) for number in range(occlusion.grid)]
    title = "What the total loses where a place is covered"
    return charts.heat_map(occlusion.drops, places, places, title=title, value_name="loss", decimals=3)


def _map(occlusion: Occlusion, path: Path) -> Markup:
    """The picture under a grid whose places are the stronger colored the more covering them changes the total."""
    sizes = [abs(drop) for row in occlusion.drops for drop in row if drop is not None]
    largest = max(sizes, default=0.0) or 1.0
    places = [
        rect(c, r, 1, 1, "", tip=f"row {r + 1}, column {c + 1}: {drop:.3g}",
             fill=f"var(--cohort-{1 if drop > 0 else 2})", fill_opacity=round(0.75 * abs(drop) / largest, 3),
             stroke="var(--paper)", stroke_width=0.02)
        for r, row in enumerate(occlusion.drops) for c, drop in enumerate(row) if drop is not None
    ]  # fmt: skip
    over = element(
        "svg",
        *places,
        viewBox=f"0 0 {occlusion.grid} {occlusion.grid}",
        preserveAspectRatio="none",
        role="img",
        aria_label="what the total loses by place",
        class_="over",
    )
    under = Markup('<img src="{}" alt="">').format(_picture(path))
    return element("div", under, over, class_="covered")


# -- what is near ------------------------------------------------------------------------------------------------------


def _neighbors_section(picture: PictureExplanation, folder: Path | None, pair: bool) -> Section:
    title = f"Judged pictures near {brief(picture.picture, 40)}" if pair else "Judged pictures near it"
    frames = [_neighbor(neighbor, folder) for neighbor in picture.neighbours]
    return Section(
        title, [Filmstrip(frames)],
        "Nearest by the model's own vectors, nearest first; copies of the picture are left out. What raters said is "
        "the share of comparisons won or the mean rating, over so many raters, with a t interval. Near is no cause: it "
        "says what the model sees alike.",
    )  # fmt: skip


def _neighbor(neighbor: Neighbor, folder: Path | None) -> FilmFrame:
    numbers = [
        (
            f"{_short(opinion.criterion)}, {_KINDS[opinion.kind]} {opinion.raters}",
            element("span", estimate_value(opinion.figure, None, 2), class_="whole"),
        )
        for opinion in neighbor.said
    ]
    model = [] if neighbor.total is None else [("total by the model", score_text(neighbor.total))]
    return FilmFrame(
        title=brief(neighbor.item, 36),
        picture=_picture(folder / neighbor.image) if folder is not None and neighbor.image else "",
        alt=f"judged picture {neighbor.item}",
        numbers=[("distance", fixed(neighbor.distance, 3)), *numbers, *model],
        badge=Badge("same prompt", "clear") if neighbor.same_prompt else None,
        note="" if neighbor.said else "nobody said anything of it",
    )


_KINDS = {"won": "won by", "rated": "rated by"}


# -- measurements ------------------------------------------------------------------------------------------------------


def _measurements_section(picture: PictureExplanation, pair: bool) -> Section:
    title = f"Measured by rule: {brief(picture.picture, 40)}" if pair else "Measured by rule"
    blocks: list[Block] = []
    standing = [part for part in picture.measurements if part.below is not None]
    if standing:
        dots = [(part.name, part.below, None, None, "") for part in standing]
        chart = charts.dot_intervals(
            dots, 0.5, title="Where measurements stand in the study", x_label="share of the study's items below",
            null_label="the middle", reference_lines=(("none below", 0.0), ("all below", 1.0)), sort=False,
        )  # fmt: skip
        blocks.append(Chart(chart, "Half of the items with the same value count as below."))
    columns = columns_of(PictureMeasurement, "name", "value", *(("below", "quartiles", "n") if standing else ()))
    rows = [_measure(part) for part in picture.measurements]
    blocks.append(Table(columns, rows, caption=f"Measurements of {brief(picture.picture, 40)}", sortable=False))
    return Section(title, blocks, "The model never saw these numbers. They describe the picture; they are no causes of "
                   "its score.")  # fmt: skip


def _measure(part: PictureMeasurement) -> dict[str, object]:
    text = part.tells if part.value is not None else f"{part.tells} No value: {part.unmeasured}."
    quartiles = MISSING if part.quartiles is None else " · ".join(f"{quartile:.3g}" for quartile in part.quartiles)
    return {**vars(part), "name": Cell(part.name, under=text), "quartiles": quartiles, "n": part.n or None}


def _short(criterion: str) -> str:
    return brief(criterion.rpartition("/")[2], 30)


def _picture(path: Path) -> str:
    return picture_url(path, _WIDTH)
