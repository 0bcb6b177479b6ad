"""`salon bench run`, `add`, `pack`, `retract` and `site`: boards and their entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from salon.bench import CAPABILITY, ENDING, OVERALL, JudgeTerms
from salon.cli.console import (
    Cell,
    figures_option,
    json_option,
    print_json,
    print_table,
    printable,
    progress_bar,
    say,
    staged_progress_bar,
)
from salon.cli.options import SectionedCommand, options_from, settings_from
from salon.errors import BadFile, BadValue
from salon.judge import UnreadLimits

if TYPE_CHECKING:
    from salon.bench import Board, EntryResult, Standing, Submission, Suite, SuitePlan
    from salon.generate import CallTerms
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
@click.option("--as-is", is_flag=True, help="Publish although an outage left pictures missing: they fail permanently.")
@click.option("--picture-budget", type=click.FloatRange(0), help="The most that hosted generators may spend.")
@options_from(JudgeTerms, section="How judges are asked")
@options_from(UnreadLimits, section="How judges are asked")
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
    they come: run the same command again to continue after an interruption. After an outage the entry is provisional,
    with bounds; the next run asks again and pays for nothing twice. A complete result is published, and never changes.
    Exit code 0 when every entry is published, 1 when one is provisional.

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
    from salon.bench import is_board, open_board, open_judges, plan_suite, read_roles, run_suite
    from salon.generate import CallTerms

    suite, board = _suite_and_board(place, output, private)
    carry = None if entries_of is None else open_board(entries_of)
    if not names and carry is None and not is_board(board):
        raise BadValue(
            "a generator is needed", found="none", remedy="-g NAME; salon generate --help names the built-in generators"
        )
    terms = settings_from(JudgeTerms, flags)
    calls = terms.calls or board.resolve().with_name(f"{board.resolve().name}.calls.sqlite")
    if dry_run:
        with TemporaryDirectory(prefix="salon-") as aside:
            spare = terms if calls.exists() else terms.model_copy(update={"calls": Path(aside) / "calls.sqlite"})
            with open_judges(read_roles(judges, suite), spare, board) as suite_judges:
                makers = _generators(names, suite, CallTerms(Path(aside) / "calls", terms.prices, picture_budget))
                plan = plan_suite(suite, board, list(makers.values()), suite_judges)
        _print_plan(plan, as_json, hosted=any(name.startswith(("openai:", "http:")) for name in names))
        return
    with open_judges(read_roles(judges, suite), terms, board) as suite_judges:
        makers = _generators(names, suite, CallTerms(calls, terms.prices, picture_budget))
        with staged_progress_bar("suite", quiet=as_json) as watch:
            report = run_suite(
                suite, board, list(makers.values()), suite_judges, _scorers(scorers, suite), carry=carry,
                called={maker.name: text for text, maker in makers.items()}, licence=licence, by=by, as_is=as_is,
                unread=settings_from(UnreadLimits, flags), watch=watch,
            )  # fmt: skip
    if as_json:
        print_json(report)
    else:
        print_standings(open_board(board))
        for entry in report.entries:
            if entry.missing:
                kinds = ", ".join(f"{count:,} {kind}" for kind, count in entry.missing.items())
                say(f"- {entry.entry}: pictures missing, each a failure: {kinds}")
            for why in entry.open:
                say(f"- {entry.entry} is provisional: {printable(why)}", fg="yellow")
        unread = sum(judge.unread for entry in report.entries for judge in entry.judges)
        answers = sum(judge.questions for entry in report.entries for judge in entry.judges)
        stored = sum(judge.stored for entry in report.entries for judge in entry.judges)
        cost = "" if report.cost is None else f", cost {report.cost:,.4f}"
        say(f"{answers:,} answers, {stored:,} known before, {unread:,} unread{cost}; {report.seconds:.1f} s", dim=True)
        needs_flag = any("--judge" in why or "--scorer" in why for entry in report.entries for why in entry.open)
        if report.is_complete:
            say(f"next: salon bench site {board} -o site", dim=True)
        elif needs_flag:
            say(f"next: salon bench run {board}, with who is named above", dim=True)
        else:
            say("next: the same command again asks what is open", dim=True)
    if not report.is_complete:
        click.get_current_context().exit(1)


def _suite_and_board(place: str, output: Path | None, private: Path | None) -> tuple[Suite, Path]:
    """The suite, and the folder of the board."""
    from salon.bench import is_board, open_board, open_suite

    if is_board(Path(place)):
        if output is not None and output.resolve() != Path(place).resolve():
            raise BadValue("--output goes with a SUITE", found=f"the board {place}", remedy="leave -o out")
        return open_board(Path(place), private=private).suite, Path(place)
    suite = open_suite(place, private=private)
    if output is None:
        raise BadValue("a folder for the board is needed", found="none", remedy="-o BOARD")
    return suite, output


def _generators(names: Sequence[str], suite: Suite, terms: CallTerms) -> dict[str, Generator]:
    """By the words that name them; a table of several generators counts them through."""
    from salon.generate import make_generators

    prompts = [source.prompt for source in suite.prompts]
    by_word: dict[str, Generator] = {}
    for name in dict.fromkeys(names):
        generators = make_generators([name], prompts, terms)
        by_word |= {name if len(generators) == 1 else f"{name}#{source.name}": source for source in generators}
    return by_word


def _scorers(texts: Sequence[str], suite: Suite) -> dict[str, Scorer]:
    from salon.judge import make_scorer

    columns = [rule.id for rule in suite.card.preferences]
    by_column: dict[str, Scorer] = {}
    for text in texts:
        column, mark, name = text.partition("=")
        if not mark or column not in columns:
            raise BadValue(
                "a scorer as COLUMN=NAME is needed",
                found=repr(text),
                where="--scorer",
                remedy=f"COLUMN is one of {', '.join(columns) or 'none: the suite has no EPS'}",
            )
        if column in by_column:
            raise BadValue("every column has one scorer", found=f"{column!r} twice", where="--scorer")
        by_column[column] = make_scorer(name)
    return by_column


# -- what would be done ------------------------------------------------------------------------------------------------


def _print_plan(plan: SuitePlan, as_json: bool, *, hosted: bool) -> None:
    if as_json:
        print_json(plan.model_dump(mode="json") | {"calls": plan.calls, "cost_at_most": plan.cost_at_most})
        return
    say(f"{plan.suite} on {plan.board}", bold=True)
    rows: list[tuple[Cell, ...]] = []
    for entry in plan.entries:
        pictures = "published" if entry.published else f"{entry.to_make:,} of {entry.pictures:,}"
        rows.append((entry.entry, pictures, "", "", "", ""))
        for judge in entry.judges:
            who = "" if judge.judge else "nobody named: stays open"
            rows.append(
                (
                    "",
                    "",
                    judge.role,
                    judge.questions,
                    judge.stored,
                    who or (f"{judge.to_ask:,} paid calls" if judge.paid else f"{judge.to_ask:,}, free"),
                )
            )
    print_table(
        None, ("entry", "pictures to make", "judge", "answers", "bought before", "to ask"), rows, left=(0, 2, 5)
    )
    is_priced = plan.cost_at_most is not None
    cost = (
        f", at most {plan.cost_at_most:.4f}"
        if is_priced
        else "; what they cost is not known: give a list with --prices"
    )
    say(f"{plan.calls:,} paid calls of judges" + (cost if plan.calls else ""))
    if hosted and any(entry.to_make for entry in plan.entries):
        say("what hosted generators cost is not in it; --picture-budget bounds it")


# -- what was done -----------------------------------------------------------------------------------------------------


# -- standings ------------------------------------------------------------------------------------------------------

TITLES = {CAPABILITY: "Capability", OVERALL: "Overall"}


def print_standings(board: Board) -> None:
    """Published entries best first, then provisional ones with their bounds, then those taken back."""
    from salon.bench import entry_folder, published_results, read_result, standings

    results = published_results(board)
    card = board.suite.card
    say(f"{card.title}: {len(results):,} published entries of {len(board.entries):,}", bold=True)
    axes_of_entries = [{CAPABILITY, *result.eps, *([OVERALL] if result.overall else [])} for result in results]
    shared = set.intersection(*axes_of_entries) if results else set()
    axes = [axis for axis in (CAPABILITY, *(rule.id for rule in card.preferences), OVERALL) if axis in shared]
    places = {axis: {place.entry: place for place in standings(results, axis).places} for axis in axes}
    titles = TITLES | {rule.id: rule.title for rule in card.preferences}
    columns = ["entry", *(cell for axis in axes for cell in (titles[axis], "rank"))]
    order = list(places[axes[-1]]) if axes else []
    rows = [[name, *(cell for axis in axes for cell in _cells(places[axis][name]))] for name in order]
    if rows:
        print_table(None, columns, rows)
    published = {result.entry for result in results}
    for entry in board.entries:
        if entry.retracted is not None:
            say(f"- {entry.name} was retracted: {entry.retracted.reason}", dim=True)
        elif entry.name not in published:
            provisional = read_result(entry_folder(board, entry.name))
            bounds = f": {_bounds(provisional)}" if provisional else ""
            say(f"- {entry.name} is provisional{bounds}", fg="yellow")
    if results:
        result = results[0]
        counts = {axis: places[axis][result.entry].figure.n for axis in axes}
        level = f"{card.level:.0%} intervals over {prompts_by_axis(counts, titles)}"
        say(f"{level}; ranks hold together; a missing picture or an unread answer is a failure", dim=True)
        say(f"suite {result.suite} {result.suite_hash[:16]}", dim=True)


def prompts_by_axis(counts: Mapping[str, int], titles: Mapping[str, str]) -> str:
    """How many prompts count, axis by axis where they differ."""
    if len(set(counts.values())) == 1:
        return f"{next(iter(counts.values()))} prompts"
    return "prompts: " + ", ".join(f"{titles[axis]} {n}" for axis, n in counts.items())


def _cells(place: Standing) -> tuple[str, str]:
    from salon.report.numbers import fixed

    figure = place.figure
    ranks = str(place.rank) if place.low == place.high else f"{place.rank} ({place.low}-{place.high})"
    return f"{fixed(figure.value, 1)} [{fixed(figure.low, 1)}, {fixed(figure.high, 1)}]", ranks


def _bounds(result: EntryResult) -> str:
    from salon.report.numbers import fixed

    axes = {"Capability": result.capability, **result.eps, **({"Overall": result.overall} if result.overall else {})}
    ends = {name: (fixed(axis.figure.value, 1), fixed(axis.at_best, 1)) for name, axis in axes.items()}
    return ", ".join(
        f"{name} between {low}" + (f" and {high}" if low != high else "") for name, (low, high) in ends.items()
    )


POLICY = "each counts as a failure of all its points, and has no chance against the reference"


def terms_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What is said of an entry."""
    for option in reversed((
        click.option("--name", default="", help="Name of the entry; a bundle brings its own."),
        click.option("--title", default="", help="As shown  [default: the name]"),
        click.option("--generator", default="", help="What made the pictures."),
        click.option("--licence", default="", help="Of the pictures: CC0-1.0, CC-BY-4.0 ..."),
        click.option("--by", default="", help="Who submits it."),
        click.option("--link", default="", help="Address of the generator's page."),
        click.option("--about", default="", help="One or two sentences."),
    )):  # fmt: skip
        command = option(command)
    return command


