"""The entry point of `salon`: finds the command, and turns errors into messages and exit codes.

Exit codes: 0 done; 1 done, but something is missing or the answer is no; 2 misuse or bad input; 70 Salon's own fault.
Commands are imported when they are called, so `salon --help` starts in a tenth of a second.
"""

from __future__ import annotations

import difflib
import io
import json
import os
import sys
from collections.abc import Sequence

import click

from salon.cli.lazy_commands import load_command
from salon.errors import BadFile, SalonError

COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "Start": {
        "demo": ("salon.cli.lazy_commands:demo", "Run the whole pipeline on a small example, offline."),
    },
    "Study": {
        "init": ("salon.cli.study:init", "Start an empty study folder."),
        "import": ("salon.cli.study:import_", "Read a file of judgments into a study."),
        "export": ("salon.cli.study:export", "Write a study as Parquet, CSV, JSONL or a Hugging Face folder."),
        "merge": ("salon.cli.study:merge_", "Put several studies into one."),
        "erase": ("salon.cli.studio:erase", "Delete a rater and everything they gave."),
        "simulate": ("salon.cli.simulate:simulate", "Write a simulated study with a known truth."),
    },
    "Generate": {
        "generate": ("salon.cli.generate:generate", "Make a picture for each prompt by each generator."),
        "ready": ("salon.cli.generate:ready", "Are the pictures of a study ready to be shown?"),
        "gallery": ("salon.cli.generate:gallery", "A contact sheet of a study's pictures, by prompt and generator."),
    },
    "Collect": {
        "serve": ("salon.cli.studio:serve", "Open the studio of a study, where raters answer in the browser."),
        "arena": (
            "salon.cli.lazy_commands:arena",
            "A public arena: strangers vote on pictures, and a live board ranks who made them.",
        ),
        "invite": ("salon.cli.studio:invite", "Make links for new raters."),
        "status": ("salon.cli.studio:status", "How far the raters are."),
        "payments": ("salon.cli.payments:payments", "What every rater has earned, with bonuses."),
        "backup": ("salon.cli.studio:backup", "Back up a studio's database."),
        "restore": ("salon.cli.studio:restore", "Restore a backup into an empty database."),
    },
    "Check": {
        "check": ("salon.cli.check:check", "Is there signal in these judgments, and how good can a model get?"),
        "null": ("salon.cli.check:null", "The law of agreement under random raters, exact where feasible."),
        "anchor": ("salon.cli.check:anchor", "Agreement in another data set, at the same number of items and raters."),
        "plan": ("salon.cli.check:plan", "How large must a study be? Its power, and how many pairs to compare."),
    },
    "Fuse": {
        "fuse": ("salon.cli.fuse:fuse", "One score with its interval for each item and criterion."),
        "bridge": ("salon.cli.bridge:bridge", "Score many items from few comparisons, without labels."),
        "labels": ("salon.cli.fuse:labels", "Write labels for training: majority and soft, split by prompt."),
    },
    "Train": {
        "train": ("salon.cli.train:train", "Learn what people prefer: heads, reward models, sweeps, probes."),
        "evaluate": ("salon.cli.evaluate:evaluate", "How good a trained model is, beside what people reach."),
        "distill": ("salon.cli.lazy_commands:distill", "From a VLM's own comparisons to a calibrated one-pass scorer."),
    },
    "Judge": {
        "judge": ("salon.cli.judge:judge", "Ask models which picture is better, and report how reliable they are."),
        "score": (
            "salon.cli.score:score",
            "Give pictures numbers: measurements, networks, released or own models.",
        ),
    },
    "Bench": {
        "bench": ("salon.cli.lazy_commands:bench", "Leaderboards of generators whose published numbers never change."),
    },
    "Select": {
        "select": (
            "salon.cli.lazy_commands:select",
            "Choose the best of several pictures; gates, routes and better drawings.",
        ),
        "serve-scores": ("salon.cli.serve_scores:serve_scores", "Serve scores, comparisons and picks over HTTP."),
    },
    "Extend": {
        "plugins": ("salon.cli.plugins:plugins", "Parts that other packages add: list them, check them."),
    },
}


