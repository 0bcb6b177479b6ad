"""Freeze what every command of Salon prints and writes, and compare it with an earlier freeze.

    python -m tools.freeze_commands before                       run all commands, write one JSON file for each run
    python -m tools.freeze_commands after --compare before       the same, then say what differs; exit code 1 then

It knows Salon by its command line alone, so it goes on working while modules move. Everything runs in a scratch folder
on small studies with fixed seeds, drawn posters, a tiny random VLM and a chat server on this machine. What may differ
between two runs (places, times, ports, tokens, seconds, the version) is replaced by a word. Commands that no run covers
are named at the end. A file of a run holds the exit code, what was printed, and of every written file: the visible text
and the shapes of a page, the hash of a picture or a table of text, columns and rows of a Parquet file.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from html.parser import HTMLParser
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import click
import pyarrow.parquet as pq

from tools.freeze_compare import compare

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
RUNS = Path(__file__).with_suffix(".txt")


# -- the scratch folder ------------------------------------------------------------------------------------------


def prepare(folder: Path) -> None:
    """The files that the runs begin with."""
    from one_pass_example import build_speaker
    from PIL import Image
    from tiny_vlm import build_tiny_vlm

    for path in (build_tiny_vlm(folder / "vlm", "qwen2_vl"), build_speaker(folder / "speaker")):
        config = json.loads((path / "config.json").read_text())
        config["text_config"]["max_position_embeddings"] = 4096  # whole questions, as they are
        (path / "config.json").write_text(json.dumps(config))
    (folder / "asked.txt").write_text("{criterion} {text_prompt} <|Reward|>")
    for number, (generator, prompt) in enumerate(product(("flux", "sdxl"), ("fox", "owl", "tea"))):
        path = folder / "renders" / generator / f"{prompt}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.linear_gradient("L").resize((64, 48)).rotate(90 * number).convert("RGB").save(path)
    rows = [
        (f"brief {prompt}", a, b, (a, b)[(prompt * 7 + rater * 3 + len(a)) % 3 == 0], f"r{rater}")
        for prompt, rater in product(range(8), range(4))
        for a, b in (("flux", "sdxl"), ("sdxl", "dalle"), ("dalle", "flux"))
    ]
    lines = ["prompt,left,right,winner,rater", *(",".join(row) for row in rows)]
    (folder / "votes.csv").write_text("\n".join(lines) + "\n")
    prompts = [
        "id,text",
        "p1,a red poster that says Jazz",
        "p2,a calm poster of a lake",
        "p3,a poster with a big title",
    ]
    (folder / "prompts.csv").write_text("\n".join(prompts) + "\n")
    (folder / "points.toml").write_text(POINTS)
    (folder / "routes.toml").write_text('[[route]]\ntag = "*"\njudges = ["rules"]\nrule = "majority"\n')


POINTS = """
[[point]]
id = "title"
tag = "text"
text = "The headline can be read."
rule = {kind = "text", text = "Jazz"}

[[point]]
id = "contrast"
tag = "text"
text = "Text stands out."
rule = {kind = "contrast", least = 3}
"""


def chat_brain(body: dict[str, Any]) -> str:
    """A judge that decides by a hash of what it is shown."""
    digest = hashlib.sha256(json.dumps(body["messages"], sort_keys=True).encode()).digest()
    verdict = "AB"[digest[0] % 2]
    return json.dumps({"verdict": verdict}) if '"verdict"' in str(body) else "Yes" if verdict == "A" else "No"


def answer_batch(questions: Path, answers: Path) -> None:
    """A batch file as a provider gives it back."""
    with questions.open() as lines, answers.open("w") as out:
        for line in map(json.loads, lines):
            choice = {"index": 0, "message": {"content": chat_brain(line["body"])}, "finish_reason": "stop"}
            body = {"model": "tiny-1", "choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 5}}
            out.write(
                json.dumps({"custom_id": line["custom_id"], "response": {"status_code": 200, "body": body}}) + "\n"
            )


# -- one run -----------------------------------------------------------------------------------------------------


def run(order: Run, folder: Path) -> dict[str, Any]:
    """The record of one command: how it left, what it printed, what it wrote."""
    from loaded import start_salon

    before, words = _stamps(folder), order.words
    with start_salon(*words) as process:
        if words[0] in SERVICES and "--port" in words:
            extra = {"asked": SERVICES[words[0]](_first_object(process.stdout), folder)}
            process.send_signal(signal.SIGINT)
        else:
            extra = {}
        out, err = process.communicate(600)
        code = process.wait()
    if order.keep:
        (folder / order.keep).write_text(out)
    heading, mark, rest = ("", "{", out[1:]) if out.startswith("{") else out.partition("\n{")
    try:
        printed: Any = json.loads(f"{{{rest}") if mark else out.splitlines()
    except ValueError:
        heading, printed = "", out.splitlines()
    stamps = _stamps(folder)
    written = {name: _describe(folder / name) for name in sorted(stamps) if stamps[name] != before.get(name)}
    record = {"command": " ".join(words), "exit": code, "before_json": heading.splitlines(), "printed": printed}
    record |= {"said": _last_said(err), **extra, "written": written}
    return _normalize(record, folder, HASHED_TIMES.get(order.name, ()))


def _first_object(stream: Any) -> dict[str, Any]:
    """The JSON object that a service prints when it is open."""
    text = ""
    for line in stream:
        text += line
        try:
            return json.loads(text)
        except ValueError:
            continue
    raise SystemExit(f"the service did not open: {text}")


def _ask_scores(opened: dict[str, Any], folder: Path) -> list[Any]:
    """Scores and picks over HTTP, and a later choice after every pick."""

    def post(route: str, **body: Any) -> Any:
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{opened['address']}/v1/{route}", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    files = sorted((folder / "drawn" / "images").rglob("*.png"))
    pictures = [{"base64": base64.b64encode(path.read_bytes()).decode()} for path in files]
    answers = [opened, post("score", images=pictures[:2]), post("compare", images=pictures[:2])]
    for start in range(len(pictures) - 2):
        picked = post("pick", images=pictures[start : start + 3], prompt=f"poster {start}", equal_scales=True)
        said = post("feedback", decision=picked["decision"], chosen=start % 3, rater="ana", criterion="contrast")
        answers += [picked, said]
    return answers


def _ask_studio(opened: dict[str, Any], folder: Path) -> list[Any]:
    """What the owner sees first: the page behind the link. A studio that answers can be interrupted, too."""
    return [opened, {"owner": _read_page(opened["owner"])}]


def _ask_arena(opened: dict[str, Any], folder: Path) -> list[Any]:
    """What a voter sees first."""
    return [opened, {"voter": _read_page(opened["address"])}]


def _read_page(address: str) -> list[str]:
    """The visible text of a page, as soon as its server answers."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    page = _Page()
    for _ in range(100):
        try:
            with opener.open(address, timeout=60) as answer:
                page.feed(answer.read().decode())
            return page.text
        except urllib.error.URLError:  # it has printed its address, and does not answer yet
            time.sleep(0.1)
    raise SystemExit(f"the server does not answer: {address}")


