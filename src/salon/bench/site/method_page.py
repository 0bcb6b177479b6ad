"""method.html: what every number means, what it was made from, and how to hold it to that."""

from __future__ import annotations

from collections.abc import Iterator

from salon.bench.site.frame import SitePage, clause, code_line, facts_table, mark_code
from salon.bench.site.site_data import SiteData
from salon.bench.suite import CAPABILITY, EPS
from salon.report import Block, Cell, Column, Details, Note, Section, Table, brief, join_names, numbers, sentence

FIFTY = (
    "EPS 50 is an entry whose pictures sit, prompt by prompt, at the median logit of the field that the reference was "
    "made from. It does not mean that it wins half its duels against the middle entry."
)


def method_page(site: SiteData) -> SitePage:
    """method.html."""
    return SitePage(
        path="method.html",
        title="Method",
        subtitle="What every number means, and what it was made from.",
        head=site.head,
        sections=[*_sections(site)],
        signature=f"suite:{site.suite.hash}",
    )


def _sections(site: SiteData) -> Iterator[Section]:
    yield Section("Axes", [*_axes(site)], "In words.")
    yield Section("Intervals and ranks", [*_intervals(site)], "What is not known.")
    policies = dict.fromkeys(
        policy for site_entry in site.entries if site_entry.result for policy in site_entry.result.policies
    )
    policy_table = Table(
        [Column("policy", "Policy")],
        [{"policy": mark_code(policy)} for policy in policies],
        sortable=False,
        label="Policies",
    )
    yield Section("Missing data", [policy_table], "Every excluded answer is counted and reported.")
    yield Section("Suite", [*_suite(site)], "Frozen files and their hashes.")
    yield Section("Judges", [*_judges(site)], "Who answers which points.")
    if site.suite.reference:
        yield Section("Reference", [*_reference(site)], "What EPS is measured against.")
    yield Section("Signatures", [*_signatures(site)], "One line for each entry that reproduces its numbers.")


def _axes(site: SiteData) -> Iterator[str | Note]:
    card = site.suite.card
    whole = "all its points hold" if card.passes == "all" else "a point holds, counted as the share of its points"
    yield (
        f"Capability is the percentage of pictures of which {whole}: the mean over prompts of the share of a prompt's "
        "pictures that pass."
    )
    if not site.suite.reference:
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
    apart = [f"{tag.name}{f' ({clause(tag.why)})' if tag.why else ''}" for tag in site.suite.tags if not tag.eps]
    if apart:
        yield f"Preference is not asked where it is the wrong tool: {join_names(apart).unescape()}."
    if card.oracle:
        yield (
            f"The oracle ({card.oracle}) knows how pictures were made and reads that, not the picture. It "
            "shows what perfect judges would say. It is never on the board and has no rank."
        )
    versions = ", ".join(f"{name} {version}" for name, version in sorted(card.metrics.items()))
    yield f"Versions of the metrics: {versions}."


def _intervals(site: SiteData) -> Iterator[str]:
    card = site.suite.card
    level = numbers.percent(card.level)
    methods = sorted({site_entry.computed.capability.figure.method for site_entry in site.published})
    yield (
        f"Intervals are at {level}, over prompts: prompts are the units that could have been others, so pictures of "
        f"one prompt count together. Method: {'; '.join(methods) or card.interval}."
    )
    yield (
        "Ranges of ranks and tie groups come from differences between entries on the same prompts, all pairs at once. "
        "A tie group holds its best entry and those that do not differ significantly from it. They "
        "depend on who is on the board and are computed when it is shown. Values and intervals do not."
    )


def _suite(site: SiteData) -> Iterator[Block | str]:
    suite, card = site.suite, site.suite.card
    facts = [
        ("Suite", f"{card.name}, version {card.version}: {card.title}"),
        ("Licence of prompts and points", card.licence),
        ("Licences that pictures may have", ", ".join(card.image_licences) or "any that is stated"),
        ("Pictures of each prompt", f"{card.images}, seeds from {card.first_seed}"),
        ("Private prompts", str(sum(prompt.private for prompt in suite.prompts))),
        ("Hash of everything", code_line(suite.hash)),
    ]
    yield facts_table(facts, "Suite")
    rows = [{"file": name, "hash": code_line(digest)} for name, digest in suite.hashes.items()]
    yield Table(
        [Column("file", "File"), Column("hash", "SHA-256 of what it says")], rows, sortable=False, label="Files"
    )


def _judges(site: SiteData) -> Iterator[Block | str]:
    rest = "all" if len(site.suite.routes) == 1 else "every other"
    rows = [
        {"tag": rest if route.tag == "*" else route.tag, "judges": join_names(route.judges),
         "rule": "all must say yes" if route.rule == "unanimous" else "more than half say yes"}
        for route in site.suite.routes
    ]  # fmt: skip
    yield Table(
        [Column("tag", "Points of kind"), Column("judges", "Judges"), Column("rule", "Holds where")],
        rows,
        sortable=False,
        label="Routes",
    )


def _reference(site: SiteData) -> Iterator[Block | str]:
    reference = site.suite.reference
    assert reference is not None
    yield (
        f"For every prompt the median of the logits of {len(reference.field)} entries, computed once and frozen. "
        + (sentence(reference.note) if reference.note else "")
    )
    titles = {rule.id: rule.title for rule in site.suite.card.preferences}
    rows = [
        {
            "column": Cell(titles.get(part.id, part.id), under=part.card.measures),
            "scorer": Cell(part.scorer, under=code_line(part.signature)),
            "logit": part.card.transform or "declared as logits",
            "prompts": len(part.points),
        }
        for part in reference.preferences
    ]
    columns = [Column("column", "Column"), Column("scorer", "Scorer"), Column("logit", "Logits"),
               Column("prompts", "Prompts", "count")]  # fmt: skip
    yield Table(columns, rows, sortable=False, label="Scorers")
    field = [{"name": brief(part.name, 60), "digest": code_line(part.digest)} for part in reference.field]
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


def _signatures(site: SiteData) -> Iterator[Block | str]:
    rows = [
        {"entry": Cell(site.labels[item.name], under=code_line(item.result.signature_line))}
        for item in site.entries
        if item.result
    ]
    yield (
        Table([Column("entry", "Entry")], rows, sortable=False, label="Signatures")
        if rows
        else Note("No entry is judged yet.")
    )
    for kind, snapshots in (("Arena", site.arenas), ("Rater tables", site.raters)):
        snapshot_rows = [
            {"number": Cell(f"Snapshot {item.number}", under=code_line(item.signature_line))} for item in snapshots
        ]
        if snapshot_rows:
            yield Table([Column("number", kind)], snapshot_rows, sortable=False, label=kind)
