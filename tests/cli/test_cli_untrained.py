"""Untrained VLMs as one-pass raters, in a folder and at an endpoint, beside a trained one."""

from __future__ import annotations

import base64
import io
import json
import shutil
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pytest
import torch
from chat_server import ChatServer
from one_pass_example import build_speaker
from PIL import Image
from ran_salon import exit_code
from scipy import stats

from salon.evaluate import (
    Evaluation,
    LeakGuard,
    ScoreEvaluationSettings,
    ScoreQuestion,
    evaluate_scores,
    evaluation_page,
    picture_keys,
    save_guard,
)
from salon.judge import OnePass, RaterSettings, ScoreSettings, expand_raters, make_scorer, read_scores, split_rater
from salon.models import ROLES, LoadedVlm, ModelCriterion, OnePassCard, fingerprint, picture_chat, write_one_pass_card
from salon.report import disagreements
from salon.store import open_study, save_study
from salon.study import Comparison, Criterion, Item, Prompt, Rater, Rating, Scale, Signature, Study

CRITERIA = tuple(Criterion(id=id, question="Better?", scale=Scale(low=1, high=9)) for id in ("q", "r"))
CATEGORIES, EACH, RATERS = ("flowers", "figures"), 8, 3
ITEMS = [f"{category}-{n}" for category in CATEGORIES for n in range(EACH)]
FORM = OnePass(criteria=CRITERIA, think=False, role="Rate.")
BRIGHT = np.random.default_rng(5).permutation(np.linspace(0.02, 0.98, len(ITEMS)))
NOISE = np.random.default_rng(6).normal(0, 1.2, (RATERS, len(ITEMS), len(CRITERIA)))
RATED = np.clip(np.round(1 + 8 * BRIGHT[:, None] + NOISE), 1, 9)


def prompt_of(item: str) -> str:
    category, _, number = item.partition("-")
    return f"{category}{int(number) // 4}"


VOTES = {
    (c, a, b): RATED[:, ITEMS.index(a), c] + NOISE[:, ITEMS.index(a), c] > RATED[:, ITEMS.index(b), c]
    for c in range(len(CRITERIA))
    for a, b in combinations(ITEMS, 2)
    if prompt_of(a) == prompt_of(b)
}
"""Whom each rater takes, of two pictures of a prompt."""
TERMS = ("--role", "Rate.", "--no-think", "--max-tokens", "40", "--pixels", "1024", "--device", "cpu")
QUICK = (*TERMS, "--draws", "120", "--against", "ratings")


@dataclass(frozen=True)
class Ran:
    exit_code: int
    stdout: str
    stderr: str


Salon = Callable[..., Ran]


