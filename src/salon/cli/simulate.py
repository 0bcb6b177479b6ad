"""`salon simulate`: write a simulated study, and print the truth planted in it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from salon.cli.console import json_option, print_json, print_table, result_console, say, spinner
from salon.cli.options import options_from, output_option, overwrite_option, settings_from
from salon.collect import SimulateSettings
from salon.errors import BadFile, BadValue

if TYPE_CHECKING:
    from salon.collect import PlantedTruth
    from salon.study import Study

PRESETS = ("taste-like", "taste-drawn", "ppaint-like", "designers")


@click.command()
@output_option("Folder of the new study.")
@click.option(
    "--preset",
    type=click.Choice(PRESETS),
    help="A study made ready: designers, the same with drawn posters, painting experts, or designers who look at "
    "posters you have drawn (with --posters).",
)
@click.option(
    "--posters",
    type=click.Path(file_okay=False, path_type=Path),
    help="With --preset designers: the study that salon generate drew; -o may be the same folder.",
)
@click.option("--controls", is_flag=True, help="Add random raters and factions to taste-like.")
@click.option(
    "--category-levels",
    type=click.FloatRange(0, 20),
    default=0.0,
    help="With --preset ppaint-like: how far the best category lies above the mean of all, in logits.",
)
@options_from(SimulateSettings)
@overwrite_option
@json_option
@click.pass_context
def simulate(
    ctx: click.Context,
    /,
    output: Path,
    preset: str | None,
    posters: Path | None,
    controls: bool,
    category_levels: float,
    overwrite: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Write a simulated study, and print the truth that was planted in it.

    Nobody gave these answers: the study says so (simulated = true), and so does every report made from it. Use it to
    see what a check finds when the truth is known, to rehearse an analysis, or to test at size.

    \b
      salon simulate -o study --preset taste-like                nine criteria, ten designers: the shape of TASTE
      salon simulate -o study --preset taste-drawn               the same shape, 2,880 posters drawn and judged
      salon simulate -o study --preset ppaint-like               the same experts compare and rate paintings
      salon simulate -o study --preset ppaint-like --category-levels 1
      salon simulate -o judged --preset designers --posters study
      salon simulate -o study --prompts 200 --tau 0.2            one shared order, mean tau 0.2
      salon simulate -o study --model uniform                    no preference at all
      salon simulate -o study --model factions --factions 3 --factions 2
      salon simulate -o study --protocol comparisons --position-bias 0.1 --careless 1
      salon simulate -o big --prompts 1000000                    a million prompts
    """
    from salon.collect import planted, simulate_study
    from salon.store import is_study, save_study

    if is_study(output) and not overwrite:
        raise BadFile(
            "a study is only replaced when asked to",
            found="a study that is there already",
            where=str(output),
            remedy="choose another place, or add --overwrite",
        )
    on_command_line = {name for name in flags if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT}
    if (preset == "designers") != (posters is not None):
        raise BadValue("--preset designers and --posters STUDY go together", found=f"--preset {preset}" if preset else
                       "no --preset")  # fmt: skip
    if controls and preset != "taste-like":
        raise BadValue("--controls belongs to taste-like", found=preset or "no --preset",
                       remedy="leave it out, or use --preset taste-like")  # fmt: skip
    if category_levels and preset != "ppaint-like":
        raise BadValue("--category-levels belongs to ppaint-like", found=preset or "no --preset",
                       remedy="leave it out, or use --preset ppaint-like")  # fmt: skip
    seed = flags["seed"] if "seed" in on_command_line else None
    if preset == "taste-drawn":
        _check_preset_flags(on_command_line - {"seed", "prompts"}, seed)
        study, truth = _drawn_study(output, flags["prompts"], seed)
    else:
        if preset:
            study, truth = _preset(preset, on_command_line - {"seed"}, seed, controls, category_levels, posters)
        else:
            settings = settings_from(SimulateSettings, flags)
            study, truth = simulate_study(settings), planted(settings)
        save_study(study, output, overwrite=overwrite, images=posters)
    if as_json:
        print_json(
            {
                "study": str(output),
                "simulated": True,
                "name": study.name,
                "counts": study.counts,
                "planted": [asdict(row) for row in truth],
                "data": study.hash[:12],
            }
        )
    else:
        say(f"SIMULATED: nobody gave these answers. Study {study.name!r} written to {output}")
        print_table(None, ("table", "rows"), list(study.counts.items()))
        say("planted, with the mean Kendall tau to expect between raters:")
        width = max(len(row.criterion) for row in truth)
        for row in truth:  # lines, not a table: a truth may be longer than a terminal is wide
            say(f"- {row.criterion:<{width}}  tau {row.tau:.3f}  {row.truth}")
        for cohort in study.cohorts:
            if cohort.note:
                say(f"- cohort {cohort.id}: {cohort.note}")
        result_console().print(f"next: salon check {output}", style="dim", markup=False)


def _preset(
    preset: str, on_command_line: set[str], seed: int | None, controls: bool, levels: float, posters: Path | None
) -> tuple[Study, tuple[PlantedTruth, ...]]:
    from salon.collect import (
        DesignerSettings,
        designers_planted,
        designers_study,
        ppaint_like_planted,
        ppaint_like_study,
        taste_like_study,
        taste_like_truth,
    )

    _check_preset_flags(on_command_line, seed)
    if preset == "taste-like":
        return taste_like_study(seed, controls), taste_like_truth(controls)
    if posters is not None:
        settings = DesignerSettings() if seed is None else DesignerSettings(seed=seed)
        return designers_study(posters, settings), designers_planted(posters, settings)
    return ppaint_like_study(seed, levels=levels), ppaint_like_planted(seed, levels=levels)


def _drawn_study(output: Path, prompts: int, seed: int | None) -> tuple[Study, tuple[PlantedTruth, ...]]:

    from salon.collect.simulate import taste_drawn as flow  # it draws: that needs more libraries

    with spinner("drawing"):
        result: tuple[Study, tuple[PlantedTruth, ...]] = flow.draw_taste_study(output, prompts=prompts, seed=seed)
        return result


def _check_preset_flags(names: set[str], seed: int | None) -> None:
    if names:
        flags = ", ".join("--" + name.replace("_", "-") for name in sorted(names))
        raise BadValue(
            "a preset has its own size and laws; only --seed goes with it, --controls with taste-like, and --prompts "
            "with taste-drawn",
            found=flags,
            remedy="leave these flags out, or leave --preset out",
        )
    if seed is not None and seed < 0:
        raise BadValue("--seed: a number of at least 0 is needed", found=seed)
