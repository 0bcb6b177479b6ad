"""The page of a comparison: who leads, the paper's tables with a radar, every metric, difficulty curves, answers
side by side with their pictures, and what each contestant left unanswered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from salon.bench.posters.comparison import (
    OVERALL,
    CaseAnswer,
    ComparisonCase,
    ComparisonReport,
    ComparisonRow,
    ComparisonValue,
    is_apart,
)
from salon.bench.posters.judge_protocol import JudgingRecord, protocol_warnings
from salon.bench.posters.paper_tables import PaperCell, PaperRow, PosterPaperTable
from salon.bench.posters.results import MetricResult, PosterReport, TaskResult
from salon.bench.posters.score_report import curve_chart, small_pictures
from salon.bench.posters.tasks import task_named
from salon.report import (
    MOST_CONTESTANTS,
    SMALL,
    WIDE,
    Block,
    Cell,
    Chart,
    ChartRow,
    Column,
    Details,
    Note,
    Page,
    Section,
    Table,
    brief,
    charts,
    columns_of,
    count_noun,
    element,
    film_grid,
    labelled_text,
    level_words,
    located,
    one_way,
    picture_or_note,
    with_interval,
)
from salon.report.words import fixed

_LOW = 240
_MOST_CURVES = 6
"""Contestants in one drawing; more cannot be told apart."""


def compared_page(
    report: ComparisonReport, pictures: Path | None = None, generated: Sequence[Path | None] = ()
) -> Page:
    """The page; `pictures` is the folder of what was asked about, `made` those with generators' posters."""
    here = located(report)
    first = report.reports[0]
    rows = [{"group": row.title, **_cells(row)} for row in here.groups]
    columns = [Column("group", "Group"), *_columns(here)]
    intro = "“No clear difference”: the interval of the difference to the best, on the same items, holds 0."
    group_section = Section("Groups", [Table(columns, rows, caption="Means of groups", sortable=False)], intro)
    return Page(
        title="Poster tasks",
        tab="Posters: " + ", ".join(brief(name) for name in report.contestants),
        subtitle=Markup("{} side by side on {}.").format(
            _name_list(report.contestants), count_noun(len({row.task for row in report.rows}), "task")
        ),
        kicker="Salon bench posters",
        sections=[
            *_leading_section(here),
            *_judge_sections(here),
            *table_sections(here),
            group_section,
            _task_section(here),
            *_curve_sections(here),
            *case_sections(here, pictures, generated or [None] * len(report.contestants)),
            *_lacking_sections(here),
        ],
        notes=[
            Markup("Intervals in brackets are at the {} level.").format(level_words(here.reports[0].settings)),
            *report.policies,
        ],
        signature=one_way(
            str(first.signature) if len(report.reports) == 1 else " · ".join(str(r.signature) for r in report.reports)
        ),
    )


def _name_list(names: Sequence[str]) -> str:
    *first, last = (brief(name) for name in names)
    return f"{', '.join(first)} and {last}" if first else last


def _columns(report: ComparisonReport) -> list[Column]:
    return [Column(f"c{at}", brief(name), "estimate", 3) for at, name in enumerate(report.contestants)]


def _cells(row: ComparisonRow) -> dict[str, object]:
    return {f"c{at}": Cell(value.figure, _why(value), _under(value)) for at, value in enumerate(row.values)}


def _why(value: ComparisonValue) -> str:
    if value.figure is None:
        return "not asked"
    if value.owed:
        return "not ranked until a judge has given its verdicts"
    if value.other_protocol:
        return "not ranked: judged by different protocols"
    behind = value.behind
    return "" if behind is None else f"behind the best by {with_interval(behind)}"


def _under(value: ComparisonValue) -> str | Markup:
    """A word below the number: best, not told apart from the best, or why it is not ranked."""
    if value.figure is None:
        return ""
    if value.owed:
        return Markup("{} owed").format(count_noun(value.owed, "verdict"))
    if value.other_protocol:
        return "not comparable"
    if value.best:
        return "best"
    return "no clear difference" if is_apart(value) is False else ""


