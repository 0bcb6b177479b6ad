"""`salon bridge`: score many items from few comparisons."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from salon.cli.console import json_option, print_closing, print_json, print_table, say, spinner
from salon.cli.lazy_commands import LazyGroup
from salon.cli.options import options_from, output_option, settings_from
from salon.cli.study_argument import STUDY
from salon.errors import BadValue
from salon.fuse import BridgeSettings, RehearsalSettings

if TYPE_CHECKING:
    import pyarrow as pa

    from salon.fuse import BridgeQuestions

MOST_ITEMS = 10
SIMULATED = "SIMULATED: nobody gave these answers."
overwrite_option = click.option("--overwrite", is_flag=True, help="Replace a file that is there already.")
pairs_option = output_option("File of pairs to write; its ending says how: .csv, .jsonl or .parquet.")
study_argument = click.argument("study", type=STUDY)


@click.group(cls=LazyGroup)
def bridge() -> None:
    """Score many items on one scale from few comparisons, without labels.

    A pool of N items is compared exhaustively; every other item meets K of them. The rater may be a person or a model.
    Answers are kept in STUDY, so you can stop and continue at any time.

    \b
      salon bridge plan study -o pairs.csv               the pairs to ask
      salon bridge score study --json > scores.json      scores with intervals, from the answers so far
    \b
    Fewer calls, round by round:
      salon bridge next study -o pairs.csv --adaptive    ask these, import the answers, repeat until none are left
      salon bridge score study --adaptive
    \b
      salon bridge simulate --items 3000                 what to expect, before the first call is paid
    """


@bridge.command()
@study_argument
@pairs_option
@options_from(BridgeSettings)
@overwrite_option
@json_option
def plan(study: Path | str, output: Path, overwrite: bool, as_json: bool, **flags: Any) -> None:
    """Write every pair of the plan that has no answer in STUDY yet.

    A table with the columns a, b, left, repeat and stage: item a is shown on the left. A pair is asked once for all
    criteria. With --adaptive only the pool's pairs can be planned; go on with salon bridge next.

    \b
      salon bridge plan study -o pairs.csv
      salon bridge plan study -o pairs.csv --pool 30 --opponents 6 --both-orders
    """
    from salon.fuse import plan_bridge

    _write(study, output, overwrite, as_json, flags, plan_bridge)


@bridge.command("next")
@study_argument
@pairs_option
@options_from(BridgeSettings)
@overwrite_option
@json_option
def next_(study: Path | str, output: Path, overwrite: bool, as_json: bool, **flags: Any) -> None:
    """Write the pairs to ask now, given the answers in STUDY.

    First come the open pairs of the pool, then placements. With --adaptive each waiting item meets the pool items whose
    answers are expected to say most about its score, until it has met --opponents or reached --target-sd.

    \b
      salon bridge next study -o pairs.csv --adaptive --target-sd 0.8
      salon bridge next study -o pairs.csv --adaptive --batch 2 --overwrite
    """
    from salon.fuse import next_questions

    _write(study, output, overwrite, as_json, flags, next_questions)


@bridge.command()
@study_argument
@options_from(BridgeSettings)
@json_option
def score(study: Path | str, as_json: bool, **flags: Any) -> None:
    """Scores of every item of STUDY with intervals, and where the calls went.

    \b
      salon bridge score study
      salon bridge score study --json > scores.json
      salon bridge score study --method elo --rater judge-1
    """
    from salon.cli.study_argument import read_study_argument
    from salon.fuse import score_bridge
    from salon.report.numbers import fixed

    settings = settings_from(BridgeSettings, flags)
    study_data = read_study_argument(study)
    with spinner("scoring"):
        report = score_bridge(study_data, settings)
    if as_json:
        print_json(report)
    else:
        if report.simulated:
            say(SIMULATED)
        for scale in report.scales:
            rows = [row for row in report.rows if (row.criterion, row.group) == (scale.criterion, scale.group)]
            best = sorted(rows, key=lambda row: -row.value)[:MOST_ITEMS]
            title = (
                f"{scale.criterion}, {scale.group}: the best {len(best)} of {scale.items:,} items, scale {report.scale}"
            )
            print_table(
                title,
                ("item", "value", "low", "high", "latent", "sd", "answers", "pool"),
                [
                    (row.item, *(fixed(x, 2) for x in (row.value, row.low, row.high, row.mean, row.sd)),
                     row.calls, "yes" if row.pool else "")
                    for row in best
                ],
            )  # fmt: skip
            if scale.reliability is not None:
                say(f"- reliability of the placed items {scale.reliability:.2f}, ties {scale.ties or 0:.0%}")
            if scale.outlier_shift is not None:
                say(
                    f"- without its single lowest or highest item, scores would move by up to {scale.outlier_shift:.2f}"
                )
        calls = report.accounting
        say("calls", bold=True)
        say(f"- planned: {_calls(calls.planned_one_order)}; all pairs: {calls.exhaustive:,}")
        say(
            f"- made: {calls.asked:,} (pool {calls.pool_calls:,}, placements {calls.placement_calls:,}, "
            f"without a pool item {calls.other_calls:,})"
        )
        say(f"- answers used: {calls.answers:,}; both bad {calls.both_bad:,}, no answer {calls.no_answer:,}")
        print_closing(report.policies, report.signature_line, warnings=report.warnings)


@bridge.command()
@options_from(RehearsalSettings)
@json_option
def simulate(as_json: bool, **flags: Any) -> None:
    """Rehearse a bridge with a simulated judge: what it costs, and how accurate it is.

    Prints the number of calls, the rank correlation with the truth, and the coverage of the intervals.

    \b
      salon bridge simulate --items 3000 --pool 50 --opponents 10
      salon bridge simulate --items 3000 --adaptive --opponents 6
      salon bridge simulate --spread 1 --lapses 0.1          a noisier judge
    """
    from salon.fuse import rehearse_bridge

    settings = settings_from(RehearsalSettings, flags)
    if settings.opponents > min(settings.pool, settings.items):
        raise BadValue("--opponents come from the pool: at most as many", found=settings.opponents)
    with spinner("rehearsing") as step:
        rehearsal = rehearse_bridge(settings, progress=step)
    if as_json:
        print_json(rehearsal)
    else:
        say(SIMULATED)
        say(f"- the plan: {_calls(rehearsal.planned_one_order)}; all pairs: {rehearsal.exhaustive:,}")
        say(
            f"- {rehearsal.opponents} opponents: SRCC with the truth {rehearsal.srcc:.3f} "
            f"[{rehearsal.srcc_low:.3f}, {rehearsal.srcc_high:.3f}] after {rehearsal.asked:,} calls in one order"
        )
        if rehearsal.coverage is not None:
            say(f"- 95% intervals hold the true score of {rehearsal.coverage:.1%} of the placed items")
        print_table(
            "SRCC with the truth",
            ("opponents", "calls", "random", "adaptive"),
            [(str(p.opponents), p.calls, f"{p.random:.3f}", f"{p.adaptive:.3f}") for p in rehearsal.curve],
            left=(),
        )
        if rehearsal.adaptive_opponents is None:
            say("- adaptive opponents do not reach the SRCC of all random ones")
        else:
            say(
                f"- adaptive opponents reach the SRCC of all random ones with {rehearsal.adaptive_opponents:.1f}: "
                f"{rehearsal.placement_share:.0%} of the placement calls, {rehearsal.total_share:.0%} of all calls"
            )
        say(rehearsal.signature_line, dim=True)


def _write(study: Path | str, output: Path, overwrite: bool, as_json: bool, flags: dict[str, Any], make: Any) -> None:
    from salon.cli.study_argument import read_study_argument
    from salon.store import check_target, write_plain

    settings = settings_from(BridgeSettings, flags)
    check_target(output, overwrite=overwrite)
    study_data = read_study_argument(study)
    with spinner("choosing pairs"):
        result: tuple[pa.Table, BridgeQuestions] = make(study_data, settings)
    table, questions = result
    write_plain(table, output, overwrite=overwrite)
    if as_json:
        print_json({"file": str(output), **questions.model_dump(mode="json")})
    else:
        if questions.stage == "done":
            say("nothing is left to ask; next: salon bridge score")
        else:
            about = "the pool" if questions.stage == "pool" else f"{questions.waiting:,} items outside the pool"
            say(f"{questions.pairs:,} pairs to ask now, about {about}; written to {output}")
        say(f"- calls made so far: {questions.asked:,}")
        say(f"- the whole plan: {_calls(questions.planned_one_order)}")
        say(questions.signature_line, dim=True)


def _calls(one_order: int) -> str:
    return f"{one_order:,} calls in one order, {2 * one_order:,} in both"
