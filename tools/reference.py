"""Write the generated pages of docs/reference: `make docs`, or `python -m tools.reference`.

Commands come from the `--help` of the commands themselves, api.md from the names of `import salon`, the JSON pages and
schemas from the report classes. The examples are real reports on small simulated studies. The same code always writes
the same bytes.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import itertools
import json
import textwrap
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import click
from pydantic import BaseModel

from salon.bench import ArenaSnapshot, BoardDiff, EntryResult, PosterReport, RaterTables, RewardTables, SuitePlan
from salon.bench.posters.comparison import ComparisonReport
from salon.bench.posters.generate import PosterGenerationReport
from salon.bench.posters.judge import JudgeRunReport, PeopleReport
from salon.bench.posters.run import RunReport
from salon.bench.run import SuiteRun
from salon.bench.verification import VerifyReport
from salon.check import AnchorReport, BudgetReport, CheckReport, PlanReport, ThinReport
from salon.cli.main import COMMANDS, salon
from salon.evaluate import Evaluation
from salon.fuse import FuseReport
from salon.fuse.bridge import BridgeReport
from salon.fuse.bridge_simulation import Rehearsal
from salon.generate import GenerateReport
from salon.generate.readiness import ReadyReport
from salon.judge import JudgeRun
from salon.render import Layout
from salon.select import BestReport, CohpReport, DriftReport
from salon.select.explanation import Explanation
from salon.select.refine_scores import RefineReport
from salon.train import AblateReport, DistillReport
from salon.train.probes import ProbeReport
from tools.reference_api import api_page
from tools.reference_examples import ABOUT, example

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
WIDTH = 100
REPORTS: dict[str, type[BaseModel]] = {
    "check": CheckReport,
    "anchor": AnchorReport,
    "plan": PlanReport,
    "plan budget": BudgetReport,
    "plan budget study": ThinReport,
    "fuse": FuseReport,
    "bridge score": BridgeReport,
    "bridge simulate": Rehearsal,
    "generate": GenerateReport,
    "ready": ReadyReport,
    "evaluate": Evaluation,
    "train probe": ProbeReport,
    "distill train": DistillReport,
    "distill evaluate": Evaluation,
    "distill ablate": AblateReport,
    "judge run": JudgeRun,
    "judge report": Evaluation,
    "bench run": SuiteRun,
    "bench run --dry-run": SuitePlan,
    "bench verify": VerifyReport,
    "bench diff": BoardDiff,
    "bench result": EntryResult,
    "bench arena": ArenaSnapshot,
    "bench raters": RaterTables,
    "bench rewards": RewardTables,
    "bench posters run": RunReport,
    "bench posters generate": PosterGenerationReport,
    "bench posters judge": JudgeRunReport,
    "bench posters score": PosterReport,
    "bench posters compare": ComparisonReport,
    "bench posters people": PeopleReport,
    "select best": BestReport,
    "select cohp": CohpReport,
    "select refine": RefineReport,
    "select explain": Explanation,
    "select drift": DriftReport,
}
"""What each command prints with --json."""
_PRINTED_BY_NONE = {"bench result": "result.json of an entry"}
"""Forms that stand in files only, and what they are called."""
LONGEST = 3
"""Entries of a list that an example shows."""
SMALLEST = 1e-9
"""What is left of a slope at a maximum differs from machine to machine: smaller numbers are shown as 0."""


def pages() -> dict[str, str]:
    """Every generated file of docs/reference by name."""
    schemas = {schema_file(name): as_text(schema(report)) + "\n" for name, report in REPORTS.items()}
    checked = json_page(_CHECK_INTRO, ("check", "anchor", "plan", "plan budget", "plan budget study"), _NULL_AND_ERRORS)
    fused = json_page(_FUSE_INTRO, ("fuse", "bridge score", "bridge simulate"))
    made = json_page(_GENERATE_INTRO, ("generate", "ready"))
    schemas["layout.schema.json"] = as_text(Layout.model_json_schema()) + "\n"
    judged = json_page(_JUDGE_INTRO, ("judge run", "judge report"))
    trained = json_page(
        _TRAIN_INTRO, ("evaluate", "train probe", "distill train", "distill evaluate", "distill ablate")
    )
    pages = {"check-json.md": checked, "fuse-json.md": fused, "generate-json.md": made, "judge-json.md": judged}
    pages["train-json.md"] = trained
    pages["bench-json.md"] = json_page(_BENCH_INTRO, [name for name in REPORTS if name.startswith("bench")])
    pages["select-json.md"] = json_page(_SELECT_INTRO, [name for name in REPORTS if name.startswith("select")])
    return {"commands.md": commands_page(), "api.md": api_page(), **pages, **schemas}


def schema_file(command: str) -> str:
    """Name of the schema of what `salon COMMAND --json` prints."""
    return f"{command.replace('--', '').replace(' ', '-')}.schema.json"


# -- commands ----------------------------------------------------------------------------------------------------


def commands_page() -> str:
    """The help of every command."""
    parts = [_COMMANDS, f"```text\n{help_of(())}\n```\n"]
    for stage, commands in COMMANDS.items():
        parts.append(f"## {stage}\n")
        paths = [path for name in commands for path in _paths(name)]
        parts += [f"### salon {' '.join(path)}\n\n```text\n{help_of(path)}\n```\n" for path in paths]
    return "\n".join(parts)


def _paths(*path: str) -> list[tuple[str, ...]]:
    """A command, and the commands under it."""
    context = click.Context(salon)
    command: click.Command | None = salon
    for name in path:
        assert isinstance(command, click.Group)
        command = command.get_command(context, name)
    under = command.list_commands(context) if isinstance(command, click.Group) else []
    return [path, *(deeper for name in under for deeper in _paths(*path, name))]


def help_of(path: tuple[str, ...]) -> str:
    """What `salon ... --help` prints on a terminal of WIDTH columns."""
    context = click.Context(salon, info_name="salon", terminal_width=WIDTH, **salon.context_settings)
    for name in path:
        command = context.command.get_command(context, name)  # type: ignore[attr-defined]
        command._help_option = None  # one that was run alone before has kept a flag without -h
        context = click.Context(command, parent=context, info_name=name)
    return "\n".join(line.rstrip() for line in context.get_help().splitlines())


_COMMANDS = """# Commands