def _leading_section(report: ComparisonReport) -> list[Section]:
    """The answer in words: who is best overall, who cannot be told from it, who is not ranked and why."""
    table = next((candidate for candidate in report.tables if candidate.number == 7), None)
    if table is None or len(report.contestants) < 2:
        return []
    cells = [(brief(row.contestant), row.cells[-1]) for row in table.rows if not row.published]
    overall = next((row for row in report.groups if row.title == OVERALL), None)
    values = overall.values if overall else ()
    best = [name for name, cell in cells if cell.best]
    close = [name for (name, cell), value in zip(cells, values) if not cell.best and is_apart(value) is False]
    owing = [name for name, cell in cells if cell.owed]
    partial = [name for name, cell in cells if cell.partial and not cell.owed]
    unlike = protocol_warnings(report.judged)
    sentences = [f"{_name_list(best)} {_verb(best, 'leads', 'lead')} by the average of the groups."] if best else []
    sentences += [f"{_name_list(close)} do not differ significantly from the best."] if close else []
    sentences += (
        [f"{_name_list(partial)} {_verb(partial)} not ranked: others were asked more tasks."] if partial else []
    )
    if owing:
        ending = "not ranked: a judge owes verdicts. Run salon bench posters judge."
        sentences.append(f"{_name_list(owing)} {_verb(owing)} {ending}")
    sentences += unlike
    if not sentences:
        return []
    return [Section("Who leads", [Note(" ".join(sentences), tone="open" if owing or unlike or not best else "plain")])]


def _verb(names: Sequence[str], singular: str = "is", several: str = "are") -> str:
    return singular if len(names) == 1 else several


def _judge_sections(report: ComparisonReport) -> list[Section]:
    """Who judged each contestant, and by which prompts; nothing if nobody was judged."""
    if not any(record.tasks for record in report.judged):
        return []
    columns = columns_of(JudgingRecord, "contestant", "protocol", "judges", "tasks")
    rows = [
        {"contestant": brief(record.contestant), "protocol": Cell(record.title, record.prompts or ""),
         "judges": ", ".join(brief(name) for name in record.judges) or "not recorded", "tasks": len(record.tasks)}
        for record in report.judged
        if record.tasks
    ]  # fmt: skip
    intro = "Verdicts by different prompts are not comparable."
    return [Section("Judge protocols", [Table(columns, rows, caption="How judged tasks were judged")], intro)]


def _task_section(report: ComparisonReport) -> Section:
    columns = [
        *columns_of(TaskResult, "task"),
        *columns_of(MetricResult, "title"),
        *_columns(report),
        *columns_of(MetricResult, "chance"),
    ]
    rows = []
    before = ""
    for row in report.rows:
        title = row.metric + (" ↓" if row.better == "low" else "")
        rows.append(
            {"task": "" if row.title == before else row.title, "title": title if row.grouped else f"({title})",
             **_cells(row), "chance": row.chance}
        )  # fmt: skip
        before = row.title
    intro = "Metrics marked ↓ are better when small; those in brackets do not enter the mean of their group."
    return Section("Tasks", [Table(columns, rows, caption="Every metric of every task", sortable=False)], intro)


def _curve_sections(report: ComparisonReport) -> list[Section]:
    keys = list(
        dict.fromkeys((c.task, c.difficulty) for contestant_report in report.reports for c in contestant_report.curves)
    )
    if not keys:
        return []
    width = SMALL if len(keys) > 1 else WIDE
    figures = []
    for key in keys:
        curves = [
            (brief(contestant_report.contestant), curve)
            for contestant_report in report.reports
            for curve in contestant_report.curves
            if (curve.task, curve.difficulty) == key
        ]
        figures.append(curve_chart(curves[:_MOST_CURVES], width, _LOW))
    block = ChartRow(figures) if len(figures) > 1 else figures[0]
    return [Section("Difficulty", [block], "Where they begin to fail; bands are intervals.")]


