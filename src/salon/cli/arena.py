"""`salon arena`: a public arena: serve it, print its board, report anomalies, release its votes."""

from __future__ import annotations

import multiprocessing
import os
import secrets
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from salon.bench import PublicArenaSettings
from salon.cli.console import count, json_option, print_json, print_table, say, spinner
from salon.cli.options import SectionedCommand, options_from, settings_from, trusted_proxy_option
from salon.web.arena.settings import VOTER_LIMITS, ArenaWebSettings

if TYPE_CHECKING:
    from salon.bench import LiveBoard, PublicArena, RefitResult

MOST_ROWS = 60
study_argument = click.argument("study", type=click.Path(path_type=Path))
db_option = click.option(
    "--db",
    metavar="URL",
    envvar="SALON_ARENA_DB",
    help="Database: sqlite:///FILE or postgresql://...; also SALON_ARENA_DB.  [default: arena.db in STUDY]",
)


@click.command(cls=SectionedCommand)
@study_argument
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8200, show_default=True, help="Port; 0 takes a free one."
)
@db_option
@click.option("--base-url", metavar="URL", help="Address that voters open, without a path.")
@trusted_proxy_option
@click.option("--refit/--no-refit", default=True, show_default=True, help="Fit the board beside the server.")
@options_from(ArenaWebSettings, only=VOTER_LIMITS, section="Voters")
@options_from(PublicArenaSettings, section="Ballots and board")
@json_option
def serve(study: Path, db: str | None, refit: bool, as_json: bool, **flags: Any) -> None:
    """Open a public arena of the pictures in STUDY: strangers vote, learn who made what, and see a live board.

    STUDY may also be a folder of pictures, one folder for each generator, as for salon import pictures. The votes are
    in a database of their own, so a studio of the same study is left alone. On PostgreSQL any number of servers may
    open one arena with the same flags and the same folder; one of them at a time fits the board.

    \b
      salon arena serve posters
      salon arena serve renders --criterion taste/mood --ballots both
      salon arena serve posters --covariate size --covariate brightness --difficulty 18
      salon arena serve posters --db postgresql://salon@db/arena --host 0.0.0.0 --base-url https://arena.example.org
    """
    from salon.bench import open_public_arena
    from salon.cli.studio import folder_to_serve
    from salon.web.arena.app import create_arena_app
    from salon.web.server import listen, serve_app
    from salon.web.settings import check_web_settings

    folder = folder_to_serve(study, quiet=as_json)
    settings = settings_from(PublicArenaSettings, flags)
    web = settings_from(ArenaWebSettings, flags | {"folder": folder})
    check_web_settings(web)
    with ExitStack() as stack:
        listening = stack.enter_context(listen(web.host, web.port))
        web = web.model_copy(update={"port": listening.getsockname()[1]})
        arena = stack.enter_context(open_public_arena(folder, db, settings, create=True))
        app = create_arena_app(arena, web)
        if refit:
            _start_fitting(folder, db, settings, web.keep_days, stack)
        _print_served(arena, web.address, as_json)
        serve_app(app, web, listening)


def _start_fitting(
    folder: Path, db: str | None, settings: PublicArenaSettings, keep_days: float, stack: ExitStack
) -> None:
    """A process that fits the board beside the server, and ends with it."""
    from salon.bench import watch_board

    context = multiprocessing.get_context("spawn")
    process = context.Process(
        target=watch_board, args=(folder, db, settings, keep_days, os.getpid()), daemon=True, name="salon arena board"
    )
    process.start()
    stack.callback(process.join, 10)
    stack.callback(process.terminate)


def _print_served(arena: PublicArena, address: str, as_json: bool) -> None:
    field = arena.field
    facts = {"generators": len(field.generators), "prompts": len(field.prompts), "pictures": len(field.items)}
    if as_json:
        print_json({"study": arena.name, "address": address, "board": f"{address}/board", **facts})
        return
    say(f"the arena of {arena.name!r} is open at {address}; its board at {address}/board")
    say("  " + ", ".join(f"{number:,} {what}" for what, number in facts.items()))


@click.command()
@study_argument
@db_option
@options_from(PublicArenaSettings)
@json_option
def board(study: Path, db: str | None, as_json: bool, **flags: Any) -> None:
    """Fit the board of the arena of STUDY now, and print it: with and without what the anomaly report flags.

    The arena may be open. Give the flags it is served with.

    \b
      salon arena board posters
      salon arena board posters --covariate brightness --exclude nobody --json
    """
    result, _ = _fitted(study, db, flags)
    if as_json:
        print_json(result.board)
        return
    print_live_board(result.board)


@click.command()
@study_argument
@db_option
@options_from(PublicArenaSettings)
@json_option
def report(study: Path, db: str | None, as_json: bool, **flags: Any) -> None:
    """Which voters of the arena of STUDY vote unlike all others, and when one generator did unlike its own history.

    A flag is no proof: it says that votes follow something that all other votes do not. Numbers of voters are those of
    the database and stand in no release. Exit code 1 where anything is flagged.

    \b
      salon arena report posters
      salon arena report posters --window-minutes 15 --json
    """
    result, _ = _fitted(study, db, flags)
    found = result.anomalies
    voters, floods = (() if found is None else found.voters), (() if found is None else found.floods)
    if as_json:
        tested, spread = (0, {}) if found is None else (found.tested, found.spread)
        print_json({
            "tested": tested,
            "voters": [voter.model_dump(mode="json") for voter in voters],
            "floods": [flood.model_dump(mode="json") for flood in floods],
            "spread": spread,
            "signature": result.board.signature_line,
        })  # fmt: skip
    elif found is None:
        say("no votes to test yet")
    else:
        _print_anomalies(result)
    if voters or floods:
        click.get_current_context().exit(1)


