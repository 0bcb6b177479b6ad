"""`salon select gate`, `route`, `pairs`, `feedback` and `drift`: rules from judgments, and later choices."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from salon.cli.console import (
    Cell,
    count,
    figures_option,
    json_option,
    print_json,
    print_table,
    say,
    seed_option,
    spinner,
    staged_progress_bar,
    write_page,
)
from salon.cli.options import options_from, output_option, settings_from
from salon.errors import BadFile, InputError
from salon.select import PAIR_FORMATS, DriftSettings, GateSettings, PreferencePairSettings

if TYPE_CHECKING:
    from salon.judge import ScoreSettings
    from salon.select import (
        CriterionDrift,
        Explore,
        Gate,
        GateRow,
        GateRun,
        PairCandidate,
        Routes,
        StepCallback,
    )
    from salon.stats import Estimate
    from salon.study import Study


@click.command()
@click.argument("place", metavar="STUDY|IMAGES", type=click.Path(path_type=Path))
@click.option(
    "-s", "--scorer", "name", metavar="NAME", help="The scorer that says what is dangerous, as for salon score."
)
@click.option("--model", type=click.Path(path_type=Path), help="Folder of a trained model: its flag head.")
@click.option("--criterion", help="Criterion of the flags  [default: the only one of the study]")
@options_from(GateSettings)
@click.option("--use", type=click.Path(path_type=Path, dir_okay=False),
              help="Use this gate on the items of STUDY or IMAGES, in place of making one.")  # fmt: skip
@click.option("--prompt", help="With --use and IMAGES: the text that all of them were made for.")
@click.option("--device", help="Of networks: cpu, cuda, mps  [default: the best there is]")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False),
              help="File of the gate, .json; with --use of what was held, .csv, .parquet or .jsonl.")  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace a file that is there already.")
@figures_option
@json_option
def gate(
    place: Path,
    name: str | None,
    model: Path | None,
    criterion: str | None,
    use: Path | None,
    prompt: str | None,
    device: str | None,
    output: Path | None,
    overwrite: bool,
    figures: Path | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Hold back items that are likely to be flagged, with a guaranteed recall.

    The threshold is chosen on flags of STUDY that the scorer was not trained on: with the given confidence, at least
    the wanted share of flagged items is found. The bound is exact. The precision that it costs is printed beside it.
    With too few flagged items there is no gate, and the error says how many are needed. --use applies a gate to new
    items, and leaves a page of what was held back in gate/index.html.

    \b
      salon select gate study --model taste-heads --recall 0.9 -o gate.json
      salon select gate study -s words --criterion taste/hallucination --recall 0.8 --confidence 0.9 -o gate.json
      salon select gate renders/ --use gate.json -o held.csv
    """
    from salon.judge import ScoreSettings
    from salon.report.numbers import fixed
    from salon.select import SIMULATED_GATE, Gate, gate_for_study, gate_page, page_beside, write_sealed

    if figures is not None and use is None:
        raise InputError(
            "charts are made of items that pass a gate", found="--figures without --use", remedy="add --use GATE"
        )
    scoring = ScoreSettings(device=device)
    result: Gate | GateRun
    with staged_progress_bar("scoring", quiet=as_json) as watch:
        if use is not None:
            result = run = _use_gate(place, use, name, prompt, output, overwrite, scoring, watch)
            write_page(lambda: gate_page(run, place), None, figures)
        else:
            _require_absent(output, overwrite)
            settings = settings_from(GateSettings, flags)
            word = _scorer_name(place, name, model, criterion)
            gate = gate_for_study(place, word, settings, criterion=criterion, scoring=scoring, watch=watch)
            if output is not None:
                write_sealed(gate, output, overwrite=overwrite)
            result = gate
    if as_json:
        print_json({**result.model_dump(mode="json"), **({"hash": result.hash} if isinstance(result, Gate) else {})})
    elif isinstance(result, Gate):
        side = "at or above" if result.holds == "above" else "at or below"
        say(f"hold back {result.column.scorer} {side} {result.threshold:.4g}", bold=True)
        say(result.promise)
        if result.simulated:
            say("Simulated study: no person gave these answers.", fg="yellow")
        costs = result.settings.miss_cost is not None and result.settings.hold_cost is not None
        head = ("recall promised", "threshold", "expected", "precision", "held back", "missed of 1,000",
                "good held of 1,000", *(("cost",) if costs else ()))  # fmt: skip
        print_table(None, head, [_gate_row(row, costs, row.recall == result.settings.recall) for row in result.table])
        items = f"{result.positives:,} flagged and {result.negatives:,} other held-out items"
        say(f"{items}; {result.unscored:,} without a score")
        for why, number in result.left_out.items():
            say(f"- left out: {number:,} {why}")
        for words in (result.missing, *result.notes):
            say(f"- {words}", dim=True)
        say(str(result.signature), dim=True)
        if output is not None:
            say(f"wrote {output}")
    else:
        page = page_beside(place)
        say(f"{result.held:,} of {result.items:,} items of {result.place} are held back", bold=True)
        if result.simulated:
            say(SIMULATED_GATE, fg="yellow")
        if result.unscored:
            say(f"- {result.unscored:,} of them because they have no score")
        held_rows = [row for row in result.rows if row.held][:20]
        print_table(None, ("held", "score", "why"), [(row.item, fixed(row.value),
                                                      row.why) for row in held_rows], left=(0, 2))  # fmt: skip
        say(f"- {result.promise}", dim=True)
        say(f"- {result.missing}", dim=True)
        say(f"gate {result.gate}|{result.signature}", dim=True)
        for path in (output, page):
            if path is not None:
                say(f"wrote {path}")


