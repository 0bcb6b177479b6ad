"""raters.html: what scorers and judges are worth against panels of people, from the newest snapshot."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from salon.bench.rater_tables import PanelStudy, RaterOnStudy, RaterResult, RaterTables
from salon.bench.site.frame import SitePage
from salon.bench.site.site_data import SiteData
from salon.report import Badge, Cell, Column, Note, Page, Section, Table, located
from salon.report.svg import element
from salon.report.words import SIMULATED, brief, one_way, sentence

CEILING = "one more person"
KINDS = {"pairs": "judge of pairs", "points": "judge of single pictures", "scorer": "scorer", "rater": "rater"}


def raters_page(material: SiteData) -> SitePage:
    """raters.html; only where there is a snapshot."""
    tables = material.raters[-1]
    return SitePage(
        path="raters.html",
        title="Raters",
        subtitle=f"{len(tables.raters)} scorers and judges against panels of people on {_studies(tables)}. "
        f"Snapshot {tables.number}.",
        head=material.head,
        sections=[*_sections(tables)],
        notes=[sentence(policy) for policy in tables.policies],
        signature=tables.signature_line,
        banner=SIMULATED if any(study.simulated for study in tables.studies) else "",
        wide=True,
    )


def raters_report(tables: RaterTables) -> Page:
    """The same tables as a page of their own."""
    here: RaterTables = located(tables)
    return Page(
        title="What raters are worth",
        subtitle=f"{len(tables.raters)} scorers and judges against people on {_studies(tables)}.",
        kicker="Salon bench raters",
        banner=SIMULATED if any(study.simulated for study in tables.studies) else "",
        sections=[*_sections(here)],
        notes=[sentence(policy) for policy in tables.policies],
        signature=one_way(tables.signature_line),
    )


def raters_summary(material: SiteData) -> Iterator[Section]:
    """For the front page: accuracy by study, with the way to the rest."""
    if material.raters:
        tables = material.raters[-1]
        link = Markup("By criterion, and orders of generators: {}.").format(element("a", "Raters", href="raters.html"))
        yield Section("What raters are worth", [_accuracy(tables), link], f"Snapshot {tables.number}.")


def _studies(tables: RaterTables) -> str:
    return "one study" if len(tables.studies) == 1 else f"{len(tables.studies)} studies"


def _sections(tables: RaterTables) -> Iterator[Section]:
    yield Section(
        "Preference accuracy",
        [*_warnings(tables), _accuracy(tables), *_records(tables)],
        "Share of pairs on which a rater sides with the majority.",
    )
    for study in (study for study in tables.studies if study.count == "pairs"):
        yield Section(study.study, [_criteria(tables, study)], "Agreement with the panel, criterion by criterion.")
    yield Section("Order of generators", [_orders(tables)], "Do raters and people put generators in the same order?")


def _warnings(tables: RaterTables) -> Iterator[Note]:
    yield from (Note(sentence(warning), "open") for warning in tables.warnings)


def _accuracy(tables: RaterTables) -> Table:
    """HPSv3's Table 4: raters down, studies across; the ceiling above them."""
    ceiling: dict[str, object] = {"rater": CEILING, "kind": "ceiling"}
    rows = [ceiling]
    for k, study in enumerate(tables.studies):
        ceiling[f"s{k}"] = study.next_rater
    for rater in tables.raters:
        row: dict[str, object] = {"rater": _name(rater), "kind": KINDS[rater.kind]}
        for k, study in enumerate(tables.studies):
            found = rater.on(study.study)
            row[f"s{k}"] = Cell(found.accuracy, why=_counted(study, found)) if found else None
        rows.append(row)
    columns = [Column("rater", "Rater"), Column("kind", "Kind")]
    columns += [Column(f"s{k}", brief(study.study, 30), "estimate", 3) for k, study in enumerate(tables.studies)]
    return Table(columns, rows, label="Preference accuracy")


def _records(tables: RaterTables) -> Iterator[Table]:
    """What stands behind accuracies over records; nothing where pairs are counted."""
    rows = [
        {
            "study": study.study,
            "rater": _name(rater),
            "counted": on.pairs,
            "equal": on.equal,
            "records": on.panel_pairs,
            "repeats": study.repeats,
            "tied": study.criteria[0].tied,
        }
        for study in tables.studies
        if study.count == "records"
        for rater in tables.raters
        if (on := rater.on(study.study)) is not None
    ]
    if rows:
        columns = [
            Column("study", "Test set"),
            Column("rater", "Rater"),
            Column("records", "Records", "count"),
            Column("counted", "Counted", "count", hint="Records in the denominator."),
            Column("repeats", "Repeat a pair", "count", hint="Records that repeat a pair; each counts."),
            Column("equal", "Equal numbers", "count", hint="Records with equal numbers: they count as wrong."),
            Column("tied", "No winner", "count", hint="Pairs without a winner: left out."),
        ]
        yield Table(columns, rows, label="Records behind the accuracies")


def _counted(study: PanelStudy, found: RaterOnStudy) -> str:
    words = f"{found.pairs} of {found.panel_pairs} {study.count}"
    return words if found.equal is None else f"{words}, {found.equal} of equal numbers"


def _criteria(tables: RaterTables, study: PanelStudy) -> Table:
    ids = [one.criterion for one in study.criteria]
    ceiling: dict[str, object] = {"rater": CEILING}
    for k, one in enumerate(study.criteria):
        ceiling[f"c{k}"] = Cell(one.next_rater, why=one.no_ceiling or f"{one.votes} votes on {one.pairs} pairs")
    rows = [ceiling]
    for rater in tables.raters:
        found = rater.on(study.study)
        if found:
            rows.append({"rater": _name(rater)} | {f"c{k}": found.criteria.get(id) for k, id in enumerate(ids)})
    columns = [Column("rater", "Rater")]
    columns += [Column(f"c{k}", brief(one.name, 30), "estimate", 3) for k, one in enumerate(study.criteria)]
    return Table(columns, rows, label=f"Accuracy by criterion, {study.study}")


def _orders(tables: RaterTables) -> Table:
    """HPSv3's Table 3."""
    rows = [
        {
            "rater": _name(rater),
            "study": found.study,
            "spearman": Cell(found.order.spearman, why=found.order.reason or ""),
            "kendall": found.order.kendall,
            "nmse": found.order.nmse,
            "generators": found.order.generators,
            "pairs": found.order.pairs,
        }
        for rater in tables.raters
        for found in rater.studies
    ]
    columns = [
        Column("rater", "Rater"),
        Column("study", "Study"),
        Column("spearman", "Spearman", "estimate", 2),
        Column("kendall", "Kendall", "estimate", 2),
        Column("nmse", "Normalised MSE", "estimate", 3),
        Column("generators", "Generators", "count"),
        Column("pairs", "Pairs", "count"),
    ]
    return Table(columns, rows, label="Order of generators")


def _name(rater: RaterResult) -> Markup:
    shown = Markup.escape(brief(rater.rater, 40))
    return shown + " " + Badge("simulated", "thin") if rater.simulated else shown
