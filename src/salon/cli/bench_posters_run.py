"""`salon bench posters make`, `run`, `judge`, `generate` and `people`: task sets, answers, verdicts and posters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from salon.bench import MAX_TOKENS, Convention
from salon.bench.posters import contestants, contestants as engines, pixel_contestant as measured
from salon.cli.console import json_option, print_json, print_table, progress_bar, say, seed_option
from salon.cli.judge_options import judge_options
from salon.cli.options import SectionedCommand, settings_from
from salon.errors import BadValue
from salon.generate import GENERATOR_FORMS

if TYPE_CHECKING:
    from salon.bench import PosterFile, RunForecast, Spend
    from salon.judge import JudgeSpec


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--task", "words", multiple=True, metavar="NAME",
    help="Only this task, or the tasks of a group: OCR, Font, Layout, Understanding, Rating, Generation (repeatable)  "
    "[default: all that can be made]",
)  # fmt: skip
@click.option(
    "-n", "--items", type=click.IntRange(1, 100_000), default=50, show_default=True, help="Items of each task."
)
@click.option("--workers", type=click.IntRange(1), help="Processes that draw  [default: one a core]")
@click.option(
    "--resume", is_flag=True, help="Leave the tasks that are complete in FOLDER as they are; draw the others."
)
@seed_option
@json_option
def make(
    folder: Path, words: tuple[str, ...], items: int, workers: int | None, resume: bool, seed: int, as_json: bool
) -> None:
    """Draw a task set into FOLDER: pictures, and files in PosterIQ's public layout with the truth in them.

    Everything is drawn here from open fonts, so that no model can have seen it: 19 tasks that ask about a poster,
    and 5 files of prompts for generators. The same seed gives the same bytes, with any number of workers, and a larger
    set begins with the smaller one. A thousand items cost about 30 processor seconds.

    FOLDER is new, empty, or holds such a set. An existing task is never overwritten, since its file may hold answers:
    the command refuses, or with --resume continues with the other tasks. A task's file is written after its last
    picture.

    \b
    OCR            logo_ocr poster_ocr simple_ocr hard_ocr font_size_ocr
    Font           font_matching font_attributes font_effect font_effect_2
    Layout         text_localization alignment rotation empty_space
                   layout_comparison layout_generation
    Understanding  style_understanding composition_understanding
                   intention_understanding
    Rating         overall_rating
    Generation     gen_dense gen_font gen_style gen_composition gen_intention

    \b
      salon bench posters make set -n 50
      salon bench posters make ocr --task OCR -n 280
      salon bench posters make set -n 50 --resume
      salon bench posters make fonts --task font_matching --task font_effect -n 90 --seed 7
    """
    from salon.bench.posters import make as makers  # drawing only for those who draw

    names = _tasks(words, makers.MADE)
    with progress_bar("drawing", quiet=as_json) as watch:
        files = makers.make_tasks(folder, names, items, seed, resume=resume, progress=watch, processes=workers)
    if as_json:
        places = [path.relative_to(folder).as_posix() for path in files]
        print_json({"folder": str(folder), "seed": seed, "items": items, "tasks": names, "files": places})
    else:
        say(f"{len(names)} tasks of {items:,} items in {folder}", bold=True)
        say(f"salon bench posters run {folder} --contestant rapidocr", dim=True)


def _tasks(names_or_groups: Sequence[str], available: Sequence[str]) -> list[str]:
    """The tasks meant by names of tasks and groups, each once; BadValue for what cannot be made."""
    from salon.bench import GENERATION, GROUPS, TASKS, task_named

    if not names_or_groups:
        return list(available)
    groups = {group.lower(): [task.name for task in TASKS if task.group == group and task.name in available]
              for group in (*GROUPS, GENERATION)}  # fmt: skip
    names = [name for word in names_or_groups for name in groups.get(word.lower()) or [task_named(word).name]]
    unavailable = [name for name in names if name not in available]
    if unavailable:
        raise BadValue(
            "a task that can be made is needed", found=", ".join(unavailable), remedy="one of " + ", ".join(available)
        )
    return list(dict.fromkeys(names))


# -- run and judge --------------------------------------------------------------------------------------------------

_FOLDER = click.Path(path_type=Path, file_okay=False)
_BUILTIN_CONTESTANTS = (*contestants.NAMES, *engines.ENGINES, measured.NAME)


@click.command(cls=SectionedCommand)
@click.argument("folder", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--contestant", type=click.Choice(_BUILTIN_CONTESTANTS), help="One that comes with Salon, instead of a VLM."
)
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
    Salon (perfect, random, always-a, list-everything, empty look at nothing; rapidocr and tesseract read; measure has
    rules about pixels), or a VLM named as for salon judge run. Answers are saved as they come: the same command goes on
    after an interruption. A reply that the token limit cut off is asked again with more tokens. --dry-run prints the
    number of calls and the highest possible cost, --limit asks some of them, and --budget stops before it is exceeded.

    \b
      salon bench posters run set --contestant rapidocr --workers 2
      salon bench posters run set --model gpt-5 --prices prices.toml --dry-run
      salon bench posters run set --model gpt-5 --prices prices.toml --budget 5
      salon bench posters run set --transformers ./Qwen3-VL-8B --boxes thousand
      salon bench posters score set.rapidocr --boxes share
    """
    from salon.bench import CUT_OFF, find_files, forecast_named, run_blind, run_engine, run_measured, run_named
    from salon.judge import JudgeSpec

    judge_choice = settings_from(JudgeSpec, flags)
    files = [file for file in find_files([folder]) if not tasks or file.task.name in tasks]
    if not files:
        raise BadValue("a task that the folder has", found=", ".join(tasks), where=str(folder))
    name = contestant or judge_choice.judge
    home = folder.resolve() if folder.is_dir() else folder.resolve().parent
    out = output or home.with_name(f"{home.name}.{name.replace('/', '-')}")
    picture_folder = pictures or home
    if contestant is not None and (dry_run or limit):
        raise BadValue("--dry-run and --limit are for VLMs: contestants that come with Salon cost nothing",
                       found=f"--contestant {contestant}")  # fmt: skip
    if dry_run:
        forecast = forecast_named(
            files, judge_choice, picture_folder, out, max_tokens=max_tokens, limit=limit, picture_first=picture_first
        )
        _print_forecast(forecast, as_json)
        return
    with progress_bar(name, quiet=as_json) as watch:
        if contestant in contestants.NAMES:
            report = run_blind(files, contestant, out, seed=seed, boxes=boxes)
        elif contestant in engines.ENGINES:
            report = run_engine(
                files, contestant, picture_folder, out, boxes=boxes, workers=judge_choice.workers or 1, watch=watch
            )
        elif contestant == measured.NAME:
            report = run_measured(
                files, picture_folder, out, boxes=boxes, workers=judge_choice.workers or 1, watch=watch
            )
        else:
            report = run_named(
                files, judge_choice, picture_folder, out, boxes=boxes, max_tokens=max_tokens, limit=limit,
                picture_first=picture_first, watch=watch,
            )  # fmt: skip
    if as_json:
        print_json(report)
    else:
        say(
            f"{report.contestant}: {report.answered:,} answers, {report.kept:,} there already, of {report.asked:,}",
            bold=True,
        )
        rows = [(f"no answer: {reason}", count) for reason, count in report.failed.items()]
        rows += [(f"not asked: {task}", count) for task, count in report.not_asked.items()]
        rows += [("left for another run", report.left)] if report.left else []
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
    if report.failed or report.stopped:
        click.get_current_context().exit(1)


