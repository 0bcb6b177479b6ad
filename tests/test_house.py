"""The house keeps its shape: layers, sizes, names, and what may not be written anywhere."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "salon"
MODULES = sorted(SOURCE.rglob("*.py"))


def tracked() -> list[Path]:
    """Every file of the project: those git tracks, or all when there is no git."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    names = listed.stdout.splitlines() if listed.returncode == 0 else []
    return [path for name in names if (path := ROOT / name).is_file()]


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def functions(path: Path) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(parsed(path)) if isinstance(node, ast.FunctionDef)]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_what_mypy_is_to_ignore_has_a_reason(path: Path) -> None:
    """`# type: ignore[code]  # reason`, for what a library does not say of its types."""
    ignored = [line for line in path.read_text().splitlines() if "# type: ignore" in line]
    assert [line for line in ignored if not re.search(r"# type: ignore\[[\w-]+\]  # \w", line)] == []


def test_the_front_page_loads_nothing_heavy() -> None:
    code = (
        "import sys, salon; print([m for m in ('numpy', 'scipy', 'numba', 'pyarrow', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.strip() == "[]"


def test_help_loads_nothing_heavy() -> None:
    """`salon --help` starts fast because it imports only the terminal library; measured by benchmarks/start_up.py."""
    code = (
        "import sys\nfrom salon.cli.main import run\n"
        "try:\n    run(['--help'])\nexcept SystemExit:\n    pass\n"
        "print([m for m in ('numpy', 'scipy', 'numba', 'pyarrow', 'pydantic', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_modules_are_small_and_well_named(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 650, "split it, or say in its docstring why not"
    assert not re.search(r"util|helper|common|misc|manager|^base", path.stem)


def test_functions_are_short() -> None:
    lengths = sorted(f.end_lineno - f.lineno + 1 for path in MODULES for f in functions(path))
    assert lengths[len(lengths) // 2] < 20


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_modules_and_public_functions_say_what_they_are(path: Path) -> None:
    tree = parsed(path)
    assert not tree.body or ast.get_docstring(tree), "a module says in its first line what it is"
    for node in tree.body:
        overload = any(ast.unparse(decorator) == "overload" for decorator in getattr(node, "decorator_list", []))
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_") and not overload:
            assert ast.get_docstring(node), f"{node.name} has no docstring"


def test_only_heavy_parts_are_imported_inside_functions() -> None:
    """Imports stand at the top. What only some calls need, and what loads slowly, is imported where it is used."""
    heavy = re.compile(
        r"salon\.|alembic|sqlalchemy|scipy|numba|torch|transformers|deepspeed|PIL|rapidocr|rich|pyarrow|httpx2|psycopg|s3fs"
    )
    for path in MODULES:
        for function in functions(path):
            for node in ast.walk(function):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
                    assert all(heavy.match(name) for name in names), f"{path}: import {names} at the top"


def test_choices_stand_in_one_order() -> None:
    """Python takes two lists of the same choices for one type: which order a help text shows would hang on imports."""
    orders: dict[frozenset[str], set[str]] = {}
    for path in MODULES:
        for words in re.findall(r"Literal\[((?:\"[^\"]*\",?\s*)+)\]", path.read_text()):
            choices = re.findall(r"\"([^\"]*)\"", words)
            orders.setdefault(frozenset(choices), set()).add(", ".join(choices))
    assert [order for order in orders.values() if len(order) > 1] == []


def test_chance_needs_a_generator() -> None:
    """No global random state anywhere: a `np.random.` call is only ever a generator or a seed."""
    for path in MODULES:
        found = re.findall(r"np\.random\.(\w+)", path.read_text())
        assert set(found) <= {"Generator", "default_rng", "SeedSequence"}, path


def test_nothing_speaks_of_a_machine_or_a_registry() -> None:
    forbidden = re.compile(
        "|".join(["/wo" + "rk/", "/ro" + "ot/", "/fa" + "rm/", "pypi" + r"\.org", "npmjs" + r"\.", "index" + "-url"])
    )
    for path in tracked():
        if path.suffix in {".py", ".md", ".toml", ".txt", ".css", ".html", ".js", ".json", ""}:
            assert not forbidden.search(path.read_text(encoding="utf-8", errors="replace")), path


def test_no_test_waits_by_text_that_a_page_may_not_evaluate() -> None:
    """`wait_for_function` fails under our pages' policy, and only when its first look came too early: `wait_in`."""
    waits = re.compile(r"\.wait_for_" + r"function\(")
    assert [path.name for path in (ROOT / "tests").rglob("*.py") if waits.search(path.read_text())] == []


def test_test_files_have_names_of_their_own() -> None:
    """pytest imports test files by name alone: two of one name cannot run together."""
    names = [path.name for path in (ROOT / "tests").rglob("*.py") if path.name != "conftest.py"]
    assert sorted(set(names)) == sorted(names)


def test_every_error_is_in_the_drawn_tree() -> None:
    from salon import errors

    drawn = set(re.findall(r"[├└]── (\w+)", errors.__doc__ or "")) | {"SalonError"}
    defined = {name for name, thing in vars(errors).items() if isinstance(thing, type) and issubclass(thing, Exception)}
    assert drawn == defined


def test_where_new_things_go_names_places_that_are_there() -> None:
    """docs/design/house.md tells which files a change touches; a file that moved must move there too."""
    page = (ROOT / "docs/design/house.md").read_text(encoding="utf-8")
    table = page.partition("## Where new things go")[2].partition("\n\nThe pipeline")[0]
    rows = [row.split("|")[2] for row in table.splitlines() if row.startswith("| ") and "files to touch" not in row]
    named = [place for row in rows for place in re.findall(r"`([a-z_]+/[a-z_/.]*)`", row)]
    assert len(rows) > 10
    assert len(named) > 20
    assert [place for place in named if not (SOURCE / place).exists()] == []


@pytest.mark.parametrize("path", sorted((SOURCE / "cli").glob("*.py")), ids=lambda path: path.stem)
def test_a_number_that_is_missing_is_written_in_one_way(path: Path) -> None:
    assert not re.search(r'"-" if|(else|or) "-"', path.read_text()), "report.numbers has MISSING, and fixed writes it"
