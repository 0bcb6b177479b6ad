"""`salon fuse` and `salon labels`: scores with intervals, and labels for training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from salon.cli.console import Cell, html_option, json_option, print_json, print_table, say, spinner, write_page
from salon.cli.options import options_from, output_option, settings_from
from salon.cli.study_argument import STUDY
from salon.fuse import FuseSettings, LabelSettings

if TYPE_CHECKING:
    from salon.fuse import FuseReport, MethodPair, RaterFit, ScoreRow
    from salon.study import Study


@click.command()
@click.argument("study", type=STUDY)
@click.option("--criterion", "criteria", multiple=True, help="Fuse only the criterion with this id (repeatable).")
@click.option("--compare", is_flag=True, help="Also compare anchored and plain Elo and Davidson, and vary the gap.")
@html_option()
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the scores as a table: .parquet, .csv or .jsonl.",
)
@click.option("--overwrite", is_flag=True, help="Replace a table of scores that is there already.")
@click.option(
    "--top", type=click.IntRange(0), default=10, show_default=True, help="Rows of each group to print; 0: all."
)
@options_from(FuseSettings)
@json_option
def fuse(
    study: Path | str,
    criteria: Sequence[str],
    compare: bool,
    html: Path | None,
    figures: Path | None,
    output: Path | None,
    overwrite: bool,
    top: int,
    as_json: bool,
    **flags: Any,
) -> None:
    """One score with its interval for each item and criterion of STUDY.

    If items were both compared and rated, scores lie on the rating scale: comparisons give the order, ratings the
    scale. Comparisons or rankings alone give scores on a scale of their own. STUDY is a study folder, the address of a
    database, or one file of judgments; a folder whose studio runs is read as it stands now.

    \b
      salon fuse study                                   the method that suits the judgments
      salon fuse study --method anchored-elo --json      rows of item, criterion, value, low, high
      salon fuse study --compare --html fuse.html        do the methods agree?
      salon fuse votes.csv --method bradley-terry --prior 3
      salon fuse study --by generator -o leaderboard.csv
    """
    from salon.cli.study_argument import read_study_argument
    from salon.fuse import fuse_page, fuse_study
    from salon.store import check_target, write_plain

    settings = settings_from(FuseSettings, flags)
    if output is not None:
        check_target(output, overwrite=overwrite)
    study_data = read_study_argument(study)
    criterion_ids = [study_data.criterion(id).id for id in criteria]
    with spinner("fusing") as step:
        report = fuse_study(study_data, settings, criteria=criterion_ids, compare=compare, progress=step)
    write_page(lambda: fuse_page(report, _texts(study_data, [group.group for group in report.groups])), html, figures)
    if output is not None:
        write_plain(report.table(), output, overwrite=overwrite)
    if as_json:
        print_json(report)
    else:
        generators = "generator" in study_data.table("items").column_names
        prompts = _texts(study_data, shown_groups(report))
        print_fuse(report, top=top, html=html, output=output, generators=generators, prompts=prompts)


def _texts(study: Study, prompts: Sequence[str]) -> dict[str, str]:
    """What some prompts say, where groups are prompts; the others, perhaps a million, are not looked at."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if study.compare_within != "prompt":
        return {}
    chosen = study.table("prompts").filter(pc.is_in(study.ids("prompts"), value_set=pa.array(prompts, pa.string())))
    prompted = replace(study, tables={"prompts": chosen})
    return {prompt.id: prompt.view() for prompt in prompted.nouns("prompts")}


# -- tables of fuse -------------------------------------------------------------------------------------------------

LONGEST = 60
"""Characters of a label printed."""
MOST_WAYS = 3
"""Of making errors, listed."""
MOST_RATERS = 5
MOST_GROUPS = 5
"""Groups printed; a study of a thousand prompts goes to a file."""


