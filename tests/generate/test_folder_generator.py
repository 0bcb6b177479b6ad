"""Bring your own pictures: matched by name, sub-folder or table; every bad file named, none lost."""

from __future__ import annotations

import json

import pytest
from dots import png
from PIL import Image

from salon.errors import BadColumns, BadFile, BadValue
from salon.generate import GenerateSettings, generate_items, read_generations
from salon.generate.folder import folder_generators
from salon.generate.record import slug
from salon.store import open_study
from salon.study import Ask, FailedPicture, GeneratedPicture, Prompt


def prompts(*ids):
    return [Prompt(id=id, text=f"about {id}") for id in ids]


def given(folder, *ids, seeds=1, text=None, **options):
    """What the folder gives for each prompt and seed: the name of the file, or the kind of the failure."""
    (generator,) = folder_generators(text or str(folder), prompts(*ids), **options)
    asks = [Ask(prompt=prompt, seed=seed) for prompt in prompts(*ids) for seed in range(seeds)]
    results = dict(generator.make(asks))
    assert sorted(results) == list(range(len(asks)))
    told = [r.facts["file"] if isinstance(r, GeneratedPicture) else r.kind for _, r in sorted(results.items())]
    return told, generator.notes(), results


def put(folder, *names, data=None):
    for number, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if data is not None else png(color=(number, 0, 0)))


# -- by name ---------------------------------------------------------------------------------------------------------


def test_names_hold_the_prompt_as_a_whole_word(tmp_path):
    put(tmp_path, "p1.png", "flux_p10_v2.png", "P2 final.PNG", "p1-2.png")
    assert given(tmp_path, "p1", "p10", "p2", "p1-2")[0] == ["p1.png", "flux_p10_v2.png", "P2 final.PNG", "p1-2.png"]


def test_files_of_one_prompt_are_seeds_in_the_order_people_count(tmp_path):
    put(tmp_path, "sea_10.png", "sea_2.png", "sea_1.png")
    told, notes, _ = given(tmp_path, "sea", seeds=2)
    assert told == ["sea_1.png", "sea_2.png"]
    assert any("1 more files" in note and "sea_10.png" in note for note in notes)


def test_a_sub_folder_per_prompt(tmp_path):
    put(tmp_path, "sea/a.png", "sea/b.png", "jazz/deep/x.png")
    assert given(tmp_path, "sea", "jazz", seeds=2)[0] == ["a.png", "b.png", "x.png", "missing"]


def test_prompts_whose_ids_cannot_be_file_names(tmp_path):
    put(tmp_path, f"{slug('a/b')}.png", "日本.png")
    assert given(tmp_path, "a/b", "日本")[0] == [f"{slug('a/b')}.png", "日本.png"]


def test_what_belongs_to_nothing_is_said(tmp_path):
    put(tmp_path, "p1.png", "holiday.png", ".hidden.png")
    (tmp_path / "notes.txt").write_text("x")
    _, notes, _ = given(tmp_path, "p1")
    assert notes == [
        f"{tmp_path.name}: 1 files belong to no prompt: holiday.png",
        f"{tmp_path.name}: 1 files are no pictures: notes.txt",
    ]


def test_where_nothing_belongs_it_is_said_how_it_would(tmp_path):
    put(tmp_path, "IMG 001 (copy).png")
    _, notes, _ = given(tmp_path, "p1", "p2")
    (told,) = [note for note in notes if "folder:FILE.csv" in note]
    assert "whose id is a word of its name or its folder (p1, p2)" in told


def test_a_name_of_ones_own(tmp_path):
    put(tmp_path, "p1.png")
    (one,) = folder_generators(f"flux={tmp_path}", prompts("p1"))
    assert one.name == "flux"


# -- bad files -------------------------------------------------------------------------------------------------------


def test_every_bad_file_has_its_reason_and_the_good_ones_are_kept(tmp_path):
    folder = tmp_path / "mine"
    put(folder, "good.png")
    put(folder, "empty.png", data=b"")
    put(folder, "text.jpg", data=b"not a picture at all")
    put(folder, "cut.png", data=png(300, 300)[:200])
    put(tmp_path, "secret.png")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "inner.png").symlink_to(folder / "good.png")
    Image.new("RGB", (9, 9)).save(folder / "tif.tiff")
    told, _, results = given(folder, "good", "empty", "text", "cut", "link", "inner", "tif", "absent")
    broken = "broken-image"
    assert told == ["good.png", broken, broken, broken, "outside", "inner.png", broken, "missing"]
    assert [r.reason for r in results.values() if isinstance(r, FailedPicture)][:2] == [
        "empty.png: an empty file",
        "text.jpg: something else, beginning with b'not a pi'",
    ]