class StageGroup(click.Group):
    """A group that imports a command's module only when that command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for stage in COMMANDS.values() for name in stage]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return next((load_command(stage[name][0]) for stage in COMMANDS.values() if name in stage), None)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            close = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            if close:
                raise click.UsageError(f"{error.message} Did you mean {close[0]!r}?", ctx=error.ctx) from None
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for stage, commands in COMMANDS.items():
            with formatter.section(stage):
                formatter.write_dl([(name, help) for name, (_, help) in commands.items()])


@click.command(cls=StageGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="salon", prog_name="salon", message="%(prog)s %(version)s")
def salon() -> None:
    """Salon makes taste measurable.

    Make pictures from prompts, or bring your own. Ask people and models which are better, or bring judgments
    (comparisons, rankings, ratings, flags) in almost any file; Salon tells whether they carry signal, how good a model
    could get on them, and which picture or generator is better, with numbers you can publish.

    \b
    Pictures from the built-in briefs, drawn offline:
      salon generate briefs --limit 20 -g atelier -g carnival -o study
      salon gallery study -o gallery.html

    \b
    Ask people, in the browser:
      salon serve study

    \b
    From a CSV of votes to a report:
      salon import comparisons votes.csv --left left --right right --outcome winner --rater worker -o study
      salon check study --html check.html

    \b
    The best of eight drawings, and why:
      salon select best briefs:posters --limit 4 -g atelier -n 8 -s palette -o picked

    STUDY is a study folder or the address of a studio's database; check, fuse, judge report and anchor also take a file
    of judgments. Every command takes --json for scripts.
    """


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code; no traceback reaches a user (SALON_DEBUG=1 shows it)."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _main(arguments)
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.Abort:
        click.echo("stopped", err=True)
        sys.exit(130)
    except click.ClickException as error:
        _with_suggestion(error).show()
        sys.exit(2)
    except SalonError as error:
        _print_error(error.message(), error.as_json(), arguments)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        _discard_stdout()
        sys.exit(0)
    except RecursionError:  # by whichever reader: few formats bound how deep a text may be nested
        deep = BadFile("files of few levels are needed", found="one nested without end", remedy="mend or remove it")
        _print_error(deep.message(), deep.as_json(), arguments)
        sys.exit(2)
    except OSError as error:
        _print_path_error(error.strerror or str(error), error.filename, arguments)
        sys.exit(2)
    except UnicodeEncodeError as error:
        odd = BadFile("names and texts that UTF-8 can hold are needed", found=repr(error.object[error.start :][:60]),
                      remedy="rename the file or folder")  # fmt: skip
        _print_error(odd.message(), odd.as_json(), arguments)
        sys.exit(2)
    except Exception as error:
        if str(error).startswith("Symlink loop from"):  # a RuntimeError of Python before 3.13, an OSError since
            _print_path_error(
                "a symbolic link that leads to itself", str(error).partition("from ")[2].strip("'"), arguments
            )
            sys.exit(2)
        if os.environ.get("SALON_DEBUG"):
            raise
        text = (
            f"Salon failed: {type(error).__name__}: {error}\n  do:    run again with SALON_DEBUG=1 and report the trace"
        )
        _print_error(
            text, {"error": "Internal", "needed": str(error), "found": None, "where": None, "remedy": None}, arguments
        )
        sys.exit(70)


def _with_suggestion(error: click.ClickException) -> click.ClickException:
    """The error with the nearest word, where one of several was needed; click suggests only commands and options."""
    if not isinstance(error, click.BadParameter) or error.param is None or " is not one of " not in error.message:
        return error
    kind = error.param.type
    if not isinstance(kind, click.Choice):
        return error
    word = error.message.partition(" is not one of ")[0].strip("'\"")
    close = difflib.get_close_matches(word, [str(choice) for choice in kind.choices], n=1)
    if not close:
        return error
    return click.BadParameter(
        f"{error.message} Did you mean {close[0]!r}?", ctx=error.ctx, param=error.param, param_hint=error.param_hint
    )


def _main(arguments: Sequence[str]) -> object:
    try:
        return salon.main(args=arguments, prog_name="salon", standalone_mode=False)
    except SystemExit:  # click's own answer to a reader that went away: `salon null | head -1` is no failure
        return 0


def _print_path_error(problem: str, where: object, arguments: Sequence[str]) -> None:
    error = BadFile(
        "a place that can be read and written is needed",
        found=problem,
        where=str(where) if where else None,
        remedy="choose another place, or check its permissions and free space; what was there before is unchanged",
    )
    _print_error(error.message(), error.as_json() | {"error": "OSError"}, arguments)


def _print_error(text: str, record: dict[str, str | None], arguments: Sequence[str]) -> None:
    """The message for a person on stderr; for a machine that asked for --json, one JSON object on stdout too."""
    try:
        click.secho("error: ", fg="red", bold=True, nl=False, err=True)
        click.echo("".join(c if c.isprintable() or c == "\n" else "�" for c in text), err=True)
        if "--json" in arguments:
            click.echo(json.dumps(record))  # in ASCII: what was found may hold anything
    except OSError:  # the reader went away, or the disk that takes the output is full
        _discard_stdout()


def _discard_stdout() -> None:
    """The reader went away: what is still to be written goes nowhere, and leaves without a complaint."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
