"""Pictures: right sizes, no metadata, no paths, and only for those who may see them."""

from __future__ import annotations

import io
import shutil
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from doors import Served, served
from PIL import Image

from salon.web.images import Images
from salon.web.settings import read_secret


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """For tests that leave it as it was."""
    with served(tmp_path_factory.mktemp("images")) as made:
        yield made


def images(door: Served) -> Images:
    found: Images = door.app.state.images
    return found


def test_sizes_are_made_once_kept_for_good_and_carry_no_metadata(door: Served) -> None:
    owner = door.client(door.owner)
    for variant, size in [("thumbnail", (480, 320)), ("screen", (900, 600)), ("full", (900, 600))]:
        address = images(door).address("p0-0", variant)
        answer = owner.get(address)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
        assert b"secret-generator" not in answer.content
        assert "secret" not in address + str(answer.headers)
        with Image.open(io.BytesIO(answer.content)) as picture:
            assert picture.size == size
            red = picture.convert("RGB").getpixel((3, 3))
            assert all(abs(found - wanted) < 4 for found, wanted in zip(red, (255, 0, 0)))
    made = sorted((door.folder / ".variants").iterdir())
    assert len(made) == 3
    made[0].write_bytes(b"kept")
    assert owner.get(f"/i/{made[0].name}").content == b"kept"


def test_a_rater_sees_the_pictures_of_their_own_tasks(door: Served) -> None:
    zoe = door.client(door.zoe)
    shown = zoe.get("/api/next").json()["pictures"]
    assert [zoe.get(picture["screen"]).status_code for picture in shown] == [200, 200]
    contents = [images(door).address(item) for item in door.studio.items]
    assert {zoe.get(address).status_code for address in contents} == {404}, "a rater cannot ask by content"
    assert {door.client(door.owner).get(address).status_code for address in contents} == {200}
    assert door.client(door.max).get(shown[0]["screen"]).status_code == 404, "nor with another's address"
    assert door.client().get(shown[0]["screen"]).status_code == 401


def test_no_two_screens_or_raters_share_an_address(door: Served) -> None:
    """Repeats cannot be known by their addresses, nor by the headers of what they lead to."""
    addresses = {
        images(door).rater_address("p0-0", rater=door.names[name], task=task)
        for name in ("zoe", "max")
        for task in (1, 2, 3)
    }
    assert len(addresses) == 6
    zoe = door.client(door.zoe)
    first, again = (zoe.get(images(door).rater_address("p0-0", rater=door.names["zoe"], task=task)) for task in (1, 2))
    assert first.content == again.content
    private = ("x-request-id", "etag", "date")
    assert first.headers["etag"] != again.headers["etag"]
    kept = [{name: value for name, value in answer.headers.items() if name not in private} for answer in (first, again)]
    assert kept[0] == kept[1]
    assert "1970" in first.headers["last-modified"]


def test_after_a_restart_a_page_still_finds_its_pictures(door: Served) -> None:
    zoe = door.client(door.zoe)
    address = zoe.get("/api/next").json()["pictures"][0]["full"]
    old = images(door)
    named = {item.id: item.image for item in door.studio.items.values()}
    for client, shown in ((zoe, address), (door.client(door.owner), old.address("p0-0"))):
        door.app.state.images = Images(door.folder, named, old.database, secret=read_secret(door.folder))
        assert client.get(shown).status_code == 200


HASH = "0" * 64


@pytest.mark.parametrize(
    "name",
    [
        f"{HASH}-screen.webp",
        "../studio.db",
        "..%2fstudio.db",
        "%2e%2e/.studio/secret",
        "....//....//etc/passwd",
        f"{HASH}-screen.png",
        f"{HASH}-huge.webp",
        f"{HASH}-screen.webp%00.png",
        f"{HASH}-screen.webp%0a",
        "images/secret-generator-0-0.png",
        "é-screen.webp",
    ],
)
def test_names_that_are_no_picture_find_nothing(shared: Served, name: str) -> None:
    answer = shared.client(shared.owner).get(f"/i/{name}")
    assert answer.status_code == 404
    assert "root:" not in answer.text


@pytest.mark.parametrize("path", ["../app.py", "%2e%2e/app.py", "..%2fapp.py", "/etc/passwd", "....//app.py"])
def test_static_files_stay_in_their_folder(shared: Served, path: str) -> None:
    assert shared.client().get(f"/static/{path}").status_code == 404


def test_a_study_cannot_name_files_outside_its_folder(door: Served, tmp_path: Path) -> None:
    outside = tmp_path / "outside.png"
    Image.new("RGB", (9, 9)).save(outside)
    (door.folder / "images" / "link.png").symlink_to(outside)
    (door.folder / "images" / "loop.png").symlink_to("loop.png")
    named = {"a": "../outside.png", "b": str(outside), "c": "images/link.png", "d": None, "e": "x\x00", "f": "images"}
    named |= {"g": "images/loop.png", "h": "images/loop.png/x"}
    found = Images(door.folder, named, door.studio.database, ["../outside.png"], secret=b"s")
    assert [found.address(item) for item in named] == [None] * 8
    assert found.reference_address("../outside.png", rater="zoe") is None


def _bomb() -> bytes:
    """A PNG of a few bytes that claims 60,000 x 60,000 pixels."""
    head = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(b"\0" * 1000)), (b"IEND", b"")]
    parts = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.mark.parametrize(
    "data",
    [
        _bomb(),
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>",
        b"<html>",
        b"\x89PNG\r\n\x1a\nbroken",
    ],
)
def test_bombs_scripts_and_broken_files_are_never_served(door: Served, data: bytes) -> None:
    (door.folder / "images" / "secret-generator-0-0.png").write_bytes(data)
    owner = door.client(door.owner)
    for variant in ("thumbnail", "full"):
        assert owner.get(images(door).address("p0-0", variant)).status_code == 404
    assert not list((door.folder / ".variants").glob("*"))


def test_a_picture_that_is_replaced_or_lost(door: Served) -> None:
    first = images(door).address("p0-0")
    shutil.copy(
        door.folder / "images" / "secret-generator-1-2.png", door.folder / "images" / "secret-generator-0-0.png"
    )
    assert door.client(door.owner).get(first).status_code == 404
    assert images(door).address("p0-0") == images(door).address("p1-2") != first
    (door.folder / "images" / "secret-generator-0-0.png").unlink()
    assert images(door).address("p0-0") is None
    assert images(door).address("no such item") is None


def test_reference_pictures_are_for_every_rater(tmp_path: Path) -> None:
    panel = [{"criterion": "overall", "level": 5, "image": "images/secret-generator-1-1.png"}]
    with served(tmp_path, {"references": panel}) as door:
        zoe, max = door.names["zoe"], door.names["max"]
        address = images(door).reference_address("images/secret-generator-1-1.png", rater=zoe)
        assert door.client(door.zoe).get(address).status_code == 200
        assert images(door).reference_address("images/secret-generator-1-1.png", rater=max) != address
        assert images(door).reference_address("images/secret-generator-1-0.png", rater=zoe) is None
