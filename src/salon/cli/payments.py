"""`salon payments`: what every rater has earned."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path

import click

from salon.cli.console import count, json_option, print_json, print_table, say
from salon.cli.studio import db_option, study_argument, study_folder
from salon.errors import BadValue


@click.command()
@study_argument
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="CSV file to write. Without it the list is printed."
)
@click.option(
    "--with-panel-ids", is_flag=True, help="Name the panel's ids of participant, study and session beside each rater."
)
@click.option(
    "--bonus-only",
    is_flag=True,
    help="With --with-panel-ids: only lines of participant,amount, as Prolific takes them for bulk bonuses.",
)
@db_option
@click.option("--overwrite", is_flag=True, help="Replace a file that is there already.")
@json_option
def payments(
    study: Path,
    output: Path | None,
    with_panel_ids: bool,
    bonus_only: bool,
    db: str | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """List what every rater of STUDY has earned: base pay, bonus by rule, minutes, answers, outcome.

    Rules are in studio.toml under [pay] and [panel]. Salon counts, it does not pay. The ids by which a panel knows its
    people are left out unless they are asked for.

    \b
      salon payments posters
      salon payments posters -o payments.csv --with-panel-ids
      salon payments posters -o bonus.csv --with-panel-ids --bonus-only
    """
    from salon.collect import PANEL_IDS, bonus_lines, open_studio, payment_lines, payments_csv
    from salon.store import check_target, whole_file

    if bonus_only and not with_panel_ids:
        raise BadValue("--bonus-only lists participants", found="no --with-panel-ids", remedy="add --with-panel-ids")
    if output is not None:
        check_target(output, overwrite=overwrite, endings=(".csv",))
    with open_studio(study_folder(study), db, create=False) as studio:
        lines = payment_lines(studio.database, studio.settings, panel_ids=with_panel_ids)
    text = bonus_lines(lines) if bonus_only else payments_csv(lines, panel_ids=with_panel_ids)
    if output is not None:
        with whole_file(output, overwrite=overwrite) as file:
            os.chmod(file.name, 0o600)
            file.write(text.encode())
    if as_json:
        left_out = set() if with_panel_ids else set(PANEL_IDS)
        print_json({"payments": [line.model_dump(mode="json", exclude=left_out) for line in lines]})
        return
    if output is not None:
        total = sum((line.bonus if bonus_only else line.total for line in lines), start=Decimal())
        raters = count(len(text.splitlines()) - (not bonus_only), "rater")
        say(f"wrote {output}: {raters}, {total} {lines[0].currency if lines else ''}".rstrip())
        return
    if bonus_only:
        click.echo(text, nl=False)
        return
    ids = ("participant",) if with_panel_ids else ()
    columns = ("rater", *ids, "cohort", "outcome", "minutes", "answers", "base", "bonus", "total")
    print_table(None, columns, [[getattr(line, name) for name in columns] for line in lines], left=(0, 1, 2, 3))
