"""HPSv3's Tables 2, 3 and 4 by one command each, against what the released evaluation makes of the same numbers."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from ran_salon import Salon
from scipy import stats

from salon import bench
from salon.bench import RaterTables, RewardTables, raters_report, reward_page, rewards
from salon.judge import MissingScore, PictureScore, PictureScorer, ScoreResult, ScorerInput
from salon.report import disagreements
from salon.store.formats.hpdv3_benchmark import CATEGORIES
from salon.study import ScorerCard, Signature

MODELS = ("kolors", "flux", "playground", "infinity", "cogview4", "pixart", "gemini", "sdxl", "hunyuan", "sd3", "sd2")
TWELVE = sorted(CATEGORIES - {"architechture"})
NO_NUMBER = 255


def gray_scorer(name: str = "gray", *, sign: float = 1.0, version: str = "1") -> PictureScorer:
    """The gray of a picture; white ones have no number."""

    def look(shown: list[ScorerInput]) -> list[ScoreResult]:
        grays = [float(np.asarray(one.image)[0, 0, 0]) for one in shown]
        return [MissingScore("white") if gray == NO_NUMBER else PictureScore(sign * gray) for gray in grays]

    card = ScorerCard(reads="image and prompt", measures="Gray.")
    return PictureScorer(name, card, Signature(method=f"test-{name}", version=version), look, batch=64)


@pytest.fixture(autouse=True)
def scorers(monkeypatch: pytest.MonkeyPatch) -> None:
    def named(names: list[str], settings: object = None) -> list[PictureScorer]:
        return [gray_scorer(name, sign=-1.0 if name == "dark" else 1.0) for name in names]

    monkeypatch.setattr(bench, "open_scorers", named)
    monkeypatch.setattr(rewards, "open_scorers", named)


def picture(path: Path, gray: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (4, 4), (gray, gray, gray)).save(path)


def gray_of(path: Path) -> float:
    return float(np.asarray(Image.open(path))[0, 0, 0])


# -- table 4 -----------------------------------------------------------------------------------------------------------


def released_pair_accuracy(folder: Path, records: list[dict]) -> tuple[float, int, int]:
    """evaluate.py, mode 'pair': correct where the first is strictly above; the denominator is the number of records."""
    rewards = [(gray_of(folder / one["path1"]), gray_of(folder / one["path2"])) for one in records]
    return sum(a > b for a, b in rewards) / len(records), len(records), sum(a == b for a, b in rewards)


def released_rank_accuracy(rankings: list[list[int]], rewards: list[list[float]]) -> float:
    """evaluate.py, calc_rank_acc: pairs of different rank; equal rewards are wrong."""
    right = total = 0
    for ranks, values in zip(rankings, rewards, strict=True):
        for i, j in combinations(range(len(ranks)), 2):
            if ranks[i] != ranks[j]:
                total += 1
                right += values[i] < values[j] if ranks[i] > ranks[j] else values[i] > values[j]
    return right / total


def hpdv3(folder: Path, prompts: int = 12, seed: int = 0) -> list[dict]:
    rng = np.random.default_rng(seed)
    records = []
    for prompt in range(prompts):
        grays = rng.integers(0, 6, 4) * 10  # equal ones among them
        for model, gray in zip(MODELS, grays):
            picture(folder / "images" / f"{prompt}-{model}.png", int(gray))
        for _ in range(4):
            first, second = rng.choice(4, 2, replace=False)
            votes = [int(rng.integers(6, 10)), int(rng.integers(0, 6))]
            records.append(
                {
                    "prompt": f"scene {prompt}",
                    "path1": f"images/{prompt}-{MODELS[first]}.png",
                    "path2": f"images/{prompt}-{MODELS[second]}.png",
                    "model1": MODELS[first],
                    "model2": MODELS[second],
                    "choice_dist": votes if rng.random() < 0.5 else votes[::-1],
                    "confidence": 0.97,
                }
            )
    records += [records[0], records[5], records[5]]  # pairs that stand several times
    (folder / "test.json").write_text(json.dumps(records))
    return records


def told(salon: Salon, *args: object) -> RaterTables:
    run = salon("bench", "raters", *args, "--draws", "200", "--json")
    assert run.code == 0, run.err
    return RaterTables.model_validate_json(run.out)


@pytest.mark.parametrize("seed", range(3))
def test_table_4_counts_records_as_the_released_evaluation_does(salon: Salon, tmp_path: Path, seed: int) -> None:
    records = hpdv3(tmp_path / "hpdv3", seed=seed)
    tables = told(salon, tmp_path / "hpdv3" / "test.json", "-s", "gray")
    accuracy, total, equal = released_pair_accuracy(tmp_path / "hpdv3", records)
    (on,) = tables.raters[0].studies
    assert equal > 0
    assert (on.accuracy.value, on.pairs, on.panel_pairs, on.equal) == (pytest.approx(accuracy), total, total, equal)
    assert on.accuracy.low < accuracy < on.accuracy.high
    (study,) = tables.studies
    pairs = {(one["prompt"], frozenset((one["path1"], one["path2"]))) for one in records}
    assert study.count == "records"
    assert study.repeats == len(records) - len(pairs) >= 3
    turned = sum(one["choice_dist"][0] < one["choice_dist"][1] for one in records)
    assert any(f"choice_dist of {turned} of {total} records" in words for words in tables.warnings)


def test_table_4_has_a_column_for_every_test_set(salon: Salon, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    hpdv3(tmp_path / "hpdv3")
    rankings, values, reward, people = [], [], [], []
    for number in range(6):
        grays = rng.choice(200, 4, replace=False)
        names = [f"ir/{number}-{k}.png" for k in range(4)]
        for name, gray in zip(names, grays):
            picture(tmp_path / name, int(gray))
        ranks = rng.integers(1, 4, 4).tolist()
        rankings.append(ranks)
        values.append(grays.tolist())
        reward.append({"id": str(number), "prompt": f"p{number}", "generations": names, "ranking": ranks})
        order = (rng.permutation(4) + 1).tolist()
        people.append({"prompt": f"p{number}", "image_path": names, "rank": order, "raw_annotations": []})
    (tmp_path / "ir.json").write_text(json.dumps(reward))
    (tmp_path / "hpdv2.json").write_text(json.dumps(people))
    data = [(tmp_path / name).read_bytes() for name in ("ir/0-0.png", "ir/0-1.png")]
    better = values[0][0] > values[0][1]
    columns = {"caption": ["c", "c", "d"], "jpg_0": [data[0]] * 3, "jpg_1": [data[1]] * 3, "has_label": [True] * 3,
               "label_0": [1.0, 0.5, 0.0], "label_1": [0.0, 0.5, 1.0]}  # fmt: skip
    pq.write_table(pa.table(columns), tmp_path / "pick.parquet")
    tables = told(
        salon, *(tmp_path / name for name in ("ir.json", "pick.parquet", "hpdv2.json", "hpdv3/test.json")),
        "-s", "gray", "-s", "dark",
    )  # fmt: skip
    assert [study.study for study in tables.studies] == ["imagereward", "pickapic", "hpdv2", "hpdv3"]
    gray = next(row for row in tables.raters if row.rater == "gray")
    assert gray.on("imagereward").accuracy.value == pytest.approx(released_rank_accuracy(rankings, values))
    ties = sum(len(ranks) * (len(ranks) - 1) // 2 for ranks in rankings) - gray.on("imagereward").pairs
    assert tables.studies[0].criteria[0].tied == ties > 0
    assert (gray.on("pickapic").pairs, tables.studies[1].criteria[0].tied) == (2, 1)
    assert gray.on("pickapic").accuracy.value == 0.5
    assert better in (True, False)
    inverted = [
        sum((v[i] - v[j]) * (r["rank"][i] - r["rank"][j]) > 0 for i, j in combinations(range(4), 2))
        for v, r in zip(values, people)
    ]  # inversion_score of hpsv2: one minus the share of inverted pairs, mean over records
    assert gray.on("hpdv2").accuracy.value == pytest.approx(np.mean([1 - count / 6 for count in inverted]))


def test_table_3_orders_generators_as_people_do(salon: Salon, tmp_path: Path) -> None:
    records = []
    for prompt in range(8):
        for k, model in enumerate(MODELS):
            picture(tmp_path / f"{prompt}-{model}.png", 200 - 10 * k)
        for first, second in combinations(range(len(MODELS)), 2):
            paths = [f"{prompt}-{MODELS[k]}.png" for k in (first, second)]
            names = {"model1": MODELS[first], "model2": MODELS[second]}
            records.append({"prompt": str(prompt), "path1": paths[0], "path2": paths[1], **names})
    (tmp_path / "test.json").write_text(json.dumps(records))
    tables = told(salon, tmp_path / "test.json", "-s", "gray", "-s", "dark")
    order = {row.rater: row.studies[0].order for row in tables.raters}
    assert order["gray"].generators == 11
    assert (order["gray"].spearman.value, order["gray"].kendall.value, order["gray"].nmse.value) == (1, 1, 0)
    assert (order["dark"].spearman.value, order["dark"].kendall.value) == (-1, -1)
    assert order["dark"].nmse.value == pytest.approx(np.mean((2 * np.arange(11) / 10 - 1) ** 2))


def test_a_picture_without_a_number_counts_as_wrong_or_leaves_as_asked(salon: Salon, tmp_path: Path) -> None:
    records = hpdv3(tmp_path)
    white = records[1]["path1"]
    picture(tmp_path / white, NO_NUMBER)
    touched = sum(white in (one["path1"], one["path2"]) for one in records)
    kept = [one for one in records if white not in (one["path1"], one["path2"])]
    file = tmp_path / "test.json"
    counted = told(salon, file, "-s", "gray")
    right = released_pair_accuracy(tmp_path, kept)[0] * len(kept)
    assert counted.raters[0].studies[0].accuracy.value == pytest.approx(right / len(records))
    assert any("gives no number to 1 pictures: white" in words for words in counted.warnings)
    left = told(salon, file, "-s", "gray", "--missing", "not-asked").raters[0].studies[0]
    assert (left.pairs, left.panel_pairs) == (len(records) - touched, len(records))
    assert left.accuracy.value == pytest.approx(right / len(kept))
    (tmp_path / white).write_bytes(b"")
    broken = told(salon, file, "-s", "gray")
    assert broken.raters[0].studies[0].accuracy == counted.raters[0].studies[0].accuracy


def test_the_page_and_the_terminal_hold_the_numbers_of_the_json(salon: Salon, tmp_path: Path) -> None:
    hpdv3(tmp_path)
    tables = told(salon, tmp_path / "test.json", "-s", "gray", "-s", "dark")
    html = raters_report(tables).html()
    assert disagreements(html, tables.model_dump(mode="json")) == []
    run = salon("bench", "raters", tmp_path / "test.json", "-s", "gray", "--draws", "200", "--html", "t.html")
    assert run.code == 0, run.err
    gray = next(row for row in tables.raters if row.rater == "gray").studies[0]
    assert f"{100 * gray.accuracy.value:.1f} [{100 * gray.accuracy.low:.1f}" in run.out
    assert "51 records" in run.out
    assert f"repeated pairs, each of which counts: {tables.studies[0].repeats}" in run.out
    assert "Order of generators" in (tmp_path / "t.html").read_text()
    other = hpdv3(tmp_path, seed=1)
    assert other
    assert told(salon, tmp_path / "test.json", "-s", "gray", "-s", "dark").signature_line != tables.signature_line


def test_test_sets_that_cannot_be_used_say_why(salon: Salon, tmp_path: Path) -> None:
    hpdv3(tmp_path / "here")
    file = tmp_path / "here" / "test.json"
    moved = tmp_path / "moved" / "test.json"
    moved.parent.mkdir()
    moved.write_text(file.read_text().replace('"images/', '"/data/images/'))
    plain = tmp_path / "votes.csv"
    plain.write_text("left,right,outcome\na,b,a\n")
    for args, words in (
        ([moved], "are not there, the first '/data/images/"),
        ([tmp_path / "here"], "is a file"),
        ([tmp_path / "none.json"], "nothing there"),
        ([plain], "a test set of the field is needed"),
        ([file, "--remap", "x"], "OLD=NEW"),
        ([file, "--image-root", tmp_path / "no"], "--image-root must be a folder"),
        ([file, "--rater", "x"], "both"),
    ):
        run = salon("bench", "raters", *args, "-s", "gray")
        assert run.code == 2
        assert words in " ".join(run.err.split()), run.err
    run = salon("bench", "raters", file, "--remap", f"/x={tmp_path}")
    assert (run.code, "go with --scorer" in run.err) == (2, True)
    found = told(salon, moved, "-s", "gray", "--remap", f"/data={tmp_path / 'here'}")
    assert found.raters[0].studies == told(salon, file, "-s", "gray").raters[0].studies


# -- table 2 -----------------------------------------------------------------------------------------------------------


def benchmark(root: Path, categories: int = 12, models: int = 11) -> dict[tuple[str, str], list[float]]:
    """Categories of two to four prompts; the grays of each category and model."""
    rng = np.random.default_rng(0)
    grays: dict[tuple[str, str], list[float]] = defaultdict(list)
    for number, category in enumerate(TWELVE[:categories]):
        for model in MODELS[:models]:
            for prompt in range(2 + number % 3):
                gray = int(rng.integers(0, 250))
                grays[category, model].append(gray)
                picture(root / category / model / f"{prompt}.png", gray)
                (root / category / model / f"{prompt}.txt").write_text(f"{category} {prompt}\n{prompt}")
    return grays


def rewarded(salon: Salon, *args: object) -> RewardTables:
    run = salon("bench", "rewards", *args, "--json")
    assert run.code == 0, run.err
    return RewardTables.model_validate_json(run.out)


def test_table_2_is_what_the_released_benchmark_prints(salon: Salon, tmp_path: Path) -> None:
    grays = benchmark(tmp_path / "bench")
    tables = rewarded(salon, tmp_path / "bench", "-s", "gray", "--overall", "categories")
    means = {(board.category, place.generator): place.mean for board in tables.boards for place in board.places}
    assert len(means) == 13 * 11
    for (category, model), values in grays.items():
        assert means[category, model].value == pytest.approx(np.mean(values))
    for model in MODELS:
        rows = [np.array(grays[category, model]) for category in TWELVE]
        assert means[None, model].value == pytest.approx(np.mean([row.mean() for row in rows]))  # OVERALL
        error = np.sqrt(sum(row.var(ddof=1) / len(row) for row in rows)) / 12
        n = sum(map(len, rows))
        assert means[None, model].high - means[None, model].value == pytest.approx(
            1.9977 * error * np.sqrt(n / (n - 1)), rel=0.02
        )
    everything = rewarded(salon, tmp_path / "bench", "-s", "gray")
    place = next(one for one in everything.boards[0].places if one.generator == "flux")
    flat = [gray for (_, model), row in grays.items() for gray in row if model == "flux"]
    assert place.mean.value == pytest.approx(np.mean(flat))
    assert everything.signature_line != tables.signature_line


def test_table_2_of_a_benchmark_with_gaps(salon: Salon, tmp_path: Path) -> None:
    benchmark(tmp_path / "bench", 3, 4)
    picture(tmp_path / "bench" / TWELVE[0] / "flux" / "0.png", NO_NUMBER)
    (tmp_path / "bench" / TWELVE[1] / "infinity" / "1.png").unlink()
    run = salon("bench", "rewards", tmp_path / "bench", "-s", "gray")
    assert run.code == 0, run.err
    assert "gray gives no number to 1 pictures: white" in run.out
    tables = rewarded(salon, tmp_path / "bench", "-s", "gray")
    lacking = {place.generator: place.lacking for place in tables.boards[0].places if place.mean is None}
    assert lacking == {"flux": 1, "infinity": 1}
    shared = rewarded(salon, tmp_path / "bench", "-s", "gray", "--missing", "shared", "--overall", "categories")
    assert shared.boards[0].left_out == 2
    assert all(place.mean is not None for place in shared.boards[0].places)


def test_table_3_holds_means_on_the_benchmark_against_votes_of_people(salon: Salon, tmp_path: Path) -> None:
    grays = benchmark(tmp_path / "bench", 3, 6)
    records = hpdv3(tmp_path / "hpdv3")  # four models, of which people may not have voted on all that the benchmark has
    tables = rewarded(
        salon, tmp_path / "bench", "-s", "gray", "-s", "dark", "--people", tmp_path / "hpdv3" / "test.json"
    )
    shared = MODELS[:4]
    means = [np.mean([gray for (_, name), row in grays.items() if name == model for gray in row]) for model in shared]
    votes: dict[frozenset[str], list[int]] = defaultdict(lambda: [0, 0])
    for one in records:  # the votes of a pair are added up; the first of its two pictures by name counts first
        pair = sorted((one["path1"], one["path2"]))
        high, low = max(one["choice_dist"]), min(one["choice_dist"])
        for place, count in ((pair.index(one["path1"]), high), (pair.index(one["path2"]), low)):
            votes[frozenset(pair)][place] += count
    points: dict[str, list[float]] = defaultdict(list)
    for pair, counts in votes.items():
        for path, count in zip(sorted(pair), counts):
            points[Path(path).stem.split("-")[1]].append(count / sum(counts))
    people = [np.mean(points[model]) for model in shared]
    by_scorer = {one.scorer: one for one in tables.orders}
    for name, values in (("gray", means), ("dark", [-value for value in means])):
        order = by_scorer[name]
        assert order.spearman.value == pytest.approx(stats.spearmanr(values, people).statistic)
        assert order.kendall.value == pytest.approx(stats.kendalltau(values, people).statistic)
        stretched = [(np.array(side) - min(side)) / np.ptp(side) for side in (values, people)]
        assert order.nmse.value == pytest.approx(np.mean((stretched[0] - stretched[1]) ** 2))
        assert set(order.generators) == set(shared)
        assert order.left_out == ("cogview4", "pixart")
        assert order.pairs == len(votes)
    html = reward_page(tables).html()
    assert disagreements(html, tables.model_dump(mode="json")) == []
    run = salon("bench", "rewards", tmp_path / "bench", "-s", "gray", "--people", tmp_path / "hpdv3" / "test.json")
    assert "Order of generators, to that of" in run.out
    assert "not in both, so in no order: cogview4, pixart" in run.out
    strangers = json.loads((tmp_path / "hpdv3" / "test.json").read_text().replace("kolors", "x").replace("flux", "y"))
    (tmp_path / "other.json").write_text(json.dumps(strangers))
    none = rewarded(salon, tmp_path / "bench", "-s", "gray", "--people", tmp_path / "other.json").orders[0]
    assert (none.spearman, "at least 3" in none.reason) == (None, True)
    bare = [{key: value for key, value in one.items() if not key.startswith("model")} for one in records]
    (tmp_path / "bare.json").write_text(json.dumps(bare))
    refused = salon("bench", "rewards", tmp_path / "bench", "-s", "gray", "--people", tmp_path / "bare.json")
    assert refused.code == 2
    assert "pictures of two generators" in refused.err


def test_a_study_s_pictures_may_be_scored_at_once_too(salon: Salon, tmp_path: Path) -> None:
    benchmark(tmp_path / "bench", 2, 3)
    made = salon("import", "hpdv3-benchmark", tmp_path / "bench", "--images", "-o", tmp_path / "study")
    assert made.code == 0, made.err
    direct = rewarded(salon, tmp_path / "bench", "-s", "gray")
    through = rewarded(salon, tmp_path / "study", "-s", "gray")
    assert through.boards == direct.boards
    for args, words in (
        ([tmp_path / "bench"], "a scorer for the benchmark"),
        ([tmp_path / "none", "-s", "gray"], "folder"),
    ):
        run = salon("bench", "rewards", *args)
        assert run.code == 2
        assert words in run.err