def _lacking_sections(report: ComparisonReport) -> list[Section]:
    """What is worth nothing because it is not there, by contestant."""
    counts = ("items", "missing", "bad_boxes", "owed")
    rows = [
        {
            "contestant": brief(scored.contestant),
            "unread": sum(sum(task.unread.values()) for task in scored.tasks),
            **{name: sum(getattr(task, name) for task in scored.tasks) for name in counts},
        }
        for scored in report.reports
    ]
    columns = [
        *columns_of(PosterReport, "contestant"),
        *columns_of(TaskResult, "items", "missing", "unread", "bad_boxes", "owed"),
    ]
    table = Table(columns, rows, caption="What is missing or could not be read")
    return [Section("Worth nothing", [table], "Everything here stays in the denominator.")]


# -- the paper's tables ------------------------------------------------------------------------------------------------

_GENERATION = 6
_OVERALL = 7


def table_sections(report: ComparisonReport) -> list[Section]:
    """Overall with its radar first, then a section for each of the other tables."""
    scoring = "By the released scoring, faults and all." if report.compat else "By our scoring, with intervals."
    beside = " Published rows are by the released scoring, and are not ranked."
    order = sorted(report.tables, key=lambda table: (table.number != _OVERALL, table.number))
    return [
        Section(
            f"Table {table.number}: {table.title}",
            [*_radars(report, table), _table(table)],
            scoring + (beside if any(row.published for row in table.rows) else ""),
        )
        for table in order
    ]


def _table(table: PosterPaperTable) -> Table:
    columns = columns_of(PaperRow, "contestant", *(("judged",) if any(row.judged for row in table.rows) else ()))
    columns += [
        Column(f"c{at}", column.title + (" ↓" if column.better == "low" else ""), "number", 3)
        for at, column in enumerate(table.columns)
    ]
    rows = [
        {
            "contestant": Cell(brief(row.contestant), under="published" if row.published else ""),
            "judged": row.judged or "",
            **{f"c{at}": _cell(cell) for at, cell in enumerate(row.cells)},
        }
        for row in table.rows
    ]
    return Table(columns, rows, caption=f"Table {table.number}: {table.title}", sortable=False)


def _cell(cell: PaperCell) -> Cell:
    """The value; below it, whether it is the best, why it is not ranked, and its interval."""
    parts: list[str | Markup] = []
    if cell.owed:
        parts.append(Markup("{} owed").format(count_noun(cell.owed, "verdict")))
    elif cell.other_protocol:
        parts.append("not comparable")
    elif cell.partial:
        parts.append("fewer tasks")
    elif cell.best:
        parts.append("best")
    if cell.figure is not None and cell.figure.low is not None and cell.figure.high is not None:
        parts.append(Markup("[{}, {}]").format(fixed(cell.figure.low, 3), fixed(cell.figure.high, 3)))
    why = "not ranked until a judge has given its verdicts" if cell.owed else cell.why
    if cell.other_protocol and not cell.owed:
        why = "not ranked: judged by different protocols"
    return Cell(cell.value, why, Markup("<br>").join(parts) if parts else "")


def _radars(report: ComparisonReport, table: PosterPaperTable) -> list[Chart]:
    """Groups around one center, or the five generation tasks; contestants that fit, then published rows."""
    if table.number not in (_GENERATION, _OVERALL):
        return []
    places = [at for at, column in enumerate(table.columns) if column.title != "Average"]
    axes = [table.columns[at].title for at in places]
    valued = [row for row in table.rows if any(row.cells[at].value is not None for at in places)]
    drawn_rows = valued[:MOST_CONTESTANTS]
    axis_numbers = [
        at for at in range(len(places)) if any(row.cells[places[at]].value is not None for row in drawn_rows)
    ]
    if len(axis_numbers) < 3:
        return []
    spokes = [
        charts.Spokes(
            f"{brief(row.contestant)} (published)" if row.published else brief(row.contestant),
            [row.cells[places[at]].value for at in axis_numbers],
        )
        for row in drawn_rows
    ]
    drawing = charts.radar([axes[at] for at in axis_numbers], spokes, title=f"{table.title}: radar")
    more = f" The first {MOST_CONTESTANTS} rows are drawn." if len(valued) > MOST_CONTESTANTS else ""
    words = "From the center (0, an answer given without looking, or worse) to the outer ring (1, perfect)."
    return [Chart(drawing, words + more)]


