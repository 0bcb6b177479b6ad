"""`salon serve`, `invite`, `status`, `backup`, `restore` and `erase`: run a studio and look after its data.

The web server, the database and the tables are imported when a command runs, so that help and usage errors are quick.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from salon.cli.console import count, json_option, print_json, print_table, say, spinner
from salon.cli.options import trusted_proxy_option
from salon.errors import BadFile, BadValue

if TYPE_CHECKING:
    from salon.collect import RaterData, Studio
    from salon.web.settings import WebSettings

study_argument = click.argument("study", type=click.Path(path_type=Path))
db_option = click.option(
    "--db",
    metavar="URL",
    envvar="SALON_DB",
    help="Database: sqlite:///FILE or postgresql://...; also SALON_DB.  [default: studio.db in STUDY]",
)
base_url_option = click.option("--base-url", metavar="URL", help="Address that people open, without a path.")


# -- serve -------------------------------------------------------------------------------------------------------


@click.command()
@study_argument
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port; 0 takes a free one."
)
@db_option
@base_url_option
@trusted_proxy_option
@click.option("--password", is_flag=True, help="Ask for a new password of the owner, and keep its hash.")
@click.option("--show-link", is_flag=True, help="Print the owner's link; the first start does so by itself.")
@click.option("--new-link", is_flag=True, help="Give the owner a new link, print it, and end all older ones.")
@click.option(
    "--minutes", type=float, help="At the first start: ask each rater for about so long, and write it to studio.toml."
)
@click.option(
    "--criteria",
    multiple=True,
    help="At the first start, of a study without criteria: built-in criterion to ask, or a family such as taste/..."
    " (repeatable).",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    envvar="SALON_WORKERS",
    help="Processes that serve together; several need PostgreSQL; also SALON_WORKERS.",
)
@click.option("--check-config", "only_check", is_flag=True, help="Only check that everything is in order.")
@json_option
def serve(
    study: Path,
    host: str,
    port: int,
    db: str | None,
    base_url: str | None,
    trusted_proxies: tuple[str, ...],
    password: bool,
    show_link: bool,
    new_link: bool,
    minutes: float | None,
    criteria: tuple[str, ...],
    workers: int,
    only_check: bool,
    as_json: bool,
) -> None:
    """Open the studio of STUDY, where raters answer in the browser.

    STUDY may also be a folder of pictures, as for salon import pictures: it becomes a study beside it, STUDY-study. It
    listens on this machine only, unless --host and --base-url say otherwise. The first start copies the study into the
    database, writes studio.toml, which says who is asked what, and prints the owner's link. Stop it with Ctrl-C:
    nothing is lost.

    \b
      salon serve posters
      salon serve renders                                              a folder of pictures
      salon serve posters --minutes 20                                 20 minutes for each rater
      salon serve renders --criteria taste/mood                        ask about the mood
      salon serve posters --check-config
      salon serve posters --db postgresql://salon@/posters --workers 4
      salon serve posters --base-url https://studio.example.org        behind a reverse proxy on this machine
      salon serve posters --host 0.0.0.0 --base-url https://studio.example.org --trusted-proxy 10.89.0.0/24
    """
    from salon.web.settings import WebSettings, check_web_settings, check_workers

    check_workers(workers, db)
    folder = folder_to_serve(study, quiet=as_json)
    settings = check_web_settings(
        WebSettings(folder=folder, host=host, port=port, base_url=base_url, trusted_proxies=trusted_proxies)
    )
    if criteria:
        from salon.collect import choose_criteria

        choose_criteria(folder, criteria)
    if minutes is not None:
        from salon.collect import write_settings_for

        write_settings_for(folder, minutes)
    if only_check:
        from salon.web.app import check_config

        with spinner("looking at pictures") as step:
            checks = check_config(settings, db, progress=step)
        good = all(line.ok for line in checks)
        if as_json:
            print_json({"ok": good, "checks": [vars(line) for line in checks]})
        else:
            rows = [("ok" if line.ok else "NO", line.name, line.words) for line in checks]
            print_table(None, ("", "what", "found"), rows, left=(0, 1, 2))
            say("everything is in order" if good else "not everything is in order", bold=True)
        if not good:
            click.get_current_context().exit(1)
        return
    if password:
        new = click.prompt("New password of the owner", hide_input=True, confirmation_prompt=True)
        from salon.web.auth import new_password

        new_password(folder, new)
        say("kept its hash; the password itself is nowhere")
    _serve(settings, db, as_json, workers=workers, show_link=show_link, new_link=new_link)


def folder_to_serve(place: Path, *, quiet: bool) -> Path:
    """The folder of a study, or of the study made of a folder of pictures."""
    return study_folder(_study_of_pictures(place, quiet=quiet))


def _study_of_pictures(place: Path, *, quiet: bool) -> Path:
    """`place`, or the study made of the pictures in it."""
    from salon.generate import files_below
    from salon.store import is_study

    if is_study(place) or not place.is_dir() or not files_below(place)[0]:
        return place
    study = place.resolve().with_name(f"{place.resolve().name}-study")
    if not is_study(study):
        from salon.cli.study import pictures_as_study, print_pictures

        imported = pictures_as_study(place, study, criterion=None, quiet=quiet)
        if not quiet:
            print_pictures(imported)
    elif not quiet:
        say(f"the pictures of {place} are in {study}; salon import pictures adds others to a new study")
    return study


def _serve(
    settings: WebSettings, db: str | None, as_json: bool, *, workers: int, show_link: bool, new_link: bool
) -> None:
    from salon.collect import open_studio
    from salon.store import held
    from salon.web.server import listen
    from salon.web.settings import owner_token, read_secret, takes_workers, write_address
    from salon.web.workers import serve_studio, serve_workers

    folder = settings.folder
    with held(folder, shared=takes_workers(db)), listen(settings.host, settings.port) as listening:
        settings = settings.model_copy(update={"port": listening.getsockname()[1]})
        with open_studio(folder, db) as studio:
            read_secret(folder)
            write_address(folder, settings.address)
            token, is_new = owner_token(folder, studio.database, renew=new_link)
            link = f"{settings.address}/enter/{token}" if is_new or show_link else None
            _print_served(studio, settings.address, link, as_json)
            if workers == 1:
                serve_studio(studio, settings, listening)
        if workers > 1:
            assert db is not None  # `check_workers` saw to it
            serve_workers(workers, settings, db, listening)


def _print_served(studio: Studio, address: str, link: str | None, as_json: bool) -> None:
    if as_json:
        print_json({"study": studio.name, "address": address, "owner": link})
        return
    if link is None:
        say(f"the studio of {studio.name!r} is open at {address}; --show-link prints the owner's link")
    else:
        say(f"the studio of {studio.name!r} is open; the owner's link, for you alone:")
        say(f"  {link}")
    from salon.collect import describe_questions, workloads

    for line in describe_questions(studio.folder, studio.settings, studio.criteria.values()):
        say(f"  {line}")
    for work in workloads(studio.plan):
        say(f"  {work}")
    cohort = f" --cohort {studio.settings.cohorts[0].id}" if len(studio.settings.cohorts) > 1 else ""
    say(f"invite raters with: salon invite {studio.folder}{cohort} --count 5", dim=True)


# -- is everything in order? -------------------------------------------------------------------------------------


# -- invite, status, backup --------------------------------------------------------------------------------------


@click.command()
@study_argument
@click.option("--cohort", help="Cohort of the new raters, as in studio.toml  [default: the only one]")
@click.option("--count", type=click.IntRange(1, 1000), default=1, show_default=True, help="How many links.")
@db_option
@base_url_option
@json_option
def invite(study: Path, cohort: str | None, count: int, db: str | None, base_url: str | None, as_json: bool) -> None:
    """Make links for new raters of STUDY; each is shown once and belongs to one person.

    The studio may be running. Links begin with the address under which it was served last.

    \b
      salon invite posters --count 5
      salon invite posters --cohort designers --count 5
    """
    from salon.collect import open_studio
    from salon.store import DATABASE, written_inside
    from salon.web.settings import WebSettings, check_web_settings, read_address

    folder = study_folder(study)
    address = check_web_settings(WebSettings(folder=folder, base_url=base_url or read_address(folder))).address
    with written_inside(folder / DATABASE), open_studio(folder, db, cohort=cohort) as studio:
        cohort = cohort or _only_cohort(studio)
        invitations = studio.invite(cohort, count)
    links = [{"rater": row.rater, "link": f"{address}/enter/{row.token}"} for row in invitations]
    if as_json:
        print_json({"cohort": cohort, "links": links})
        return
    print_table(None, ("rater", "link"), [(row["rater"], row["link"]) for row in links], left=(0, 1))


def _only_cohort(studio: Studio) -> str:
    cohorts = [cohort.id for cohort in studio.settings.cohorts]
    if len(cohorts) > 1:
        raise BadValue(
            "--cohort: a cohort must be named where there are several",
            found="none",
            remedy=" or ".join(f"--cohort {cohort}" for cohort in cohorts),
        )
    return cohorts[0]


@click.command()
@study_argument
@db_option
@json_option
def status(study: Path, db: str | None, as_json: bool) -> None:
    """How far the raters of STUDY are.

    \b
      salon status posters
    """
    from salon.collect import open_studio

    with open_studio(study_folder(study), db, create=False) as studio:
        progress = studio.progress()
        judgments = sum(sum(rater.judgments.values()) for rater in progress)
        name = studio.name
    if as_json:
        print_json({"study": name, "judgments": judgments, "raters": [vars(rater) for rater in progress]})
        return
    say(f"{name}: {judgments:,} judgments of {len(progress)} raters", bold=True)
    rows = [
        (
            rater.rater,
            rater.cohort or "",
            rater.status,
            rater.answered,
            rater.total,
            f"{rater.hours:.1f}",
            (
                ""
                if rater.last_at is None
                else datetime.fromtimestamp(rater.last_at / 1000, UTC).strftime("%Y-%m-%d %H:%M")
            ),
        )
        for rater in progress
    ]
    columns = ("rater", "cohort", "status", "answered", "of about", "hours", "last answer (UTC)")
    print_table(None, columns, rows, left=(0, 1, 2))


@click.command()
@study_argument
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@db_option
@click.option("--overwrite", is_flag=True, help="Replace a file that is there already.")
@json_option
def backup(study: Path, file: Path, db: str | None, overwrite: bool, as_json: bool) -> None:
    """Write the database of STUDY's studio to the SQLite file FILE; the studio may be running.

    \b
      salon backup posters posters-monday.db
    """
    from salon.collect import database_file
    from salon.store import open_database

    folder = study_folder(study)
    with open_database(db or database_file(folder)) as database:
        database.backup(file, overwrite=overwrite)
    size = file.stat().st_size
    if as_json:
        print_json({"backup": str(file), "bytes": size})
        return
    say(f"wrote {file}, {size:,} bytes")


@click.command()
@study_argument
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@db_option
@json_option
def restore(study: Path, file: Path, db: str | None, as_json: bool) -> None:
    """Restore the backup FILE into the studio of STUDY, whose database must be empty or absent.

    The same file fits SQLite and PostgreSQL, so a backup of one moves a studio to the other. Links stay valid.

    \b
      salon restore posters posters-monday.db
      salon restore posters posters-monday.db --db postgresql://salon@localhost/posters
    """
    from salon.collect import database_file
    from salon.store import DATABASE, open_database, restore as put_back, written_inside

    folder = study_folder(study)
    with written_inside(folder / DATABASE), open_database(db or database_file(folder), create=True) as database:
        put_back(file, database)
        study_data = database.read_study()
    judgments = {kind: count for kind, count in study_data.counts.items() if kind not in ("prompts", "items", "raters")}
    if as_json:
        print_json({"study": study_data.name, "restored": str(file), "counts": study_data.counts})
        return
    raters = study_data.counts.get("raters", 0)
    say(f"restored {study_data.name!r}: {sum(judgments.values()):,} judgments of {raters:,} raters")


def study_folder(study: Path) -> Path:
    """The folder of a study; BadFile where there is none."""
    from salon.store import is_study

    if not is_study(study):
        raise BadFile(
            "a study is needed: a folder with a study.toml in it",
            found="none there",
            where=str(study),
            remedy="salon init or salon generate makes one",
        )
    return study.resolve()


# -- erase ----------------------------------------------------------------------------------------------------------

ELSEWHERE = (
    "backups, exports, merged studies, labels, reports and models made before still hold what they gave: "
    "make those anew, or delete them"
)


@click.command()
@click.argument("study", type=click.Path())
@click.option("--rater", required=True, metavar="ID", help="Who is erased, by the id in the table of raters.")
@click.option("--yes", is_flag=True, help="Erase without asking.")
@json_option
def erase(study: str, rater: str, yes: bool, as_json: bool) -> None:
    """Delete a rater and everything they gave from the study folder STUDY, for good.

    This deletes their row and all their judgments, and in a studio also profile, consent, visits and links. The study
    gets a new revision, which does not say who was erased. Close an open studio first, or erase on its page of raters.
    Use that page too where the database is elsewhere (salon serve --db).

    \b
      salon erase posters --rater designers-7
      salon erase posters --rater designers-7 --yes --json
    """
    from salon.collect import erase_rater, find_rater_data
    from salon.store import local_path

    folder = local_path(study)
    holding = find_rater_data(folder, rater)
    if not yes:
        if as_json:
            raise BadValue("--yes is needed beside --json: nobody can be asked", remedy="add --yes")
        say(f"erases {rater!r} from {folder} for good: {_erased_words(holding)}")
        click.confirm("Erase?", abort=True)
    erase_rater(folder, holding)
    if as_json:
        print_json({"study": study, "erased": rater, "judgments": holding.judgments, "studio_answers": holding.answers})
        return
    say(f"erased {rater!r} from {folder}: {_erased_words(holding)}")
    say(f"- {ELSEWHERE}", dim=True)


def _erased_words(holding: RaterData) -> str:
    """`12 comparisons and their row in the tables; 30 answers in the studio`."""
    parts = []
    if holding.judgments is not None:
        counts = [f"{number:,} {kind if number > 1 else kind[:-1]}" for kind, number in holding.judgments.items()]
        parts.append(f"{', '.join(counts) or 'no judgments'} and their row among the raters")
    if holding.answers is not None:
        parts.append(f"{count(holding.answers, 'answered question')} in the studio, profile, consent, visits and links")
    return "; ".join(parts)
