"""The docs tell the truth: generated pages are fresh, links lead somewhere, commands parse, Python runs."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import jsonschema
import pytest
from click.testing import CliRunner

from salon.cli.main import COMMANDS, run, salon
from salon.store import null_for
from tools import reference

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")])
GENERATED = (
    "commands.md",
    "api.md",
    "check-json.md",
    "fuse-json.md",
    "generate-json.md",
    "judge-json.md",
    "train-json.md",
    "bench-json.md",
    "select-json.md",
    "layout.schema.json",
)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS_A_STUDY = {"docs/data.md": "its blocks are one study, opened by tests/store/test_folder.py"}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(path: Path, *languages: str) -> list[str]:
    return [body for language, body in FENCE.findall(path.read_text(encoding="utf-8")) if language in languages]


def prose(path: Path) -> str:
    return FENCE.sub("", path.read_text(encoding="utf-8"))


# -- generated pages ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return reference.pages()


@pytest.mark.parametrize("file", [*GENERATED, *map(reference.schema_file, reference.REPORTS)])
def test_generated_pages_are_fresh(made: dict[str, str], file: str) -> None:
    on_disk = (ROOT / "docs" / "reference" / file).read_text(encoding="utf-8")
    assert on_disk == made[file], f"docs/reference/{file} is not what the code says: run make docs"


def test_a_command_that_was_run_alone_before_still_shows_its_whole_help() -> None:
    CliRunner().invoke(salon.get_command(click.Context(salon), "null"), ["--help"])
    assert "-h, --help" in reference.help_of(("null",))


def test_nothing_else_is_generated(made: dict[str, str]) -> None:
    assert {path.name for path in (ROOT / "docs" / "reference").iterdir()} == set(made)


def test_every_field_is_described() -> None:
    classes = {model for report in reference.REPORTS.values() for model in reference.models(report)}
    silent = {
        f"{model.__name__}.{name}"
        for model in classes
        for name, (_, words) in reference.fields(model).items()
        if not words
    }
    assert silent == set(), "describe it in its class"


@pytest.mark.parametrize("report", reference.REPORTS.values(), ids=reference.REPORTS)
def test_every_key_is_always_there(report: type) -> None:
    schema = reference.schema(report)
    for part in (schema, *schema.get("$defs", {}).values()):
        if "$ref" in part:  # a report that holds its like is defined below
            continue
        assert sorted(part["required"]) == sorted(part["properties"])
        assert part["additionalProperties"] is False


def test_the_law_of_random_raters_is_described() -> None:
    section = (ROOT / "docs" / "reference" / "check-json.md").read_text().split("## salon null --json")[1]
    described = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`[^|]*) \|", section, re.MULTILINE))))
    assert described == {*null_for(3, 3).as_json(), "signature"}


# -- the JSON is what the schemas say ----------------------------------------------------------------------------


def printed(line: str, capsys: pytest.CaptureFixture[str]) -> dict:
    with pytest.raises(SystemExit) as left:
        run(shlex.split(line))
    text = capsys.readouterr()
    assert left.value.code == 0, text.err
    return json.loads(text.out)


@pytest.mark.parametrize(
    ("command", "study"),
    [
        ("check {} --draws 100", "--prompts 10"),
        ("check {} --draws 100", "--prompts 6 --protocol ratings"),
        ("check {} --draws 100", "--prompts 2 --items 2 --raters 2"),
        ("anchor {} --draws 100", "--prompts 10"),
        ("plan --items 3 --raters 3 --prompts 20 --sims 100", ""),
        ("plan budget --items 6 --raters 3 --studies 10", ""),
        ("plan budget {} --fraction 0.5 --repeats 2", "--prompts 2 --items 10 --protocol comparisons"),
        ("fuse {}", "--prompts 3 --protocol comparisons --tie-share 0.1"),
        ("fuse {} --method crowd", "--prompts 3 --protocol comparisons"),
        ("fuse {} --by generator", "--prompts 10"),
        ("fuse {}", "--prompts 3 --protocol ratings"),
        ("bridge score {} --pool 2 --opponents 1", "--prompts 2 --protocol comparisons"),
        ("bridge simulate --items 20 --pool 5 --opponents 2", ""),
        ("bench arena {}", "--prompts 6 --protocol comparisons"),
        ("bench verify posters", ""),
        ("bench diff posters broad", ""),
    ],
)
def test_the_terminal_prints_what_the_schema_says(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str, study: str
) -> None:
    if study:
        printed(f"simulate -o {tmp_path / 'study'} {study} --json", capsys)
    record = printed(command.format(tmp_path / "study") + " --json", capsys)
    asked = command.format("study")
    name = max((name for name in reference.REPORTS if asked.startswith(name)), key=len)
    follows_schema(record, name)


def follows_schema(record: dict, name: str) -> None:
    file = ROOT / "docs" / "reference" / reference.schema_file(name)
    schema = json.loads(file.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(record, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(record | {"format": "another"}, schema)


def test_rating_anchors_curves_and_the_comparison_of_methods_are_in_the_schema() -> None:
    record = reference.example("fuse")
    assert all(record[part] for part in ("rating_anchors", "curves", "compare"))
    follows_schema(record, "fuse")


# -- links -------------------------------------------------------------------------------------------------------


def slug(heading: str) -> str:
    """The anchor that common renderers give a heading."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-")


