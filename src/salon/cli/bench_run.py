"""salon bench run: generators, judges and scorers on a suite, and the board that comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from salon.bench.board import is_board, open_board
from salon.bench.judge_roles import JudgeTerms, judges_named, read_roles
from salon.bench.run import run_suite
from salon.bench.run_plan import SuitePlan, plan_suite
from salon.bench.run_report import SuiteRun
from salon.bench.suite import Suite
from salon.bench.suite_folder import open_suite
from salon.cli.bench_standings import print_standings
from salon.cli.console import json_option, print_json, print_table, printable, say, watching
from salon.cli.options import SectionedCommand, options_from, settings_from
from salon.errors import BadValue
from salon.generate.named import Terms, generators_named
from salon.judge.scorers.named import scorer_named
from salon.judge.unread import UnreadLimits
from salon.study import Generator, Scorer

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(cls=SectionedCommand)
@click.argument("place", metavar="SUITE|BOARD")
@click.option(
    "-g", "--generator", "names", multiple=True, metavar="NAME",
    help="A generator, named as for salon generate (repeatable). None: finish what is open on BOARD.",
)  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder of the board, with a SUITE.")
@click.option(
    "--judge", "judges", multiple=True, metavar="ROLE=KIND:NAME",
    help="Who plays ROLE, a judge that the suite's routes name: measured:pixels, openai:MODEL[@URL], "
    "transformers:FOLDER, scripted:FILE, simulated:accuracy=0.8, plugin:NAME, "
    "python:MODULE:NAME (repeatable, once for each role).",
)  # fmt: skip
@click.option(
    "--scorer", "scorers", multiple=True, metavar="COLUMN=NAME",
    help="Scorer of a column of EPS, named as for salon score (repeatable).",
)  # fmt: skip
@click.option(
    "--entries-of", type=click.Path(path_type=Path),
    help="Bring along the entries of another board with the same prompts: nothing is made or asked twice.",
)  # fmt: skip
@click.option("--private", type=_FILE, help="Texts of private prompts, of the suite's keeper.")
@click.option("--licence", default="", help="Licence of the pictures.")
@click.option("--by", default="", help="Who submits them.")
@click.option("--as-is", is_flag=True, help="Publish although an outage left pictures missing: they fail for good.")
@click.option("--picture-budget", type=click.FloatRange(0), help="The most that hosted generators may spend.")
@options_from(JudgeTerms, section="On these terms judges answer")
@options_from(UnreadLimits, section="On these terms judges answer")
@click.option("--dry-run", is_flag=True, help="Say what would be made, asked and spent, and do nothing.")
@json_option
def run(
    place: str,
    names: Sequence[str],
    output: Path | None,
    judges: Sequence[str],
    scorers: Sequence[str],
    entries_of: Path | None,
    private: Path | None,
    licence: str,
    by: str,
    as_is: bool,
    picture_budget: float | None,
    dry_run: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Run generators on SUITE, have their pictures judged and scored, and put the results on a board.

    SUITE is a folder, or the name of a built-in suite; salon bench list names them. Pictures and answers are kept as
    they come: run the same command again to go on after an interruption. An answer that an outage kept away leaves the
    entry provisional, with bounds; the next run asks again, and pays for nothing twice. A complete result is published,
    and never changes. Exit code 0 when every entry is published, 1 when one is provisional.

    A suite names its judges by role, and its routes say which role answers which points; salon bench list SUITE shows
    them. posters has the role pixels, which needs no --judge. broad has four, each for a VLM of your choice: general,
    second and third vote, and reader and general must both have read a text.

    \b
      salon bench run posters -g atelier -g carnival -g proof -o board
      salon bench run broad -g openai:gpt-image-1 -o board --prices prices.toml --dry-run \\
          --judge general=openai:gpt-4o --judge reader=openai:gpt-4.1 \\
          --judge second=openai:qwen@http://localhost:8000/v1 --judge third=transformers:./Qwen3-VL-8B
      salon bench run board --judge third=transformers:./Qwen3-VL-8B           finish what is open
      salon bench run board --scorer eps=model:taste-heads@taste/mood          score what is there
      salon bench run posters-2 -o board-2 --entries-of board                  the same entries by another suite
    """
    suite, board = _placed(place, output, private)
    carry = None if entries_of is None else open_board(entries_of)
    if not names and carry is None and not is_board(board):
        raise BadValue("a generator is needed", found="none", remedy="-g NAME; salon generate --help names the houses")
    terms = settings_from(JudgeTerms, flags)
    calls = terms.calls or board.resolve().with_name(f"{board.resolve().name}.calls.sqlite")
    if dry_run:
        with TemporaryDirectory(prefix="salon-") as aside:
            spare = terms if calls.exists() else terms.model_copy(update={"calls": Path(aside) / "calls.sqlite"})
            with judges_named(read_roles(judges, suite), spare, board) as asked:
                makers = _generators(names, suite, Terms(Path(aside) / "calls", terms.prices, picture_budget))
                plan = plan_suite(suite, board, list(makers.values()), asked)
        _print_plan(plan, as_json, hosted=any(name.startswith(("openai:", "http:")) for name in names))
        return
    with judges_named(read_roles(judges, suite), terms, board) as asked:
        makers = _generators(names, suite, Terms(calls, terms.prices, picture_budget))
        with watching("suite", quiet=as_json) as watch:
            report = run_suite(
                suite, board, list(makers.values()), asked, _scorers(scorers, suite), carry=carry,
                called={maker.name: text for text, maker in makers.items()}, licence=licence, by=by, as_is=as_is,
                unread=settings_from(UnreadLimits, flags), watch=watch,
            )  # fmt: skip
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        _print_run(report, board)
    if not report.is_complete:
        click.get_current_context().exit(1)


