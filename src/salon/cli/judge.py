"""The commands that ask models to judge: run, batch files, routes and the report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from salon.cli.console import counting, json_option, print_json, print_table, say
from salon.cli.judge_asked import asked_options, planned
from salon.cli.later import LaterGroup
from salon.cli.options import SectionedCommand, options_from, settings_from
from salon.errors import SalonError, shorten
from salon.judge import canary
from salon.judge.folder import judge_folder
from salon.judge.many import Reader
from salon.judge.named import Named, check_budget, named_vlm
from salon.judge.openai_chat import OpenAIChat
from salon.judge.plan import JudgePlan
from salon.judge.run import JudgeRun, Progress, Watch, check_may_replace, reads, run_plan
from salon.judge.unread import UnreadLimits, expected_form
from salon.judge.vlm import NoReply, Sight, Vlm

LATER = {
    "batch": ("salon.cli.judge_batch:batch", "Batch files: half the price for a day's patience."),
    "route": ("salon.cli.judge_route:route", "What several judges say together of every point of a checklist."),
    "report": ("salon.cli.judge_report:report", "What judges are worth against the people of STUDY."),
}
"""Commands whose module is loaded when they are called, and what the list says of them."""


@click.group(cls=LaterGroup, later=LATER)
def judge() -> None:
    """Models as raters: ask them under one strict protocol, and see what they are worth.

    \b
      salon judge run study --simulated accuracy=0.7,bias=0.2                  try it out, without a model
      salon judge run study --model gpt-4o --prices prices.toml --budget 5     a hosted model
      salon judge report study --html judges.html
    """


# -- run ---------------------------------------------------------------------------------------------------------


@judge.command(cls=SectionedCommand)
@click.argument("study", type=click.Path(path_type=Path))
@asked_options
@options_from(UnreadLimits)
@click.option("--overwrite", is_flag=True, help="Replace what another judge of that name left.")
@click.option("--dry-run", is_flag=True, help="Say what would be asked and what it may cost, and ask nothing.")
@json_option
def run(study: Path, overwrite: bool, dry_run: bool, as_json: bool, **flags: Any) -> None:
    """Ask a judge about the items of STUDY; its answers become STUDY/judges/NAME.

    Pairs are asked in both orders. Every answer is kept before it is used: run the same command again to go on after an
    interruption, to ask again what got no reply or could not be read, or with a larger --limit. What could not be read
    is counted as unparsed, never guessed; above --most-unread the run stops, quotes a reply and writes nothing. Exit
    code 0 when every question got a reply, 1 when some did not or too many could not be read.

    \b
      salon judge run study --simulated accuracy=0.7,bias=0.2                  try it out, without a model
      salon judge run study --model gpt-4o --prices prices.toml --budget 5     a hosted model
      salon judge run study --model openai:qwen@http://localhost:8000/v1         a server of your own
      salon judge run study --transformers ./Qwen3-VL-8B --protocol rate
      salon judge run study --trained taste-heads --pairs all                  a model that salon train made
      salon judge run study --measured pixels --protocol checklist --points points.jsonl
      salon judge run study --model gpt-4o --dry-run                           what would it cost?
    """
    named, unread = settings_from(Named, flags), settings_from(UnreadLimits, flags)
    plan = planned(study, named, **flags)
    with named_vlm(named, plan.study, study, plan.points) as vlm:
        forecast = _forecast(plan, vlm, unread)
        warning = check_budget(named.budget, forecast["cost_at_most"], forecast["to_ask"])
        if dry_run:
            _print_forecast(forecast | {"notes": plan.notes}, warning, vlm.name, as_json)
            if named.looks and not as_json:
                print_probe(plan, vlm, send=False)
            return
        check_may_replace(plan, vlm, overwrite=overwrite)
        warnings = [warning] if warning else []
        if forecast["to_ask"] and isinstance(vlm, OpenAIChat) and vlm.is_hosted and named.canaries:
            warnings += _drift(plan, vlm, named.canaries)
        for told in warnings:
            say(f"note: {told}", fg="yellow", err=True)
        if not as_json and forecast["to_ask"] and named.looks:
            _print_size(plan, forecast, vlm.name)
            print_probe(plan, vlm, send=True)
        with _watched(quiet=as_json) as watch:
            report = run_plan(plan, vlm, watch, overwrite=overwrite, unread=unread)
        report = report.model_copy(update={"notes": (*warnings, *report.notes)})
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        _print_run(report, study)
    if report.failed:
        click.get_current_context().exit(1)


def _drift(plan: JudgePlan, vlm: OpenAIChat, canaries: int) -> list[str]:
    """What the canaries say about the model, before anything else is bought."""
    folder = judge_folder(plan.folder, vlm.name)
    path = folder.with_name(f"{folder.name}.canaries.jsonl")
    return canary.watch(
        vlm, canary.choose(plan.conversations(), canaries), path, day=datetime.now(UTC).date()
    ).warnings()


# -- what would be asked -----------------------------------------------------------------------------------------


def _forecast(plan: JudgePlan, vlm: Vlm, unread: UnreadLimits) -> dict[str, Any]:
    """A run in figures before it: those of an endpoint with the answers it has in store, and prices."""
    size = plan.estimate()
    told: dict[str, Any] = {"questions": size.calls, "pictures": size.pictures, "stored": 0, "cost_at_most": None}
    told["size"] = plan.size()
    told |= {"tokens_in": size.text_tokens, "tokens_out_at_most": size.answer_tokens}
    if isinstance(vlm, OpenAIChat):
        cast = vlm.forecast(plan.conversations(), None if unread.keep_unread else reads(plan, vlm))
        told |= {"stored": cast.stored, "tokens_in": cast.tokens_in, "tokens_out_at_most": cast.tokens_out}
        told["cost_at_most"] = cast.cost
    return told | {"to_ask": told["questions"] - told["stored"]}


def _print_size(plan: JudgePlan, told: dict[str, Any], name: str) -> None:
    """Calls and cost, before anything is asked."""
    cost = told["cost_at_most"]
    priced = "cost not known without --prices" if cost is None else f"at most {cost:.4f}"
    say(f"{name}: {plan.size()}; {told['to_ask']:,} to ask, {priced}", err=True)


def _print_forecast(told: dict[str, Any], warning: str | None, name: str, as_json: bool) -> None:
    cost = told["cost_at_most"]
    if as_json:
        print_json(told | {"judge": name, "dry_run": True, "cost_at_most": None if cost is None else float(cost)})
        return
    say(f"{name} would be asked {told['to_ask']:,} of {told['questions']:,} questions: {told['size']}", bold=True)
    priced = "not known: give a price list with --prices" if cost is None else f"at most {cost:.4f}"
    rows = [
        ("answered already", f"{told['stored']:,}"),
        ("pictures shown", f"{told['pictures']:,}"),
        ("tokens read", f"{told['tokens_in']:,}"),
        ("tokens written", f"at most {told['tokens_out_at_most']:,}"),
        ("cost", priced),
    ]
    print_table(None, ("", ""), rows)
    if warning:
        say(f"note: {warning}", fg="yellow")
    for note in told["notes"]:
        say(f"- {note}")


def print_probe(plan: JudgePlan, vlm: Vlm, *, send: bool) -> None:
    """The first question that is not answered yet, its reply and how that is read; without `send` only the question."""
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
    verdicts = Reader(plan.study, plan.settings, vlm.name).verdicts(question, reply)
    for verdict in verdicts:
        if verdict.unparsed is not None:
            say(f"  not read: {verdict.unparsed}; expected {expected_form(plan.settings)}", err=True, fg="yellow")
        else:
            meaning = verdict.outcome if verdict.value is None else f"{verdict.value:g}"
            say(f"  read as: {verdict.criterion} = {meaning}", err=True, dim=True)


# -- progress and result -----------------------------------------------------------------------------------------


@contextmanager
def _watched(*, quiet: bool) -> Iterator[Watch]:
    """A bar with counts and cost; what was done so far when somebody stops it."""
    latest = Progress(0)
    try:
        with counting("judging", quiet=quiet) as tell:

            def watch(progress: Progress) -> None:
                nonlocal latest
                for note in () if progress.done else progress.notes:  # known before anything is asked
                    say(f"note: {note}", fg="yellow", err=True)
                latest = progress
                tell(progress.done, progress.wanted, _told(progress))

            yield watch
    except (KeyboardInterrupt, SalonError):
        if latest.done:
            say(f"{latest.done:,} of {latest.wanted:,} answered: {_told(latest)}", err=True)
        raise


def _told(progress: Progress) -> str:
    parts = [f"{progress.stored:,} from the store", f"{progress.unparsed:,} unparsed", f"{progress.failed:,} failed"]
    if progress.cost is not None:
        parts.append(f"cost {progress.cost:,.4f}")
    return ", ".join(parts)


def _print_run(report: JudgeRun, study: Path) -> None:
    read = report.verdicts - report.unparsed
    say(f"{report.judge}: {read:,} of {report.verdicts:,} verdicts read", bold=True)
    rows = [(f"unparsed: {reason}", f"{count:,}") for reason, count in report.reasons.items()]
    rows += [(f"no reply: {kind}", f"{count:,}") for kind, count in report.failed.items()]
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
