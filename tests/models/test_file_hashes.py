"""Signatures cover every byte of weights, hashes are kept only while they hold, files of packages are checked whole."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from salon.errors import BadFile
from salon.models import cache, embedded_networks, fingerprint, model_fingerprint, ocr, saliency_map as saliency
from salon.models.cache import file_sha256, folder_sha256

SIZE = 300_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "model"
    (made / "part").mkdir(parents=True)
    (made / "config.json").write_text("{}")
    (made / "part" / "model.safetensors").write_bytes(bytes(SIZE))
    return made


def overwrite(path: Path, place: int) -> None:
    """Another byte, the file's size, inode and time of change as they were."""
    before = path.stat()
    with open(path, "r+b") as file:
        file.seek(place)
        file.write(b"x")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("place", [0, 70_000, SIZE // 2, SIZE - 70_000, SIZE - 1])
def test_a_byte_anywhere_changes_the_signature(folder: Path, place: int) -> None:
    before = fingerprint(folder), model_fingerprint(folder)
    overwrite(folder / "part" / "model.safetensors", place)
    after = fingerprint(folder), model_fingerprint(folder)
    assert len(before[0]) == len(before[1]) == 64
    assert before[0] != after[0]
    assert before[1] != after[1]


def test_a_signature_is_what_sha256sum_gives(folder: Path) -> None:
    hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in
              ("config.json", "part/model.safetensors")}  # fmt: skip
    lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(hashes.items()))
    assert fingerprint(folder) == hashlib.sha256(lines.encode()).hexdigest()
    assert fingerprint(folder / "config.json") == hashes["config.json"]
    assert fingerprint("openai/clip-vit-large-patch14") is None


def test_a_hub_name_is_signed_by_its_files_in_the_cache(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub._snapshot_download.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    assert fingerprint("somebody/a-model") is None
    cached = tmp_path / "hub" / "models--somebody--a-model"
    (cached / "refs").mkdir(parents=True)
    (cached / "refs" / "main").write_text("1" * 40)
    (cached / "snapshots").mkdir()
    folder.rename(cached / "snapshots" / ("1" * 40))
    before = fingerprint("somebody/a-model")
    assert before == folder_sha256(cached / "snapshots" / ("1" * 40))
    overwrite(cached / "snapshots" / ("1" * 40) / "part" / "model.safetensors", SIZE // 2)
    assert fingerprint("somebody/a-model") != before
    assert fingerprint("no such place at all ///") is None


def test_names_places_and_links_count_and_what_tools_leave_does_not(folder: Path, tmp_path: Path) -> None:
    before = folder_sha256(folder)
    (folder / ".cache").mkdir()
    (folder / ".cache" / "download.lock").write_text("7")
    (folder / ".gitattributes").write_text("*")
    assert folder_sha256(folder) == before
    (folder / "part").rename(tmp_path / "elsewhere")
    (folder / "part").symlink_to(tmp_path / "elsewhere")
    assert folder_sha256(folder) == before
    (tmp_path / "elsewhere" / "again").symlink_to(folder / "part")  # a circle ends
    assert folder_sha256(folder) == before
    (folder / "config.json").rename(folder / "other.json")
    assert folder_sha256(folder) != before
    (folder / "README.md").write_text("about it")
    model = model_fingerprint(folder)
    (folder / "README.md").write_text("more about it")
    assert model_fingerprint(folder) == model


def test_a_hash_is_kept_until_the_file_changes(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SALON_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_CACHED_FROM", 1)
    monkeypatch.setattr(cache, "_FILE_HASHES", {})
    weights = folder / "part" / "model.safetensors"
    reads: list[str] = []
    digest = hashlib.file_digest

    def counted(file, name):
        reads.append(file.name)
        return digest(file, name)

    monkeypatch.setattr(hashlib, "file_digest", counted)
    file_sha256(weights)
    file_sha256(weights)
    assert len(reads) == 2  # it was written a moment ago: the next change could have the same times
    monkeypatch.setattr(cache, "_SETTLED", -1.0)
    before = file_sha256(weights)
    assert file_sha256(weights) == before
    cache._FILE_HASHES.clear()  # another process
    assert file_sha256(weights) == before
    assert len(reads) == 3
    overwrite(weights, SIZE // 2)
    assert file_sha256(weights) != before
    replaced = weights.with_name("new")
    replaced.write_bytes(bytes(SIZE))
    os.replace(replaced, weights)
    assert file_sha256(weights) == before
    assert len(reads) == 5


def test_a_file_that_grows_while_it_is_read_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = folder / "part" / "model.safetensors"
    digest = hashlib.file_digest

    def grown(file, name):
        found = digest(file, name)
        with open(weights, "ab") as end:
            end.write(b"more")
        return found

    monkeypatch.setattr(hashlib, "file_digest", grown)
    with pytest.raises(BadFile, match="stays as it is"):
        file_sha256(weights)


def test_files_of_packages_are_checked_whole_when_they_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    right = cache.check_sha256

    def wrong(path: Path, sha256: str, *, what: str) -> Path:
        assert len(sha256) == 64
        assert right(path, sha256, what=what) == path
        return right(path, sha256[:-1] + ("0" if sha256[-1] != "0" else "1"), what=what)

    monkeypatch.setattr(cache, "check_sha256", wrong)
    for load in (saliency._session, embedded_networks._load_minilm, ocr._engine):
        with pytest.raises(BadFile, match="SHA-256"):
            load.__wrapped__()