# -- answers side by side ----------------------------------------------------------------------------------------------

Pictures = Mapping[int, str]
"""Data URLs by the number of their item."""


@dataclass(frozen=True)
class CaseGallery(Block):
    """Items one below the other, each with everybody's answer; generated posters stand side by side."""

    cases: tuple[ComparisonCase, ...]
    contestants: tuple[str, ...]
    pictures: Sequence[Pictures]
    """Of all contestants alike, or one for each contestant where they made the pictures."""

    def __html__(self) -> str:
        return Markup("").join(self._case(case) for case in self.cases)

    def _case(self, case: ComparisonCase) -> Markup:
        head = element("p", element("strong", one_way(brief(case.name))), class_="film-label")
        question = [labelled_text("asked", one_way(case.prompt))] if case.prompt else []
        if task_named(case.task).side == "generation":
            frames = [
                element("div", picture_or_note(self.pictures[at].get(case.number, ""), case.name, "no poster"),
                        self._answer(name, answer))
                for at, (name, answer) in enumerate(zip(self.contestants, case.answers))
            ]  # fmt: skip
            return Markup("").join(
                [head, *question, labelled_text("wanted", one_way(case.wanted) or "nothing"), film_grid(*frames)]
            )
        picture = element("div", picture_or_note(self.pictures[0].get(case.number, ""), case.name))
        words = element(
            "div", *question, labelled_text("truth", one_way(case.wanted) or "nothing"),
            *(self._answer(name, answer) for name, answer in zip(self.contestants, case.answers)),
        )  # fmt: skip
        return Markup("").join([head, film_grid(picture, words, size="wide")])

    def _answer(self, name: str, answer: CaseAnswer | None) -> Markup:
        label = brief(name)
        if answer is None:
            return labelled_text(label, "not asked")
        words = one_way(answer.said) or "nothing"
        read = element("span", Markup(" read as {}").format(one_way(answer.read)), class_="soft") if answer.read else ""
        worth = Markup("{} ").format(fixed(answer.worth, 2))
        return labelled_text(label, Markup("").join([element("strong", worth), Markup("{}").format(words), read]))


def case_sections(report: ComparisonReport, pictures: Path | None, generated: Sequence[Path | None]) -> list[Section]:
    """The galleries of each task behind a line, that of the first one open; `made` holds generators' folders."""
    by_task: dict[str, list[ComparisonCase]] = {}
    for case in report.cases:
        by_task.setdefault(case.task, []).append(case)
    blocks = []
    for at, (task, cases) in enumerate(by_task.items()):
        if task_named(task).side == "generation":
            own_paths = [
                {case.number: answer.path for case in cases if (answer := case.answers[contestant]) is not None}
                for contestant in range(len(generated))
            ]
            urls = [small_pictures(paths, folder) for paths, folder in zip(own_paths, generated)]
        else:
            urls = [small_pictures({case.number: case.path for case in cases}, pictures)]
        title = Markup("{} <span class='soft'>{}</span>").format(task_named(task).title, count_noun(len(cases), "item"))
        blocks.append(Details(title, [CaseGallery(tuple(cases), report.contestants, urls)], open=at == 0))
    words = (
        "The items on which contestants differ most, with the truth and what everybody said; first what it is worth."
    )
    return [Section("Side by side", blocks, words)] if blocks else []