def _print_forecast(forecast: RunForecast, as_json: bool) -> None:
    if as_json:
        print_json(forecast.model_dump(mode="json") | {"dry_run": True})
        return
    rows = [
        (task.task, task.items, task.answered, task.stored, task.no_picture,
         task.calls, task.tokens_in, task.tokens_out, money(task.cost))
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
    from salon.report import MISSING

    if amount is None:
        return MISSING
    return f"{amount:,.2f}" if amount >= 1 else f"{amount:.4f}"


def _print_spend(spend: Spend) -> None:
    rows = [
        ("requests sent", spend.requests),
        ("answers bought before", spend.from_store),
        ("asked again with more tokens", spend.asked_again),
        ("requests without an answer, maybe charged", spend.lost),
        ("tokens read", spend.tokens_in),
        ("tokens written", spend.tokens_out),
    ]
    print_table("Spent", ("", ""), rows)
    if spend.cost is None:
        say("cost not known: give a price list with --prices")
    else:
        say(f"cost {money(spend.cost)} {spend.currency}; over all runs {money(spend.cost_in_all)} {spend.currency}")


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
    from salon.bench import find_files, judge_named, picture_root, read_protocol
    from salon.judge import JudgeSpec

    judge_choice = settings_from(JudgeSpec, flags)
    files = find_files([folder])
    home = picture_root(folder)
    if judge_choice.measured is not None:
        judge_choice.check()
        _measure(files, judge_choice, pictures or home, as_json)
        return
    with progress_bar(judge_choice.judge, quiet=as_json) as watch:
        released = None if protocol is None else read_protocol(protocol)
        report = judge_named(files, judge_choice, home, pictures=pictures or home, protocol=released, watch=watch)
    if as_json:
        print_json(report)
    else:
        words = f" in {report.protocol} words" if protocol is not None else ""
        say(f"{report.judge}: {report.asked:,} questions{words}, {report.kept:,} verdicts there already", bold=True)
        rows = [(f"no reply: {reason}", count) for reason, count in report.no_reply.items()]
        rows += [("items with nothing to judge", report.nothing_to_judge)] if report.nothing_to_judge else []
        if rows:
            print_table(None, ("", ""), rows)
        if report.spend is not None:
            _print_spend(report.spend)
    if report.no_reply:
        click.get_current_context().exit(1)


def _measure(files: list[PosterFile], judge_choice: JudgeSpec, pictures: Path, as_json: bool) -> None:
    """The same by a measurement; the reader of text is loaded only for it."""
    from salon.bench.posters import measurement as flow

    with progress_bar(judge_choice.judge, quiet=as_json) as watch:
        report = flow.measure_files(
            files, judge_choice.measured or "pixels", pictures=pictures, workers=judge_choice.workers, watch=watch
        )
    if as_json:
        print_json(report)
    else:
        beside = " beside the score" if report.judge == "layout" else ""
        say(f"{report.judge}: {report.answered:,} verdicts{beside}, {report.kept:,} there already", bold=True)
        rows = [(f"no reply: {reason}", count) for reason, count in report.no_reply.items()]
        rows += [("verdicts it cannot give", report.not_asked)] if report.not_asked else []
        rows += [("items without a poster", report.nothing_to_judge)] if report.nothing_to_judge else []
        if rows:
            print_table(None, ("", ""), rows)
    if report.no_reply:
        click.get_current_context().exit(1)


# -- generate -------------------------------------------------------------------------------------------------------

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option(
    "-g", "--generator", "names", required=True, multiple=True, metavar="NAME",
    help=f"Who makes posters: {GENERATOR_FORMS} (repeatable).",
)  # fmt: skip
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path, file_okay=False),
              help="Folder of its posters: a new one, or one to go on with.")  # fmt: skip