def _placed(place: str, output: Path | None, private: Path | None) -> tuple[Suite, Path]:
    """The suite, and the folder of the board."""
    if is_board(Path(place)):
        if output is not None and output.resolve() != Path(place).resolve():
            raise BadValue("--output goes with a SUITE", found=f"the board {place}", remedy="leave -o out")
        return open_board(Path(place), private=private).suite, Path(place)
    suite = open_suite(place, private=private)
    if output is None:
        raise BadValue("a folder for the board is needed", found="none", remedy="-o BOARD")
    return suite, output


def _generators(names: Sequence[str], suite: Suite, terms: Terms) -> dict[str, Generator]:
    """By the words that name them; a table of several generators counts them through."""
    prompts = [one.prompt for one in suite.prompts]
    found: dict[str, Generator] = {}
    for name in dict.fromkeys(names):
        made = generators_named([name], prompts, terms)
        found |= {name if len(made) == 1 else f"{name}#{one.name}": one for one in made}
    return found


def _scorers(texts: Sequence[str], suite: Suite) -> dict[str, Scorer]:
    columns = [rule.id for rule in suite.card.preferences]
    found: dict[str, Scorer] = {}
    for text in texts:
        column, mark, name = text.partition("=")
        if not mark or column not in columns:
            raise BadValue(
                "a scorer as COLUMN=NAME is needed",
                found=repr(text),
                where="--scorer",
                remedy=f"COLUMN is one of {', '.join(columns) or 'none: the suite has no EPS'}",
            )
        if column in found:
            raise BadValue("every column has one scorer", found=f"{column!r} twice", where="--scorer")
        found[column] = scorer_named(name)
    return found


# -- what would be done ------------------------------------------------------------------------------------------------


def _print_plan(plan: SuitePlan, as_json: bool, *, hosted: bool) -> None:
    if as_json:
        print_json(plan.model_dump(mode="json") | {"calls": plan.calls, "cost_at_most": plan.cost_at_most})
        return
    say(f"{plan.suite} on {plan.board}", bold=True)
    rows = []
    for entry in plan.entries:
        made = "published" if entry.published else f"{entry.to_make:,} of {entry.pictures:,}"
        rows.append((entry.entry, made, "", "", "", ""))
        for one in entry.judges:
            who = "" if one.judge else "nobody named: stays open"
            rows.append(
                ("", "", one.role, f"{one.questions:,}", f"{one.stored:,}", who or _asked(one.to_ask, one.paid))
            )
    print_table(
        None, ("entry", "pictures to make", "judge", "answers", "bought before", "to ask"), rows, left=(0, 2, 5)
    )
    known = plan.cost_at_most is not None
    cost = f", at most {plan.cost_at_most:.4f}" if known else "; what they cost is not known: give a list with --prices"
    say(f"{plan.calls:,} paid calls of judges" + (cost if plan.calls else ""))
    if hosted and any(entry.to_make for entry in plan.entries):
        say("what hosted generators cost is not in it; --picture-budget bounds it")


def _asked(calls: int, paid: bool) -> str:
    return f"{calls:,} paid calls" if paid else f"{calls:,}, free"


# -- what was done -----------------------------------------------------------------------------------------------------


def _print_run(report: SuiteRun, board: Path) -> None:
    print_standings(open_board(board))
    for entry in report.entries:
        if entry.missing:
            kinds = ", ".join(f"{count:,} {kind}" for kind, count in entry.missing.items())
            say(f"- {entry.entry}: pictures missing, each a failure: {kinds}")
        for why in entry.open:
            say(f"- {entry.entry} is provisional: {printable(why)}", fg="yellow")
    unread = sum(one.unread for entry in report.entries for one in entry.judges)
    asked = sum(one.questions for entry in report.entries for one in entry.judges)
    known = sum(one.stored for entry in report.entries for one in entry.judges)
    cost = "" if report.cost is None else f", cost {report.cost:,.4f}"
    say(f"{asked:,} answers, {known:,} known before, {unread:,} unread{cost}; {report.seconds:.1f} s", dim=True)
    say(f"next: {_todo(report, board)}", dim=True)


def _todo(report: SuiteRun, board: Path) -> str:
    if report.is_complete:
        return f"salon bench site {board} -o site"
    if any("--judge" in why or "--scorer" in why for entry in report.entries for why in entry.open):
        return f"salon bench run {board}, with who is named above"
    return "the same command again asks what is open"
