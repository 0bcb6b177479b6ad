"""raters.html: what scorers and judges are worth against panels of people, from the newest snapshot."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from salon.bench.rater_results import (
    GeneratorAgreement,
    PanelCriterion,
    PanelStudy,
    RaterOnStudy,
    RaterResult,
    RaterTables,
)
from salon.bench.site.frame import SitePage
from salon.bench.site.site_data import SiteData
from salon.report import (
    SIMULATED,
    Badge,
    Cell,
    Column,
    Note,
    Page,
    Section,
    Table,
    brief,
    columns_of,
    element,
    located,
    one_way,
    sentence,
)

CEILING = "one more person"
KINDS = {"pairs": "judge of pairs", "points": "judge of single pictures", "scorer": "scorer", "rater": "rater"}


def raters_page(site: SiteData) -> SitePage:
    """raters.html; only where there is a snapshot."""
    tables = site.raters[-1]
    return SitePage(
        path="raters.html",
        title="Raters",
        subtitle=f"{len(tables.raters)} scorers and judges against panels of people on {_studies(tables)}. "
        f"Snapshot {tables.number}.",
        head=site.head,
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


def raters_summary(site: SiteData) -> Iterator[Section]:
    """For the front page: accuracy by study, with the way to the rest."""
    if site.raters:
        tables = site.raters[-1]
        link = Markup("By criterion, and orders of generators: {}.").format(element("a", "Raters", href="raters.html"))
        yield Section("What raters are worth", [_accuracy(tables), link], f"Snapshot {tables.number}.")


def _studies(tables: RaterTables) -> str:
    return "one study" if len(tables.studies) == 1 else f"{len(tables.studies)} studies"


def _sections(tables: RaterTables) -> Iterator[Section]:
    yield Section(
        "Preference accuracy",
        [*(Note(sentence(warning), "open") for warning in tables.warnings), _accuracy(tables), *_records(tables)],
        "Share of pairs on which a rater sides with the majority.",
    )
    for study in (study for study in tables.studies if study.count == "pairs"):
        ids = [criterion.criterion for criterion in study.criteria]
        ceiling: dict[str, object] = {"rater": CEILING}
        for k, criterion in enumerate(study.criteria):
            ceiling[f"c{k}"] = Cell(
                criterion.next_rater, why=criterion.no_ceiling or f"{criterion.votes} votes on {criterion.pairs} pairs"
            )
        rows = [ceiling]
        for rater in tables.raters:
            result = rater.on(study.study)
            if result:
                rows.append({"rater": _name(rater)} | {f"c{k}": result.criteria.get(id) for k, id in enumerate(ids)})
        columns = columns_of(RaterResult, "rater")
        columns += [
            Column(f"c{k}", brief(criterion.name, 30), "estimate", 3) for k, criterion in enumerate(study.criteria)
        ]
        criteria = Table(columns, rows, label=f"Accuracy by criterion, {study.study}")
        yield Section(study.study, [criteria], "Agreement with the panel, criterion by criterion.")
    yield Section(
        "Order of generators", [rater_order_table(tables)], "Do raters and people put generators in the same order?"
    )


def _accuracy(tables: RaterTables) -> Table:
    """HPSv3's Table 4: raters down, studies across; the ceiling above them."""
    ceiling: dict[str, object] = {"rater": CEILING, "kind": "ceiling"}
    rows = [ceiling]
    for k, study in enumerate(tables.studies):
        ceiling[f"s{k}"] = study.next_rater
    for rater in tables.raters:
        row: dict[str, object] = {"rater": _name(rater), "kind": KINDS[rater.kind]}
        for k, study in enumerate(tables.studies):
            result = rater.on(study.study)
            row[f"s{k}"] = Cell(result.accuracy, why=_count_words(study, result)) if result else None
        rows.append(row)
    columns = columns_of(RaterResult, "rater", "kind")
    columns += [Column(f"s{k}", brief(study.study, 30), "estimate", 3) for k, study in enumerate(tables.studies)]
    return Table(columns, rows, label="Preference accuracy")


def _records(tables: RaterTables) -> Iterator[Table]:
    """What stands behind accuracies over records; nothing where pairs are counted."""
    rows = [
        {
            **vars(on),
            "rater": _name(rater),
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
            *columns_of(RaterOnStudy, "study", study="Test set"),
            *columns_of(RaterResult, "rater"),
            *columns_of(RaterOnStudy, "panel_pairs", "pairs"),
            *columns_of(PanelStudy, "repeats"),
            *columns_of(RaterOnStudy, "equal"),
            *columns_of(PanelCriterion, "tied"),
        ]
        yield Table(columns, rows, label="Records behind the accuracies")


def _count_words(study: PanelStudy, result: RaterOnStudy) -> str:
    words = f"{result.pairs} of {result.panel_pairs} {study.count}"
    return words if result.equal is None else f"{words}, {result.equal} of equal numbers"


def rater_order_table(tables: RaterTables) -> Table:
    """HPSv3's Table 3."""
    rows = [
        {
            "rater": _name(rater),
            "study": result.study,
            **vars(result.order),
            "spearman": Cell(result.order.spearman, why=result.order.reason or ""),
        }
        for rater in tables.raters
        for result in rater.studies
    ]
    columns = [
        *columns_of(RaterResult, "rater"),
        *columns_of(RaterOnStudy, "study"),
        *columns_of(GeneratorAgreement, "spearman", "kendall", "nmse", "generators", "pairs"),
    ]
    return Table(columns, rows, label="Order of generators")


def _name(rater: RaterResult) -> Markup:
    name = Markup.escape(brief(rater.rater, 40))
    return name + " " + Badge("simulated", "thin") if rater.simulated else name