@click.option("--task", "tasks", multiple=True, help="Only this task (repeatable).")
@click.option("--size", help="Width and height in pixels, such as 736x1040  [default: the generator's own]")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="Seed of every poster.")
@click.option("--retry/--no-retry", default=True, show_default=True, help="Ask again for what failed before.")
@click.option("--prices", type=_FILE, help="Prices of hosted generators, TOML.")
@click.option("--budget", type=click.FloatRange(0), help="The most that a hosted generator may spend in this run.")
@click.option("--calls", type=_FILE, help="File that keeps bought answers  [default: OUTPUT.calls.sqlite]")
@json_option
def generate(
    files: tuple[Path, ...],
    names: tuple[str, ...],
    output: Path,
    tasks: tuple[str, ...],
    size: str | None,
    seed: int,
    retry: bool,
    prices: Path | None,
    budget: float | None,
    calls: Path | None,
    as_json: bool,
) -> None:
    """Have a generator make the posters that FILES ask for.

    FILES are PosterIQ's generation files (gen_dense, gen_font, gen_style, gen_composition, gen_intention), those that
    salon bench posters make wrote, or folders of them. Every generator gets the words of `prompt` and nothing else.
    OUTPUT gets the same files with `path` leading to the posters, which stand in OUTPUT/posters, a study. The same
    command goes on after an interruption, and asks again for what failed.

    Exit code 0 when every poster is there, 1 when some are missing; missing posters score 0.

    \b
      salon bench posters generate set -g proof -o proof
      salon bench posters generate set -g openai:gpt-image-1 -o gpt --prices prices.toml --budget 20
      salon bench posters judge proof --measured pixels
      salon bench posters score proof --html proof.html
      salon bench posters compare proof gpt --html generators.html
    """
    from salon.bench import find_files, generate_named
    from salon.generate import CallTerms, GenerateSettings

    if len(names) > 1:
        raise BadValue(
            "one generator for a folder is needed",
            found=", ".join(names),
            where="--generator",
            remedy="run it once for each, with another -o; salon bench posters compare puts them together",
        )
    (name,) = names
    opened = [file for file in find_files(list(files)) if not tasks or file.task.name in tasks]
    if not opened:
        raise BadValue("a task that the files have is needed", found=", ".join(tasks), where=str(files[0]))
    settings = GenerateSettings.parse({"size": size, "seed": seed, "retry": retry}, where="options")
    calls_file = calls or output.resolve().with_name(f"{output.resolve().name}.calls.sqlite")
    with progress_bar(name, quiet=as_json) as tell:
        report = generate_named(opened, name, output, settings, CallTerms(calls_file, prices, budget),
                                watch=lambda progress: tell(progress.done, progress.wanted))  # fmt: skip
    if as_json:
        print_json(report)
    else:
        say(
            f"{report.generator}: {report.made:,} posters, {report.kept:,} there already, of {report.wanted:,}",
            bold=True,
        )
        rows = [(f"no poster: {reason}", count) for reason, count in report.failed.items()]
        rows += [(f"asks for none: {task}", count) for task, count in report.not_asked.items()]
        if rows:
            print_table(None, ("", ""), rows)
        if report.cost is not None:
            say(f"cost {report.cost:,.4f}")
        for note in report.notes:
            say(f"- {note}")
        say(f"wrote {output}")
        say(f"salon bench posters judge {output} --measured pixels", dim=True)
    if report.failed:
        click.get_current_context().exit(1)


