"""Trained models on disk: written whole, and read back only with the encoder they were trained on.

    model = load_model("model")                              heads or a reward model: the same interface
    model.scores(images, texts, "taste/mood")

A model of heads also takes vectors, so that vectors from a cache (see `embeddings`) can be used without looking at
pictures again: `vector_scores` and `vector_logits`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pydantic import ValidationError

from salon.errors import BadFile, BadValue, MissingExtra, UnknownReference
from salon.models.cards import MODEL_CARD, MODEL_WEIGHTS, ModelCard, ModelScore, PreferenceModel, read_model_card
from salon.models.encoders import Encoder, Vectors, open_encoder, picture_parts
from salon.models.preference_heads import HeadShape, PreferenceHeads
from salon.models.weights import load_weights
from salon.store import whole_file, whole_folder

try:
    import safetensors
    import safetensors.torch
    import torch
    from torch import Tensor
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("train") from None

README = "README.md"
_SHAPE = "heads"
"""Key of the shape of the networks in the header of the weights."""
_ROWS = 1024


class HeadsModel:
    """Heads with their encoder: a `PreferenceModel`."""

    def __init__(self, card: ModelCard, network: PreferenceHeads, encoder: Encoder) -> None:
        self.card, self.network, self.encoder = card, network.eval(), encoder

    def scores(self, images: Sequence[Image.Image], texts: Sequence[str], criterion: str) -> list[ModelScore]:
        """One number for each picture; for the flag head's criterion the log-odds of being flagged."""
        values = self.vector_scores(self.encode(images), self.encode_texts(texts, criterion), criterion)
        return [ModelScore(float(value)) for value in values]

    def pair_logits(
        self, a: Sequence[Image.Image], b: Sequence[Image.Image], texts: Sequence[str], criterion: str
    ) -> NDArray[np.float64]:
        """Log-odds that the first picture of each pair is preferred."""
        return self.vector_logits(self.encode(a), self.encode(b), self.encode_texts(texts, criterion), criterion)

    # -- the same on vectors -------------------------------------------------------------------------------------------

    def vector_scores(self, pictures: Mapping[str, Vectors], texts: Vectors, criterion: str) -> NDArray[np.float64]:
        """Scores from the vectors of pictures, by part, and of texts."""
        t, x = self._reduce_texts(texts), self._join_parts(pictures)
        if criterion == self.card.flag:
            return self._in_pieces(self.network.flag_logits, t, x)
        number = self.network.number(criterion)
        return self._in_pieces(lambda t, x: self.network.scores(t, x, number), t, x)

    def vector_logits(
        self, a: Mapping[str, Vectors], b: Mapping[str, Vectors], texts: Vectors, criterion: str
    ) -> NDArray[np.float64]:
        """Log-odds from the vectors of pictures, by part, and of texts."""
        if criterion == self.card.flag:
            raise BadValue(
                "a criterion of preference is needed: a flag head looks at one picture",
                found=repr(criterion),
                remedy="one of " + ", ".join(self.network.shape.criteria),
            )
        number = self.network.number(criterion)
        rows = self._reduce_texts(texts), self._join_parts(a), self._join_parts(b)
        return self._in_pieces(lambda t, a, b: self.network.logits(t, a, b, number), *rows)

    def encode(self, images: Sequence[Image.Image]) -> dict[str, Vectors]:
        """The vectors of pictures, by part."""
        return picture_parts(self.encoder, images, [part.name for part in self.network.shape.parts])

    def encode_texts(self, texts: Sequence[str], criterion: str) -> Vectors:
        """The vectors of texts, after the criterion's own words where it was trained with them."""
        return self.encoder.texts(self.conditioned(texts, criterion))

    def conditioned(self, texts: Sequence[str], criterion: str) -> list[str]:
        """Texts as the encoder reads them under a criterion."""
        prefix = self.network.shape.prefixes.get(criterion, "")
        return [prefix + text for text in texts]

    @torch.inference_mode()
    def _join_parts(self, pictures: Mapping[str, Vectors]) -> Tensor:
        missing = [part.name for part in self.network.shape.parts if part.name not in pictures]
        if missing:
            raise UnknownReference("vectors of every part are needed", found=f"none of {', '.join(missing)}")
        whole = np.concatenate([pictures[part.name] for part in self.network.shape.parts], axis=1)
        return self.network.reduce_pictures(torch.from_numpy(whole).to(self._device))

    @torch.inference_mode()
    def _reduce_texts(self, texts: Vectors) -> Tensor:
        return self.network.reduce_texts(torch.from_numpy(texts).to(self._device))

    @property
    def _device(self) -> torch.device:
        return next(self.network.parameters()).device

    @torch.inference_mode()
    def _in_pieces(self, of: Callable[..., Tensor], *rows: Tensor) -> NDArray[np.float64]:
        pieces = zip(*(tensor.split(_ROWS) for tensor in rows))
        outputs = [of(*each).double().cpu() for each in pieces if len(each[0])]
        return torch.cat(outputs).numpy() if outputs else np.zeros(0)


