"""method.html: what every number means, what it was made from, and how to hold it to that."""

from __future__ import annotations

from collections.abc import Iterator

from salon.bench.site.frame import SitePage, clause, code_line, mark_code
from salon.bench.site.site_data import SiteData
from salon.bench.suite import CAPABILITY, EPS, PreferenceReference
from salon.report import Block, Cell, Column, Details, Note, Section, Table, numbers
from salon.report.words import brief, join_names, sentence

FIFTY = (
    "EPS 50 is an entry whose pictures sit, prompt by prompt, at the median logit of the field that the reference was "
    "made from. It does not mean that it wins half its duels against the middle entry."
)


def method_page(material: SiteData) -> SitePage:
    """method.html."""
    return SitePage(
        path="method.html",
        title="Method",
        subtitle="What every number means, and what it was made from.",
        head=material.head,
        sections=[*_sections(material)],
        signature=f"suite:{material.suite.hash}",
    )


def _sections(material: SiteData) -> Iterator[Section]:
    yield Section("Axes", [*_axes(material)], "In words.")
    yield Section("Intervals and ranks", [*_intervals(material)], "What is not known.")
    yield Section("Missing data", [_policies(material)], "Nothing leaves a denominator.")
    yield Section("Suite", [*_suite(material)], "Frozen files and their hashes.")
    yield Section("Judges", [*_judges(material)], "Who answers which points.")
    if material.suite.reference:
        yield Section("Reference", [*_reference(material)], "What EPS is measured against.")
    yield Section("Signatures", [*_signatures(material)], "One line for each entry that reproduces its numbers.")


def _axes(material: SiteData) -> Iterator[str | Note]:
    card = material.suite.card
    whole = "all its points hold" if card.passes == "all" else "a point holds, counted as the share of its points"
    yield (
        f"Capability is the percentage of pictures of which {whole}: the mean over prompts of the share of a prompt's "
        "pictures that pass."
    )
    if not material.suite.reference:
        yield "There is no frozen reference, so there is neither EPS nor Overall."
        return
    sure = (
        "integrated over the scorer's stated uncertainty"
        if card.integrate
        else "with the scorer's mean taken for certain"
    )
    yield (
        "EPS, the expected preference share, is 100 times the mean over eligible prompts of the logistic function of "
        f"the picture's logit less the reference's logit for that prompt, {sure}."
    )
    yield Note(FIFTY, heading="What 50 means.")
    weights = card.weights
    yield (
        f"Overall is {weights.get(CAPABILITY, 0):g} times Capability plus {weights.get(EPS, 0):g} times EPS; one "
        "resampling of prompts moves both."
    )
    apart = [f"{tag.name}{f' ({clause(tag.why)})' if tag.why else ''}" for tag in material.suite.tags if not tag.eps]
    if apart:
        yield f"Preference is not asked where it is the wrong tool: {join_names(apart).unescape()}."
    if card.oracle:
        yield (
            f"The oracle ({card.oracle}) knows how pictures were made and reads that, not the picture. It "
            "shows what perfect judges would say. It is never on the board and has no rank."
        )
    versions = ", ".join(f"{name} {version}" for name, version in sorted(card.metrics.items()))
    yield f"Versions of the metrics: {versions}."


def _intervals(material: SiteData) -> Iterator[str]:
    card = material.suite.card
    level = numbers.percent(card.level)
    methods = sorted({one.computed.capability.figure.method for one in material.published})
    yield (
        f"Intervals are at {level}, over prompts: prompts are the units that could have been others, so pictures of "
        f"one prompt count together. Method: {'; '.join(methods) or card.interval}."
    )
    yield (
        "Ranges of ranks and tie groups come from differences between entries on the same prompts, all pairs at once. "
        "A tie group holds the entries that cannot be told from its best one; then the same among the rest. They "
        "depend on who is on the board and are computed when it is shown. Values and intervals do not."
    )