def print_fuse(
    report: FuseReport,
    *,
    top: int,
    html: Path | None,
    output: Path | None,
    generators: bool = False,
    prompts: Mapping[str, str] | None = None,
) -> None:
    """The scores first, then what they rest on.

    `generators`: items name them, so these could be scored instead. `prompts`: the text of each prompt by its id, where
    a group is a prompt.
    """
    say(f"{report.study}: {len(report.scores):,} scores by {report.method} on the scale {report.scale}", bold=True)
    for warning in report.warnings:
        say(f"warning: {warning}", fg="yellow")
    click.echo()
    _print_scores(report, top, generators=generators and report.by == "item", prompts=prompts or {})
    _print_groups(report)
    _print_raters(report.raters)
    for curve in report.curves[:MOST_GROUPS]:
        low, high = report.scale_low, report.scale_high
        assert low is not None  # where there is a curve, there is a scale
        assert high is not None
        group = "all groups" if curve.group is None else f"{curve.criterion} · {curve.group}"
        say(
            f"curve ({group}): {low:g} + {high - low:g} / (1 + exp(-(a q + b))), "
            f"a = {curve.a:.4g}, b = {curve.b:.3g}; {curve.anchors} rating anchors (*), "
            f"root mean square distance {curve.residual:.2f}"
        )
    if report.compare is not None:
        click.echo()
        columns = ("methods", "SRCC", "lowest", "PLCC", "MAE", "decisions", "KS pass")
        rows = [(f"{pair.first} / {pair.second}", *_pair(pair)) for pair in report.compare.pairs]
        print_table("Do the methods agree? (means over groups)", columns, rows)
        click.echo()
        curves = {"pooled": "one curve"}
        rows = [
            (f"{curves.get(row.calibration, 'curve per group')}, gap {row.gap:g}", *_pair(row.agreement))
            for row in report.compare.gaps
        ]
        print_table("Gap between rating levels: anchored-elo / anchored-davidson", ("setting", *columns[1:]), rows)
        click.echo()
    for policy in report.policies:
        say(f"policy: {policy}")
    how = Counter(group.errors for group in report.groups).most_common()
    ways = [way if len(how) == 1 else f"{way} ({n:,} of {len(report.groups):,} groups)" for way, n in how[:MOST_WAYS]]
    ways += [f"and {len(how) - MOST_WAYS} more ways"] if len(how) > MOST_WAYS else []
    say(f"intervals: {100 * report.level:g}%, {'; '.join(ways)}; computed in {report.seconds:.1f} s", dim=True)
    say(report.signature_line, dim=True)
    for name, path in (("scores", output), ("report", html)):
        if path is not None:
            say(f"{name}: {path}")


def shown_groups(report: FuseReport) -> list[str]:
    """The groups whose scores are printed."""
    return list(dict.fromkeys(row.group for row in report.scores))[:MOST_GROUPS]


def _print_scores(report: FuseReport, top: int, *, generators: bool, prompts: Mapping[str, str]) -> None:
    groups = [list(rows) for _, rows in groupby(report.scores, key=lambda row: (row.criterion, row.group))]
    for rows in groups[:MOST_GROUPS]:
        top_rows = rows if top == 0 or len(rows) <= top else rows[:top]
        criterion, group = _short(rows[0].criterion), _short(rows[0].group)
        title = criterion if rows[0].group == report.study else f"{criterion} · {group}"
        text = " ".join(prompts.get(rows[0].group, "").split())
        if text and text != rows[0].group:
            title = f"{title}: {_short(text)}"
        print_table(title, ("rank", report.by, "score", "tier", "n"), [_score(row) for row in top_rows], left=(1,))
        if len(top_rows) < len(rows):
            say(f"... and {len(rows) - len(top_rows):,} more (--top 0, --json or -o prints all)", dim=True)
        click.echo()
    if len(groups) > MOST_GROUPS:
        more = f"{len(groups) - MOST_GROUPS:,} more groups: -o, --json and --html hold all"
        say(more + ("; --by generator scores generators over all of them" if generators else ""), dim=True)
        click.echo()