# -- writing -----------------------------------------------------------------------------------------------------------


def save_heads(
    path: Path, network: PreferenceHeads, card: ModelCard, *, readme: str, files: Mapping[str, bytes] | None = None
) -> None:
    """Write a model folder whole, in the place of what stood there; `files` go beside the card."""
    state = {name: tensor.detach().cpu().contiguous() for name, tensor in network.state_dict().items()}
    header = {_SHAPE: network.shape.model_dump_json()}  # one key: several would stand in any order
    contents = {
        MODEL_WEIGHTS: safetensors.torch.save(state, header),
        README: readme.encode(),
        **(files or {}),
        MODEL_CARD: json.dumps(card.model_dump(mode="json"), ensure_ascii=False, indent=2).encode(),
    }
    with whole_folder(Path(path)) as folder:
        for name, data in contents.items():
            with whole_file(folder / name) as file:
                file.write(data)


# -- reading -----------------------------------------------------------------------------------------------------------


def load_model(path: Path | str, *, device: str | None = None, encoder: Encoder | None = None) -> PreferenceModel:
    """The model in a folder, whatever its kind; `encoder` saves loading the one it names."""
    folder = Path(path)
    card = read_model_card(folder)
    if card.kind == "reward":
        from salon.models.reward_model import load_reward

        result: PreferenceModel = load_reward(folder, device=device)
        return result
    network = read_heads(folder).to(device or "cpu")
    if encoder is None:
        encoder = open_encoder(card.backbone_name, device=device)
    check_encoder(card, network.shape, encoder, where=str(folder))
    return HeadsModel(card, network, encoder)


def read_heads(folder: Path) -> PreferenceHeads:
    """The networks of a model of heads."""
    path = Path(folder) / MODEL_WEIGHTS
    try:
        with safetensors.safe_open(path, "pt") as file:
            header = file.metadata() or {}
            state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
        network = PreferenceHeads(HeadShape.model_validate_json(header.get(_SHAPE, "")))
    except (OSError, ValidationError, safetensors.SafetensorError) as error:
        raise BadFile(
            "weights of preference heads are needed", found=" ".join(str(error).split())[:200], where=str(path),
            remedy="train the model again; the file is damaged or of another kind",
        ) from None  # fmt: skip
    if "references" in state:
        network.keep_references(state["references"])
    load_weights(network, state, where=str(path))
    return network.eval().requires_grad_(False)


def check_encoder(card: ModelCard, shape: HeadShape, encoder: Encoder, *, where: str) -> None:
    """Raise BadFile unless `encoder` is the very one whose vectors the heads were trained on."""
    if encoder.signature != card.backbone:
        raise BadFile(
            "the encoder that the model was trained on is needed: others give other vectors",
            found=encoder.signature,
            where=f"{where}, trained on {card.backbone}",
            remedy="install the versions it names, or train it again",
        )
    if (tuple(encoder.parts), encoder.text_width) != (shape.parts, shape.text_width):
        raise BadFile(
            "weights and card of one model are needed", found="vectors of other widths", where=where,
            remedy="train it again; files of two models were mixed",
        )  # fmt: skip
