"""The page docs/reference/api.md: every name of the front page (`import salon`), as its source declares it."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap

import salon

WIDTH = 100
"""A signature that is longer stands on several lines."""
GROUPS = {
    "Studies": ("open_study", "save_study", "read_study", "export_study", "merge", "Study"),
    "Generate": ("generate_items",),
    "Collect": ("open_studio",),
    "Check": ("check_study", "CheckSettings", "null_for"),
    "Fuse": ("fuse_study", "FuseSettings", "derive_rankings"),
    "Judge": ("judge_study", "report_judges"),
    "Train": ("train_study", "train_reward", "distill_study", "evaluate_models"),
    "Bench": ("run_suite", "build_site"),
    "Select": ("reward", "best_of_study", "gate_for_study", "study_routes", "ScoresClient"),
    "Nouns": (
        "Prompt", "Item", "Rater", "Criterion", "Scale", "Design", "Comparison", "Ranking", "Rating", "Checklist",
        "Choice", "builtin_criteria",
    ),
    "Errors": ("SalonError",),
}  # fmt: skip
"""The names in the order of the stages."""
_INTRO = """# Python

`import salon` is quick: each name is loaded when it is first used. All are typed, and type checkers see them. The types
in a signature are in the module that is named below it.
"""


def api_page() -> str:
    """Every name with its signature and its docstring."""
    parts = [_INTRO]
    for title, names in GROUPS.items():
        parts.append(f"## {title}\n")
        parts += [_entry(name) for name in names]
    return "\n".join(parts)


def _entry(name: str) -> str:
    found = getattr(salon, name)
    node = declaration(found)
    if isinstance(node, ast.ClassDef):
        code = "\n\n".join([*_head(name, node), *_methods(node)])
    else:
        code = signature(f"salon.{name}", node)
    docstring = inspect.cleandoc(ast.get_docstring(node) or "")
    return f"### {name}\n\n```text\n{code}\n```\n\n{docstring}\n\nDefined in `{found.__module__}`.\n"


def declaration(found: object) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef:
    """Where a function or a class is declared, as a syntax tree."""
    plain = inspect.unwrap(found) if callable(found) else found
    assert inspect.isclass(plain) or inspect.isfunction(plain), found
    tree = ast.parse(inspect.getsource(sys.modules[plain.__module__]))
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    nodes = [node for node in tree.body if isinstance(node, kinds) and node.name == plain.__name__]
    return nodes[-1]


def signature(name: str, node: ast.FunctionDef | ast.AsyncFunctionDef, *, method: bool = False) -> str:
    """A call with types and defaults, on one line where it fits."""
    arguments = _arguments(node.args)[1 if method else 0 :]
    result = ast.unparse(node.returns) if node.returns else ""
    if any(ast.unparse(one) == "contextmanager" for one in node.decorator_list):
        result = result.replace("Iterator[", "AbstractContextManager[")
    end = f" -> {result}" if result else ""
    line = f"{name}({', '.join(arguments)}){end}"
    if len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {argument},\n" for argument in arguments) + f"){end}"


def _arguments(arguments: ast.arguments) -> list[str]:
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(plain) - len(arguments.defaults)) + [*arguments.defaults]
    made = [_argument(one, default) for one, default in zip(plain, defaults)]
    if arguments.posonlyargs:
        made.insert(len(arguments.posonlyargs), "/")
    if arguments.vararg:
        made.append("*" + _argument(arguments.vararg, None))
    elif arguments.kwonlyargs:
        made.append("*")
    made += [_argument(one, default) for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    return [*made, *(["**" + _argument(arguments.kwarg, None)] if arguments.kwarg else [])]


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    kind = f": {ast.unparse(argument.annotation)}" if argument.annotation else ""
    return f"{argument.arg}{kind}" + (f" = {ast.unparse(default)}" if default is not None else "")


def _head(name: str, node: ast.ClassDef) -> list[str]:
    """A class as it is called: its fields, or what its constructor takes."""
    init = next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
    if init is not None:
        return [signature(f"salon.{name}", init, method=True).removesuffix(" -> None")]
    fields = [
        _field(one)
        for one in node.body
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and not one.target.id.startswith("_")
    ]
    return [f"salon.{name}(\n" + "".join(f"    {field},\n" for field in fields) + ")"]


def _field(field: ast.AnnAssign) -> str:
    """`name: type = default`; of a field that is declared with `Field`, its default alone."""
    default = None if field.value is None else ast.unparse(field.value)
    if isinstance(field.value, ast.Call) and ast.unparse(field.value.func) in ("Field", "field"):
        named = {one.arg: ast.unparse(one.value) for one in field.value.keywords}
        default = ast.unparse(field.value.args[0]) if field.value.args else named.get("default")
        if "default_factory" in named:
            default = f"{named['default_factory']}()"
    text = f"{ast.unparse(field.target)}: {ast.unparse(field.annotation)}"
    return text if default is None else f"{text} = {default}"


def _methods(node: ast.ClassDef) -> list[str]:
    """Public methods and properties, each with the first sentence of its docstring."""
    made = []
    for one in node.body:
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) or one.name.startswith("_"):
            continue
        decorators = {ast.unparse(decorator) for decorator in one.decorator_list}
        words = ast.get_docstring(one)
        if words is None or decorators & {"field_validator", "model_validator"}:
            continue
        if decorators & {"property", "cached_property"}:
            shown = f".{one.name} -> {ast.unparse(one.returns) if one.returns else ''}"
        else:
            shown = signature(f".{one.name}", one, method="staticmethod" not in decorators)
        first = words.split("\n\n")[0].replace("\n", " ")
        made.append(textwrap.fill(first, WIDTH, initial_indent="# ", subsequent_indent="# ") + f"\n{shown}")
    return made