def anchors(path: Path) -> set[str]:
    return {slug(heading) for heading in re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "", prose(page))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path) if path else page
        assert there.exists(), f"{name(page)} links to {target}, which does not exist"
        if anchor:
            assert anchor in anchors(there), f"{name(page)} links to {target}: no such heading"


def test_the_index_leads_to_every_page() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / target).resolve() for target in re.findall(r"\]\(([^)\s#]+)", prose(index))}
    assert {page for page in (ROOT / "docs").rglob("*.md") if page != index} - linked == set()


# -- commands ----------------------------------------------------------------------------------------------------


def typed(page: Path) -> Iterator[str]:
    """Every `salon ...` line of the page's code blocks, without comments and what the shell does with the output."""
    for block in blocks(page, "console", "sh", "bash", "yaml", "text", ""):
        for line in block.replace("\\\n", " ").splitlines():
            found = re.match(r"\s*(?:\$ |- run: |run: )?(salon \w.*)$", line)
            if found and not line.endswith("."):  # a sentence of --help may begin a line with a command
                yield re.split(r"\s+#|\s{3,}|\s[>|]|\s&&|\s\|\||;", found[1])[0]


def found_in(words: list[str]) -> tuple[click.Command | None, list[str]]:
    """The command that `words` name, in groups or not, and what is left of them."""
    context, command, rest = click.Context(salon), salon, words
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        command, rest = command.get_command(context, rest[0]), rest[1:]
    return command, rest


def commands() -> list[tuple[str, str]]:
    return sorted({(name(page), line) for page in PAGES for line in typed(page)})