def test_a_wrong_ending_is_read_by_its_contents_and_said(tmp_path):
    Image.new("RGB", (9, 9)).save(tmp_path / "p1.png", "JPEG")
    report = generate_items(
        prompts("p1"), folder_generators(f"mine={tmp_path}"), GenerateSettings(), tmp_path / "study"
    )
    line = read_generations(tmp_path / "study")[0]["p1/mine/0"]
    assert report.made == 1
    assert line.image == "images/p1/mine-0.jpg"
    assert line.facts["changed"] == "named .png but is a JPEG"


def test_linked_folders_are_not_entered(tmp_path):
    put(tmp_path, "away/p1.png")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "link").symlink_to(tmp_path / "away")
    told, notes, _ = given(tmp_path / "mine", "p1")
    assert told == ["missing"]
    assert "link/" in notes[0]


# -- by table --------------------------------------------------------------------------------------------------------


def test_a_table_names_prompts_generators_and_photographs(tmp_path):
    put(tmp_path, "x.png", "y.png", "z.png")
    table = tmp_path / "list.csv"
    table.write_text(
        "prompt,generator,file,source\np1,flux,x.png,\np1,camera,y.png,photograph\np2,flux,z.png,\np9,flux,x.png,\n"
    )
    generators = folder_generators(str(table), prompts("p1", "p2"))
    report = generate_items(prompts("p1", "p2"), generators, GenerateSettings(), tmp_path / "study")
    assert (report.made, [f.item for f in report.failures]) == (3, ["p2/camera/0"])
    assert any("belong to no prompt" in note for note in report.notes)
    items = {item.id: item for item in open_study(tmp_path / "study").nouns("items")}
    assert items["p1/camera/0"].source == "photograph"
    assert items["p1/flux/0"].source == "generated"


def test_a_table_as_jsonl_with_seeds(tmp_path):
    put(tmp_path, "x.png", "y.png")
    rows = [{"prompt": "p1", "file": "y.png", "seed": 1}, {"prompt": "p1", "file": "x.png", "seed": 0, "by": "me"}]
    (tmp_path / "list.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    assert given(tmp_path, "p1", seeds=2, text=str(tmp_path / "list.jsonl"))[0] == ["x.png", "y.png"]


def test_a_table_may_not_lead_out_of_its_folder(tmp_path):
    put(tmp_path, "secret.png")
    (tmp_path / "in").mkdir()
    table = tmp_path / "in" / "list.csv"
    table.write_text(f"prompt,file\np1,../secret.png\np2,{tmp_path / 'secret.png'}\np3,gone.png\n")
    assert given(tmp_path, "p1", "p2", "p3", text=str(table))[0] == ["outside", "outside", "missing"]


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("prompt,picture\np1,x.png\n", BadColumns, "'file'"),
        ("prompt,file,seed\np1,x.png,0\np1,y.png,0\n", BadValue, "lines 2 and 3"),
        ("prompt,file,seed\np1,x.png,first\n", BadValue, "seed"),
        ("prompt,file,source\np1,x.png,painting\n", BadValue, "source"),
        ("prompt,file\n", BadFile, "at least one row"),
        ("", BadColumns, "'prompt'"),
    ],
)
def test_tables_that_cannot_be_understood(tmp_path, text, error, said):
    (tmp_path / "list.csv").write_text(text)
    with pytest.raises(error, match=said):
        folder_generators(str(tmp_path / "list.csv"))


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(BadFile, match="nothing there"):
        folder_generators(str(tmp_path / "none"))


# -- in a run --------------------------------------------------------------------------------------------------------


def test_photographs_stand_beside_generated_pictures_and_replaced_files_are_taken_anew(tmp_path):
    put(tmp_path / "photos", "p1.png", "p2.png")

    def run():
        mine = folder_generators(str(tmp_path / "photos"), prompts("p1", "p2"), source="photograph")
        return generate_items(prompts("p1", "p2"), mine, GenerateSettings(), tmp_path / "study")

    assert run().made == 2
    assert run().reused == 2
    put(tmp_path / "photos", "p2.png", data=png(50, 50))
    assert run().made == 2
    assert read_generations(tmp_path / "study")[0]["p2/photos/0"].width == 50
    assert {item.source for item in open_study(tmp_path / "study").nouns("items")} == {"photograph"}
