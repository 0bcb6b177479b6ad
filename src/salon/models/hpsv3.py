"""HPSv3: a Qwen2-VL whose head reads mu and log sigma at the place of one special token.

Its instruction is part of what the weights were trained on; only its SHA-256 is kept here. It is looked for, in this
order, in a file that the user names, in instruction.txt beside the weights, and in an installed `hpsv3` package, whose
files are read and never imported. Another text is refused, with two exceptions that the signature states: the user asks
for it (`--other-instruction`), or it lies beside weights that do not have the release's size and so cannot be them.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from salon.errors import BadFile, BadValue, MissingExtra
from salon.models.peers import PEERS
from salon.models.preprocessing import PatchLayout, Tensors, patch_rows, prepare_picture, prepare_tensor, size_refusal
from salon.models.reward_heads import REWARD, Quality, read_quality, reward_head
from salon.models.vlm import vlm_processor
from salon.models.weights import (
    MissingWeights,
    State,
    best_device,
    check_vocabulary,
    find_file,
    load_from_hub,
    read_state,
)

try:
    import torch
    from torch import Tensor
    from transformers import (
        AutoImageProcessor,
        AutoTokenizer,
        Qwen2VLConfig,
        Qwen2VLForConditionalGeneration,
        Qwen2VLModel,
    )
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

HPSV3_WEIGHTS = ("HPSv3.safetensors", "HPSv3.pth")
_PEER = PEERS["hpsv3"]
_PICTURE = "<|image_pad|>"
"""Stands for one merged patch of the picture."""
_FORBIDDEN = (_PICTURE, "<|video_pad|>")
"""What a prompt may not hold: the network would look for another picture."""


class QwenReward:
    """HPSv3 from a folder: its weights, config, tokenizer and processor of Qwen2-VL-7B-Instruct, and its instruction.

    `instruction` names a file to take in place of the folder's; `accept_other` takes a text that is not the release's.
    """

    peer = PEERS["hpsv3"]
    files = HPSV3_WEIGHTS
    backbone = "Qwen2-VL"
    head_prefixes: tuple[str, ...] = ("rm_head.",)
    config_class: Any = Qwen2VLConfig
    network_class: Any = Qwen2VLModel

    def __init__(
        self,
        folder: Path,
        *,
        device: str | None = None,
        dtype: str | None = None,
        instruction: str | Path | None = None,
        accept_other: bool = False,
    ) -> None:
        self.device = device or best_device()
        self.dtype = getattr(torch, dtype or ("float32" if self.device == "cpu" else "bfloat16"))
        head, state, weights = _state(folder, self.files, self.head_prefixes, of=self.peer.title)
        config = _config(folder, state, weights, self.config_class, of=self.backbone)
        release = self.released_text()
        self.instruction = find_instruction(
            folder, _size(config), file=instruction, accept_other=accept_other, release=release
        )
        self._tokenizer = _tokenizer(folder)
        self._reward = self._tokenizer.convert_tokens_to_ids(REWARD)
        self._layout = _layout(folder, config)
        self._head = self.make_head(head, where=weights).to(self.device)
        state = {name: tensor for name, tensor in state.items() if not name.startswith("lm_head.")}
        self._network = _load_checkpoint(self.network_class, config, state, self.dtype, weights).to(self.device)
        check_vocabulary(self._tokenizer, config.get_text_config().vocab_size, where=str(folder))
        self._require_chat(folder)

    def make_head(self, state: State, *, where: str) -> torch.nn.Module:
        """What reads mu and log sigma from the state of the special token."""
        return reward_head({name.removeprefix("rm_head."): tensor for name, tensor in state.items()}, where=where)

    def released_text(self) -> ReleasedText:
        """The instruction that the weights were trained with."""
        return _hpsv3_text()

    def scores(self, images: Sequence[Image.Image], texts: Sequence[str]) -> list[tuple[float, float]]:
        """(mu, sigma) for each picture and its prompt."""
        with torch.inference_mode():
            pixels = [prepare_picture(image, self.peer.pictures, self._layout.unit) for image in images]
            mu, log_sigma = self._quality(pixels, texts)
            return list(zip(mu.tolist(), log_sigma.exp().tolist(), strict=True))

    def tensor_scores(self, images: Tensors, texts: Sequence[str]) -> Tensor:
        """(pictures, 2): mu and sigma, with a gradient back to the pictures."""
        pixels = [prepare_tensor(image, self.peer.pictures, self._layout.unit) for image in images]
        mu, log_sigma = self._quality(pixels, texts)
        return torch.stack([mu, log_sigma.exp()], dim=1)

    def refusal(self, width: int, height: int, text: str) -> str | None:
        """Why a picture of this size with this text gets no number; None where it gets one."""
        token = next((token for token in _FORBIDDEN if token in text), None)
        if token is not None:
            return f"the prompt holds {token}, which stands for a picture"
        return size_refusal(width, height, self.peer.pictures, self._layout.unit)

    def inputs(self, pixels: Sequence[Tensor], texts: Sequence[str]) -> dict[str, Tensor]:
        """One batch of prepared pictures (3, height, width) with their prompts, padded at the right."""
        cut = [patch_rows(image, self._layout) for image in pixels]
        grids = torch.tensor([grid for _, grid in cut])
        places = [int(grid.prod()) // self._layout.merge**2 for grid in grids]
        chats = [self._chat_text(text, count) for text, count in zip(texts, places, strict=True)]
        tokens = self._tokenizer(chats, padding=True, return_tensors="pt")
        batch = {
            "input_ids": tokens["input_ids"],
            "attention_mask": tokens["attention_mask"],
            "pixel_values": torch.cat([rows for rows, _ in cut]),
            "image_grid_thw": grids,
        }
        return {name: tensor.to(self.device) for name, tensor in batch.items()}

    def _quality(self, pixels: Sequence[Tensor], texts: Sequence[str]) -> Quality:
        inputs = self.inputs(pixels, texts)
        inputs["pixel_values"] = inputs["pixel_values"].to(self._network.dtype)
        return read_quality(self._network, self._head, self._reward, inputs, self.peer.positions)

    def _require_chat(self, folder: Path) -> None:
        """Find out now whether the folder's chat template can ask about a picture."""
        try:
            self._chat_text("", 1)
        except Exception as error:  # templates raise whatever they like
            raise BadFile(
                f"a tokenizer with {self.backbone}'s chat template is needed, which shows a picture once",
                found=" ".join(str(error).split())[:200],
                where=str(folder),
                remedy="put tokenizer_config.json, or chat_template.jinja, of Qwen2-VL-7B-Instruct beside the weights",
            ) from None

    def _chat_text(self, text: str, places: int) -> str:
        """The whole conversation; a prompt cannot bring a special token of its own."""
        question = self.instruction.text.replace(PROMPT, text.replace(REWARD, ""))
        content = [{"type": "image"}, {"type": "text", "text": question}]
        chat = [{"role": "user", "content": content}]
        chat_text = self._tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
        if chat_text.count(_PICTURE) != 1:
            reason = self.refusal(1, 1, text) or f"{chat_text.count(_PICTURE)} times {_PICTURE} in the chat template"
            raise BadValue("a conversation with one picture in it is needed", found=reason)
        return str(chat_text.replace(_PICTURE, _PICTURE * places))