@pytest.fixture
def salon(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Salon:
    """Runs a command, with a cache of the test's own."""
    monkeypatch.setenv("SALON_CACHE", str(tmp_path / "cache"))

    def run(*arguments: object) -> Ran:
        code = exit_code(*arguments)
        told = capsys.readouterr()
        return Ran(code, told.out, told.err)

    return run


@dataclass(frozen=True)
class Home:
    study: Path
    base: Path
    """Keeps the form, and says the same of every picture."""
    trained: Path
    """The same after it was shown what is better."""


def paint(folder: Path, values: dict[str, float]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in values.items():
        image = Image.new("RGB", (32, 32), (int(20 + 215 * value),) * 3)
        noise = np.random.default_rng(zlib.crc32(name.encode())).integers(-9, 9, (32, 32, 3))
        Image.fromarray(np.clip(np.asarray(image) + noise, 0, 255).astype(np.uint8)).save(folder / f"{name}.png")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    place = tmp_path_factory.mktemp("untrained")
    seen = {f"seen{n}": float(value) for n, value in enumerate(np.linspace(0, 1, 24))}
    paint(place / "seen", seen)
    rng = np.random.default_rng(3)
    teach(build_speaker(place / "random"), place / "tiny-vl", place / "seen", lambda _: rng.uniform(1, 9), steps=60)
    teach(place / "tiny-vl", place / "distilled", place / "seen", lambda name: 1 + 8 * seen[name], steps=110)
    card = OnePassCard(
        name="distilled", criteria=tuple(ModelCriterion(id=one.id, name=one.id) for one in CRITERIA),
        asked=FORM.record(), max_tokens=40, show_prompt=False, pixels=1024, study="elsewhere", data="",
        backbone=f"tiny-vl {fingerprint(place / 'tiny-vl')}", backbone_name="tiny-vl",
        labels={"source": "bridge", "category": "flowers", "calls_made": 47, "low": 1, "high": 9},
        guard=save_guard(LeakGuard.of(picture_keys(sorted((place / "seen").iterdir())), []), place / "distilled"),
        signature=Signature(method="one-pass"),
    )  # fmt: skip
    write_one_pass_card(place / "distilled", card, "")
    write_study(place / "study")
    return Home(place / "study", place / "tiny-vl", place / "distilled")


def teach(vlm: Path, out: Path, pictures: Path, score: Callable[[str], float], *, steps: int) -> None:
    """Supervised steps towards `score` of each picture, under both criteria."""
    loaded, rng = LoadedVlm(vlm, device="cpu", dtype="float32"), np.random.default_rng(0)
    optimizer = torch.optim.AdamW(loaded.model.parameters(), lr=4e-3, weight_decay=0.0)
    files, end = sorted(pictures.iterdir()), loaded.tokenizer.eos_token_id
    loaded.model.train()
    for step in range(steps):
        chosen = [files[number] for number in rng.integers(len(files), size=8)]
        inputs = dict(loaded.inputs([picture_chat(Image.open(file), FORM.question()) for file in chosen], 0))
        texts = [FORM.answer([score(file.stem)] * 2) for file in chosen]
        ids = [[*loaded.tokenizer(text, add_special_tokens=False)["input_ids"], end] for text in texts]
        longest = max(map(len, ids))
        answer = torch.tensor([one + [end] * (longest - len(one)) for one in ids])
        real = torch.tensor([[1] * len(one) + [0] * (longest - len(one)) for one in ids])
        inputs["labels"] = torch.cat(
            [torch.full_like(inputs["input_ids"], -100), answer.masked_fill(real == 0, -100)], dim=1
        )
        inputs["input_ids"] = torch.cat([inputs["input_ids"], answer], dim=1)
        inputs["attention_mask"] = torch.cat([inputs["attention_mask"], real], dim=1)
        if "mm_token_type_ids" in inputs:
            inputs["mm_token_type_ids"] = torch.cat([inputs["mm_token_type_ids"], torch.zeros_like(answer)], dim=1)
        optimizer.param_groups[0]["lr"] = 4e-3 * min(1.0, (step + 1) / 5) * (1 - 0.9 * step / steps)
        optimizer.zero_grad()
        loaded.model(**inputs).loss.backward()
        torch.nn.utils.clip_grad_norm_(loaded.model.parameters(), 1.0)
        optimizer.step()
    for part in (loaded.model, loaded.tokenizer, loaded.processor.image_processor):
        part.save_pretrained(out)


def write_study(folder: Path) -> None:
    """Ratings of three people, and their votes on pairs of a prompt."""
    prompts = {item: prompt_of(item) for item in ITEMS}
    votes = [
        Comparison(criterion=CRITERIA[c].id, rater=f"r{r}", a=a, b=b, outcome="a" if first else "b")
        for (c, a, b), won in VOTES.items()
        for r, first in enumerate(won)
    ]
    tables = {
        "prompts": [Prompt(id=id, text=id) for id in dict.fromkeys(prompts.values())],
        "items": [
            Item(id=item, prompt=prompts[item], category=item.split("-")[0], image=f"images/{item}.png")
            for item in ITEMS
        ],
        "raters": [Rater(id=f"r{n}") for n in range(RATERS)],
        "comparisons": votes,
        "ratings": [
            Rating(criterion=one.id, rater=f"r{r}", item=item, value=float(RATED[r, i, c]))
            for r in range(RATERS)
            for i, item in enumerate(ITEMS)
            for c, one in enumerate(CRITERIA)
        ],
    }
    save_study(Study.build("painted", CRITERIA, tables=tables, compare_within="category"), folder)
    paint(folder / "images", dict(zip(ITEMS, BRIGHT.tolist())))


def brightness(body: dict[str, Any]) -> float:
    """Of the picture in a request."""
    parts = body["messages"][-1]["content"]
    sent = next(part["image_url"]["url"] for part in parts if part["type"] == "image_url")
    image = Image.open(io.BytesIO(base64.b64decode(sent.partition(",")[2])))
    return float(np.asarray(image).mean() / 255)


def says(body: dict[str, Any]) -> str:
    return FORM.answer([round(1 + 7 * brightness(body), 2), 4.5])


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(says) as running:
        yield running


def endpoint(server: ChatServer) -> str:
    return f"onepass:openai:tiny-1@{server.url}"


@pytest.fixture(scope="module")
def report(home: Home) -> Evaluation:
    terms = RaterSettings(role="Rate.", think=False, max_tokens=40, pixels=1024)
    asked = ScoreQuestion([f"onepass:{home.base}"], [home.trained], against=["ratings", "medians"], rater=terms)
    return evaluate_scores(home.study, asked, ScoreEvaluationSettings(draws=120), device="cpu")


def values_of(home: Home, folder: Path) -> np.ndarray:
    """What a scorer says of every item, worked out by itself."""
    terms = RaterSettings(role="Rate.", think=False, max_tokens=40, pixels=1024)
    settings = ScoreSettings(device="cpu", rater=terms.on(open_study(home.study), home.study))
    columns = []
    for one in CRITERIA:
        scorer = make_scorer(f"onepass:{folder}@{one.id}", settings)
        items = [Item(id=item, image=str(home.study / "images" / f"{item}.png")) for item in ITEMS]
        columns.append(scorer.score(items, [None] * len(items)))
    return np.array(columns, float).T


# -- in a folder, beside a trained one -------------------------------------------------------------------------------


def test_base_and_trained_stand_side_by_side(home: Home, report: Evaluation) -> None:
    trained, base = report.targets[0].scorers
    assert (trained.name, trained.group, trained.labels) == ("distilled", "trained", "bridge, flowers")
    assert (base.name, base.group, base.labels) == ("tiny-vl", "base", "")
    assert base.signature.startswith("untrained-vlm|data:")
    assert f"question:{FORM.hash}" in base.signature
    target = RATED.mean(axis=0)
    cells = [(slice(k * EACH, (k + 1) * EACH), c) for k in range(2) for c in range(2)]
    for folder, found in ((home.trained, trained), (home.base, base)):
        said = values_of(home, folder)
        for metric, of in (("srcc", stats.spearmanr), ("plcc", stats.pearsonr)):
            each = [of(said[rows, c], target[rows, c]).statistic if np.ptp(said[rows, c]) else 0.0 for rows, c in cells]
            assert getattr(found.overall, metric).value == pytest.approx(np.mean(each))
            assert [getattr(part.agreed, metric).value for part in found.categories] == pytest.approx(
                [np.mean(each[2:]), np.mean(each[:2])]  # figures before flowers
            )
            assert [getattr(part.agreed, metric).value for part in found.criteria] == pytest.approx(
                [np.mean(each[0::2]), np.mean(each[1::2])]
            )
        assert found.overall.mean.value == pytest.approx(said.mean())
        assert found.overall.mae.value == pytest.approx(np.abs(said - target).mean())
    assert trained.overall.srcc.value > 0.5 > base.overall.srcc.value
    assert base.scale.startswith("collapsed")
    assert any("not asked for again" in words for words in report.policies)
    assert [(one.name, one.label_calls, one.note) for one in report.cost[:2]] == [
        ("tiny-vl", 0, "untrained"), ("distilled", 47, "labels by bridge"),
    ]  # fmt: skip


def test_the_difference_to_the_base_is_paired(report: Evaluation) -> None:
    trained, base = report.targets[0].scorers
    (less,) = report.targets[0].over_base
    assert (less.scorer, less.base) == ("distilled", "tiny-vl")
    for metric in ("srcc", "plcc", "mae", "rmse", "mean"):
        both = getattr(trained.overall, metric).value - getattr(base.overall, metric).value
        assert getattr(less, metric).value == pytest.approx(both)
    assert less.srcc.low < less.srcc.value < less.srcc.high
    assert less.apart
    for parts, own, other in (
        (less.categories, trained.categories, base.categories), (less.criteria, trained.criteria, base.criteria)
    ):  # fmt: skip
        found = [part.srcc.value for part in parts]
        assert found == pytest.approx([a.agreed.srcc.value - b.agreed.srcc.value for a, b in zip(own, other)])
    plain = next(one for one in report.targets[0].differences if one.first == "distilled")
    assert (plain.srcc.low, plain.srcc.high) == pytest.approx((less.srcc.low, less.srcc.high))
    assert len(report.targets[1].over_base) == 1


def test_salon_score_writes_tables_of_an_untrained_vlm(home: Home, tmp_path: Path, salon: Salon) -> None:
    shutil.copytree(home.study, tmp_path / "study")
    ran = salon("score", str(tmp_path / "study"), "-s", f"onepass:{home.base}", *TERMS, "--json")
    assert ran.exit_code == 0, ran
    runs = json.loads(ran.stdout)["scorers"]
    assert [run["scorer"] for run in runs] == ["tiny-vl@q", "tiny-vl@r"]
    assert [(run["card"]["criterion"], run["card"]["low"], run["card"]["high"]) for run in runs] == [
        ("q", 1, 9), ("r", 1, 9),
    ]  # fmt: skip
    said = values_of(home, home.base)
    for c, run in enumerate(runs):
        file = tmp_path / "study" / "scores" / f"{run['scorer']}.parquet"
        assert read_scores(file).column("value").to_pylist() == pytest.approx(said[:, c].tolist())
    ran = salon("distill", "evaluate", str(tmp_path / "study"), "-s", "tiny-vl", "--model", str(home.trained), *QUICK,
                "--json")  # fmt: skip
    found = json.loads(ran.stdout)["targets"][0]
    assert {one["name"]: one["group"] for one in found["scorers"]} == {"distilled": "trained", "tiny-vl": "base"}
    assert [one["base"] for one in found["over_base"]] == ["tiny-vl"]


def test_a_trained_scorer_keeps_its_role(home: Home) -> None:
    other = ScoreSettings(device="cpu", rater=RaterSettings(role="painting"))
    one, two = (make_scorer(f"onepass:{home.trained}@q", settings) for settings in (ScoreSettings(device="cpu"), other))
    assert str(one.signature) == str(two.signature)
    item = Item(id="x", image=str(home.study / "images" / f"{ITEMS[0]}.png"))
    assert one.score([item], [None]) == two.score([item], [None]) != [None]


def test_the_page_says_what_the_json_says(report: Evaluation) -> None:
    page = evaluation_page(report).html()
    assert not disagreements(page, report.model_dump(mode="json"))
    assert "distilled - tiny-vl" in page
    for path in ("srcc", "categories.1.plcc", "criteria.0.srcc"):
        assert f"targets.0.over_base.0.{path}" in page


# -- the paper's tables ----------------------------------------------------------------------------------------------


def test_tables_have_the_shape_of_the_papers(home: Home, report: Evaluation, tmp_path: Path, salon: Salon) -> None:
    command = ["distill", "evaluate", str(home.study), "-s", f"onepass:{home.base}", "--model", str(home.trained)]
    command += [*QUICK, "--against", "medians"]
    file = tmp_path / "table.csv"
    ran = salon(*command, "--table", "category", "-o", str(file))
    assert ran.exit_code == 0, ran
    lines = ran.stdout.splitlines()
    heads = ["Method", "Labels", *(f"{m} {p}" for m in ("SRCC", "PLCC") for p in ("figures", "flowers", "Mean"))]
    assert [head.strip() for head in lines[1].split("  ") if head.strip()] == heads
    told = [line.strip() for line in lines[2:]]
    blocks = [line for line in told if line.startswith(("Against", "Untrained", "Trained"))]
    assert blocks == [
        word
        for target in report.targets
        for word in (f"Against {target.name}", "Untrained VLMs, one pass", "Trained", "Trained less its base")
    ]
    trained = report.targets[0].scorers[0]
    numbers = [f"{part.agreed.srcc.value:.3f}" for part in trained.categories] + [f"{trained.overall.srcc.value:.3f}"]
    row = next(line for line in told if line.startswith("distilled  "))
    assert row.split("flowers")[1].split()[:3] == numbers
    less = report.targets[0].over_base[0].srcc
    shown = f"+{less.value:.3f} [{less.low:.3f}, {less.high:.3f}]"
    assert shown in next(line for line in told if line.startswith("distilled - tiny-vl"))
    rows = pyarrow.csv.read_csv(file).to_pylist()
    mean = [row for row in rows if (row["method"], row["metric"], row["part"]) == ("tiny-vl", "SRCC", "Mean")]
    assert [row["value"] for row in mean] == pytest.approx([t.scorers[1].overall.srcc.value for t in report.targets])
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows if row["low"] is not None)
    again = salon(*command, "--table", "category", "-o", str(file))
    assert again.exit_code == 2
    assert "--overwrite" in again.stderr


@pytest.mark.parametrize("kind", ["scale", "criterion"])
def test_tables_as_markdown_and_latex(home: Home, report: Evaluation, tmp_path: Path, kind: str, salon: Salon) -> None:
    command = ["distill", "evaluate", str(home.study), "-s", f"onepass:{home.base}", "--model", str(home.trained)]
    command += [*QUICK, "--against", "medians", "--table", kind]
    for ending in (".md", ".tex"):
        ran = salon(*command, "-o", str(tmp_path / f"table{ending}"))
        assert ran.exit_code == 0, ran
    base = report.targets[0].scorers[1]
    assert "\N{HORIZONTAL ELLIPSIS}" not in ran.stdout, "no number is cut off"
    markdown = (tmp_path / "table.md").read_text().splitlines()
    row = next(line for line in markdown if line.startswith("| tiny-vl |"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    if kind == "scale":  # method, labels, MAE and RMSE against both targets, mean, distance, words
        both = [target.scorers[1].overall for target in report.targets]
        errors = [f"{one.mae.value:.2f}" for one in both] + [f"{one.rmse.value:.2f}" for one in both]
        shift = base.overall.shift.value
        signed = f"+{shift:.2f}" if shift > 0 else f"\u2212{-shift:.2f}"
        assert "| MAE ratings | MAE medians | RMSE ratings | RMSE medians | Predicted mean |" in markdown[0]
        assert cells[2:] == [*errors, f"{base.overall.mean.value:.2f}", signed, base.scale]
    else:
        srcc = [f"{part.agreed.srcc.value:.3f}" for part in base.criteria] + [f"{base.overall.srcc.value:.3f}"]
        assert cells[2:5] == srcc
        assert markdown[0].startswith("| Method | Labels | SRCC q | SRCC r | SRCC Mean | PLCC q |")
    latex = (tmp_path / "table.tex").read_text()
    assert latex.startswith("\\begin{tabular}{ll" + "r" * 6)
    assert latex.count("\\\\") == 1 + sum(not line.startswith("| ---") for line in markdown[1:])


def test_a_table_needs_to_be_named_to_be_written(home: Home, tmp_path: Path, salon: Salon) -> None:
    ran = salon("distill", "evaluate", str(home.study), "-s", f"onepass:{home.base}", "-o", str(tmp_path / "t.md"))
    assert ran.exit_code == 2
    assert "--table" in ran.stderr
    ran = salon("distill", "evaluate", str(home.study), "-s", f"onepass:{home.base}", "--table", "scale", "-o",
                str(tmp_path / "t.doc"))  # fmt: skip
    assert ran.exit_code == 2
    assert ".tex" in ran.stderr


# -- at an endpoint --------------------------------------------------------------------------------------------------


def test_an_endpoint_is_asked_once_with_the_same_text(
    home: Home, server: ChatServer, tmp_path: Path, salon: Salon
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('currency = "USD"\n[models.tiny-1]\ninput = 1.0\noutput = 2.0\nimage_tokens = 100\n')
    calls = ("--calls", str(tmp_path / "calls.sqlite"), "--prices", str(prices))
    command = ["distill", "evaluate", str(home.study), "-s", endpoint(server), "--model", str(home.trained), *QUICK]
    ran = salon(*command, *calls, "--dry-run")
    assert (ran.exit_code, len(server.questions)) == (0, 0), ran
    assert "tiny-1: 16 calls, 0 answered already, at most 0.0" in ran.stderr
    ran = salon(*command, *calls, "--json")
    assert ran.exit_code == 0, ran
    assert sorted(server.questions.values()) == [1] * len(ITEMS)
    sent = server.seen[-1].fields
    content = sent["messages"][0]["content"]
    assert [part["type"] for part in content] == ["image_url", "text"]
    assert (content[1]["text"], sent["temperature"]) == (FORM.question(), 0)
    found = next(one for one in json.loads(ran.stdout)["targets"][0]["scorers"] if one["group"] == "base")
    said = np.array([round(1 + 7 * shown_brightness(home, item), 2) for item in ITEMS])
    target = RATED.mean(axis=0)[:, 0]
    halves = (slice(0, EACH), slice(EACH, None))
    assert found["criteria"][0]["agreed"]["srcc"]["value"] == pytest.approx(
        np.mean([stats.spearmanr(said[rows], target[rows]).statistic for rows in halves]), abs=0.06
    )  # JPEG moves the brightness a little
    again = salon(*command, *calls, "--dry-run")
    assert "16 calls, 16 answered already, at most 0.0000" in again.stderr
    salon(*command, *calls)
    assert len(server.questions) == len(ITEMS), "what was bought is not bought again"
    assert not list((home.study / "scores").glob("tiny-1*")), "an evaluation writes no table into the study"


def shown_brightness(home: Home, item: str) -> float:
    return float(np.asarray(Image.open(home.study / "images" / f"{item}.png")).mean() / 255)


def test_the_role_is_part_of_question_and_signature(
    home: Home, server: ChatServer, tmp_path: Path, salon: Salon
) -> None:
    settings = ["--no-think", "--max-tokens", "40", "--calls", str(tmp_path / "c.sqlite")]
    for role in ("painting", "You judge posters."):
        ran = salon("score", str(home.study), "-s", f"{endpoint(server)}@q", "--role", role, "--name", role[:3],
                    "--limit", "1", *settings, "--json")  # fmt: skip
        assert ran.exit_code == 0, ran
        sentence = ROLES.get(role, role)
        assert server.seen[-1].fields["messages"][0]["content"][1]["text"].startswith(f"{sentence}\nEvaluate")
        form = OnePass(criteria=CRITERIA, think=False, role=sentence)
        assert f"question:{form.hash}" in json.loads(ran.stdout)["scorers"][0]["signature"]
    assert len(server.questions) == 2
    ran = salon("score", str(home.study), "-s", endpoint(server), "--role", "two\nlines")
    assert ran.exit_code == 2
    assert "one line" in ran.stderr
    for name in ("pai", "You"):
        for file in (home.study / "scores").glob(f"{name}.*"):
            file.unlink()


def test_pictures_without_a_study_need_criteria(home: Home, server: ChatServer, tmp_path: Path, salon: Salon) -> None:
    images = home.study / "images"
    ran = salon("score", str(images), "-s", endpoint(server), "-o", str(tmp_path / "out"))
    assert ran.exit_code == 2
    assert "onepass:...@ppaint/overall" in ran.stderr
    server.brain = lambda body: '<answer>{"ppaint/conception": 3.5, "ppaint/overall": 2}</answer>'
    ran = salon("score", str(images), "-s", endpoint(server), "--criterion", "ppaint/conception", "--criterion",
                "ppaint/overall", "-o", str(tmp_path / "out"), "--calls", str(tmp_path / "c.sqlite"))  # fmt: skip
    assert ran.exit_code == 0, ran
    table = read_scores(tmp_path / "out" / "tiny-1@ppaint-conception.parquet")
    assert table.column("value").to_pylist() == [3.5] * len(ITEMS)
    assert len(server.questions) == len(ITEMS), "both criteria from one answer"


# -- salon evaluate --------------------------------------------------------------------------------------------------


def test_salon_evaluate_takes_folders_and_endpoints(
    home: Home, server: ChatServer, tmp_path: Path, salon: Salon
) -> None:
    ran = salon("evaluate", str(home.base), str(home.trained), str(home.study), "-s", endpoint(server), *TERMS,
                "--draws", "100", "--calls", str(tmp_path / "c.sqlite"), "--json")  # fmt: skip
    assert ran.exit_code == 0, ran
    assert "tiny-1: 16 calls, 0 answered already, cost not known" in ran.stderr
    report = json.loads(ran.stdout)
    found = {one["name"]: one for one in report["judges"]}
    assert {name: one["kind"] for name, one in found.items()} == {
        "tiny-vl": "untrained", "distilled": "one-pass", "tiny-1": "untrained",
    }  # fmt: skip
    reached = found["distilled"]["pooled"]["accuracy"]["value"]
    assert reached == pytest.approx(accuracy(values_of(home, home.trained)))
    assert reached > 0.7
    equal = found["tiny-vl"]["pooled"]["accuracy"]["value"]
    assert equal == pytest.approx(accuracy(values_of(home, home.base))) == 0.5
    assert found["distilled"]["leak"]["guarded"]
    assert len(server.questions) == len(ITEMS)
    assert any("not asked for again" in words for words in report["policies"])


def accuracy(said: np.ndarray) -> float:
    """Share of pairs on which the scores take the majority's side; half for equal scores."""
    right = []
    for (c, a, b), won in VOTES.items():
        own = said[ITEMS.index(a), c] - said[ITEMS.index(b), c]
        right.append(0.5 if own == 0 else float((own > 0) == (won.mean() > 0.5)))
    return float(np.mean(right))


# -- what is refused -------------------------------------------------------------------------------------------------


def test_a_folder_without_a_vlm_is_refused(home: Home, tmp_path: Path, salon: Salon) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "readme.txt").write_text("no weights")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("{}")
    for command in (["distill", "evaluate"], ["evaluate"], ["score"]):
        ran = salon(*command, str(home.study), "-s", f"onepass:{tmp_path / 'notes'}")
        assert ran.exit_code == 2, command
        assert "the folder of a VLM" in ran.stderr
        assert "readme.txt" in ran.stderr
    ran = salon("distill", "evaluate", str(home.study), "-s", f"onepass:{tmp_path / 'broken'}", *QUICK)
    assert ran.exit_code == 2
    assert "a VLM is needed" in ran.stderr
    assert not list(home.study.glob("scores/notes*"))


def test_a_vlm_that_is_never_read_is_refused(home: Home, server: ChatServer, tmp_path: Path, salon: Salon) -> None:
    server.brain = lambda body: "A fine picture, I like it."
    calls = ("--calls", str(tmp_path / "c.sqlite"))
    for command in (["distill", "evaluate"], ["evaluate"], ["score"]):
        for most in ("0.1", "1"):
            ran = salon(*command, str(home.study), *TERMS, "-s", endpoint(server), *calls, "--most-unread", most)
            assert ran.exit_code == 1, (command, ran)
            assert "unreadable" in ran.stderr
            assert "A fine picture" in ran.stderr
    assert not list(home.study.glob("scores/tiny-1*"))
    cut = salon("distill", "evaluate", str(home.study), "-s", f"onepass:{home.base}", *QUICK, "--max-tokens", "3")
    assert cut.exit_code == 1
    assert "8 unreadable (8 " in cut.stderr


def test_some_unread_answers_are_gaps_that_are_counted(
    home: Home, server: ChatServer, tmp_path: Path, salon: Salon
) -> None:
    dark = np.sort([shown_brightness(home, item) for item in ITEMS])[3]
    server.brain = lambda body: "no" if brightness(body) < dark - 0.005 else says(body)
    command = [
        "distill",
        "evaluate",
        str(home.study),
        "-s",
        endpoint(server),
        *QUICK,
        "--calls",
        str(tmp_path / "c.db"),
    ]
    assert salon(*command).exit_code == 1
    ran = salon(*command, "--most-unread", "0.5", "--json")
    assert ran.exit_code == 0, ran
    found = json.loads(ran.stdout)["targets"][0]["scorers"][0]["overall"]
    assert (found["wanted"], found["scored"]) == (32, 26)


def test_an_endpoint_that_is_down_is_refused(home: Home, tmp_path: Path, salon: Salon) -> None:
    with ChatServer(says) as gone:
        word = endpoint(gone)
    ran = salon("distill", "evaluate", str(home.study), *QUICK, "-s", word, "--calls", str(tmp_path / "c.sqlite"))
    assert ran.exit_code == 2, ran
    assert "a server must answer" in ran.stderr
    assert not ran.stdout


def test_a_question_left_open_leaves_nothing_half(home: Home, server: ChatServer, tmp_path: Path, salon: Salon) -> None:
    server.script[FORM.question()] = ["ok", "ok", "422", "ok", "422"]
    calls = ("--calls", str(tmp_path / "c.sqlite"), "--concurrency", "1")
    command = ["distill", "evaluate", str(home.study), "-s", endpoint(server), *QUICK, *calls]
    ran = salon(*command)
    assert ran.exit_code == 1, ran
    assert "2 of 16 without" in ran.stderr
    assert "not now" in ran.stderr
    ran = salon(*command)
    assert ran.exit_code == 0, ran
    assert sorted(server.questions.values()) == [1] * 14 + [2] * 2, "only what was left open is asked again"


# -- names -----------------------------------------------------------------------------------------------------------


def test_names_of_untrained_vlms(home: Home) -> None:
    plain = split_rater("onepass:openai:a/b@http://localhost:1/v1@ppaint/mood")
    assert (plain.source, plain.criterion, plain.title) == ("openai:a/b@http://localhost:1/v1", "ppaint/mood", "a-b")
    hosted = split_rater("onepass:openai:gpt-4o")
    assert (hosted.source, hosted.criterion, hosted.title) == ("openai:gpt-4o", None, "gpt-4o")
    assert split_rater("onepass:openai:gpt-4o@mood").criterion == "mood"
    assert split_rater(f"onepass:{home.base}@q").criterion == "q"
    assert split_rater(f"onepass:{home.trained}") is None
    assert split_rater(f"model:{home.base}") is None
    assert expand_raters(["words", "onepass:openai:m"], ["q", "r"]) == [
        "words",
        "onepass:openai:m@q",
        "onepass:openai:m@r",
    ]
