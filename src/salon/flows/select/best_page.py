"""Filmstrips of best of N: the items of every prompt, what each criterion gave them, what was chosen and why."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from markupsafe import Markup

from salon.report import Badge, Block, Card, Column, Details, Note, Page, Section, Table, located, value
from salon.report.filmstrip import Filmstrip, Frame, missing_section, strip_section
from salon.report.words import brief, counted, fixed, one_way, scored, sentence
from salon.select.best import BestReport, Offered, PromptPick
from salon.select.pick import Standing
from salon.store.thumbs import picture_url

MOST, OPEN, SHOWN, FEW = 24, 4, 12, 4
"""Prompts that are shown, those open at once, items of each, and how many of them are shown large."""
_WIDTH = 320
_FATE = {"best": "chosen", "only": "the only one", "equal": "equal items", "none good enough": "none is good enough",
         "none scored": "none has a score", "none made": "no picture was made"}  # fmt: skip


def best_page(report: BestReport, pictures: Path) -> Page:
    """The page; pictures come from the folder `pictures`."""
    here = located(report)
    return Page(
        title="The best of each",
        tab=f"Best of {brief(report.place, 40)}",
        subtitle=Markup("{} of {}, chosen by {}.").format(
            counted(here.chosen, "picture"), counted(here.items, "item"),
            brief(", ".join(id for id, share in report.weights.items() if share > 0), 120),
        ),
        kicker="Salon select best",
        cards=_cards(here),
        sections=[_rule(here), *_missing(here), _strips(here, pictures)],
        notes=[*map(sentence, report.policies), *map(sentence, report.notes)],
        signature=one_way(str(report.signature)),
    )  # fmt: skip


def _cards(report: BestReport) -> list[Card]:
    sure = any(one.sd is not None for pick in report.picks if pick.pick for one in pick.pick.standings)
    cards = [
        Card("Chosen", Markup("{} of {}").format(fixed(report.chosen, 0), fixed(report.prompts, 0)), "prompts"),
        Card("Not told from another", fixed(report.tied, 0),
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
         "better": "higher" if column.higher_is_better else "lower"}
        for column in report.columns
    ]  # fmt: skip
    columns = [Column("criterion", "Criterion"), Column("share", "Weight", "number"), Column("scorer", "Scorer"),
               Column("better", "Better")]  # fmt: skip
    k, least = report.settings.k, report.settings.least
    told = Markup("The weighted mean of these, in {}; less {} standard deviations where scorers state one.").format(
        brief(report.scale, 120), value(k, None, f"{k:g}")
    )
    if least is not None:
        told += Markup(" Below {} nothing is chosen.").format(scored(least))
    return Section("By what", [Table(columns, rows, caption="Weights sum to 1", sortable=False)], told)


def _missing(report: BestReport) -> list[Section]:
    groups = {"no score": report.reasons, "not made": report.not_made}
    missing = [(what, why, count) for what, some in groups.items() for why, count in some.items()]
    return missing_section(missing, "What could not be made or scored")


# -- filmstrips --------------------------------------------------------------------------------------------------------


def _strips(report: BestReport, pictures: Path) -> Section:
    blocks = [_strip(one, pictures, open=number < OPEN) for number, one in enumerate(report.picks[:MOST])]
    told = "Items of every prompt, best first, and what each criterion added to their total."
    return strip_section(blocks, len(report.picks), told)


def _strip(one: PromptPick, pictures: Path, *, open: bool) -> Details:
    soft = Markup('<span class="soft">{}</span>').format(_FATE[one.outcome])
    title = Markup("{} {}").format(brief(one.text or one.prompt or "no prompt", 90), soft)
    blocks: list[Block] = [] if one.route is None else [Note(sentence(one.route.why))]
    if one.pick is None:
        return Details(title, [*blocks, Note(f"None of {one.wanted} pictures was made.", tone="open")], open=open)
    blocks.append(Note(sentence(one.pick.why), tone="clear" if one.pick.chosen is not None else "open"))
    frames = [_frame(one, standing, pictures) for standing in one.pick.standings[:SHOWN]]
    left = len(one.pick.standings) - len(frames)
    label = f"The best {SHOWN} of {len(one.pick.standings)}." if left else ""
    blocks.append(Filmstrip(frames, label, size="small" if len(frames) > FEW else ""))
    if one.not_made:
        lost = ", ".join(f"{count} {kind}" for kind, count in one.not_made.items())
        blocks.append(Note(f"Not made, of {one.wanted} wanted: {lost}.", tone="open"))
    return Details(title, blocks, open=open)


def _frame(one: PromptPick, standing: Standing, pictures: Path) -> Frame:
    offered = one.items[standing.index]
    return Frame(
        title=f"Rank {standing.rank}" if standing.rank is not None else "Not ranked",
        picture=_picture(offered, pictures),
        alt=offered.item,
        numbers=[*_total(standing), *_added(standing.contributions)],
        note=_note(offered, standing),
        badge=_badge(one, standing),
    )


def _badge(one: PromptPick, standing: Standing) -> Badge | None:
    if one.pick is not None and standing.item == one.pick.chosen:
        return Badge("chosen", "clear", one.pick.why)
    if standing.rank is None:
        return Badge("no score", "alert", "never chosen")
    return Badge("tied", "open", "cannot be told from the best") if standing.tied else None


def _total(standing: Standing) -> list[tuple[str, Markup | str]]:
    if standing.total is None:
        return []
    total: list[tuple[str, Markup | str]] = [("total", scored(standing.total, standing.sd))]
    return total if standing.sd is None else [*total, ("lower bound", scored(standing.bound))]


def _added(contributions: Mapping[str, float]) -> list[tuple[str, Markup | str]]:
    if len(contributions) < 2:
        return []
    return [(brief(id.rpartition("/")[2], 26), scored(part)) for id, part in contributions.items()]


def _note(offered: Offered, standing: Standing) -> str:
    missing = f"No score under {', '.join(standing.missing)}. " if standing.missing else ""
    return missing + brief(f"{offered.item}", 60)


def _picture(offered: Offered, pictures: Path) -> str:
    return "" if offered.image is None else picture_url(pictures / offered.image, _WIDTH)