SERVICES: dict[str, Callable[[dict[str, Any], Path], list[Any]]] = {
    "serve": _ask_studio,
    "serve-scores": _ask_scores,
    "arena": _ask_arena,
}


def _stamps(folder: Path) -> dict[str, tuple[int, int]]:
    """When each file was written, but for the cache and what SQLite keeps beside a database while it is open."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(("-wal", "-shm"))]
    stats = {str(path.relative_to(folder)): path.stat() for path in files}
    return {name: (stat.st_mtime_ns, stat.st_size) for name, stat in stats.items() if not name.startswith("cache/")}


def _describe(path: Path) -> Any:
    """What is frozen of a file."""
    if path.suffix == ".html":
        page = _Page()
        page.feed(path.read_text(encoding="utf-8"))
        shapes = hashlib.sha256("\n".join(page.shapes).encode()).hexdigest()[:16]
        return {"text": page.text, "elements": dict(Counter(shape.split()[0] for shape in page.shapes)), "svg": shapes}
    if path.suffix == ".parquet":
        table = pq.read_metadata(path)
        return {"columns": table.schema.to_arrow_schema().names, "rows": table.num_rows}
    if path.suffix in (".png", ".csv", ".svg"):
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return None


class _Page(HTMLParser):
    """Visible text of a page, line by line, and the elements of its drawings with rounded numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.shapes: list[str] = []
        self._hidden = self._drawn = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in ("script", "style")
        self._drawn += tag == "svg"
        if self._drawn:
            values = " ".join(f"{name}={value}" for name, value in attrs)
            self.shapes.append(f"{tag} " + re.sub(r"\d+\.\d+", lambda m: f"{float(m[0]):.6g}", values))

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style")
        self._drawn -= tag == "svg"

    def handle_data(self, data: str) -> None:
        if not self._hidden and data.strip():
            self.text.append(" ".join(data.split()))


# -- what may differ ---------------------------------------------------------------------------------------------

VARIES = re.compile(r"(^|_)(seconds?|elapsed|at|token|links?)(_|$)")
"""Keys of a record whose values differ between two runs."""
HASHED_TIMES = {"judge-report": ["judges"], "bench-raters": ["data"], "select-feedback": ["hash"], "score-3": ["data"]}
"""Keys, by the name of a run, of hashes that include times or random names."""
WORDS = (
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d:?\d\d| UTC)?", "TIME"),
    (r"\b20\d\d-\d\d-\d\d\b", "DATE"),
    (r"\b\d{1,2} [A-Z][a-z]{2} \d\d:\d\d UTC", "TIME"),
    (r"(127\.0\.0\.1|localhost):\d+", "127.0.0.1:PORT"),
    (r"/enter/[\w.-]+", "/enter/TOKEN"),
    (r"\b\d+(\.\d+)? (ms|s|seconds|min|minutes)\b", "N s"),
    (r"tfevents[\w.]+", "tfevents"),
    (r"\b\d{6}-[0-9a-f]{10}-[0-9a-f]{12}\b", "DECISION"),
    (r"\braters-[0-9a-f]{8}\b", "RATER"),
    (r"\|judges:[0-9a-f]{12}|^raters\|data:[0-9a-f]{12}", "|HASH"),
    (rf"\b{re.escape(version('salon'))}\b", "VERSION"),
)