@pytest.mark.parametrize(("page", "line"), commands())
def test_commands_in_code_blocks_parse(page: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(click.Path, "convert", lambda self, value, param, ctx: Path(value))  # files need not be there
    found, arguments = found_in(shlex.split(line)[1:])
    assert found is not None, f"{page}: there is no {line}"
    try:
        found.make_context(line, arguments)
    except click.exceptions.Exit:
        pass  # --help
    except click.ClickException as error:
        pytest.fail(f"{page}: {line}\n{error.format_message()}")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_options_named_in_prose_exist(page: Path) -> None:
    known = [command for stage in COMMANDS.values() for command in stage]
    for text in re.findall(r"`(salon [^`\n]+)`", prose(page)):
        words = text.split()
        if words[1] not in known:
            assert words[1].startswith("-") or words[1] in {"..."}, f"{name(page)}: there is no {text}"
            continue
        command, _ = found_in(words[1:])
        assert command is not None, f"{name(page)}: there is no {text}"
        options = {o for p in command.params for o in (*p.opts, *p.secondary_opts)} | {"--help", "-h"}
        used = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", text))
        assert used <= options, f"{name(page)}: {text}: no {used - options}"


# -- help --------------------------------------------------------------------------------------------------------

SEVERAL_TO_BE_REFUSED = {"salon bench posters generate --generator"}  # so that a second one is not dropped in silence


def every_command(command: click.Command = salon, *path: str) -> Iterator[tuple[str, click.Command]]:
    """What is typed, and the command, for all commands and groups."""
    path = path or ("salon",)
    yield " ".join(path), command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from every_command(found, *path, name)


def test_every_help_shows_an_example_of_its_own() -> None:
    silent = [typed for typed, command in every_command() if not re.search(rf"^ *{typed} ", command.help, re.MULTILINE)]
    assert silent == []


def test_every_option_is_described_and_says_whether_it_may_be_repeated() -> None:
    for typed, command in every_command():
        for option in (one for one in command.params if isinstance(one, click.Option)):
            where = f"{typed} {max(option.opts, key=len)}"
            assert re.match(r"[A-Za-z0-9'|*]", option.help or ""), f"{where} is not described"
            if where not in SEVERAL_TO_BE_REFUSED:
                assert option.multiple == ("(repeatable" in option.help), where


def test_a_page_is_asked_for_by_one_flag_and_a_rehearsal_by_another() -> None:
    for typed, command in every_command():
        flags = {flag: option for option in command.params if isinstance(option, click.Option) for flag in option.opts}
        assert not flags.keys() & {"--page", "--report", "--pretend", "--image-budget"}, typed
        # A rehearsal of the work itself is --dry-run; --plan counts a training's memory, and needs no data at all.
        assert ("--plan" in flags) == (typed in ("salon train reward", "salon distill train")), typed
        if "--html" in flags:
            assert flags["--html"].opts == ["--html"], (
                f"{typed}: -o is for what the command makes, --html for its report"
            )


def test_lists_of_commands_are_not_cut() -> None:
    for typed, command in every_command():
        if isinstance(command, click.Group):
            listed = command.get_help(click.Context(command, terminal_width=110)).partition("Commands:")[2]
            assert "..." not in listed, typed


# -- Python ------------------------------------------------------------------------------------------------------


def promised(block: str) -> list[str]:
    """The comment lines that end a block: what it says it prints."""
    lines = block.rstrip().splitlines()
    said = []
    while lines and lines[-1].startswith("# "):
        said.insert(0, lines.pop()[2:])
    return said


PYTHON = [
    (page, number)
    for page in PAGES
    if name(page) not in NEEDS_A_STUDY and page.name != "README.md"  # the README's own test runs its block
    for number in range(len(blocks(page, "python")))
]


@pytest.mark.parametrize(
    ("page", "number"), PYTHON, ids=lambda part: name(part) if isinstance(part, Path) else str(part)
)
def test_python_blocks_run(
    page: Path, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    block = blocks(page, "python")[number]
    exec(compile(block, f"{name(page)}, Python block {number + 1}", "exec"), {"__name__": "a page"})
    if said := promised(block):
        assert capsys.readouterr().out.splitlines()[-len(said) :] == said


# -- make --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_make_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = page.read_text(encoding="utf-8")
    used = set(re.findall(r"`make ([a-z]+)", text)) | set(re.findall(r"^\$ make ([a-z]+)", text, re.MULTILINE))
    assert used <= targets, f"{name(page)} names targets that the Makefile does not have: {used - targets}"


# -- what a page shows, the command prints -----------------------------------------------------------------------


def shown(page: Path) -> list[str]:
    """Lines of the page's text blocks, spaces squeezed."""
    return [" ".join(line.split()) for block in blocks(page, "text") for line in block.splitlines() if line.strip()]


@pytest.mark.slow
@pytest.mark.parametrize("page", ["docs/guide/check.md", "docs/guide/fuse.md"])
def test_output_shown_is_output_printed(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    own = [line for line in typed(ROOT / page) if re.match(r"salon (simulate|fuse|check \w+( --html \S+)?$)", line)]
    for line in own:
        if Path(shlex.split(line)[2]).exists() or line.startswith("salon simulate"):  # no file of the reader's own
            with pytest.raises(SystemExit):
                run(shlex.split(line)[1:])
    out = capsys.readouterr().out
    printed = {" ".join(line.split()) for line in out.splitlines()}
    for line in shown(ROOT / page):
        assert line in printed, f"{page} shows a line that is not printed:\n{line}\n\nprinted was:\n{out}"