# -- people ---------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True))
@click.option("-o", "--output", type=_FOLDER, required=True, help="Folder of the study to write.")
@click.option("--pictures", type=_FOLDER, help="Folder with the posters  [default: FOLDER]")
@click.option("--judge", default="judge", show_default=True, help="Name of the judge among the study's raters.")
@click.option("-n", "--verdicts", type=click.IntRange(1), default=100, show_default=True, help="Verdicts to draw.")
@seed_option
@json_option
def people(
    folder: Path, output: Path, pictures: Path | None, judge: str, verdicts: int, seed: int, as_json: bool
) -> None:
    """Draw some verdicts of the judge in FOLDER into a study, so that people answer the same questions.

    Every verdict on a key point has the same chance to be drawn. People see the poster, the answer and the point, but
    not the verdict. The report then says how often judge and people agree.

    \b
      salon bench posters people answers --pictures set -o people -n 200
      salon serve people
      salon judge report people
    """
    from salon.bench import find_files, people_study, picture_root

    home = picture_root(folder)
    report = people_study(find_files([folder]), pictures or home, output, judge=judge, n=verdicts, seed=seed)
    if as_json:
        print_json(report)
        return
    say(f"{report.drawn:,} of {report.of:,} verdicts of {report.judge}, {report.yes:,} of them yes", bold=True)
    for task, count in report.by_task.items():
        say(f"{task}: {count:,}")
    if report.unread or report.no_picture:
        say(f"not drawn: {report.unread:,} that say neither yes nor no, {report.no_picture:,} without a picture")
    say(f"wrote {output}")
    say(f"salon serve {output}", dim=True)
