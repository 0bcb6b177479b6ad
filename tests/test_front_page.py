"""The front page, `import salon`: few names, all documented and typed, and the same to Python and to type checkers."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

import salon
from tools.reference_api import GROUPS, declaration

ROOT = Path(__file__).parents[1]
SOURCE = Path(salon.__file__).read_text(encoding="utf-8")
PROGRAM = """
from pathlib import Path

import salon

study = salon.open_study("study")
for item in study.nouns("items"):
    reveal_type(item)
report = salon.check_study(study, salon.CheckSettings(draws=500))
reveal_type(report.criteria[0].answer)
scores = salon.fuse_study(study, criteria=["taste/mood"])
reveal_type(scores.scores[0].value)
with salon.open_studio(Path("study")) as studio:
    reveal_type(studio)
reveal_type(salon.train_reward(Path("study"), "vlm", Path("model")))
reveal_type(salon.evaluate_models([Path("model")], [Path("study")]))
reveal_type(salon.ScoresClient("https://scores.example.org").pick([b""], weights={"*": 1}).chosen)
reveal_type(salon.__version__)
try:
    salon.judge_study(study, "study", 3)
except salon.SalonError as error:
    reveal_type(error.needed)
salon.chek_study(study)
"""
REVEALED = (
    "salon.study.nouns.Item",
    "str",
    "float",
    "salon.collect.studio.studio.Studio",
    "salon.train.reward_training.RewardReport | None",
    "salon.evaluate.results.Evaluation",
    "int | None",
    "str",
    "str",
)


def test_the_front_page_is_short_and_true() -> None:
    assert len(salon.__all__) <= 40
    assert sorted(salon.__all__) == salon.__all__ == dir(salon)
    assert re.fullmatch(r"\d+\.\d+\.\d+", salon.__version__)
    with pytest.raises(AttributeError, match="attribute chek_study"):
        _ = salon.chek_study


def test_the_reference_names_all_of_it() -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == salon.__all__


@pytest.mark.parametrize("name", salon.__all__)
def test_every_name_is_documented_and_has_no_any(name: str) -> None:
    node = declaration(getattr(salon, name))
    assert ast.get_docstring(node)
    for one in ast.walk(node):
        public = isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and not one.name.startswith("_")
        if public or (isinstance(one, ast.FunctionDef) and one.name in ("__init__", name)):
            given = [*one.args.posonlyargs, *one.args.args, *one.args.kwonlyargs, one.args.vararg, one.args.kwarg]
            kinds = [
                argument.annotation
                for argument in given
                if argument is not None and argument.arg not in ("self", "cls")
            ]
            assert None not in kinds, one.name
            assert one.returns is not None, one.name
            words = [ast.unparse(kind) for kind in [*kinds, one.returns] if kind is not None]
            assert not [word for word in words if re.search(r"\bAny\b", word)], one.name
        if isinstance(one, ast.AnnAssign) and one in node.body:
            assert not re.search(r"\bAny\b", ast.unparse(one.annotation)), ast.unparse(one)


def test_a_program_is_checked_with_the_real_types(tmp_path: Path) -> None:
    """With the settings and the cache of `make lint`, after which it takes seconds."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-pretty", str(program)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    # a kept answer of mypy names the folder of the run before
    lines = [line.split(": ", 1)[1] for line in done.stdout.splitlines() if "/program.py:" in line]
    revealed = [line.split('"')[1] for line in lines if "Revealed type" in line]
    assert revealed == list(REVEALED), done.stdout + done.stderr
    wrong = [line for line in lines if line.startswith("error")]
    assert len(wrong) == 3, done.stdout
    assert 'Missing positional argument "settings"' in wrong[0]
    assert 'incompatible type "int"; expected "Vlm"' in wrong[1]
    assert 'has no attribute "chek_study"' in wrong[2]


def test_the_package_says_that_it_is_typed() -> None:
    assert files("salon").joinpath("py.typed").is_file()