class ReleasedParts(NamedTuple):
    """HPSv3 as something to train on from."""

    network: Any
    """A whole Qwen2-VL, of transformers' own class."""
    head: torch.nn.Module
    processor: Any
    instruction: Instruction | None
    """None where it was not looked for."""


def released_parts(folder: Path, dtype: str = "auto", *, with_instruction: bool = True) -> ReleasedParts:
    """HPSv3 from a folder as above, its network with the output layer that it was released with.

    A release without that layer, which no score needs, shares it with the layer that words come in by.
    """
    head_state, state, weights = _state(folder, HPSV3_WEIGHTS, QwenReward.head_prefixes, of="HPSv3")
    head = reward_head({name.removeprefix("rm_head."): tensor for name, tensor in head_state.items()}, where=weights)
    whole = {name if name.startswith("lm_head.") else f"model.{name}": tensor for name, tensor in state.items()}
    config = _config(folder, state, weights, Qwen2VLConfig, of="Qwen2-VL")
    instruction = find_instruction(folder, _size(config)) if with_instruction else None
    config.tie_word_embeddings = "lm_head.weight" not in whole
    saved = next(iter(whole.values())).dtype
    number = saved if dtype == "saved" else getattr(torch, "float32" if dtype == "auto" else dtype)
    network = _load_checkpoint(Qwen2VLForConditionalGeneration, config, whole, number, weights)
    processor = vlm_processor(str(folder), "qwen2_vl")
    processor.tokenizer = _tokenizer(folder)
    pixels = (_PEER.pictures.budget or 0) * _layout(folder, config).unit ** 2
    processor.image_processor.size = {"shortest_edge": pixels, "longest_edge": pixels}
    return ReleasedParts(network, head, processor, instruction)