def _policies(material: SiteData) -> Table:
    policies = dict.fromkeys(policy for one in material.entries if one.result for policy in one.result.policies)
    return Table(
        [Column("policy", "Policy")],
        [{"policy": mark_code(policy)} for policy in policies],
        sortable=False,
        label="Policies",
    )


def _suite(material: SiteData) -> Iterator[Block | str]:
    suite, card = material.suite, material.suite.card
    known = [
        ("Suite", f"{card.name}, version {card.version}: {card.title}"),
        ("Licence of prompts and points", card.licence),
        ("Licences that pictures may have", ", ".join(card.image_licences) or "any that is stated"),
        ("Pictures of each prompt", f"{card.images}, seeds from {card.first_seed}"),
        ("Private prompts", str(sum(one.private for one in suite.prompts))),
        ("Hash of everything", code_line(suite.hash)),
    ]
    yield Table(
        [Column("what", "What"), Column("is", "Is")],
        [{"what": w, "is": i} for w, i in known if i],
        sortable=False,
        label="Suite",
    )
    rows = [{"file": name, "hash": code_line(digest)} for name, digest in suite.hashes.items()]
    yield Table(
        [Column("file", "File"), Column("hash", "SHA-256 of what it says")], rows, sortable=False, label="Files"
    )


def _judges(material: SiteData) -> Iterator[Block | str]:
    rest = "all" if len(material.suite.routes) == 1 else "every other"
    rows = [
        {"tag": rest if route.tag == "*" else route.tag, "judges": join_names(route.judges),
         "rule": "all must say yes" if route.rule == "unanimous" else "more than half say yes"}
        for route in material.suite.routes
    ]  # fmt: skip
    yield Table(
        [Column("tag", "Points of kind"), Column("judges", "Judges"), Column("rule", "Holds where")],
        rows,
        sortable=False,
        label="Routes",
    )


def _reference(material: SiteData) -> Iterator[Block | str]:
    reference = material.suite.reference
    assert reference is not None
    yield (
        f"For every prompt the median of the logits of {len(reference.field)} entries, computed once and frozen. "
        + (sentence(reference.note) if reference.note else "")
    )
    titles = {rule.id: rule.title for rule in material.suite.card.preferences}
    rows = [_reference_row(titles, one) for one in reference.preferences]
    columns = [Column("column", "Column"), Column("scorer", "Scorer"), Column("logit", "Logits"),
               Column("prompts", "Prompts", "count")]  # fmt: skip
    yield Table(columns, rows, sortable=False, label="Scorers")
    field = [{"name": brief(one.name, 60), "digest": code_line(one.digest)} for one in reference.field]
    yield Details(
        f"The field: {len(field)} entries",
        [
            Table(
                [Column("name", "Entry"), Column("digest", "Digest of its pictures and scores")],
                field,
                sortable=False,
                label="Field",
            )
        ],
    )


def _reference_row(titles: dict[str, str], one: PreferenceReference) -> dict[str, object]:
    return {
        "column": Cell(titles.get(one.id, one.id), under=one.card.measures),
        "scorer": Cell(one.scorer, under=code_line(one.signature)),
        "logit": one.card.transform or "declared as logits",
        "prompts": len(one.points),
    }


def _signatures(material: SiteData) -> Iterator[Block | str]:
    rows = [
        {"entry": Cell(material.labels[one.name], under=code_line(one.result.signature_line))}
        for one in material.entries
        if one.result
    ]
    yield (
        Table([Column("entry", "Entry")], rows, sortable=False, label="Signatures")
        if rows
        else Note("No entry is judged yet.")
    )
    for kind, snapshots in (("Arena", material.arenas), ("Rater tables", material.raters)):
        held = [{"number": Cell(f"Snapshot {one.number}", under=code_line(one.signature_line))} for one in snapshots]
        if held:
            yield Table(
                [Column("number", kind)],
                held,
                sortable=False,
                label=kind,
            )