def _score(row: ScoreRow) -> tuple[Cell, ...]:
    from salon.report import estimate

    ranks = "" if row.rank_low is None else f" [{row.rank_low}, {row.rank_high}]"
    value = estimate(row.value, row.low, row.high, 0 if abs(row.value) >= 100 else 2)
    mark = " *" if row.rating_anchor else ""
    tier = "" if row.tier is None else str(row.tier)
    return (f"{row.rank}{ranks}", _short(row.item or row.generator or "") + mark, value, tier, row.n)


def _short(label: str) -> str:
    """A label that leaves room for the numbers; --json and -o hold it whole."""
    return label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…"


def _print_groups(report: FuseReport) -> None:
    from salon.report import p_value
    from salon.report.numbers import fixed

    rows = [
        (
            _short(group.criterion),
            _short(group.group),
            group.items,
            group.raters,
            group.comparisons + group.rankings + group.ratings,
            "" if group.ties is None else f"{group.ties:.1%}",
            "" if group.graph is None else f"{group.graph.fraction:.1%}",
            "" if group.graph is None or group.graph.diameter is None else str(group.graph.diameter),
            "" if group.tie is None else fixed(group.tie, 3),
            "" if group.fit_p is None else p_value(group.fit_p),
        )
        for group in report.groups[:MOST_GROUPS]
    ]
    columns = ("criterion", "group", "items", "raters", "answers", "ties", "pairs met", "diameter", "tie par.", "fit p")
    filled_columns = [number for number in range(len(columns)) if any(row[number] != "" for row in rows)]
    print_table(
        "What went in",
        [columns[n] for n in filled_columns],
        [[row[n] for n in filled_columns] for row in rows],
        left=(0, 1),
    )
    if len(report.groups) > MOST_GROUPS:
        say(f"... and {len(report.groups) - MOST_GROUPS:,} more groups", dim=True)
    click.echo()


RATER_PARAMETERS = {
    "reliability": "reliability",
    "left_bias": "pull to the left",
    "offset": "offset",
    "gain": "gain",
    "inconsistency": "inconsistency",
}
"""What methods learn of raters, and how it is headed."""


def _print_raters(raters: Sequence[RaterFit]) -> None:
    """The raters whose answers the fit explains worst; or what the method learned of them."""
    from salon.report.numbers import fixed

    z_scores = [(r.z, r) for r in raters if r.z is not None and r.agreement is not None]
    surprising = sorted(z_scores, key=lambda entry: entry[0])
    rows: list[tuple[Cell, ...]]
    if surprising:
        rows = [
            (_short(r.rater), r.answers, fixed(r.agreement, 3), fixed(r.expected_agreement, 3), fixed(z, 1))
            for z, r in surprising[:MOST_RATERS]
        ]
        print_table("Raters least like the fit", ("rater", "answers", "agrees", "expected", "z"), rows)
        click.echo()
    learned = [name for name in RATER_PARAMETERS if any(getattr(r, name) is not None for r in raters)]
    if learned:
        lowest = sorted(raters, key=lambda r: (getattr(r, learned[0]) is None, getattr(r, learned[0])))[:MOST_RATERS]
        rows = [(_short(r.rater), r.answers, *(_rater_parameter(r, name) for name in learned)) for r in lowest]
        title = f"Raters, lowest {RATER_PARAMETERS[learned[0]]} first" + (
            f" ({MOST_RATERS} of {len(raters):,})" if len(raters) > MOST_RATERS else ""
        )
        print_table(title, ("rater", "answers", *(RATER_PARAMETERS[name] for name in learned)), rows)
        click.echo()


def _rater_parameter(rater: RaterFit, name: str) -> str:
    from salon.report.numbers import fixed

    value, error = getattr(rater, name), getattr(rater, f"{name}_error", None)
    if value is None:
        return ""
    return fixed(value, 2) if error is None else f"{fixed(value, 2)} ± {fixed(error, 2)}"


