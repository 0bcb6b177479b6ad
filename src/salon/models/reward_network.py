"""A reward network: a VLM that reads a picture with its prompt, and a head that turns what it thinks into a law.

At the place of one special token, <|Reward|>, the hidden state h of the last layer goes through an MLP h-1024-16-2 to
(mu, log sigma): the quality of the picture under its prompt is N(mu, sigma^2). The VLM stays an object of transformers'
own class with its own names of weights, so whatever loads that class loads a trained backbone.

Released HPSv3 weights, and whatever is trained on from them, read flat positions; a bare VLM keeps its own. Which they
are stands on a model's card and in its signature.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from PIL import Image

from salon.errors import BadValue, MissingExtra
from salon.models.cards import MODEL_CARD, read_model_card
from salon.models.hpsv3 import HPSV3_WEIGHTS, PROMPT, check_instruction, released_parts
from salon.models.peers import PEERS, Positions
from salon.models.reward_heads import REWARD, Quality, new_reward_head, read_quality, reward_head, vlm_positions
from salon.models.vlm import LoadedVlm
from salon.models.weights import State, find_file, read_state

try:
    import torch
    from torch import nn
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

BACKBONE = "backbone"
"""Folder of a trained model that holds the VLM in transformers' layout."""
HEAD = "rm_head."
"""Beginning of the names of the head's weights, as HPSv3 has them."""
INSTRUCTION = "instruction.txt"
CRITERION = "{criterion}"
PIXELS = 200_704
"""448 x 448, the budget that HPSv3 brings every picture to in its own proportions."""
DEFAULT_INSTRUCTION = (
    f"The picture above was made for a prompt. How good is it by this criterion: {CRITERION}?\n"
    f"The prompt: {PROMPT}\n"
    f"The score: {REWARD}"
)


class RewardNetwork(nn.Module):
    """The VLM and its head."""

    def __init__(self, vlm: Any, head: nn.Module, token: int, positions: Positions = "own") -> None:
        super().__init__()
        self.vlm = vlm
        self.rm_head = head
        self.token = token
        """Id of the special token."""
        self.positions = positions
        self.extra = nn.ParameterDict()
        """What a law of wins learns beside the network: how likely ties are."""

    def forward(self, inputs: dict[str, torch.Tensor], *, with_tie: bool = False) -> Any:
        """Quality: (pictures,) mu and log sigma; `with_tie` also the parameter of ties, as only here it is sure to be
        whole where weights are sharded."""
        quality = read_quality(self.vlm.base_model, self.rm_head, self.token, inputs, self.positions)
        if not with_tie:
            return quality
        tie = self.extra["tie"].clone() if "tie" in self.extra else None
        return Quality(*(part.clone() for part in quality)), tie  # FSDP2 wants no views

    def head_state(self) -> State:
        """The weights beside the VLM, by the names they are saved under."""
        state = {f"{HEAD}{name}": tensor for name, tensor in self.rm_head.state_dict().items()}
        return state | {f"extra.{name}": tensor for name, tensor in self.extra.state_dict().items()}


