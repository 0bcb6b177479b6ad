"""`salon select explain`: why a picture has its score, or stands above another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from salon.cli.console import (
    html_option,
    json_option,
    print_json,
    print_report_table,
    print_table,
    say,
    spinner,
    write_page,
)
from salon.cli.options import options_from, settings_from
from salon.select import ExplainSettings

if TYPE_CHECKING:
    from salon.select import RaterOpinion

_PATH = click.Path(path_type=Path)
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("explain")
@click.argument("picture", type=_FILE)
@click.argument("other", type=_FILE, required=False)
@click.option("-s", "--scorer", "names", multiple=True, metavar="NAME", help="As for salon score (repeatable).")
@click.option("--model", "models", multiple=True, type=_PATH, help="Folder of a trained model (repeatable).")
@click.option("--study", type=_PATH, help="Folder of a study with judgments: neighbours, and where measurements stand.")
@click.option("--prompt", help="What the picture was made for  [default: the prompt of the study's same picture]")
@click.option("-w", "--weights", help="Criterion weights: typography=3,mood=1; *=1 for all others  [default: alike]")
@click.option("--reference", type=_FILE, help="Frozen reference that brings criteria to one scale.")
@click.option("--equal-scales", is_flag=True, help="Declare that all scores are on one scale.")
@options_from(ExplainSettings)
@html_option()
@json_option
def explain_command(
    picture: Path,
    other: Path | None,
    names: Sequence[str],
    models: Sequence[Path],
    study: Path | None,
    prompt: str | None,
    weights: str | None,
    reference: Path | None,
    equal_scales: bool,
    html: Path | None,
    figures: Path | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Why PICTURE has its score; with OTHER, why one stands above the other.

    What each criterion adds to the total is exact: the parts sum to it. Judged pictures that the model sees near it
    (with what raters said of them) and measurements by rule stand beside it: they describe, they are no causes.

    \b
      salon select explain poster.png --model taste --study judged --html why.html
      salon select explain a.png b.png --model taste -w typography=3,mood=1 --json
    """
    from salon.report import MISSING
    from salon.report.numbers import fixed
    from salon.select import contribution_table, explain, explain_page, open_judged_study, read_reference
    from salon.store import open_study
    from salon.study import Prompt

    pictures = [picture] if other is None else [picture, other]
    reference_study = None if study is None else open_judged_study(open_study(study), study)
    with spinner("explaining"):
        explanation = explain(
            pictures, names=names, models=models, judged_study=reference_study,
            prompt=None if prompt is None else Prompt(id="given", text=prompt), weights=weights,
            reference=None if reference is None else read_reference(reference), equal=equal_scales,
            settings=settings_from(ExplainSettings, flags),
        )  # fmt: skip
    write_page(lambda: explain_page(explanation, pictures, study), html, figures)
    if as_json:
        print_json({**explanation.model_dump(mode="json"), "signature_line": str(explanation.signature)})
        return
    if explanation.simulated:
        say("SIMULATED: nobody gave the study's answers.")
    if explanation.difference is not None:
        say(explanation.difference.told, bold=True)
    for detail in explanation.pictures:
        total = (
            "no total" if detail.total is None else f"{detail.total:.3f}" + (f" ± {detail.sd:.3f}" if detail.sd else "")
        )
        say(f"{detail.picture}: {total} ({explanation.scale})", bold=True)
        print_report_table(contribution_table(detail))
        if detail.neighbours:
            counts = {part.criterion for part in detail.contributions if part.share > 0}
            near = [
                (
                    neighbor.item,
                    f"{neighbor.distance:.3f}",
                    "; ".join(
                        map(
                            _said_words,
                            [statement for statement in neighbor.said if statement.criterion in counts]
                            or neighbor.said,
                        )
                    ),
                )
                for neighbor in detail.neighbours
            ]
            print_table("judged pictures near it", ("item", "distance", "raters said"), near, left=(0, 2))
        if detail.measurements:
            stood = [
                (part.name, fixed(part.value), MISSING if part.below is None else f"{part.below:.0%}",
                 part.tells if part.value is not None else f"no value: {part.unmeasured}")
                for part in detail.measurements
            ]  # fmt: skip
            print_table("measured by rule", ("measurement", "value", "study below", ""), stood, left=(0, 3))
    for note in explanation.notes:
        say(f"- {note}")
    say(explanation.caution, dim=True)
    say(str(explanation.signature), dim=True)
    if html is not None:
        say(f"wrote {html}")


def _said_words(statement: RaterOpinion) -> str:
    figure = statement.figure
    around = "" if figure.low is None or figure.high is None else f" [{figure.low:.2f}, {figure.high:.2f}]"
    return f"{statement.criterion} {statement.kind} {figure.value:.2f}{around} by {statement.raters}"