def _pair(pair: MethodPair) -> tuple[Cell, ...]:
    from salon.report.numbers import fixed

    def known(value: float | None) -> str:
        return "" if value is None else fixed(value, 4)

    return (
        known(pair.srcc),
        known(pair.srcc_low),
        known(pair.plcc),
        fixed(pair.mae, 3),
        f"{pair.decisions:.1%}",
        f"{pair.ks_pass}/{pair.groups}",
    )


# -- labels ---------------------------------------------------------------------------------------------------------

MOST_BUCKETS = 12


@click.command()
@click.argument("study", type=STUDY)
@output_option("File to write; its ending says how: .parquet, .csv or .jsonl.")
@click.option("--criterion", "criteria", multiple=True, help="Only the criterion with this id (repeatable).")
@options_from(LabelSettings)
@click.option("--overwrite", is_flag=True, help="Replace a file that is there already.")
@json_option
def labels(
    study: Path | str, output: Path, criteria: Sequence[str], overwrite: bool, as_json: bool, **flags: Any
) -> None:
    """Labels for training from the judgments of STUDY, split by prompt.

    For each pair of items: the majority, the share of votes, their number and split. Prompts that share an image or a
    text fall on the same side, and the result is checked for leaks before it is written.

    \b
      salon labels study -o labels.parquet
      salon labels study -o votes.csv --rows raters --ties keep
      salon labels study -o scores.jsonl --rows ratings --criterion apdd/score
    """
    from salon.cli.study_argument import read_study_argument
    from salon.fuse import make_labels
    from salon.store import check_target, write_plain
    from salon.study import SPLITS

    settings = settings_from(LabelSettings, flags)
    check_target(output, overwrite=overwrite)
    study_data = read_study_argument(study)
    with spinner("making labels"):
        label_set = make_labels(study_data, settings, criteria=criteria)
        write_plain(label_set.table, output, overwrite=overwrite)
    if as_json:
        line = str(label_set.report.signature)
        print_json({"file": str(output), **label_set.report.model_dump(mode="json"), "signature_line": line})
    else:
        if label_set.report.simulated:
            say("SIMULATED: nobody gave these answers.")
        judgment_kind = "ratings" if label_set.report.rows == "ratings" else "votes"
        columns = ("criterion", "rows", judgment_kind, *SPLITS, "even", "both bad")
        rows: list[tuple[Cell, ...]] = [
            (
                criterion.criterion,
                criterion.rows,
                criterion.judgments,
                *criterion.splits.values(),
                criterion.even,
                criterion.both_bad,
            )
            for criterion in label_set.report.criteria
            if criterion.rows
        ]
        column_count = len(columns) if judgment_kind == "votes" else -2  # ratings have no even pairs
        print_table(None, columns[:column_count], [row[:column_count] for row in rows])
        total: Counter[str] = Counter()
        for criterion in label_set.report.criteria:
            total.update(criterion.buckets)
        if total:
            buckets = [(name, n, f"{n / total.total():.1%}") for name, n in total.most_common(MOST_BUCKETS)]
            print_table("buckets (larger camp - smaller camp - ties)", ("bucket", "rows", "share"), buckets)
        if len(total) > MOST_BUCKETS:
            say(f"and {len(total) - MOST_BUCKETS} rarer ones, in --json")
        silent = [criterion.criterion for criterion in label_set.report.criteria if not criterion.rows]
        if silent:
            say(f"- no {'ratings' if judgment_kind == 'ratings' else 'labels'} under {', '.join(silent)}")
        for note in label_set.report.notes:
            say(f"- {note}")
        without = sum(criterion.without for criterion in label_set.report.criteria)
        if without:
            say(f"- pairs left out because every answer was 'both bad': {without:,}")
        say(f"wrote {output}")
        say(str(label_set.report.signature), dim=True)
