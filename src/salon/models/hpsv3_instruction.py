"""HPSv3's instruction: which text is the release's, where it is found, and what happens to another one.

The text is part of what the weights were trained on. Only its SHA-256 is kept here. It is looked for, in this order, in
a file that the user names, in instruction.txt beside the weights, and in an installed `hpsv3` package, whose files are
read and never imported. Another text is refused, with two exceptions that are written into the signature: the user
says so (`--other-instruction`), or it lies beside weights that are not of the release's size and so cannot be them.
"""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from salon.errors import BadFile
from salon.models.weights import MissingWeights

FILE = "instruction.txt"
PROMPT = "{text_prompt}"
TOKEN = "<|Reward|>"
SHA256 = "f6ee57479d4e9eee76b49c00dc962e1e696a5a2b3cc32cebd9b1fa76fe27502c"
"""Of the text in hpsv3 1.0.0: INSTRUCTION and prompt_with_special_token, one after the other, in UTF-8."""
_WORDS_SHA256 = "c303ff621c8d0d5d9fdbeb97064bf8208233bbf306a2e2d4a7f71bbaa55dbc5f"
"""Of its words with single spaces between them."""
_PARTS = ("INSTRUCTION", "prompt_with_special_token")
RELEASED_SIZE = (3584, 28)
"""Width and layers of Qwen2-VL-7B, which HPSv3 was trained from."""


@dataclass(frozen=True)
class Instruction:
    """A text that a reward network is asked with."""

    text: str
    """With `{text_prompt}` where the prompt goes, and one special token."""
    sha256: str
    where: str

    @property
    def is_released(self) -> bool:
        """Whether it is HPSv3's own, to the letter."""
        return self.sha256 == SHA256

    @property
    def label(self) -> str:
        """For a signature."""
        return "released" if self.is_released else f"other {self.sha256[:12]}"

    @property
    def note(self) -> str | None:
        """What users of the numbers have to know; nothing where the text is the release's."""
        if self.is_released:
            return None
        return (
            f"The instruction in {Path(self.where).name} is not HPSv3's (SHA-256 {self.sha256[:12]}, the release has "
            f"{SHA256[:12]}): these are not the scores of the released model."
        )


def find_instruction(
    folder: Path, size: tuple[int, int], *, file: str | Path | None = None, accept_other: bool = False
) -> Instruction:
    """The instruction for the weights in `folder`, whose network has `size` (width, layers)."""
    beside = folder / FILE
    if file is not None:
        found = _read(Path(file))
    elif beside.is_file():
        found = _read(beside)
        accept_other = accept_other or size != RELEASED_SIZE
    else:
        found = _in_package(folder)
    if not found.is_released and not accept_other:
        raise _refused(found)
    return found


def check_instruction(text: str, *, where: str) -> str:
    """`text`, where it holds a place for the prompt and the special token once."""
    if PROMPT not in text or text.count(TOKEN) != 1:
        raise BadFile(
            f"an instruction with {PROMPT} in it and one {TOKEN} is needed", found=repr(text[-80:]), where=where
        )
    return text


def _read(path: Path) -> Instruction:
    try:
        raw = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadFile("HPSv3's instruction is needed, as text in UTF-8", found=reason, where=str(path)) from None
    return _instruction(raw.replace("\r\n", "\n"), str(path))


def _instruction(raw: str, where: str) -> Instruction:
    """The release fills the prompt in by str.format, so doubled braces are single ones and others are errors."""
    check_instruction(raw, where=where)
    try:
        text = raw.format(text_prompt=PROMPT)
    except (KeyError, IndexError, ValueError, AttributeError) as error:
        raise BadFile(
            f"an instruction in which {PROMPT} is the only name in braces is needed",
            found=f"{type(error).__name__}: {error}",
            where=where,
            remedy="double the other braces: {{ and }}",
        ) from None
    return Instruction(text, hashlib.sha256(raw.encode()).hexdigest(), where)


def _in_package(folder: Path) -> Instruction:
    spec = find_spec("hpsv3")
    places = list(spec.submodule_search_locations or []) if spec is not None else []
    for path in (path for place in places for path in sorted(Path(place).rglob("*.py"))):
        parts = _constants(path)
        if all(name in parts for name in _PARTS):
            return _instruction("".join(parts[name] for name in _PARTS), str(path))
    raise MissingWeights(
        f"HPSv3's instruction is needed: a file {FILE} beside the weights, or the package hpsv3 installed",
        found="neither" if not places else f"no {FILE}, and a package without {' and '.join(_PARTS)}",
        where=str(folder),
        remedy="pip install --no-deps hpsv3==1.0.0 (it is read, never imported), or --instruction FILE",
    )


def _constants(path: Path) -> dict[str, str]:
    """Texts that a Python file assigns to names."""
    try:
        body = ast.parse(path.read_text(encoding="utf-8")).body
    except (OSError, SyntaxError, ValueError):
        return {}
    return {
        target.id: node.value.value
        for node in body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _refused(found: Instruction) -> BadFile:
    words = hashlib.sha256(" ".join(found.text.split()).encode()).hexdigest()
    differs = "its words with other white space" if words == _WORDS_SHA256 else "another text"
    return BadFile(
        f"HPSv3's own instruction is needed, SHA-256 {SHA256[:12]}",
        found=f"{differs}, SHA-256 {found.sha256[:12]}",
        where=found.where,
        remedy="take it from the package hpsv3 1.0.0, or score with this one on purpose by --other-instruction; "
        "the signature will say so",
    )
