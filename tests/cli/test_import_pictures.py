"""A folder of pictures becomes a study: generators and prompts by folders, names, a pattern or a file of prompts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import product
from pathlib import Path

import pytest
from PIL import Image
from ran_salon import salon

from salon.errors import BadFile, BadValue
from salon.generate import read_layout
from salon.store import open_study

MADE = ("flux", "sdxl", "mj v6")
SHOWN = ("fox", "owl")


def put(root: Path, names: Iterable[str]) -> Path:
    for number, name in enumerate(names):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (40, 30), (number * 37 % 256, number * 91 % 256, 128)).save(path)
    return root


def found(root: Path, **options: object) -> dict[str, set[str]]:
    layout = read_layout(root, **options)
    return {generator: {prompt for prompt, _ in files} for generator, files in layout.files.items()}


@pytest.mark.parametrize(
    "name",
    ["{g}/{p}.png", "deep/er/{g}/{p}.jpg", "{g}__{p}.webp", "{g}_{p}.png", "{g}-{p}.PNG", "{g} {p}.png"],
)
def test_generators_are_folders_or_the_first_part_of_names(tmp_path: Path, name: str) -> None:
    shown = ("p01", "p02", "p10", "p11")
    made = tuple(one.replace(" ", ".") for one in MADE) if "{g} " in name else MADE
    put(tmp_path, (name.format(g=g, p=p) for g, p in product(made, shown)))
    assert found(tmp_path) == {key: set(shown) for key in made}


@pytest.mark.parametrize("name", ["{p}/{g}.png", "{p}_{g}.png", "{p}-{g}.png"])
def test_prompts_may_come_first_when_they_look_like_prompts(tmp_path: Path, name: str) -> None:
    put(tmp_path, (name.format(g=g, p=p) for g, p in product(MADE, ("001", "002", "003", "004"))))
    assert found(tmp_path) == {key: {"001", "002", "003", "004"} for key in MADE}


def test_a_file_of_prompts_decides_what_is_what_and_gives_the_words(tmp_path: Path) -> None:
    put(tmp_path, (f"{p}/{g}.png" for g, p in product(MADE, SHOWN)))
    (tmp_path / "prompts.csv").write_text("id,text\nfox,A red fox\nowl,An owl at night\nhen,A hen\n")
    layout = read_layout(tmp_path)
    assert set(layout.files) == set(MADE)
    assert [prompt.text for prompt in layout.prompts] == ["A red fox", "An owl at night"]
    assert "1 prompts of prompts.csv have no picture: hen" in " ".join(layout.notes)
    (tmp_path / "prompts.csv").unlink()
    (tmp_path / "lines.txt").write_text("A red fox\nAn owl at night\n")
    layout = read_layout(tmp_path, prompts=tmp_path / "lines.txt", pattern="{prompt}/{generator}.png")
    assert [prompt.text for prompt in layout.prompts] == ["A red fox", "An owl at night"]
    assert "fox is p1" in " ".join(layout.notes), "matched by order, and it says so"


def test_several_pictures_of_one_prompt_are_seeds(tmp_path: Path) -> None:
    put(tmp_path, (f"{g}/{p}_{seed}.png" for g, p, seed in product(MADE, SHOWN, range(3))))
    layout = read_layout(tmp_path)
    assert layout.seeds == 3
    assert found(tmp_path) == {key: set(SHOWN) for key in MADE}
    assert layout.files["flux"]["owl", 2].name == "owl_2.png"


def test_a_pattern_reads_any_name_and_leaves_out_what_does_not_fit(tmp_path: Path) -> None:
    put(tmp_path, (f"{p}-by-{g}-final-{seed}.png" for g, p, seed in product(MADE, SHOWN, (7, 9))))
    put(tmp_path, ["cover.png"])
    layout = read_layout(tmp_path, pattern="{prompt}-by-{generator}-final-{seed}.png")
    assert {generator: len(files) for generator, files in layout.files.items()} == dict.fromkeys(MADE, 4)
    assert any("cover.png" in note for note in layout.notes)
    for bad in ("{generator}.png", "{prompt}{prompt}", "{generator}_{prompt}_{colour}"):
        with pytest.raises(BadValue, match="--pattern"):
            read_layout(tmp_path, pattern=bad)


def test_names_that_say_nothing_are_refused_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="nothing there"):
        read_layout(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadFile, match="pictures"):
        read_layout(tmp_path / "empty")
    put(tmp_path / "flat", ["img1.png", "img2.png"])
    with pytest.raises(BadValue, match="--pattern"):
        read_layout(tmp_path / "flat")


def test_salon_import_pictures_makes_a_study_that_can_be_served(capsys, tmp_path: Path) -> None:
    put(tmp_path / "renders", (f"{g}/{p}.png" for g, p in product(MADE, SHOWN)))
    (tmp_path / "renders" / "flux" / "owl.png").write_bytes(b"no picture")
    (tmp_path / "renders" / "sdxl" / "fox.png").unlink()
    code, said = salon(capsys, "import", "pictures", tmp_path / "renders", "-o", tmp_path / "study")
    assert code == 0, said.err
    assert "4 pictures of 2 prompts by 3 generators" in said.out
    assert "a folder for each generator" in said.out
    assert "1 combinations of prompt and generator have no picture" in said.out
    assert "could not be read" in said.out
    study = open_study(tmp_path / "study")
    assert {item.generator for item in study.nouns("items")} == set(MADE)
    assert [criterion.id for criterion in study.criteria] == ["preference"]
    assert all((tmp_path / "study" / item.image).is_file() for item in study.nouns("items"))
    code, said = salon(capsys, "import", "pictures", tmp_path / "renders", "-o", tmp_path / "study")
    assert code == 2, "not replaced unasked"
    code, said = salon(capsys, "import", "pictures", tmp_path / "renders", tmp_path, "-o", tmp_path / "other")
    assert (code, "one folder" in said.err) == (2, True)


def test_salon_serve_takes_a_folder_of_pictures(capsys, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("salon.web.workers.serve_app", lambda *_, **__: None)
    put(tmp_path / "renders", (f"{g}/{p}.png" for g, p in product(MADE, SHOWN)))
    for _ in range(2):
        code, said = salon(capsys, "serve", tmp_path / "renders", "--port", 0, "--json")
        assert code == 0, said.err
        assert json.loads(said.out)["study"] == "renders-study"
    assert len(list(open_study(tmp_path / "renders-study").nouns("items"))) == 6
    assert not (tmp_path / "renders" / "study.toml").exists(), "nothing is written into the folder of pictures"