Written by `make docs` from `--help`; do not edit. How to start: [start](../start.md). What the JSON means:
[generate-json](generate-json.md), [check-json](check-json.md), [fuse-json](fuse-json.md), [train-json](train-json.md),
[judge-json](judge-json.md), [bench-json](bench-json.md), [select-json](select-json.md).

Exit codes: 0 done; 1 done, but something is missing or the answer is no (the command's help says when); 2 misuse or bad
input; 70 a fault of Salon's own. Errors go to stderr; with `--json` the same error is one JSON object on stdout.
"""


# -- the JSON ----------------------------------------------------------------------------------------------------


def json_page(intro: str, commands: Sequence[str], *after: str) -> str:
    """Every field of what the commands print, and an example of each."""
    seen: list[type[BaseModel]] = []
    parts = [intro]
    for name in commands:
        report = REPORTS[name]
        parts.append(f"## {_PRINTED_BY_NONE.get(name, f'salon {name} --json')}\n")
        if name in ABOUT:
            parts.append(f"Abridged (`...`), numbers rounded, from {ABOUT[name]}:\n")
            parts.append(f"```json\n{as_text(abridged(example(name)))}\n```\n")
        parts += [_table(model) for model in models(report) if model not in seen]
        seen += models(report)
    return "\n".join([*parts, *after])


_CHECK_INTRO = """# The JSON of check, anchor and plan

Written by `make docs` from the report classes; do not edit. `salon check --json` prints one `CheckReport`,
`salon anchor --json` one `AnchorReport`, `salon plan --json` one `PlanReport`, `salon plan budget --json` one
`BudgetReport`, with a study one `ThinReport`. JSON Schemas for validators: [check](check.schema.json),
[anchor](anchor.schema.json), [plan](plan.schema.json), [plan budget](plan-budget.schema.json),
[plan budget study](plan-budget-study.schema.json).

Every key is always there. A number that cannot be given is `null`, never NaN. Within one `format` keys are only added,
never renamed. The HTML report shows the same numbers: each carries its path in this document.
"""
_FUSE_INTRO = """# The JSON of fuse and bridge

Written by `make docs` from the report classes; do not edit. `salon fuse --json` prints one `FuseReport`,
`salon bridge score --json` one `BridgeReport`, `salon bridge simulate --json` one `Rehearsal`. JSON Schemas:
[fuse](fuse.schema.json), [bridge score](bridge-score.schema.json), [bridge simulate](bridge-simulate.schema.json).

Every key is always there. A number that cannot be given is `null`, never NaN. Within one `format` keys are only added,
never renamed. Errors have the form of [the other commands](check-json.md#errors).
"""
_GENERATE_INTRO = """# The JSON of generate and ready

Written by `make docs` from the report classes; do not edit. `salon generate --json` prints one `GenerateReport`, `salon
ready --json` one `ReadyReport`. JSON Schemas: [generate](generate.schema.json), [ready](ready.schema.json), and of the
record beside every drawn poster: [layout](layout.schema.json), explained on [its page](../methods/layout.md).

Every key is always there. A number that cannot be given is `null`, never NaN. Errors have the form of [the other
commands](check-json.md#errors).
"""
_JUDGE_INTRO = """# The JSON of judge run and judge report

Written by `make docs` from the report classes; do not edit. `salon judge run --json` prints one `JudgeRun`,
`salon judge report --json` one `Evaluation`. JSON Schemas: [judge run](judge-run.schema.json), [judge
report](judge-report.schema.json).

Every key is always there. A number that cannot be given is `null`, never NaN. Errors have the form of [the other
commands](check-json.md#errors).
"""
_TRAIN_INTRO = """# The JSON of evaluate, train probe and distill

Written by `make docs` from the report classes; do not edit. `salon evaluate --json` prints one `Evaluation`, `salon
train probe --json` one `ProbeReport` for each criterion, `salon distill train`, `evaluate` and `ablate --json` one
`DistillReport`, `Evaluation` and `AblateReport`. JSON Schemas: [evaluate](evaluate.schema.json), [train
probe](train-probe.schema.json), [distill train](distill-train.schema.json), [distill
evaluate](distill-evaluate.schema.json), [distill ablate](distill-ablate.schema.json).

Every key is always there. A number that cannot be given is `null`, never NaN. Errors have the form of [the other
commands](check-json.md#errors).
"""
_SELECT_INTRO = """# The JSON of select

Written by `make docs` from the report classes; do not edit. `salon select best --json` prints one `BestReport`, `salon
select cohp --json` one `CohpReport`, `salon select refine --json` one `RefineReport`, `salon select explain --json` one
`Explanation`, `salon select drift --json` one `DriftReport`. JSON Schemas: [best](select-best.schema.json),
[cohp](select-cohp.schema.json), [refine](select-refine.schema.json), [explain](select-explain.schema.json),
[drift](select-drift.schema.json). The scoring service describes its own answers at `/v1/openapi.json`.

Every key is always there. A number that cannot be given is `null`, never NaN. Within one `format` keys are only added,
never renamed. Errors have the form of [the other commands](check-json.md#errors).
"""
_BENCH_INTRO = """# The JSON of bench

Written by `make docs` from the report classes; do not edit. What the commands of `salon bench` print with `--json`, one
object each. What is published of an entry (`result.json` in its folder on a board, and among the downloads of a site)
is one `EntryResult`: [schema](bench-result.schema.json).

| command | prints | schema |
|---|---|---|
| `salon bench run` | `SuiteRun` | [run](bench-run.schema.json) |
| `salon bench run --dry-run` | `SuitePlan` | [dry run](bench-run-dry-run.schema.json) |
| `salon bench verify` | `VerifyReport` | [verify](bench-verify.schema.json) |
| `salon bench diff` | `BoardDiff` | [diff](bench-diff.schema.json) |
| `salon bench arena` | `ArenaSnapshot` | [arena](bench-arena.schema.json) |
| `salon bench raters` | `RaterTables` | [raters](bench-raters.schema.json) |
| `salon bench rewards` | `RewardTables` | [rewards](bench-rewards.schema.json) |
| `salon bench posters run` | `RunReport` | [run](bench-posters-run.schema.json) |
| `salon bench posters generate` | `MadeReport` | [generate](bench-posters-generate.schema.json) |
| `salon bench posters judge` | `JudgedReport` | [judge](bench-posters-judge.schema.json) |
| `salon bench posters score` | `PosterReport` | [score](bench-posters-score.schema.json) |
| `salon bench posters compare` | `ComparedReport` | [compare](bench-posters-compare.schema.json) |
| `salon bench posters people` | `PeopleReport` | [people](bench-posters-people.schema.json) |

Every key is always there. A number that cannot be given is `null`, never NaN. Within one `format` keys are only added,
never renamed. Errors have the form of [the other commands](check-json.md#errors).
"""
_NULL_AND_ERRORS = """## salon null --json

Numbers are fractions in text, such as `"3875/18432"`: where the law is exact no digit is lost.

| field | type | meaning |
|---|---|---|
| `items`, `raters` | whole number | The shape (p, R). |
| `method` | `"exact"` or `"monte carlo"` | How the law was made. |
| `draws` | whole number or null | Simulated prompts, when Monte Carlo. |
| `cycle_rate` | fraction | Chance that a prompt's majority order is intransitive. |
| `cycle_rate_error` | number or null | Its standard error, when Monte Carlo. |
| `cycles_possible` | true or false | False where strict majorities cannot cycle: two items, or two or four raters. |
| `median_T`, `var_T` | fraction | Median and variance of T. Its mean is 0. |
| `mean_pmax` | fraction | Mean of p_max. |
| `t_pmf`, `pmax_pmf` | map of fraction to fraction | Probability of each value of T and of p_max. |
| `pmax_weights` | list of fraction | Weights of the chi-squares that the p_max statistic follows. |
| `total` | whole number in text | Equally likely outcomes, rater 1 held fixed. |
| `joint` | list | Joint law: p_max histogram of the pairs, cycle (0 or 1), number of outcomes in text. |
| `signature` | text | What reproduces these numbers. |

## Errors

With `--json` an error is one object on stdout, and the exit code is 2:

```json
{"error": "BadColumns", "needed": "a column named 'lft' is needed", "found": "columns 'left', 'right'",
 "where": "votes.csv", "remedy": "name the column with --left left (nearest match to 'lft')"}
```
"""


def _table(model: type) -> str:
    about = " ".join((model.__doc__ or "").split())
    rows = [f"| `{name}` | {type_words(kind)} | {words} |" for name, (kind, words) in fields(model).items()]
    return "\n".join([f"### {model.__name__}\n\n{about}\n", "| field | type | meaning |", "|---|---|---|", *rows, ""])


def fields(model: type) -> dict[str, tuple[Any, str]]:
    """Type and description of each field of a result; a kernel's dataclass describes them in texts below them."""
    if issubclass(model, BaseModel):
        return {name: (field.annotation, field.description or "") for name, field in model.model_fields.items()}
    about = {field.name: field.metadata.get("description", "") for field in dataclasses.fields(model)}
    if any(about.values()):
        return {name: (kind, about[name]) for name, kind in get_type_hints(model).items() if name in about}
    body = ast.parse(textwrap.dedent(inspect.getsource(model))).body[0].body  # type: ignore[attr-defined]  # a class
    texts = {
        field.target.id: " ".join(below.value.value.split())
        for field, below in itertools.pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
    }
    return {name: (kind, texts.get(name, "")) for name, kind in get_type_hints(model).items()}


def models(report: type) -> list[type]:
    """`report` and every class it is made of, outer before inner."""
    found = [report]
    for model in found:  # grows while it is read
        inner = [part for kind, _ in fields(model).values() for part in _models_in(kind)]
        found += [part for part in dict.fromkeys(inner) if part not in found]
    return found


def _models_in(annotation: Any) -> Iterator[type]:
    if is_result(annotation):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def is_result(annotation: Any) -> bool:
    """A class with fields of its own: a noun, or a kernel's dataclass."""
    return isinstance(annotation, type) and (issubclass(annotation, BaseModel) or dataclasses.is_dataclass(annotation))


def type_words(annotation: Any) -> str:
    """A type as a reader of JSON would say it."""
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " or ".join(f'`"{value}"`' for value in inside)
    if origin in (Union, types.UnionType):
        words = [type_words(part) for part in inside if part is not type(None)]
        return " or ".join(dict.fromkeys(words)) + (" or null" if type(None) in inside else "")
    if origin is tuple:
        repeated = [part for part in inside if part is not Ellipsis]
        count = "" if Ellipsis in inside else f"{len(repeated)} "
        return f"list of {count}{type_words(repeated[0])}"
    if origin is dict:
        return f"map to {type_words(inside[1])}"
    if is_result(annotation):
        return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
    plain = {str: "text", int: "whole number", float: "number", bool: "true or false", Any: "anything"}
    return plain[annotation]


def schema(report: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of what the command prints, every field described."""
    made = report.model_json_schema(mode="serialization")
    for model in models(report):
        part = made.get("$defs", {}).get(model.__name__, made)  # a report that holds its like is defined there, too
        described = fields(model)
        for name, (_, words) in described.items():
            part["properties"][name]["description"] = words
            part["properties"][name].pop("default", None)
        part["required"] = list(described)  # the commands print every key, defaults too
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


# -- text -------------------------------------------------------------------------------------------------------


def abridged(value: Any) -> Any:
    """Long lists and maps cut after their first entries, numbers rounded to three digits."""
    if isinstance(value, float):
        return float(f"{value:.3g}") if abs(value) >= SMALLEST else 0.0
    if isinstance(value, list):
        return [abridged(one) for one in value[:LONGEST]] + (["..."] if len(value) > LONGEST else [])
    if isinstance(value, dict):
        return {key: abridged(one) for key, one in value.items()}
    return value


def as_text(value: Any, indent: int = 0) -> str:
    """JSON with short objects and lists on one line."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) + indent <= 160 or not isinstance(value, dict | list) or not value:
        return flat
    inner, outer = " " * (indent + 2), " " * indent
    if isinstance(value, list):
        rows = [as_text(one, indent + 2) for one in value]
        return "[\n" + ",\n".join(inner + row for row in rows) + f"\n{outer}]"
    rows = [f"{json.dumps(key, ensure_ascii=False)}: {as_text(one, indent + 2)}" for key, one in value.items()]
    return "{\n" + ",\n".join(inner + row for row in rows) + f"\n{outer}}}"


def main() -> None:
    """Write every page."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"wrote docs/reference/{name}")


if __name__ == "__main__":
    main()
