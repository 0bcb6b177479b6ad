"""What the owner may send: answers of other tools, and pictures that are pictures. All else is refused, and told."""

from __future__ import annotations

import gzip
import io
import json
import struct
import zlib
from collections.abc import Iterator

import pytest
from doors import Served, served
from owner_studio import Owner, answer_all
from PIL import Image

CSV = "left,right,winner,rater\n{0},{1},left,ann\n{0},{2},left,ann\n{1},{2},right,bob\n"
ITEMS = ("p0-0", "p0-1", "p0-2")


@pytest.fixture
def door(tmp_path) -> Iterator[Served]:
    with served(tmp_path) as made:
        yield made


def send(owner: Owner, data: str | bytes, name: str = "votes.csv", **more: str):
    content = data.encode() if isinstance(data, str) else data
    return owner.post("/owner/import", files={"file": (name, content)}, **({"criterion": "overall"} | more))


def test_a_table_of_votes_joins_the_study_once(door: Served) -> None:
    answer_all(door)
    owner = Owner(door.client(door.owner))
    first = send(owner, CSV.format(*ITEMS))
    assert "3 on overall, by 2 raters" in first.text
    assert "comparisons" in first.text
    again = send(owner, CSV.format(*ITEMS), "renamed.csv")
    assert "imported before" in again.text
    study = door.studio.database.read_study()
    assert study.counts["comparisons"] == 12 + 3
    theirs = [one for one in study.nouns("comparisons") if one.rater.startswith("imported-")]
    assert {(one.rater, one.a, one.b, one.outcome) for one in theirs} == {
        ("imported-ann", "p0-0", "p0-1", "a"),
        ("imported-ann", "p0-0", "p0-2", "a"),
        ("imported-bob", "p0-1", "p0-2", "b"),
    }
    assert "file imported" in owner.client.get("/owner/audit").text
    assert "imported-" not in owner.client.get("/owner/raters").text, "nobody invited them"


def test_label_studio_finds_items_by_the_names_of_their_pictures(door: Served) -> None:
    picture = "https://store.example/x/secret-generator-0-{}.png"
    task = {
        "data": {"left": picture.format(0), "right": picture.format(1)},
        "annotations": [
            {
                "completed_by": 7,
                "result": [{"from_name": "pair", "to_name": "pair", "type": "pairwise", "value": {"selected": "left"}}],
            }
        ],
    }
    answer = send(Owner(door.client(door.owner)), json.dumps([task]), "export.json")
    assert "Read as label-studio" in answer.text, answer.text
    (one,) = door.studio.database.read_study().nouns("comparisons")
    assert (one.a, one.b, one.outcome, one.criterion) == ("p0-0", "p0-1", "a", "overall")


@pytest.mark.parametrize(
    ("data", "more", "said"),
    [
        (CSV.format("p0-0", "p0-1", "nobody"), {}, "nobody"),
        (CSV.format("p0-0", "p0-1", "p1-0"), {}, "within one prompt"),
        ("a,b\n1,2\n", {}, "known kind"),
        (b"\x00\xff\xfe\x00" * 50, {}, "needed"),
        ("", {}, "needed"),
        ("item,value,rater\np0-0,9,ann\n", {}, "1 and 5"),
        (CSV.format(*ITEMS), {"criterion": "nothing"}, "criterion"),
        (CSV.format(*ITEMS), {"kind": "../../etc/passwd"}, "known kind"),
        (CSV.format(*ITEMS).replace("ann", "<script>alert(1)</script>" * 20), {}, "id of a rater"),
        ('[{"data":' * 3000, {}, "needed"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_whole(door: Served, data: str, more: dict[str, str], said: str) -> None:
    before = door.studio.database.revision()
    answer = send(Owner(door.client(door.owner)), data, **more)
    assert answer.status_code == 422, answer.text
    assert said.lower() in answer.text.lower()
    assert "<script>alert" not in answer.text
    assert "/tmp" not in answer.text
    assert door.studio.database.revision() == before


def test_a_packed_file_is_refused_before_it_is_unpacked(door: Served) -> None:
    """64 MB of packed zeros would be more than any server has."""
    owner = Owner(door.client(door.owner))
    refused = send(owner, gzip.compress(CSV.format(*ITEMS).encode()))
    assert refused.status_code == 422
    assert "not packed" in refused.text
    assert door.studio.database.read_study().counts.get("comparisons", 0) == 0


def test_answers_about_other_items_can_be_left_out(door: Served) -> None:
    answer = send(Owner(door.client(door.owner)), CSV.format("p0-0", "p0-1", "nobody"), only_known="true")
    assert "1 on overall, by 1 rater " in answer.text
    assert "2 left out: about items that are not in this study" in answer.text


# -- pictures -------------------------------------------------------------------------------------------------


def picture(form: str, size: tuple[int, int] = (40, 30), **more: object) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, "teal").save(file, form, **more)
    return file.getvalue()


def bomb() -> bytes:
    """A PNG of a few bytes that says it has ten thousand million pixels."""
    head = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", 13) + b"IHDR" + head + struct.pack(">I", zlib.crc32(b"IHDR" + head))
    return b"\x89PNG\r\n\x1a\n" + chunk


def upload(owner: Owner, *files: tuple[str, bytes]):
    return owner.post("/owner/pictures", files=[("files", file) for file in files])


def test_pictures_are_kept_by_content_and_named_by_us(door: Served) -> None:
    owner = Owner(door.client(door.owner))
    names = [
        ("../../evil.png", picture("PNG")),
        ("a.jpg", picture("JPEG")),
        ("b", picture("WEBP")),
        ("c", picture("GIF")),
    ]
    text = upload(owner, *names).text
    assert text.count("kept as") == 4
    kept = sorted(path for path in (door.folder / "references").iterdir())
    assert len(kept) == 4
    assert {path.suffix for path in kept} <= {".png", ".jpg", ".webp", ".gif"}
    assert all(len(path.stem) == 24 for path in kept)
    assert not (door.folder.parent / "evil.png").exists()


@pytest.mark.parametrize(
    "data",
    [
        b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
        b"<!doctype html><script>alert(1)</script>",
        b"GIF89a<script>alert(1)</script>",
        picture("PNG")[:60],
        picture("BMP"),
        bomb(),
        b"",
    ],
    ids=["svg", "html", "script in a GIF", "half a PNG", "another format", "a bomb", "nothing"],
)
def test_what_is_no_picture_is_refused(door: Served, data: bytes) -> None:
    answer = upload(Owner(door.client(door.owner)), ("x.png", data))
    assert "kept as" not in answer.text
    assert "refused" in answer.text
    assert "<script>alert" not in answer.text
    assert not (door.folder / "references").exists()


def test_only_the_owner_sends_much_and_only_here(tmp_path) -> None:
    large = b"x" * 6000
    with served(tmp_path, most_body=4096, most_upload=8192) as door:
        owner = Owner(door.client(door.owner))
        assert send(owner, large).status_code == 422, "it came in, and is no table"
        assert send(owner, large * 2).status_code == 413
        assert owner.post("/owner/raters", rater="x" * 6000, do="pause").status_code == 413
        rater = door.client(door.zoe)
        assert rater.post("/owner/import", content=large).status_code == 413
        assert door.client().post("/owner/pictures", content=large).status_code == 413


def test_no_other_form_takes_files(door: Served) -> None:
    owner = Owner(door.client(door.owner))
    answer = owner.post("/owner/raters", files={"rater": ("x", b"y")}, do="pause")
    assert answer.status_code in (400, 422)
