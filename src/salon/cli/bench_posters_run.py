"""The commands that have contestants answer poster tasks, and judges look at what they said."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, get_args

import click

from salon.bench.posters import contestants, engines, measured
from salon.bench.posters.answers_boxes import Convention
from salon.bench.posters.files import PosterFile, find_files, home_of
from salon.bench.posters.judge import judge_named
from salon.bench.posters.judge_protocol import read_protocol
from salon.bench.posters.run import (
    CUT_OFF,
    MAX_TOKENS,
    RunReport,
    forecast_named,
    run_blind,
    run_engine,
    run_measured,
    run_named,
)
from salon.bench.posters.spend import RunForecast, Spend
from salon.cli.console import counting, json_option, print_json, print_table, say, seed_option
from salon.cli.judge_asked import judge_options
from salon.cli.options import SectionedCommand, settings_from
from salon.errors import BadValue
from salon.judge.named import Named
from salon.report.numbers import MISSING

_FOLDER = click.Path(path_type=Path, file_okay=False)
_OURS = (*contestants.NAMES, *engines.ENGINES, measured.NAME)


@click.command(cls=SectionedCommand)
@click.argument("folder", type=click.Path(path_type=Path, exists=True))
@click.option("--contestant", type=click.Choice(_OURS), help="One that comes with Salon, instead of a VLM.")
@click.option("-o", "--output", type=_FOLDER, help="Folder of the answers  [default: FOLDER.NAME beside FOLDER]")
@click.option("--pictures", type=_FOLDER, help="Folder with the pictures  [default: FOLDER]")
@click.option("--task", "tasks", multiple=True, help="Only this task (repeatable).")
@click.option("--boxes", type=click.Choice(get_args(Convention)), default="share", show_default=True,
              help="How boxes are written in its answers.")  # fmt: skip
@click.option("--max-tokens", type=click.IntRange(1), default=MAX_TOKENS, show_default=True,
              help="Most tokens of an answer.")  # fmt: skip
@click.option("--limit", type=click.IntRange(1), help="Ask at most so many items, evenly over the tasks.")
@click.option("--dry-run", is_flag=True, help="Only say how many calls it takes and what they cost.")
@click.option("--picture-first", is_flag=True, help="Show a VLM the picture before the question, not after it.")
@judge_options
@seed_option
@json_option
def run(
    folder: Path,
    contestant: str | None,
    output: Path | None,
    pictures: Path | None,
    tasks: tuple[str, ...],
    boxes: Convention,
    max_tokens: int,
    limit: int | None,
    dry_run: bool,
    picture_first: bool,
    seed: int,
    as_json: bool,
    **flags: Any,
) -> None:
    """Have a contestant answer the files in FOLDER; its answers become files of the same layout.

    FOLDER holds PosterIQ's public files, or those salon bench posters make drew. A contestant is one that comes with
    Salon (perfect, random, always-a, list-everything, empty look at nothing; rapidocr and tesseract read; measure
    has rules about pixels), or a VLM named as for salon judge run. Answers are saved as they come: the same command
    goes on after an interruption. A reply that the token limit cut off is no answer: it is asked again with more
    tokens, and once more by the next run. --dry-run says how many calls a run takes and what they cost at the most,
    --limit asks some of them, and --budget stops before it is spent.

    \b
      salon bench posters run set --contestant rapidocr --workers 2
      salon bench posters run set --model gpt-5 --prices prices.toml --dry-run
      salon bench posters run set --model gpt-5 --prices prices.toml --budget 5
      salon bench posters run set --transformers ./Qwen3-VL-8B --boxes thousand
      salon bench posters score set.rapidocr --boxes share
    """
    named = settings_from(Named, flags)
    files = [file for file in find_files([folder]) if not tasks or file.task.name in tasks]
    if not files:
        raise BadValue("a task that the folder has", found=", ".join(tasks), where=str(folder))
    name = contestant or named.judge
    home = folder.resolve() if folder.is_dir() else folder.resolve().parent
    out = output or home.with_name(f"{home.name}.{name.replace('/', '-')}")
    seen = pictures or home
    if contestant is not None and (dry_run or limit):
        raise BadValue("--dry-run and --limit are for VLMs: contestants that come with Salon cost nothing",
                       found=f"--contestant {contestant}")  # fmt: skip
    if dry_run:
        forecast = forecast_named(
            files, named, seen, out, max_tokens=max_tokens, limit=limit, picture_first=picture_first
        )
        _print_forecast(forecast, as_json)
        return
    with counting(name, quiet=as_json) as watch:
        if contestant in contestants.NAMES:
            report = run_blind(files, contestant, out, seed=seed, boxes=boxes)
        elif contestant in engines.ENGINES:
            report = run_engine(files, contestant, seen, out, boxes=boxes, workers=named.workers or 1, watch=watch)
        elif contestant == measured.NAME:
            report = run_measured(files, seen, out, boxes=boxes, workers=named.workers or 1, watch=watch)
        else:
            report = run_named(
                files, named, seen, out, boxes=boxes, max_tokens=max_tokens, limit=limit, picture_first=picture_first,
                watch=watch,
            )  # fmt: skip
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        _print(report, out)
    if report.failed or report.stopped:
        click.get_current_context().exit(1)


def _print_forecast(forecast: RunForecast, as_json: bool) -> None:
    if as_json:
        print_json(forecast.model_dump(mode="json") | {"dry_run": True})
        return
    rows = [
        (task.task, f"{task.items:,}", f"{task.answered:,}", f"{task.stored:,}", f"{task.no_picture:,}",
         f"{task.calls:,}", f"{task.tokens_in:,}", f"{task.tokens_out:,}", money(task.cost))
        for task in forecast.tasks
    ]  # fmt: skip
    columns = ("task", "items", "answered", "in store", "no picture", "calls", "tokens in", "tokens out", "cost")
    print_table(None, columns, rows, left=(0,))
    cost = "not known: give a price list with --prices"
    if forecast.cost is not None:
        cost = f"at most {money(forecast.cost)} {forecast.currency}, and more for replies that are cut off"
    say(f"{forecast.contestant} would be sent {forecast.calls:,} calls; cost {cost}", bold=True)
    if forecast.left:
        say(f"left for another run: {forecast.left:,}")
    if forecast.warning:
        say(f"note: {forecast.warning}", fg="yellow")


def money(amount: float | None) -> str:
    """An amount with cents, and with four digits below one."""
    if amount is None:
        return MISSING
    return f"{amount:,.2f}" if amount >= 1 else f"{amount:.4f}"


def _print_spend(spend: Spend) -> None:
    rows = [
        ("requests sent", f"{spend.requests:,}"),
        ("answers bought before", f"{spend.from_store:,}"),
        ("asked again with more tokens", f"{spend.asked_again:,}"),
        ("requests without an answer, maybe charged", f"{spend.lost:,}"),
        ("tokens read", f"{spend.tokens_in:,}"),
        ("tokens written", f"{spend.tokens_out:,}"),
    ]
    print_table("Spent", ("", ""), rows)
    if spend.cost is None:
        say("cost not known: give a price list with --prices")
    else:
        say(f"cost {money(spend.cost)} {spend.currency}; over all runs {money(spend.cost_in_all)} {spend.currency}")


def _print(report: RunReport, out: Path) -> None:
    say(
        f"{report.contestant}: {report.answered:,} answers, {report.kept:,} there already, of {report.asked:,}",
        bold=True,
    )
    rows = [(f"no answer: {reason}", f"{count:,}") for reason, count in report.failed.items()]
    rows += [(f"not asked: {task}", f"{count:,}") for task, count in report.not_asked.items()]
    rows += [("left for another run", f"{report.left:,}")] if report.left else []
    if rows:
        print_table(None, ("", ""), rows)
    if report.failed.get(CUT_OFF):
        endpoint = report.spend is not None
        how = ", which asks with more tokens, up to --most-tokens" if endpoint else " with a larger --max-tokens"
        say(f"cut off: run again{how}", fg="yellow")
    if report.spend is not None:
        _print_spend(report.spend)
    if report.stopped:
        say(f"stopped: {report.stopped}", fg="yellow")
    say(f"wrote {out}")
    say(f"salon bench posters score {out}", dim=True)


@click.command(cls=SectionedCommand)
@click.argument("folder", type=click.Path(path_type=Path, exists=True))
@click.option("--pictures", type=_FOLDER, help="Folder with the posters to look at  [default: FOLDER]")
@click.option(
    "--protocol",
    type=click.Path(path_type=Path, exists=True),
    help="Ask in the released words, read from PosterIQ's und_metric.py, gen_metric.py or their folder.",
)
@judge_options
@json_option
def judge(folder: Path, pictures: Path | None, protocol: Path | None, as_json: bool, **flags: Any) -> None:
    """Have a judge say which points the answers in FOLDER cover, and what generated posters show.

    Only tasks that need one: composition and intention, and the five tasks for generators. The judge's words become the
    records' `judge`; the same command goes on after an interruption, and asks again what got no reply.

    Posters can be measured: --measured pixels answers the points that have a rule and leaves the others to the next
    judge; --measured layout asks the record of how a poster was drawn, whose answers stand beside the score and never
    in it.

    \b
      salon bench posters judge answers --model gpt-5 --prices prices.toml --budget 5
      salon bench posters judge answers --model gpt-5 --protocol PosterIQ-Benchmark
      salon bench posters judge proof --measured pixels
      salon bench posters judge posters --pictures made --transformers ./Qwen3-VL-8B
    """
    named = settings_from(Named, flags)
    files = find_files([folder])
    home = home_of(folder)
    if named.measured is not None:
        named.check()
        _measure(files, named, pictures or home, as_json)
        return
    with counting(named.judge, quiet=as_json) as watch:
        released = None if protocol is None else read_protocol(protocol)
        report = judge_named(files, named, home, pictures=pictures or home, protocol=released, watch=watch)
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        words = f" in {report.protocol} words" if protocol is not None else ""
        say(f"{report.judge}: {report.asked:,} questions{words}, {report.kept:,} verdicts there already", bold=True)
        rows = [(f"no reply: {reason}", f"{count:,}") for reason, count in report.no_reply.items()]
        rows += [("items with nothing to judge", f"{report.nothing_to_judge:,}")] if report.nothing_to_judge else []
        if rows:
            print_table(None, ("", ""), rows)
        if report.spend is not None:
            _print_spend(report.spend)
    if report.no_reply:
        click.get_current_context().exit(1)


def _measure(files: list[PosterFile], named: Named, pictures: Path, as_json: bool) -> None:
    """The same by a measurement; the reader of text is loaded only for it."""
    flow = importlib.import_module("salon.bench.posters.measure")
    with counting(named.judge, quiet=as_json) as watch:
        report = flow.measure_files(files, named.measured, pictures=pictures, workers=named.workers, watch=watch)
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        beside = " beside the score" if report.judge == "layout" else ""
        say(f"{report.judge}: {report.answered:,} verdicts{beside}, {report.kept:,} there already", bold=True)
        rows = [(f"no reply: {reason}", f"{count:,}") for reason, count in report.no_reply.items()]
        rows += [("verdicts it cannot give", f"{report.not_asked:,}")] if report.not_asked else []
        rows += [("items without a poster", f"{report.nothing_to_judge:,}")] if report.nothing_to_judge else []
        if rows:
            print_table(None, ("", ""), rows)
    if report.no_reply:
        click.get_current_context().exit(1)
