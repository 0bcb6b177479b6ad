"""`salon judge run`, `batch` and `route`: ask models to judge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from salon.cli.console import Cell, json_option, print_json, print_table, progress_bar, say
from salon.cli.judge_options import batch_options, question_options
from salon.cli.lazy_commands import LazyGroup
from salon.cli.options import SectionedCommand, options_from, settings_from
from salon.errors import BadValue, SalonError, shorten
from salon.judge import UnreadLimits

if TYPE_CHECKING:
    from salon.judge import JudgeCallback, JudgePlan, JudgeProgress, JudgeSpec, SettledPoint, Vlm

JUDGE_COMMANDS = {
    "batch": ("salon.cli.judge:batch", "Batch files: answered within a day, for half the price."),
    "route": ("salon.cli.judge:route", "Combine the answers of several judges to a checklist."),
    "report": ("salon.cli.judge_report:report", "How reliable judges are against the people of STUDY."),
}


@click.group(cls=LazyGroup, lazy=JUDGE_COMMANDS)
def judge() -> None:
    """Models as raters: ask them under one strict protocol, and measure how reliable they are.

    \b
      salon judge run study --simulated accuracy=0.7,bias=0.2                  try it out, without a model
      salon judge run study --model gpt-4o --prices prices.toml --budget 5     a hosted model
      salon judge report study --html judges.html
    """


# -- run ---------------------------------------------------------------------------------------------------------


@judge.command(cls=SectionedCommand)
@click.argument("study", type=click.Path(path_type=Path))
@question_options
@options_from(UnreadLimits)
@click.option("--overwrite", is_flag=True, help="Replace what another judge of that name left.")
@click.option("--dry-run", is_flag=True, help="Say what would be asked and what it may cost, and ask nothing.")
@json_option
def run(study: Path, overwrite: bool, dry_run: bool, as_json: bool, **flags: Any) -> None:
    """Ask a judge about the items of STUDY; its answers become STUDY/judges/NAME.

    Pairs are asked in both orders. Every answer is kept before it is used: run the same command again to go on after an
    interruption, to ask again what got no reply or could not be read, or with a larger --limit. Unreadable replies are
    counted as unparsed, never guessed. If more than --most-unread of them are unreadable, the run stops, quotes one and
    writes nothing. Exit code 0 when every question got a readable reply, 1 when some got none or too many were
    unreadable.

    \b
      salon judge run study --simulated accuracy=0.7,bias=0.2                  try it out, without a model
      salon judge run study --model gpt-4o --prices prices.toml --budget 5     a hosted model
      salon judge run study --model openai:qwen@http://localhost:8000/v1         a server of your own
      salon judge run study --transformers ./Qwen3-VL-8B --protocol rate
      salon judge run study --trained taste-heads --pairs all                  a model that salon train made
      salon judge run study --measured pixels --protocol checklist --points points.jsonl
      salon judge run study --model gpt-4o --dry-run                           what would it cost?
    """
    from salon.cli.judge_options import build_judge_plan
    from salon.judge import (
        JudgeSpec,
        OpenAIChat,
        canary,
        check_budget,
        check_may_replace,
        judge_folder,
        open_judge,
        run_plan,
    )

    judge_choice, unread = settings_from(JudgeSpec, flags), settings_from(UnreadLimits, flags)
    plan = build_judge_plan(study, judge_choice, **flags)
    with open_judge(judge_choice, plan.study, study, plan.points) as vlm:
        forecast = _forecast(plan, vlm, unread)
        warning = check_budget(judge_choice.budget, forecast["cost_at_most"], forecast["to_ask"])
        if dry_run:
            _print_forecast(forecast | {"notes": plan.notes}, warning, vlm.name, as_json)
            if judge_choice.looks and not as_json:
                print_probe(plan, vlm, send=False)
            return
        check_may_replace(plan, vlm, overwrite=overwrite)
        warnings = [warning] if warning else []
        if forecast["to_ask"] and isinstance(vlm, OpenAIChat) and vlm.is_hosted and judge_choice.canaries:
            folder = judge_folder(plan.folder, vlm.name)
            path = folder.with_name(f"{folder.name}.canaries.jsonl")
            warnings += canary.watch_canaries(
                vlm,
                canary.choose_canaries(plan.conversations(), judge_choice.canaries),
                path,
                day=datetime.now(UTC).date(),
            ).warnings()
        for message in warnings:
            say(f"note: {message}", fg="yellow", err=True)
        if not as_json and forecast["to_ask"] and judge_choice.looks:
            cost = forecast["cost_at_most"]
            priced = "cost not known without --prices" if cost is None else f"at most {cost:.4f}"
            say(f"{vlm.name}: {plan.size()}; {forecast['to_ask']:,} to ask, {priced}", err=True)
            print_probe(plan, vlm, send=True)
        with _judging_progress(quiet=as_json) as watch:
            report = run_plan(plan, vlm, watch, overwrite=overwrite, unread=unread)
        report = report.model_copy(update={"notes": (*warnings, *report.notes)})
    if as_json:
        print_json(report)
    else:
        read = report.verdicts - report.unparsed
        say(f"{report.judge}: {read:,} of {report.verdicts:,} verdicts read", bold=True)
        rows = [(f"unparsed: {reason}", count) for reason, count in report.reasons.items()]
        rows += [(f"no reply: {kind}", count) for kind, count in report.failed.items()]
        if rows:
            print_table(None, ("not counted as an answer", ""), rows)
        cost = "" if report.cost is None else f", cost {report.cost:,.4f}"
        tokens = "" if report.tokens_in is None else f", {report.tokens_in:,} + {report.tokens_out or 0:,} tokens"
        say(f"{report.questions:,} questions, {report.stored:,} from the store{tokens}{cost}", dim=True)
        for note in report.notes:
            say(f"- {note}")
        say(report.signature, dim=True)
        after = "the same command again asks what got no reply" if report.failed else f"salon judge report {study}"
        say(f"next: {after}", dim=True)
    if report.failed:
        click.get_current_context().exit(1)


# -- what would be asked -----------------------------------------------------------------------------------------


def _forecast(plan: JudgePlan, vlm: Vlm, unread: UnreadLimits) -> dict[str, Any]:
    """A run in figures before it: those of an endpoint with the answers it has in store, and prices."""
    from salon.judge import OpenAIChat, readable_by

    size = plan.estimate()
    figures: dict[str, Any] = {"questions": size.calls, "pictures": size.pictures, "stored": 0, "cost_at_most": None}
    figures["size"] = plan.size()
    figures |= {"tokens_in": size.text_tokens, "tokens_out_at_most": size.answer_tokens}
    if isinstance(vlm, OpenAIChat):
        cast = vlm.forecast(plan.conversations(), None if unread.keep_unread else readable_by(plan, vlm))
        figures |= {"stored": cast.stored, "tokens_in": cast.tokens_in, "tokens_out_at_most": cast.tokens_out}
        figures["cost_at_most"] = cast.cost
    return figures | {"to_ask": figures["questions"] - figures["stored"]}


def _print_forecast(forecast: dict[str, Any], warning: str | None, name: str, as_json: bool) -> None:
    cost = forecast["cost_at_most"]
    if as_json:
        print_json(forecast | {"judge": name, "dry_run": True, "cost_at_most": None if cost is None else float(cost)})
        return
    say(
        f"{name} would be asked {forecast['to_ask']:,} of {forecast['questions']:,} questions: {forecast['size']}",
        bold=True,
    )
    priced = "not known: give a price list with --prices" if cost is None else f"at most {cost:.4f}"
    rows = [
        ("answered already", forecast["stored"]),
        ("pictures shown", forecast["pictures"]),
        ("tokens read", forecast["tokens_in"]),
        ("tokens written", f"at most {forecast['tokens_out_at_most']:,}"),
        ("cost", priced),
    ]
    print_table(None, ("", ""), rows)
    if warning:
        say(f"note: {warning}", fg="yellow")
    for note in forecast["notes"]:
        say(f"- {note}")


def print_probe(plan: JudgePlan, vlm: Vlm, *, send: bool) -> None:
    """The first question that is not answered yet, its reply and how that is read; without `send` only the question."""
    from salon.judge import NoReply, Sight, VerdictReader, expected_form

    conversation = next(plan.conversations())
    question = plan.questions[0]
    say(f"the first question: {' and '.join(question.items)} under {', '.join(question.criteria)}", err=True, dim=True)
    parts = (f"[{part.item}]" if isinstance(part, Sight) else part.strip() for part in conversation.parts)
    for line in shorten("\n".join(parts), 1200).splitlines():
        say(f"  {line}", err=True, dim=True)
    if not send:
        say(f"  expected: {expected_form(plan.settings)}", err=True, dim=True)
        return
    _, reply = next(iter(vlm.reply([conversation])))
    if isinstance(reply, NoReply):
        say(f"  no reply: {reply.reason}", err=True, fg="yellow")
        return
    say(f"  reply: {shorten(repr(reply.text), 400)}", err=True, dim=True)
    verdicts = VerdictReader(plan.study, plan.settings, vlm.name).verdicts(question, reply)
    for verdict in verdicts:
        if verdict.unparsed is not None:
            say(f"  not read: {verdict.unparsed}; expected {expected_form(plan.settings)}", err=True, fg="yellow")
        else:
            meaning = verdict.outcome if verdict.value is None else f"{verdict.value:g}"
            say(f"  read as: {verdict.criterion} = {meaning}", err=True, dim=True)


# -- progress and result -----------------------------------------------------------------------------------------


@contextmanager
def _judging_progress(*, quiet: bool) -> Iterator[JudgeCallback]:
    """A bar with counts and cost; what was done so far when somebody stops it."""
    from salon.judge import JudgeProgress

    latest = JudgeProgress(0)
    try:
        with progress_bar("judging", quiet=quiet) as tell:

            def watch(progress: JudgeProgress) -> None:
                nonlocal latest
                for note in () if progress.done else progress.notes:  # known before anything is asked
                    say(f"note: {note}", fg="yellow", err=True)
                latest = progress
                tell(progress.done, progress.wanted, _progress_words(progress))

            yield watch
    except (KeyboardInterrupt, SalonError):
        if latest.done:
            say(f"{latest.done:,} of {latest.wanted:,} answered: {_progress_words(latest)}", err=True)
        raise


def _progress_words(progress: JudgeProgress) -> str:
    parts = [f"{progress.stored:,} from the store", f"{progress.unparsed:,} unparsed", f"{progress.failed:,} failed"]
    if progress.cost is not None:
        parts.append(f"cost {progress.cost:,.4f}")
    return ", ".join(parts)


# -- batch ----------------------------------------------------------------------------------------------------------

MOST_FAULTS = 10
"""Faults printed; --json prints all."""
_FILE = click.Path(path_type=Path, dir_okay=False)
study_argument = click.argument("study", type=click.Path(path_type=Path))


@click.group(cls=LazyGroup)
def batch() -> None:
    """Batch files: many services answer them within a day, for half the price.

    Give all three commands the same options: an answer is found by the exact question.

    \b
      salon judge batch out study --model gpt-4o -o questions.jsonl
      salon judge batch in study --model gpt-4o results.jsonl
      salon judge run study --model gpt-4o               finds every answer, asks only what is missing
    """


@batch.command("out", cls=SectionedCommand)
@study_argument
@click.option("-o", "--output", required=True, type=_FILE, help="Batch file, JSONL.")
@batch_options
@json_option
def out_(study: Path, output: Path, as_json: bool, **flags: Any) -> None:
    """Write the questions about STUDY that have no answer yet.

    \b
      salon judge batch out study --model gpt-4o -o questions.jsonl
    """
    from salon.calls import CallStore
    from salon.cli.judge_options import build_judge_plan
    from salon.judge import calls_file, endpoint_vlm, write_batch

    judge_choice, model = _endpoint(flags)
    plan = build_judge_plan(study, judge_choice, **flags)
    with CallStore(calls_file(judge_choice, study)) as store, endpoint_vlm(judge_choice, model, store) as vlm:
        batch_files = write_batch(vlm, plan.conversations(), output)
    if as_json:
        record = {
            "files": [str(file) for file in batch_files.files],
            "written": batch_files.written,
            "stored": batch_files.stored,
        }
        print_json(record | {"broken": batch_files.broken})
        return
    say(f"{batch_files.written:,} questions in {', '.join(map(str, batch_files.files)) or 'no file'}", bold=True)
    say(f"{batch_files.stored:,} have an answer already", dim=True)
    for reason in batch_files.broken[:MOST_FAULTS]:
        say(f"- {reason}", fg="yellow")


@batch.command("in", cls=SectionedCommand)
@study_argument
@click.argument("results", nargs=-1, required=True, type=_FILE)
@batch_options
@json_option
def in_(study: Path, results: Sequence[Path], as_json: bool, **flags: Any) -> None:
    """Store the answers in the batch files RESULTS. Exit code 1 when a line has none, or questions stay open.

    \b
      salon judge batch in study --model gpt-4o results.jsonl
    """
    from salon.calls import CallStore
    from salon.cli.judge_options import build_judge_plan
    from salon.judge import calls_file, endpoint_vlm, read_batch

    judge_choice, model = _endpoint(flags)
    plan = build_judge_plan(study, judge_choice, **flags)
    with CallStore(calls_file(judge_choice, study)) as store, endpoint_vlm(judge_choice, model, store) as vlm:
        result = read_batch(vlm, plan.conversations(), results)
    faults = [(fault.where, fault.kind, fault.reason) for fault in result.faults]
    if as_json:
        record = {"kept": result.kept, "known": result.known, "missing": result.missing}
        print_json(record | {"faults": [dict(zip(("where", "kind", "reason"), fault)) for fault in faults]})
    else:
        say(f"{result.kept:,} answers kept, {result.known:,} known before, {result.missing:,} still missing", bold=True)
        if faults:
            print_table(None, ("line", "", "why it brought no answer"), faults[:MOST_FAULTS], left=(0, 1, 2))
    if faults or result.missing:
        click.get_current_context().exit(1)


def _endpoint(flags: dict[str, Any]) -> tuple[JudgeSpec, str]:
    from salon.judge import JudgeSpec

    judge_choice = settings_from(JudgeSpec, flags)
    if judge_choice.model is None:
        raise BadValue("a batch is for a model at an endpoint: --model is needed", found="none")
    return judge_choice, judge_choice.model


# -- route ----------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option("--routes", required=True, type=_FILE, help="Which judges answer points with which tag, TOML.")
@click.option("--points", type=_FILE, help="The points with their tags, TOML or JSONL  [default: those people ticked]")
@click.option("-o", "--output", type=_FILE, help="Write what was settled as a table: .parquet, .csv or .jsonl.")
@click.option("--overwrite", is_flag=True, help="Replace a table that is there already.")
@json_option
def route(study: Path, routes: Path, points: Path | None, output: Path | None, overwrite: bool, as_json: bool) -> None:
    """Combine the answers of several judges to every point of a checklist, and show where they disagree.

    Run each judge first, with --protocol checklist and the same --routes, so that it is asked its own points only.

    \b
      salon judge run study --protocol checklist --points points.toml --routes routes.toml --model gpt-4o
      salon judge route study --points points.toml --routes routes.toml -o settled.csv
    """
    import pyarrow as pa

    from salon.cli.judge_options import routed_points
    from salon.cli.study_argument import read_study_argument
    from salon.judge import read_point_answers, settle_points
    from salon.store import check_target, local_path, read_routes, write_plain

    if output is not None:
        check_target(output, overwrite=overwrite)
    chosen = read_routes(routes)
    point_list = routed_points(read_study_argument(local_path(study)), points, None, "")
    settled = settle_points(point_list, chosen, read_point_answers(study, chosen))
    if output is not None:
        write_plain(pa.Table.from_pylist([row.model_dump() for row in settled]), output, overwrite=overwrite)
    if as_json:
        print_json({"settled": [row.model_dump() | {"disputed": row.disputed} for row in settled]})
        return
    disputed = sum(row.disputed for row in settled)
    say(f"{len(settled):,} points settled, {disputed:,} of them disputed between judges", bold=True)
    columns = ("tag", "rule", "points", "yes", "no", "open", "disputed")
    by_tag = _by_tag(settled)
    print_table(None, columns, by_tag, left=(0, 1))
    say("open: no majority, or no answer that could be read; counted as neither yes nor no", dim=True)


def _by_tag(settled: Sequence[SettledPoint]) -> list[tuple[Cell, ...]]:
    from salon.report import MISSING

    groups: dict[tuple[str, str], list[SettledPoint]] = defaultdict(list)
    for point in settled:
        groups[point.tag or MISSING, point.rule].append(point)
    rows: list[tuple[Cell, ...]] = []
    for (tag, rule), points in sorted(groups.items()):
        counts = [sum(point.answer is answer for point in points) for answer in (True, False, None)]
        numbers = (len(points), *counts, sum(point.disputed for point in points))
        rows.append((tag, rule, *numbers))
    return rows