@click.command()
@study_argument
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder of the dataset.")
@click.option(
    "--to", type=click.Choice(["huggingface", "parquet", "csv", "jsonl"]), default="huggingface", show_default=True,
    help="Form of the tables; huggingface has a data card.",
)  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace a dataset that is there already.")
@db_option
@options_from(PublicArenaSettings)
@json_option
def release(study: Path, output: Path, to: str, overwrite: bool, db: str | None, as_json: bool, **flags: Any) -> None:
    """Write the votes of the arena of STUDY as a dataset that every command reads.

    No cookie, address, device or time of day is in it; voters get new names at every release. Nothing is left out for
    what it says: what the anomaly report flags is marked in the table of votes.

    \b
      salon arena release posters -o posters-votes
      salon arena release posters -o posters-votes --to csv
      salon check posters-votes
      salon bench arena posters-votes
    """
    from salon.bench import VoteReader, open_public_arena, release_votes, write_release

    result, folder = _fitted(study, db, flags)
    settings = settings_from(PublicArenaSettings, flags)
    with open_public_arena(folder, db, settings) as arena, spinner("writing votes"):
        votes = VoteReader(arena.database, arena.criterion).read()
        dataset = release_votes(arena, votes, result.anomalies, seed=secrets.randbits(128))
        write_release(dataset, output, form=to, overwrite=overwrite)
    voters = dataset.study.counts.get("raters", 0)
    if as_json:
        print_json(
            {"output": str(output), "votes": dataset.votes.num_rows, "voters": voters, "left_out": dataset.left_out}
        )
        return
    say(f"wrote {output}: {dataset.votes.num_rows:,} votes of {voters:,} voters under new names")
    if dataset.left_out:
        say(f"- {dataset.left_out:,} votes say 'all bad' of four, or name pictures that are gone: the study has none")


# -- printing ----------------------------------------------------------------------------------------------------------


def _fitted(study: Path, db: str | None, flags: dict[str, Any]) -> tuple[RefitResult, Path]:
    """The board as of now."""
    from salon.bench import BoardFitter, open_public_arena
    from salon.cli.studio import folder_to_serve

    folder = folder_to_serve(study, quiet=True)
    with open_public_arena(folder, db, settings_from(PublicArenaSettings, flags)) as arena, spinner("fitting") as step:
        return BoardFitter(arena, progress=step).fit(), folder


def print_live_board(live: LiveBoard) -> None:
    """The board by the stated policy, then what it set aside."""
    say(f"{live.question}  {count(live.votes, 'vote')} of {count(live.voters, 'voter')}", bold=True)
    _print_places(live, everyone=False)
    if live.waiting:
        say(f"{count(len(live.waiting), 'generator')} with fewer than {live.least_votes:,} votes not shown")
    for effect in live.effects:
        ends = f"{effect.beta.low:+.2f} to {effect.beta.high:+.2f}"
        say(f"- {effect.covariate}: {effect.beta.value:+.2f} logits ({ends}) for {effect.unit}")
    for note in live.notes:
        say(f"- {note}")
    say(f"- {live.policy} Set aside: {count(live.set_aside, 'vote')}, {count(live.flagged_voters, 'voter')}, "
        f"{count(len(live.floods), 'flood')}.")  # fmt: skip
    if live.set_aside:
        click.echo()
        say("If nothing is set aside:", bold=True)
        _print_places(live, everyone=True)
    say(f"{live.method} · fitted in {live.seconds:.1f} s", dim=True)
    say(live.signature_line, dim=True)


def _print_places(live: LiveBoard, *, everyone: bool) -> None:
    rows = [
        (
            place.rank,
            f"{place.rank_low} to {place.rank_high}",
            place.generator,
            "" if place.points is None else f"{place.points.value:,.0f}",
            "" if place.points is None or place.points.low is None or place.points.high is None
            else f"{place.points.low:,.0f} to {place.points.high:,.0f}",
            f"{place.n:,}",
        )
        for place in (live.everyone if everyone else live.places)[:MOST_ROWS]
    ]  # fmt: skip
    print_table(
        None, ("place", "may be", "generator", "points", f"{live.level:.0%} interval", "votes"), rows, left=(2,)
    )


def _print_anomalies(result: RefitResult) -> None:
    found = result.anomalies
    assert found is not None  # the caller looked
    say(f"{count(found.tested, 'voter')} tested: {count(len(found.voters), 'voter')} and "
        f"{count(len(found.floods), 'flood')} flagged", bold=True)  # fmt: skip
    if found.voters:
        rows = [
            (voter.voter, voter.by, voter.follows, voter.votes, f"{voter.slope:+.1f}", f"{voter.p:.1e}")
            for voter in found.voters[:MOST_ROWS]
        ]
        print_table(None, ("voter", "by", "follows", "duels", "logits", "p at most"), rows, left=(1, 2))
        if len(found.voters) > MOST_ROWS:
            say(f"... and {len(found.voters) - MOST_ROWS:,} more: --json holds all", dim=True)
    if found.floods:
        floods = [
            (flood.generator, datetime.fromtimestamp(flood.start / 1000, UTC).strftime("%Y-%m-%d %H:%M"),
             flood.minutes, flood.votes, f"{flood.slope:+.1f}", f"{flood.p:.1e}")
            for flood in found.floods
        ]  # fmt: skip
        print_table(None, ("generator", "from (UTC)", "minutes", "duels", "logits", "p at most"), floods, left=(0, 1))
    say(f"- {result.board.policy}")