def _scorer_name(place: Path, name: str | None, model: Path | None, criterion: str | None) -> str:
    """How the scorer is named: as given, or the head of the model that speaks about the flags."""
    from salon.select import flag_criterion
    from salon.store import open_study

    if (name is None) == (model is None):
        raise InputError("one scorer is needed: -s NAME or --model FOLDER", found="none" if name is None else "both")
    if name is not None:
        return name
    return f"model:{model}@{flag_criterion(open_study(place), criterion).id}"


def _require_absent(output: Path | None, overwrite: bool) -> None:
    if output is not None and output.exists() and not overwrite:
        raise BadFile("a file is only replaced when asked to", found="a file that is there already", where=str(output),
                      remedy="choose another place, or add --overwrite")  # fmt: skip


def _use_gate(
    place: Path,
    use: Path,
    name: str | None,
    prompt: str | None,
    output: Path | None,
    overwrite: bool,
    scoring: ScoreSettings,
    watch: StepCallback,
) -> GateRun:
    from salon.select import gate_page, page_beside, pass_gate, read_gate
    from salon.store import check_target, write_plain

    if output is not None:
        check_target(output, overwrite=overwrite)
    run = pass_gate(read_gate(use), place, prompt=prompt, scorer=name, scoring=scoring, watch=watch)
    if output is not None:
        write_plain(run.table(), output, overwrite=overwrite)
    gate_page(run, place).write(page_beside(place))
    return run


def _gate_row(row: GateRow, costs: bool, chosen: bool) -> Sequence[str]:
    from salon.report import MISSING
    from salon.report.numbers import fixed

    first = f"{'> ' if chosen else ''}{row.recall:g}"
    if row.threshold is None or row.expected is None or row.precision is None or row.held is None:
        why = "no flagged item has a score" if row.needed is None else f"needs {row.needed} flagged"
        return (first, why, *[MISSING] * (5 + costs))
    return (
        first, fixed(row.threshold, 3), row.expected,
        row.precision,
        row.held, fixed(row.missed, 1), fixed(row.held_good, 1),
        *((fixed(row.cost, 1),) if costs else ()),
    )  # fmt: skip


# -- route ----------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("place", metavar="STUDY|ARENA|FUSED|ROUTES", type=click.Path(path_type=Path))
@click.option("-w", "--weights", help="Criterion weights: typography=3,mood=1  [default: all criteria alike]")
@click.option("--prior", type=click.FloatRange(0, 100, min_open=True),
              help="With STUDY: standard deviation of a prior on scores, for generators that never lost.")  # fmt: skip
@click.option("--prompts", help="Say who draws each of these prompts; as for salon generate.")
@click.option("--explore", type=click.Choice(["no", "thompson", "ucb"]), default="no", show_default=True,
              help="With --prompts: try others than the best, by how uncertain their scores are.")  # fmt: skip
