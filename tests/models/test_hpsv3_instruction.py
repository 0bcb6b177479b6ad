"""HPSv3's instruction: known by its hash, found beside the weights or in the package, and not exchanged in silence."""

import hashlib
import sys

import pytest

from salon.errors import BadFile
from salon.models import hpsv3 as hpsv3_instruction
from salon.models.hpsv3 import RELEASED_SIZE, find_instruction
from salon.models.weights import MissingWeights

TINY = (64, 3)
RIGHT = "\nLook at it.\n\nThe text - {text_prompt}\n\nThe score: <|Reward|>\n\nEND\n"
"""Stands for the release's own text, which is not ours to keep here."""
WRONG = RIGHT.replace("Look", "Glance")


@pytest.fixture(autouse=True)
def _known(monkeypatch):
    monkeypatch.setattr(hpsv3_instruction, "INSTRUCTION_SHA256", hashlib.sha256(RIGHT.encode()).hexdigest())
    words = hashlib.sha256(" ".join(RIGHT.split()).encode()).hexdigest()
    monkeypatch.setattr(hpsv3_instruction, "_WORDS_SHA256", words)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed hpsv3 whose import would fail."""

    def install(text):
        inner = tmp_path / "site" / "hpsv3" / "dataset"
        inner.mkdir(parents=True)
        first, second = text.split("The score", 1)
        (inner.parent / "__init__.py").write_text("raise RuntimeError('imported')\n")
        (inner / "broken.py").write_text("def (:\n")
        (inner / "collator.py").write_text(
            f"import torch\nINSTRUCTION = {first!r}\nOTHER = 3\nprompt_with_special_token = {'The score' + second!r}\n"
        )
        monkeypatch.syspath_prepend(str(tmp_path / "site"))

    return install


def test_the_shipped_hash_is_whole():
    assert len(hpsv3_instruction._WORDS_SHA256) == 64
    assert hpsv3_instruction.RELEASED_SIZE == (3584, 28)


def test_beside_the_weights(tmp_path):
    (tmp_path / "instruction.txt").write_text(RIGHT)
    found = find_instruction(tmp_path, RELEASED_SIZE)
    assert (found.text, found.label, found.note) == (RIGHT, "released", None)
    (tmp_path / "instruction.txt").write_bytes(RIGHT.replace("\n", "\r\n").encode())
    assert find_instruction(tmp_path, RELEASED_SIZE).is_released


def test_another_text_beside_released_weights_is_refused_unless_told(tmp_path):
    (tmp_path / "instruction.txt").write_text(WRONG)
    with pytest.raises(BadFile, match="another text") as error:
        find_instruction(tmp_path, RELEASED_SIZE)
    assert "--other-instruction" in error.value.remedy
    found = find_instruction(tmp_path, RELEASED_SIZE, accept_other=True)
    assert found.label == "other " + hashlib.sha256(WRONG.encode()).hexdigest()[:12]
    assert "not the scores of the released model" in found.note
    (tmp_path / "instruction.txt").write_text(RIGHT.strip())
    with pytest.raises(BadFile, match="other white space"):
        find_instruction(tmp_path, RELEASED_SIZE)


def test_a_text_beside_weights_that_cannot_be_the_release_belongs_to_them(tmp_path):
    (tmp_path / "instruction.txt").write_text(WRONG)
    found = find_instruction(tmp_path, TINY)
    assert found.text == WRONG
    assert found.label.startswith("other ")


def test_a_file_that_is_named_goes_first_and_is_held_to_the_release(tmp_path):
    (tmp_path / "instruction.txt").write_text(WRONG)
    named = tmp_path / "named.txt"
    named.write_text(RIGHT)
    assert find_instruction(tmp_path, TINY, file=named).is_released
    named.write_text(WRONG)
    with pytest.raises(BadFile, match="another text"):
        find_instruction(tmp_path, TINY, file=named)
    assert find_instruction(tmp_path, TINY, file=named, accept_other=True).text == WRONG
    with pytest.raises(BadFile, match="No such file"):
        find_instruction(tmp_path, TINY, file=tmp_path / "nowhere.txt")


def test_from_the_package_which_is_not_imported(tmp_path, package):
    package(RIGHT)
    found = find_instruction(tmp_path, RELEASED_SIZE)
    assert found.is_released
    assert found.where.endswith("collator.py")
    assert "hpsv3" not in sys.modules


def test_another_packages_text_is_refused(tmp_path, package):
    package(WRONG)
    with pytest.raises(BadFile, match="another text"):
        find_instruction(tmp_path, TINY)
    assert find_instruction(tmp_path, TINY, accept_other=True).text == WRONG


def test_neither_is_told_what_to_do(tmp_path):
    with pytest.raises(MissingWeights, match=r"instruction\.txt") as error:
        find_instruction(tmp_path, TINY)
    assert "hpsv3==1.0.0" in error.value.remedy


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("Rate it.", "text_prompt"),
        ("{text_prompt} <|Reward|> <|Reward|>", "one <"),
        ("{text_prompt} {style} <|Reward|>", "only name in braces"),
        ("{text_prompt} { <|Reward|>", "only name in braces"),
        (b"\xff{text_prompt} <|Reward|>", "UTF-8"),
    ],
)
def test_texts_of_another_shape(tmp_path, text, match):
    data = text if isinstance(text, bytes) else text.encode()
    (tmp_path / "instruction.txt").write_bytes(data)
    with pytest.raises(BadFile, match=match):
        find_instruction(tmp_path, TINY)


def test_doubled_braces_are_single_as_by_format(tmp_path):
    (tmp_path / "instruction.txt").write_text("{{a}} {text_prompt} <|Reward|>")
    assert find_instruction(tmp_path, TINY).text == "{a} {text_prompt} <|Reward|>"