def _normalize(value: Any, folder: Path, hashed: Sequence[str], key: str = "") -> Any:
    if (VARIES.search(key) and value is not None) or (key in hashed and isinstance(value, str)):
        return "VARIES"
    if isinstance(value, dict):
        return {_normalize(name, folder, ()): _normalize(inner, folder, hashed, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_normalize(inner, folder, hashed) for inner in value]
    if not isinstance(value, str):
        return value
    for place, word in ((folder, "SCRATCH"), (ROOT, "ROOT"), (Path.home(), "HOME")):
        value = value.replace(str(place), word)
    for pattern, word in WORDS:
        value = re.sub(pattern, word, value)
    return value


def _last_said(text: str) -> list[str]:
    """Lines on stderr as a terminal would leave them: a bar is overwritten, so only its end stays."""
    lines = [line.split("\r")[-1].strip() for line in text.splitlines()]
    return [line for line in lines if line and "it/s" not in line]


# -- all runs, and the comparison --------------------------------------------------------------------------------


def commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command and group under `command`."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            under = command.get_command(context, name)
            assert under is not None
            yield from commands(under, (*path, name))


def help_of(tree: dict[tuple[str, ...], click.Command], path: tuple[str, ...]) -> list[str]:
    context = click.Context(tree[()], info_name="salon", terminal_width=100, help_option_names=["-h", "--help"])
    for end in range(1, len(path) + 1):
        context = click.Context(tree[path[:end]], parent=context, info_name=path[end - 1])
    return context.get_help().splitlines()


class Run:
    """One line of the table, read: the words to run, and what to call the record."""

    def __init__(self, line: str, tree: dict[tuple[str, ...], click.Command], names: Counter[str]) -> None:
        words = shlex.split(line)
        as_it_stands = words[0] == "="
        self.keep = words.pop() if ">" in words else None
        self.words = [word for word in words[as_it_stands:] if word != ">"]
        self.path = max((path for path in tree if tuple(words[as_it_stands:][: len(path)]) == path), key=len)
        name = "-".join(self.path) + ("-terminal" if as_it_stands else "")
        names[name] += 1
        self.name = f"{name}-{names[name]}" if names[name] > 1 else name
        if not as_it_stands:
            page = ["--html", f"{self.name}.html"] if "--html" in _options(tree[self.path]) else []
            self.words += ["--json", *page]


def table(tree: dict[tuple[str, ...], click.Command], **places: str) -> list[Run]:
    """The runs; a line that ends with a backslash goes on in the next."""
    text = RUNS.read_text().replace("\\\n", "").format(**places)
    names: Counter[str] = Counter()
    return [Run(line, tree, names) for line in text.splitlines() if line and not line.startswith("#")]


def not_covered(tree: dict[tuple[str, ...], click.Command], runs: list[Run]) -> list[str]:
    """Commands with --json that no run covers."""
    covered = {run.path for run in runs if "--json" in run.words}
    return [" ".join(path) for path in tree if "--json" in _options(tree[path]) and path not in covered]


def _options(command: click.Command) -> set[str]:
    return {option for parameter in command.params for option in parameter.opts}


def freeze(target: Path) -> None:
    """Run everything, and write the records to `target`."""
    from chat_server import ChatServer

    from salon.cli.main import salon

    target.mkdir(parents=True)
    tree = dict(commands(salon))
    _write(target / "help.json", {" ".join(("salon", *path)): help_of(tree, path) for path in tree})
    scratch = Path(tempfile.gettempdir()) / "salon-freeze"  # always the same: some hashes include paths
    scratch.mkdir()
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "examples" / "plugin" / "src")])
    os.environ |= {"SALON_CACHE": str(scratch / "cache"), "PYTHONPATH": path, "COLUMNS": "110"}
    os.environ |= {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    os.chdir(scratch)
    try:
        prepare(scratch)
        with ChatServer(chat_brain) as server:
            runs = table(tree, chat=server.url)
            for order in runs:
                if order.path == ("judge", "batch", "in"):
                    answer_batch(scratch / "questions-001.jsonl", scratch / "results.jsonl")
                began = time.perf_counter()
                record = run(order, scratch)
                _write(target / f"{order.name}.json", record)
                print(f"{time.perf_counter() - began:6.1f} s  exit {record['exit']}  {record['command']}", flush=True)
                if record["exit"] not in (0, 1, 130) or "Traceback" in str(record["said"]):
                    print(*record["said"], sep="\n")
    finally:
        shutil.rmtree(scratch)
    print(*(f"not covered: {command}" for command in not_covered(tree, runs)), sep="\n")


def _write(path: Path, record: Any) -> None:
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path, help="new folder for the records")
    parser.add_argument("--compare", type=Path, help="folder of an earlier freeze")
    given = parser.parse_args()
    target, earlier = given.target.absolute(), given.compare and given.compare.absolute()
    freeze(target)
    sys.exit(bool(earlier and compare(earlier, target)))
