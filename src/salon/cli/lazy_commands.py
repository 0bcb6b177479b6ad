"""Commands that import what they run only when they are called: `bench`, `distill`, `select` and `demo`."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click


def load_command(place: str) -> click.Command:
    """The command at `module:attribute`."""
    module, attribute = place.split(":")
    command: click.Command = getattr(importlib.import_module(module), attribute)
    return command


class LazyGroup(click.Group):
    """`lazy` maps names to (module:attribute, one line for the list of commands)."""

    def __init__(self, *args: Any, lazy: Mapping[str, tuple[str, str]] | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.lazy = dict(lazy or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.commands, *self.lazy]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return load_command(self.lazy[name][0]) if name in self.lazy else super().get_command(ctx, name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own = [(name, command.get_short_help_str(100)) for name, command in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl([*own, *((name, help) for name, (_, help) in self.lazy.items())])


# -- bench ----------------------------------------------------------------------------------------------------------

BENCH_COMMANDS: dict[str, tuple[str, str]] = {
    "list": ("salon.cli.bench_suites:list_", "The suites that come with Salon, or what a suite or a board holds."),
    "run": ("salon.cli.bench_boards:run", "Run generators on a suite, have their pictures judged, and keep a board."),
    "verify": ("salon.cli.bench_suites:verify", "Is a suite, a board or a bundle what it says it is?"),
    "diff": ("salon.cli.bench_suites:diff", "What moved between two boards, by how much, and why."),
    "site": ("salon.cli.bench_boards:site", "A board as a folder of pages."),
    "add": ("salon.cli.bench_boards:add", "Add pictures to a board as a new entry."),
    "pack": ("salon.cli.bench_boards:pack", "Put pictures for a suite into one file to send."),
    "retract": ("salon.cli.bench_boards:retract", "Take an entry off a board, with the reason in its place."),
    "new": ("salon.cli.bench_suites:new", "Start a suite of your own."),
    "hide": ("salon.cli.bench_suites:hide", "Make prompts of a suite private."),
    "freeze": ("salon.cli.bench_suites:freeze", "Lock a suite: any change is refused from now on."),
    "arena": ("salon.cli.bench_arena:arena", "Which generators raters prefer: boards by criterion, as snapshots."),
    "raters": ("salon.cli.bench_arena:raters", "What scorers and judges are worth against people, on several studies."),
    "rewards": ("salon.cli.bench_rewards:rewards", "Mean scores of generators by category; a report on one of them."),
    "posters": ("salon.cli.bench_posters:posters", "Understanding and making posters: PosterIQ's tasks, done right."),
}


@click.group(cls=LazyGroup, lazy=BENCH_COMMANDS)
def bench() -> None:
    """Leaderboards of generators whose published numbers never change.

    \b
      salon bench run posters -g atelier -g proof -o board     draw a suite, have it judged, keep a board
      salon bench verify board                                 is every number still what was published?
      salon bench site board -o site                           pages
    """


# -- arena ----------------------------------------------------------------------------------------------------------

ARENA_COMMANDS: dict[str, tuple[str, str]] = {
    "serve": ("salon.cli.arena:serve", "Open a public arena in the browser."),
    "board": ("salon.cli.arena:board", "Fit the live board now, and print it."),
    "report": ("salon.cli.arena:report", "Voters unlike all others, and floods for one generator."),
    "release": ("salon.cli.arena:release", "Write the votes as a dataset, under new names."),
}


@click.group(cls=LazyGroup, lazy=ARENA_COMMANDS)
def arena() -> None:
    """A public arena: anonymous voters compare pictures of a study, and a live board ranks the generators.

    \b
      salon arena serve study                                   open it; http://127.0.0.1:8200
      salon arena board study                                   the board now
      salon arena report study                                  who votes unlike all others
      salon arena release study -o votes                        the votes as a dataset
    """


# -- distill --------------------------------------------------------------------------------------------------------

DISTILL_COMMANDS: dict[str, tuple[str, str]] = {
    "label": ("salon.cli.distill:label", "Labels for items from a VLM's own answers, without people."),
    "train": ("salon.cli.distill:train", "Train a VLM to score pictures in one pass, from labels."),
    "evaluate": ("salon.cli.distill:evaluate", "Predicted scores against what people gave, with intervals."),
    "ablate": ("salon.cli.distill:ablate", "The same distillation with one setting changed at a time."),
}


@click.group(cls=LazyGroup, lazy=DISTILL_COMMANDS)
def distill() -> None:
    """Turn a VLM's comparisons into calibrated pseudo-scores, and train it to give them in one pass.

    \b
      salon distill label study -o labels --model openai:qwen@http://localhost:8000/v1
      salon distill train study --labels labels --vlm weights/Qwen3-VL-8B-Instruct -o scorer
      salon distill evaluate study --model scorer --html report.html
    """


# -- select ---------------------------------------------------------------------------------------------------------

SELECT_COMMANDS: dict[str, tuple[str, str]] = {
    "best": ("salon.cli.select_best:best", "The best picture of each prompt: of a study, of files, or of N drawn."),
    "gate": ("salon.cli.select_decisions:gate", "Hold back what is likely to be flagged, with a promised recall."),
    "route": ("salon.cli.select_decisions:route", "Which generator to call, by criterion weights and category."),
    "cohp": ("salon.cli.select_loops:cohp", "Scores choose who draws, then draw on from the best picture."),
    "refine": ("salon.cli.select_loops:refine", "Draw, have a VLM look and revise the prompt, draw again."),
    "reference": ("salon.cli.select_best:reference", "Freeze where scores lie on a study, to weigh criteria by."),
    "explain": ("salon.cli.select_explain:explain_command", "Why a picture has its score, or stands above another."),
    "pairs": ("salon.cli.select_decisions:pairs", "Preference pairs for DPO, in the columns of diffusers and TRL."),
    "feedback": ("salon.cli.select_decisions:feedback", "Later human choices of a service's log, as a study."),
    "drift": ("salon.cli.select_decisions:drift", "Have a service's scores moved, and do people still agree?"),
}


@click.group(cls=LazyGroup, lazy=SELECT_COMMANDS)
def select() -> None:
    """Pick the best picture, hold back bad ones, choose a generator, and draw better ones.

    \b
      salon select best study --model taste-heads                                   the best picture of every prompt
      salon select best briefs:posters -g atelier -n 8 -s palette -o picked --limit 4    the best of eight drawings
      salon select explain poster.png --model taste-heads --html why.html           why a picture has its score
    """


# -- demo -----------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=Path("demo"))
def demo(folder: Path) -> None:
    """Run the whole pipeline on a small example, offline, and leave its pages in FOLDER (default: demo).

    Four built-in generators draw 24 briefs; simulated designers and judges compare the posters; the answers are
    checked, fused and learned from; a leaderboard is measured; the best of six drawings is picked. Takes about two
    minutes. The last lines name the pages to open.

    \b
      salon demo
      salon demo somewhere/else
    """
    from salon.cli.demo import run

    run(folder)
