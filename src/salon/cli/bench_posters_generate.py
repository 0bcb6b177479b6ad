"""The command that has a generator make the posters that poster tasks ask for."""

from __future__ import annotations

from pathlib import Path

import click

from salon.bench.posters.files import find_files
from salon.bench.posters.generate import MadeReport, generate_named
from salon.cli.console import counting, json_option, print_json, print_table, say
from salon.errors import BadValue
from salon.generate.named import HOW, Terms
from salon.generate.settings import GenerateSettings

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option(
    "-g", "--generator", "names", required=True, multiple=True, metavar="NAME",
    help=f"Who makes posters: {HOW} (repeatable).",
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

    Exit code 0 when every poster is there, 1 when some are not: those are worth nothing when scored.

    \b
      salon bench posters generate set -g proof -o proof
      salon bench posters generate set -g openai:gpt-image-1 -o gpt --prices prices.toml --budget 20
      salon bench posters judge proof --measured pixels
      salon bench posters score proof --html proof.html
      salon bench posters compare proof gpt --html generators.html
    """
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
    kept = calls or output.resolve().with_name(f"{output.resolve().name}.calls.sqlite")
    with counting(name, quiet=as_json) as tell:
        report = generate_named(opened, name, output, settings, Terms(kept, prices, budget),
                                watch=lambda progress: tell(progress.done, progress.wanted))  # fmt: skip
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        _print(report, output)
    if report.failed:
        click.get_current_context().exit(1)


def _print(report: MadeReport, output: Path) -> None:
    say(f"{report.generator}: {report.made:,} posters, {report.kept:,} there already, of {report.wanted:,}", bold=True)
    rows = [(f"no poster: {reason}", f"{count:,}") for reason, count in report.failed.items()]
    rows += [(f"asks for none: {task}", f"{count:,}") for task, count in report.not_asked.items()]
    if rows:
        print_table(None, ("", ""), rows)
    if report.cost is not None:
        say(f"cost {report.cost:,.4f}")
    for note in report.notes:
        say(f"- {note}")
    say(f"wrote {output}")
    say(f"salon bench posters judge {output} --measured pixels", dim=True)