def _state(folder: Path, files: Sequence[str], prefixes: tuple[str, ...], *, of: str) -> tuple[State, State, str]:
    """The head's weights, the others by their names of today, and the file they were in."""
    weights = find_file(folder, files, of=of)
    state = {_current_name(name): tensor for name, tensor in read_state(weights).items()}
    missing = [prefix for prefix in prefixes if not any(name.startswith(prefix) for name in state)]
    if missing:
        raise MissingWeights(
            f"weights of {of} are needed: a Qwen-VL and a head with {', '.join(prefixes)}",
            found=f"names such as {', '.join(list(state)[:3]) or 'none'}",
            where=str(weights),
        )
    head = {name: state.pop(name) for name in list(state) if name.startswith(prefixes)}
    return head, state, str(weights)


def _tokenizer(folder: Path) -> Any:
    """Qwen2-VL's, with the special token."""
    tokenizer = load_from_hub(AutoTokenizer.from_pretrained, folder, what="Qwen2-VL's tokenizer", padding_side="right")
    tokenizer.add_special_tokens({"additional_special_tokens": [REWARD]}, replace_extra_special_tokens=False)
    return tokenizer


def _layout(folder: Path, config: Any) -> PatchLayout:
    pictures = load_from_hub(AutoImageProcessor.from_pretrained, folder, what="Qwen-VL's picture processor")
    vision = config.vision_config
    stated = PatchLayout(pictures.patch_size, pictures.merge_size, pictures.temporal_patch_size)
    built = PatchLayout(vision.patch_size, vision.spatial_merge_size, vision.temporal_patch_size)
    if stated != built:
        raise BadFile(
            f"a picture processor for {built} is needed, as config.json says", found=str(stated), where=str(folder)
        )
    return built


def _current_name(name: str) -> str:
    """Names of transformers before version 5 as they are now: language and vision below one model."""
    if re.match(r"model\.(language_model|visual)\.", name):
        return name.removeprefix("model.")
    return f"language_model.{name.removeprefix('model.')}" if name.startswith("model.") else name


_WORDS_IN = "language_model.embed_tokens.weight"


def _config(folder: Path, state: State, where: str, kind: Any, *, of: str) -> Any:
    """The backbone's config with as many rows of the vocabulary as the weights have."""
    if _WORDS_IN not in state:
        raise MissingWeights(
            f"weights of a {of} and a head are needed",
            found=f"no model.embed_tokens.weight; the first names are {', '.join(list(state)[:3])}",
            where=where,
        )
    place = find_file(folder, ["config.json"], of=of)
    config = load_from_hub(kind.from_pretrained, folder, what=f"{of}'s config")
    rows, width = state[_WORDS_IN].shape
    layers = len({name.split(".")[2] for name in state if name.startswith("language_model.layers.")})
    if _size(config) != (width, layers):  # before memory is given to a network of another size
        raise BadFile(
            f"a config of the weights' own size is needed: width {width:,}, {layers} layers",
            found="width {:,}, {} layers".format(*_size(config)),
            where=str(place),
        )
    config.get_text_config().vocab_size = rows
    return config


def _size(config: Qwen2VLConfig) -> tuple[int, int]:
    text = config.get_text_config()
    return text.hidden_size, text.num_hidden_layers


def _load_checkpoint(kind: Any, config: Any, state: State, dtype: torch.dtype, where: str) -> Any:
    options = {"config": config, "state_dict": state, "dtype": dtype}
    network, report = kind.from_pretrained(None, **options, output_loading_info=True, ignore_mismatched_sizes=True)
    wrong = [*report["missing_keys"], *report["unexpected_keys"], *report["mismatched_keys"]]
    if wrong:
        raise MissingWeights(
            f"weights that fit {kind.__name__} are needed", found=f"{len(wrong)} that do not: {wrong[:3]}", where=where
        )
    return network.eval().requires_grad_(False)


# -- the instruction ---------------------------------------------------------------------------------------------------

INSTRUCTION_FILE = "instruction.txt"
PROMPT = "{text_prompt}"
INSTRUCTION_SHA256 = "f6ee57479d4e9eee76b49c00dc962e1e696a5a2b3cc32cebd9b1fa76fe27502c"
"""Of the text in hpsv3 1.0.0: INSTRUCTION and prompt_with_special_token, one after the other, in UTF-8."""
_WORDS_SHA256 = "c303ff621c8d0d5d9fdbeb97064bf8208233bbf306a2e2d4a7f71bbaa55dbc5f"
"""Of its words with single spaces between them."""
_PARTS = ("INSTRUCTION", "prompt_with_special_token")
RELEASED_SIZE = (3584, 28)
"""Width and layers of Qwen2-VL-7B, which HPSv3 was trained from."""


