"""Pictures in an object store: an S3 server of another project on this machine, and what could go wrong."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from salon.cli.main import salon
from salon.errors import BadFile, BadValue
from salon.store import read_picture, save_study
from salon.store.picture_store import CACHE, PicturesUnavailable, picture_store, sweep_folder
from salon.study import Comparison, Criterion, Item, Prompt, Rater, Study

BUCKET = "posters"


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    """An S3 server with an empty bucket, and a client that writes to it."""
    boto3 = pytest.importorskip("boto3")
    from moto.server import ThreadedMotoServer

    running = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    running.start()
    host, port = running.get_host_and_port()
    running.address = f"http://{host}:{port}"
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
    running.client = boto3.client("s3", endpoint_url=running.address, **keys)
    running.client.create_bucket(Bucket=BUCKET)
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")


def point(folder: Path, address: str = f"s3://{BUCKET}/spring", **more: Any) -> None:
    """Write the pointer of a study."""
    lines = [f"{name} = {json.dumps(value)}" for name, value in ({"address": address} | more).items()]
    (folder / "pictures.toml").write_text("\n".join(lines))


def make_study(folder: Path) -> Study:
    """Four posters of two generators, two comparisons, and the pictures in the folder."""
    items = [
        Item(id=f"p{p}-{g}", prompt=f"p{p}", generator=g, image=f"images/{g}/{p}.png") for p in range(2) for g in "ab"
    ]
    prompts = [Prompt(id=f"p{p}", text="A poster") for p in range(2)]
    votes = [Comparison(criterion="overall", rater="ann", a=f"p{p}-a", b=f"p{p}-b", outcome="a") for p in range(2)]
    tables = {"prompts": prompts, "items": items, "raters": [Rater(id="ann")], "comparisons": votes}
    study = Study.build("stored", [Criterion(id="overall")], tables=tables)
    save_study(study, folder)
    for number, item in enumerate(items):
        place = folder / str(item.image)
        place.parent.mkdir(parents=True, exist_ok=True)
        noise = np.random.default_rng(number).integers(0, 256, (128, 128, 3), dtype=np.uint8)
        Image.fromarray(noise).save(place)
    return study


def move_to_store(folder: Path, server: Any, prefix: str = "spring") -> None:
    """Put the pictures of a study into the bucket, and take them out of the folder."""
    for path in sorted((folder / "images").rglob("*.png")):
        server.client.upload_file(str(path), BUCKET, f"{prefix}/{path.relative_to(folder).as_posix()}")
    shutil.rmtree(folder / "images")
    point(folder, endpoint=server.address)


def test_a_picture_is_read_from_the_store_once(tmp_path: Path, server: Any) -> None:
    make_study(tmp_path / "study")
    before = read_picture(tmp_path / "study/images/a/0.png").sha256
    move_to_store(tmp_path / "study", server)
    assert read_picture(tmp_path / "study/images/a/0.png").sha256 == before
    server.client.delete_object(Bucket=BUCKET, Key="spring/images/a/0.png")
    assert read_picture(tmp_path / "study/images/a/0.png").sha256 == before
    assert read_picture(tmp_path / f"study/s3://{BUCKET}/spring/images/b/0.png").width == 128


@pytest.mark.parametrize(
    "command",
    ["score {} -s naturalness", "check {} --draws 100 --html {}.html", "fuse {} -o {}.csv", "ready {}"],
)
def test_commands_say_the_same_about_files_and_about_the_store(tmp_path: Path, server: Any, command: str) -> None:
    outputs = []
    for name in ("files", "stored"):
        folder = tmp_path / name
        make_study(folder)
        if name == "stored":
            move_to_store(folder, server)
        answer = CliRunner().invoke(salon, [*command.replace("{}", str(folder)).split(), "--json"])
        assert answer.exit_code == 0, answer.output
        outputs.append(re.sub(r'"(seconds|reused)": [^,\n]*|stored|files', "", answer.stdout.replace(str(folder), "")))
        if name == "stored" and "score" in command:
            assert len(list((folder / CACHE).iterdir())) == 4
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize(
    "image",
    [
        "file:///etc/passwd",
        "http://169.254.169.254/latest/meta-data",
        f"s3://other/{BUCKET}/x.png",
        f"s3://{BUCKET}/autumn/x.png",
        f"s3://{BUCKET}/spring/../autumn/x.png",
        "images/../../autumn/x.png",
        "memory://x.png",
        "images\\x.png",
        "images//x.png",
        "",
    ],
)
def test_nothing_but_the_address_of_the_owner_is_asked(tmp_path: Path, image: str) -> None:
    point(tmp_path, endpoint="http://127.0.0.1:9")
    store = picture_store(tmp_path)
    assert store is not None
    with pytest.raises(BadFile, match="below s3://posters/spring"):
        store.key(image)


@pytest.mark.parametrize(
    "address",
    ["file:///etc", "http://127.0.0.1/x", "s3://", "s3://A/b", "s3://posters/../x", "gs://posters", "memory://x"],
)
def test_an_address_of_another_kind_is_refused(tmp_path: Path, address: str) -> None:
    point(tmp_path, address)
    with pytest.raises(BadValue, match="address"):
        picture_store(tmp_path)


def test_without_credentials_none_are_looked_for(tmp_path: Path, server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    point(tmp_path, endpoint=server.address)
    store = picture_store(tmp_path)
    assert store is not None
    assert store._filesystem().anon is True


def test_a_missing_object_is_a_bad_file_and_an_outage_is_not(tmp_path: Path, server: Any) -> None:
    (tmp_path / "there").mkdir()
    point(tmp_path / "there", endpoint=server.address)
    with pytest.raises(BadFile, match="object"):
        read_picture(tmp_path / "there/images/nobody.png")
    (tmp_path / "down").mkdir()
    point(tmp_path / "down", endpoint="http://127.0.0.1:9")
    with pytest.raises(PicturesUnavailable):
        read_picture(tmp_path / "down/images/a.png")


def test_a_bomb_and_a_huge_object_are_refused(tmp_path: Path, server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    point(tmp_path, endpoint=server.address)
    header = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + (60_000).to_bytes(4, "big") * 2 + b"\x08\x02\x00\x00\x00"
    server.client.put_object(Bucket=BUCKET, Key="spring/bomb.png", Body=header)
    with pytest.raises(BadFile, match="pixels"):
        read_picture(tmp_path / "bomb.png")
    monkeypatch.setattr("salon.store.pictures.MOST_BYTES", 10)
    server.client.put_object(Bucket=BUCKET, Key="spring/other.png", Body=b"x" * 11)
    with pytest.raises(BadFile, match="at most 10 bytes"):
        read_picture(tmp_path / "other.png")


def test_the_cache_forgets_what_was_used_longest_ago(tmp_path: Path) -> None:
    for number in range(10):
        path = tmp_path / f"f{number}"
        path.write_bytes(b"x" * 100)
        os.utime(path, (number, number))
    os.utime(tmp_path / "f0", (99, 99))
    sweep_folder(tmp_path, 350)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f0", "f8", "f9"]