# -- add -----------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("board", type=click.Path(path_type=Path))
@click.argument("place", type=click.Path(path_type=Path))
@terms_options
@click.option("--suite", metavar="SUITE", help="Make BOARD, a new folder, for this suite.")
@json_option
def add(board: Path, place: Path, suite: str | None, as_json: bool, **terms: str) -> None:
    """Add pictures to BOARD as a new entry.

    PLACE is a bundle, a folder of pictures named PROMPT.png or PROMPT__SEED.png, a table (.csv, .jsonl) with the
    columns prompt, file and seed, or an entry's folder. Pictures that are missing are counted; broken ones, those of
    another size and those of other prompts are refused. salon bench run BOARD then has them judged.

    \b
      salon bench add board flux.salon.zip
      salon bench add board pictures/flux --name flux --licence CC-BY-4.0
      salon bench add board pictures/flux --name flux --licence CC0-1.0 --suite broad
    """
    from salon.bench import EntryTerms, add_entry, is_board, new_board, open_board, open_submission, open_suite

    if is_board(board) and suite is not None:
        raise BadValue("a board has its suite already", found=f"--suite {suite}", where=str(board))
    if not is_board(board) and suite is None:
        raise BadFile(
            "a board is needed",
            found="a folder without a board.json" if board.exists() else "nothing there",
            where=str(board),
            remedy="--suite SUITE makes a new one",
        )
    board_suite = open_board(board).suite if is_board(board) else open_suite(suite or "")
    with (
        progress_bar("looking at pictures", quiet=as_json) as watch,
        open_submission(place, board_suite, EntryTerms.parse(terms), watch=watch) as submission,
    ):
        home = open_board(board) if is_board(board) else new_board(board, board_suite)
        add_entry(home, submission)
    _print_pictures(f"{submission.entry.name} is on {board}", submission, as_json, {"board": str(board)})
    if not as_json:
        say(f"next: salon bench run {board} has its points judged; until then it is not published", dim=True)