class ReleasedText(NamedTuple):
    """How the instruction of a release is known again, and where it comes from."""

    of: str
    sha256: str
    words_sha256: str
    size: tuple[int, int]
    """Width and layers of the released network."""
    remedy: str
    in_package: bool = True
    """Whether an installed `hpsv3` package has it."""


def _hpsv3_text() -> ReleasedText:
    return ReleasedText(
        "HPSv3", INSTRUCTION_SHA256, _WORDS_SHA256, RELEASED_SIZE, "take it from the package hpsv3 1.0.0"
    )


@dataclass(frozen=True)
class Instruction:
    """A text that a reward network is asked with."""

    text: str
    """With `{text_prompt}` where the prompt goes, and one special token."""
    sha256: str
    where: str
    release: ReleasedText

    @property
    def is_released(self) -> bool:
        """Whether it is the release's own, to the letter."""
        return self.sha256 == self.release.sha256

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
            f"The instruction in {Path(self.where).name} is not {self.release.of}'s (SHA-256 {self.sha256[:12]}, the "
            f"release has {self.release.sha256[:12]}): these are not the scores of the released model."
        )


def find_instruction(
    folder: Path,
    size: tuple[int, int],
    *,
    file: str | Path | None = None,
    accept_other: bool = False,
    release: ReleasedText | None = None,
) -> Instruction:
    """The instruction for the weights in `folder`, whose network has `size` (width, layers)."""
    release = release or _hpsv3_text()
    beside = folder / INSTRUCTION_FILE
    if file is not None:
        instruction = _read_instruction(Path(file), release)
    elif beside.is_file():
        instruction = _read_instruction(beside, release)
        accept_other = accept_other or size != release.size
    else:
        instruction = _in_package(folder, release)
    if not instruction.is_released and not accept_other:
        refuse_instruction = _refuse_instruction(instruction)
        raise refuse_instruction
    return instruction


def check_instruction(text: str, *, where: str) -> str:
    """`text`, where it holds a place for the prompt and the special token once."""
    if PROMPT not in text or text.count(REWARD) != 1:
        raise BadFile(
            f"an instruction with {PROMPT} in it and one {REWARD} is needed", found=repr(text[-80:]), where=where
        )
    return text


def _read_instruction(path: Path, release: ReleasedText) -> Instruction:
    """Of a text file, or of the release's own module, which is read and never run."""
    if path.suffix == ".py" and all(name in _constants(path) for name in _PARTS):
        return _parse_instruction("".join(_constants(path)[name] for name in _PARTS), str(path), release)
    try:
        raw = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadFile(
            f"{release.of}'s instruction is needed, as text in UTF-8", found=reason, where=str(path)
        ) from None
    return _parse_instruction(raw.replace("\r\n", "\n"), str(path), release)


def _parse_instruction(raw: str, where: str, release: ReleasedText) -> Instruction:
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
    return Instruction(text, hashlib.sha256(raw.encode()).hexdigest(), where, release)


def _in_package(folder: Path, release: ReleasedText) -> Instruction:
    spec = find_spec("hpsv3") if release.in_package else None
    places = list(spec.submodule_search_locations or []) if spec is not None else []
    for path in (path for place in places for path in sorted(Path(place).rglob("*.py"))):
        parts = _constants(path)
        if all(name in parts for name in _PARTS):
            return _parse_instruction("".join(parts[name] for name in _PARTS), str(path), release)
    raise MissingWeights(
        f"{release.of}'s instruction is needed: a file {INSTRUCTION_FILE} beside the weights"
        + (", or the package hpsv3 installed" if release.in_package else ""),
        found="neither" if not places else f"no {INSTRUCTION_FILE}, and a package without {' and '.join(_PARTS)}",
        where=str(folder),
        remedy="pip install --no-deps hpsv3==1.0.0 (it is read, never imported), or --instruction FILE"
        if release.in_package
        else f"{release.remedy}: --instruction FILE",
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


def _refuse_instruction(instruction: Instruction) -> BadFile:
    words = hashlib.sha256(" ".join(instruction.text.split()).encode()).hexdigest()
    differs = "its words with other white space" if words == instruction.release.words_sha256 else "another text"
    return BadFile(
        f"{instruction.release.of}'s own instruction is needed, SHA-256 {instruction.release.sha256[:12]}",
        found=f"{differs}, SHA-256 {instruction.sha256[:12]}",
        where=instruction.where,
        remedy=f"{instruction.release.remedy}, or score with this one on purpose by --other-instruction; "
        "the signature will say so",
    )