class RewardQuestions:
    """Turns pictures with their prompts into what the network reads."""

    def __init__(self, processor: Any, instruction: str, *, pixels: int | None = None) -> None:
        self.processor = processor
        self.instruction = instruction
        self._turn = Lock()
        """Tokenizers and picture processors serve one thread at a time."""
        if pixels is not None:
            size = dict(getattr(processor.image_processor, "size", None) or {})
            if set(size) != {"shortest_edge", "longest_edge"} or not hasattr(processor.image_processor, "merge_size"):
                raise BadValue(
                    "a budget of pixels needs a picture processor of the Qwen-VL kind",
                    found=f"{type(processor.image_processor).__name__} with size {size}",
                    remedy="leave the pictures to it: --pixels 0",
                )
            least = (processor.image_processor.patch_size * processor.image_processor.merge_size) ** 2
            if pixels < least:
                raise BadValue(f"--pixels is at least {least:,} for this VLM, one merged patch", found=f"{pixels:,}")
            processor.image_processor.size = {"shortest_edge": pixels, "longest_edge": pixels}

    def __call__(
        self, images: Sequence[Image.Image], texts: Sequence[str], criteria: Sequence[str]
    ) -> dict[str, torch.Tensor]:
        """One batch, padded; the criteria by the names that the instruction shows."""
        questions = [self._question(text, criterion) for text, criterion in zip(texts, criteria, strict=True)]
        messages = [
            [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": text}]}] for text in questions
        ]
        with self._turn:
            chat_texts = self.processor.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
            image_lists = [[image] for image in images]
            return dict(self.processor(text=chat_texts, images=image_lists, padding=True, return_tensors="pt"))

    def _question(self, text: str, criterion: str) -> str:
        """The instruction filled in; a prompt cannot bring a special token of its own."""
        question = self.instruction.replace(CRITERION, criterion.replace(REWARD, ""))
        return question.replace(PROMPT, text.replace(REWARD, ""))


@dataclass(frozen=True)
class RewardParts:
    """A network ready to be used or trained, and what asks it."""

    network: RewardNetwork
    questions: RewardQuestions
    open_again: Callable[[], RewardParts] = field(repr=False)
    """Opens the same parts again, as they were."""


def open_parts(
    source: str | Path,
    *,
    instruction: str | None = None,
    pixels: int | None = PIXELS,
    dropout: float = 0.0,
    dtype: str = "auto",
    seed: int = 0,
) -> RewardParts:
    """A reward network from a VLM (with a new head), from a trained model's folder, or from released HPSv3 weights.

    Its instruction is kept where it has one, unless another is given. The network is on the CPU.
    """
    folder = Path(source)
    if any((folder / name).is_file() for name in HPSV3_WEIGHTS):
        released = released_parts(folder, dtype, with_instruction=instruction is None)
        vlm, processor, head = released.network, released.processor, released.head
        own = "" if released.instruction is None else released.instruction.text
        positions = PEERS["hpsv3"].positions
    elif (folder / BACKBONE).is_dir():
        vlm, processor, head, own, positions = _open_trained(folder, dtype)
    else:
        loaded = LoadedVlm(source, device="cpu", dtype=dtype)
        vlm, processor, own = loaded.model, loaded.processor, DEFAULT_INSTRUCTION
        head = new_reward_head(vlm.get_input_embeddings().weight.shape[1], seed=seed)
        positions = vlm_positions(vlm)
    for layer in head.modules():
        if isinstance(layer, nn.Dropout):
            layer.p = dropout
    text = instruction or own
    network = RewardNetwork(vlm, head, _token(vlm, processor.tokenizer), positions)
    questions = RewardQuestions(processor, check_instruction(text, where="instruction"), pixels=pixels)
    again = partial(open_parts, source, instruction=instruction, pixels=pixels, dropout=dropout, dtype=dtype, seed=seed)
    return RewardParts(network, questions, again)


def _open_trained(folder: Path, dtype: str) -> tuple[Any, Any, nn.Module, str, Positions]:
    """A trained model's VLM, processor, head, instruction and the positions of its tokens."""
    loaded = LoadedVlm(folder / BACKBONE, device="cpu", dtype=dtype)
    file = find_file(folder, ["model.safetensors"], of="a reward model")
    state = read_state(file)
    head = reward_head(
        {name.removeprefix(HEAD): tensor for name, tensor in state.items() if name.startswith(HEAD)}, where=str(file)
    )
    own = find_file(folder, [INSTRUCTION], of="a reward model").read_text(encoding="utf-8")
    stated = read_model_card(folder).positions if (folder / MODEL_CARD).is_file() else None
    return loaded.model, loaded.processor, head, own, stated or vlm_positions(loaded.model)


def _token(vlm: Any, tokenizer: Any) -> int:
    """The id of the special token, which the tokenizer and the VLM get where they lack it."""
    tokenizer.add_special_tokens({"additional_special_tokens": [REWARD]}, replace_extra_special_tokens=False)
    if len(tokenizer) > vlm.get_input_embeddings().weight.shape[0]:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            vlm.resize_token_embeddings(len(tokenizer), mean_resizing=False)
            # The new row is drawn by chance; the mean of the others is the same every time.
            into, out = vlm.get_input_embeddings().weight, vlm.get_output_embeddings()
            tables = [into] if out is None or out.weight is into else [into, out.weight]
            for table in tables:
                table[-1] = table[:-1].mean(dim=0)
    return int(tokenizer.convert_tokens_to_ids(REWARD))