def _print_pictures(headline: str, submission: Submission, as_json: bool, more: dict[str, Any]) -> None:
    expected = len(submission.entry.pictures)
    if as_json:
        print_json({**more, "entry": submission.entry.name, "pictures": expected - submission.missing,
                    "missing": submission.missing, "notes": list(submission.notes)})  # fmt: skip
        return
    say(f"{headline}: {expected - submission.missing:,} of {expected:,} pictures", bold=True)
    if submission.missing:
        say(f"{submission.missing:,} missing: {POLICY}", fg="yellow")
    for note in submission.notes:
        say(f"- {note}")


# -- pack ----------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("suite")
@click.argument("place")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help=f"File to write  [default: NAME{ENDING}]"
)
@terms_options
@json_option
def pack(suite: str, place: str, output: Path | None, as_json: bool, **terms: str) -> None:
    """Put pictures for SUITE, or an entry of a board, into one file that anybody can verify and add to a board.

    SUITE is a suite, or a board; PLACE is a folder or table of pictures, or an entry of that board. Pictures of private
    prompts are left out. The same pictures and words give the same bytes.

    \b
      salon bench pack broad pictures/flux --name flux --licence CC-BY-4.0 --by "Black Forest"
      salon bench pack board flux -o flux.salon.zip
    """
    from salon.bench import (
        EntryTerms,
        entry_folder,
        folder_name,
        is_board,
        open_board,
        open_submission,
        open_suite,
        pack as packed,
    )

    if not is_board(Path(suite)):
        board_suite, source = open_suite(suite), Path(place)
    else:
        board = open_board(Path(suite))
        if any(entry.name == place for entry in board.entries) or not Path(place).exists():
            board_suite, source = board.suite, entry_folder(board, board.entry(place).name)
        else:
            board_suite, source = board.suite, Path(place)
    with (
        progress_bar("looking at pictures", quiet=as_json) as watch,
        open_submission(source, board_suite, EntryTerms.parse(terms), publish=True, watch=watch) as submission,
    ):
        target = output or Path(f"{folder_name(submission.entry.name)}{ENDING}")
        packed(submission, target)
    _print_pictures(f"{target}", submission, as_json, {"bundle": str(target)})