@click.option("-c", "bound", type=click.FloatRange(0), default=1.0, show_default=True,
              help="With --explore ucb: standard errors above the score.")  # fmt: skip
@click.option("--feedback", type=click.Path(path_type=Path, dir_okay=False),
              help="With ROUTES: comparisons that came back, as lines of JSON; they move the scores.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="File of the routes, .json.")
@click.option("--overwrite", is_flag=True, help="Replace a file that is there already.")
@seed_option
@json_option
def route(
    place: Path,
    weights: str | None,
    prior: float | None,
    prompts: str | None,
    explore: Explore,
    bound: float,
    feedback: Path | None,
    output: Path | None,
    overwrite: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Which generator for which job: criteria weighed against each other, category by category.

    Made from the judgments of a STUDY, from a snapshot of an ARENA (salon bench arena --json), or from FUSED scores
    (salon fuse --by generator --json). The generator with the highest score is chosen; those that do not differ
    significantly from it are named. A prompt of a category without an answer is decided by all categories together.
    salon select best --route takes the file.

    \b
      salon select route study -o routes.json
      salon select route study -w typography=3,mood=1 -o routes.json
      salon select route routes.json --prompts briefs:posters --explore thompson --seed 7
      salon select route routes.json --feedback heard.jsonl -o routes.json --overwrite
    """
    from salon.generate import read_prompts
    from salon.report import MISSING
    from salon.select import apply_feedback, choose_routes, read_feedback, write_sealed
    from salon.store import wait_turn

    _require_absent(output, overwrite)
    with wait_turn(output) if output is not None else nullcontext():  # two that heed feedback both move the routes
        routes = _routes(place, weights, prior, seed)
        if feedback is not None:
            routes = apply_feedback(routes, read_feedback(feedback))
        if output is not None:
            write_sealed(routes, output, overwrite=overwrite)
    chosen = None
    if prompts is not None:
        prompt_list = read_prompts(prompts)
        chosen = choose_routes(routes, prompt_list, weights=weights, explore=explore, c=bound, seed=seed)
    if as_json:
        record = {**routes.model_dump(mode="json"), "hash": routes.hash}
        if chosen is not None:
            record["choices"] = [choice.model_dump(mode="json") for choice in chosen]
        print_json(record)
        return
    say(f"routes from {routes.source}" + (" (simulated raters)" if routes.simulated else ""), bold=True)
    rows = []
    for row in routes.routes:
        where = row.category or "all"
        if not row.arms:
            rows.append((row.job, where, MISSING, MISSING, row.reason or "no answer"))
            continue
        top = row.arms[0]
        score = f"{top.score:.3f}" + ("" if top.sd is None else f" ± {top.sd:.3f}")
        tied = ", ".join(arm.generator for arm in row.arms[1:] if arm.best) or MISSING
        rows.append((row.job, where, top.generator, score, tied))
    print_table(None, ("job", "category", "call", "score ± se", "no clear difference to"), rows, left=(0, 1, 2, 4))
    if chosen is not None:
        lines = [(row.prompt, row.asked or MISSING, row.generator, row.why) for row in chosen]
        print_table("\nwho draws what", ("prompt", "category", "generator", "why"), lines, left=(0, 1, 2, 3))
    for words in routes.policies:
        say(f"- {words}", dim=True)
    if routes.heard:
        say(f"- {count(routes.heard, 'comparison')} came back since", dim=True)
    say(str(routes.signature), dim=True)
    if output is not None:
        say(f"wrote {output}")


def _routes(place: Path, weights: str | None, prior: float | None, seed: int) -> Routes:
    from salon.select import read_any_routes, study_routes

    if place.is_dir():
        with spinner("fitting boards") as step:
            return study_routes(place, weights=weights, prior=prior, seed=seed, progress=step)
    if prior is not None:
        raise InputError("--prior goes with a study", found=str(place))
    return read_any_routes(place, weights)


# -- pairs ----------------------------------------------------------------------------------------------------------

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder to write."
)
@click.option("--criterion", "criteria", multiple=True, help="Only the criterion with this id (repeatable).")
@click.option("--scores", type=_FILE, help="Order items by fused scores: a table written by salon fuse -o.")
@click.option("-s", "--scorer", help="Order items by the scores of this name in STUDY/scores (salon score).")
@click.option(
    "--format",
    "kinds",
    multiple=True,
    type=click.Choice(PAIR_FORMATS),
    help="For this trainer (repeatable)  [default: both]",
)
@options_from(PreferencePairSettings)
@click.option("--overwrite", is_flag=True, help="Replace a folder that is there already.")
@json_option
def pairs(
    study: Path,
    output: Path,
    criteria: Sequence[str],
    scores: Path | None,
    scorer: str | None,
    kinds: Sequence[Any],
    overwrite: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Preference pairs of STUDY for DPO, split by prompt, as Parquet for diffusers and TRL.

    By default a pair is what people said of two pictures, by majority. Pairs that are even, too close, too uncertain,
    said twice or of near copies are left out and counted; no prompt and no picture stands in two splits.

    \b
      salon select pairs study -o pairs --criterion taste/mood --least-gap 0.5
      salon select pairs study -o pairs --scores scores.parquet --least-errors 2 --most 3
      salon select pairs study -o pairs --scorer words --format diffusers
    """
    from salon.select import write_pairs
    from salon.store import local_path, open_study

    if scores and scorer:
        raise InputError("pairs are ordered by --scores or by --scorer", found="both of them")
    if criteria and scorer:
        raise InputError("a scorer speaks of its own criterion", found="--criterion with --scorer")
    settings = settings_from(PreferencePairSettings, flags)
    opened = open_study(study)
    with spinner("making pairs"):
        candidates, source = _candidates(opened, local_path(study), settings, criteria, scores, scorer)
        report = write_pairs(
            opened,
            local_path(study),
            output,
            candidates,
            settings,
            source=source,
            kinds=kinds or PAIR_FORMATS,
            overwrite=overwrite,
        )
    if as_json:
        line = str(report.signature)
        print_json({"folder": str(output), **report.model_dump(mode="json"), "signature_line": line})
    else:
        if report.simulated:
            say("SIMULATED: nobody gave these answers.")
        say(f"{report.pairs:,} of {report.candidates:,} candidates are pairs, of {report.prompts:,} prompts", bold=True)
        splits = ", ".join(f"{count:,} {name}" for name, count in report.splits.items())
        say(f"- {splits}; the better picture stands first in {report.first:.0%}")
        print_table(None, ("criterion", "pairs"), list(report.criteria.items()))
        gone = [(reason, count) for reason, count in report.dropped.items() if count]
        if gone:
            print_table("left out", ("why", "candidates"), gone)
        for note in report.notes:
            say(f"- {note}")
        say(f"wrote {output}")
        say(str(report.signature), dim=True)


def _candidates(
    study: Study,
    folder: Path,
    settings: PreferencePairSettings,
    criteria: Sequence[str],
    scores: Path | None,
    scorer: str | None,
) -> tuple[list[PairCandidate], str]:
    from salon.select import fused_candidates, scorer_candidates, vote_candidates

    ids = [study.criterion(id).id for id in criteria]
    if scores is not None:
        return fused_candidates(study, settings, scores, ids), f"scores {scores.name}"
    if scorer is not None:
        return scorer_candidates(study, settings, folder, scorer), f"scorer {scorer}"
    return vote_candidates(study, settings, ids), "votes"


# -- feedback and drift ---------------------------------------------------------------------------------------------

_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command()
@click.argument("log", type=_FOLDER)
@output_option("Folder of the study to write.")
@click.option("--pictures", type=_FOLDER, help="Folder with the pictures; the log knows them by their hashes.")
@click.option("--name", default="feedback", show_default=True, help="Name of the study.")
@click.option("--overwrite", is_flag=True, help="Replace a study that is there already.")
@json_option
def feedback(log: Path, output: Path, pictures: Path | None, name: str, overwrite: bool, as_json: bool) -> None:
    """The later choices in LOG as a study, for check, fuse and train.

    Each choice becomes comparisons: the chosen picture over each other one. People saw what the model had picked, so
    these choices lean towards it: do not train on them alone.

    \b
      salon select feedback log -o later --pictures uploads
    """
    from salon.select import feedback_study, save_feedback
    from salon.stats import wilson

    result = feedback_study(log, name=name, pictures=pictures)
    save_feedback(result, output, overwrite=overwrite)
    agreed = wilson(result.agreed, result.decided, unit="choice") if result.decided else None
    if as_json:
        print_json(
            {
                "study": str(output),
                "choices": result.choices,
                "comparisons": result.comparisons,
                "lost": result.lost,
                "pictures": len(result.pictures),
                "wanted": result.wanted,
                "hash": result.study.hash[:12],
                "agreement": None if agreed is None else asdict(agreed),
            }
        )
        return
    say(f"wrote {output}: {result.choices:,} choices, {result.comparisons:,} comparisons", bold=True)
    if agreed is not None:
        say(f"- {_percent(agreed)} of {agreed.n:,} choices fell on the picture the service had chosen")
    if result.lost:
        say(f"- {result.lost:,} choices are left out: their decisions are no longer in the log")
    say(f"- {len(result.pictures):,} of {result.wanted:,} pictures found" + ("" if pictures else "; name --pictures"))
    say("- people saw what the model had picked: these choices lean towards it")


@click.command()
@click.argument("log", type=_FOLDER)
@click.option("--reference", type=_FILE, help="File with a frozen reference (see --freeze).")
@click.option("--freeze", type=_FILE, help="Write the reference of this watch to a file, for later ones.")
@options_from(DriftSettings)
@json_option
def drift(log: Path, reference: Path | None, freeze: Path | None, as_json: bool, **flags: Any) -> None:
    """Have the scores in LOG moved away from a reference, and do people still agree with the service?

    Without --reference the first values in the log are the reference. Exit code 1 when there was an alarm. An
    endless watch without drift alarms with a chance of at most --level.

    \b
      salon select drift log --freeze reference.json
      salon select drift log --reference reference.json
    """
    from salon.select import read_drift_reference, watch_log, write_drift_reference

    drift_reference = None if reference is None else read_drift_reference(reference)
    monitor = watch_log(log, settings_from(DriftSettings, flags), drift_reference)
    report = monitor.report()
    if freeze is not None:
        write_drift_reference(monitor.frozen(), freeze)
    if as_json:
        print_json({**report.model_dump(mode="json"), "signature_line": str(report.signature)})
    else:
        say(f"{report.decisions:,} decisions of {report.model or 'a model without a name'}", bold=True)
        columns = ("criterion", "state", "windows", "shift, sd", "distance", "p", "alarms at", "PSI", "PSI expected")
        print_table(None, columns, [_drift_row(criterion) for criterion in report.criteria], left=(0, 1))
        agreement = report.agreement
        if agreement.overall is None:
            say("- no later choices to agree with")
        else:
            chance = "" if agreement.chance is None else f", blind {agreement.chance:.0%}"
            share = f"{_percent(agreement.overall)}{chance}"
            say(f"- agreement with {agreement.overall.n:,} later choices: {share}; {agreement.status}")
        if report.other_models:
            say(f"- {report.other_models:,} decisions of other models are left out")
        if report.unwatched:
            say(f"- not watched: {', '.join(report.unwatched)}")
        say(f"- {report.policy}", dim=True)
        if freeze is not None:
            say(f"wrote {freeze}")
        say(str(report.signature), dim=True)
    if report.alarm:
        click.get_current_context().exit(1)


def _drift_row(criterion: CriterionDrift) -> tuple[Cell, ...]:
    from salon.report import MISSING

    state = (
        criterion.status
        if criterion.first_alarm is None
        else f"{criterion.status}, first in window {criterion.first_alarm}"
    )
    numbers = (criterion.shift, criterion.distance, criterion.p, criterion.level, criterion.psi, criterion.psi_expected)
    cells = [MISSING if number is None else f"{number:.3g}" for number in numbers]
    return (criterion.criterion, state, str(criterion.looks), *cells)


def _percent(figure: Estimate) -> str:
    if figure.low is None or figure.high is None:
        return f"{figure.value:.0%}"
    return f"{figure.value:.0%} [{figure.low:.0%}, {figure.high:.0%}]"