# -- retract -------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("board", type=click.Path(path_type=Path))
@click.argument("name")
@click.option("--reason", default="", help="Why, in one sentence: it is shown in the entry's place.")
@click.option("--undo", is_flag=True, help="Give it its place back.")
@json_option
def retract(board: Path, name: str, reason: str, undo: bool, as_json: bool) -> None:
    """Take the entry NAME off BOARD, with the reason in its place; nothing is deleted, no other entry moves.

    \b
      salon bench retract board flux --reason "pictures were chosen from eight tries each"
      salon bench retract board flux --undo
    """
    from salon.bench import open_board, restore as restored, retract as retracted

    home = open_board(board)
    entry = restored(home, name) if undo else retracted(home, name, reason)
    if as_json:
        print_json({"board": str(board), "entry": name, "retracted": entry.retracted and entry.retracted.record()})
        return
    say(f"{name} has its place on {board} again" if undo else f"{name} is retracted: {reason.strip()}", bold=True)
    say("next: salon bench site writes the pages anew", dim=True)


# -- site -----------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("board", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder of the site.")
@click.option("--title", help="Title of the site; that of the suite when not given.")
@click.option("--width", type=click.IntRange(64, 2048), default=480, show_default=True, help="Width of thumbnails.")
@click.option("-q", "--quiet", is_flag=True, help="No bar.")
@figures_option
@json_option
def site(
    board: Path, output: Path, title: str | None, width: int, quiet: bool, figures: Path | None, as_json: bool
) -> None:
    """Write BOARD as a folder of pages that works from the disk and from any web server.

    The folder holds the board, a page for each entry and each prompt, tags, methods and downloads, and thumbnails of
    the pictures. An earlier site in the same folder is replaced whole; any other folder is left alone.

    \b
      salon bench site boards/posters -o site
      salon bench site boards/posters -o site --title "Posters, spring"
      salon bench site boards/posters -o site --figures figures     its charts for a paper, a folder for each page
    """
    from salon.bench import SiteFigures, build_site, open_board

    with progress_bar("pictures and pages", quiet=quiet or as_json) as step:
        charts = None if figures is None else SiteFigures(figures)
        on_page = None if charts is None else charts.write_page
        built = build_site(open_board(board), output, title=title, width=width, progress=step, on_page=on_page)
    if charts is not None:
        say(charts.written.words, err=True)
    if as_json:
        print_json({"site": str(output), "pages": built.pages, "pictures": built.pictures, "broken": built.broken})
        return
    broken = f", {built.broken:,} could not be read" if built.broken else ""
    say(f"{built.pages:,} pages, {built.pictures:,} pictures{broken}: {output / 'index.html'}")
