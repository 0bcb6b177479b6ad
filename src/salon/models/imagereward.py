"""ImageReward: BLIP reads the prompt while it looks at the picture, a head makes one number of what it understood."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from salon.errors import BadFile, MissingExtra
from salon.models.peers import IMAGE_REWARD_MEAN, IMAGE_REWARD_SD, PEERS
from salon.models.preprocessing import PreparedNetwork
from salon.models.reward_heads import linear_stack
from salon.models.weights import (
    MissingWeights,
    State,
    best_device,
    check_vocabulary,
    find_file,
    load_from_hub,
    load_weights,
    read_state,
)
from salon.store import read_json

try:
    import torch
    from transformers import (
        AutoTokenizer,
        BertTokenizer,
        BlipTextConfig,
        BlipTextModel,
        BlipVisionConfig,
        BlipVisionModel,
    )
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

IMAGEREWARD_WEIGHTS = ("ImageReward.pt", "ImageReward.safetensors")
_PEER = PEERS["imagereward"]
assert _PEER.texts is not None
_LONGEST = _PEER.texts.longest
_VISION = {
    "cls_token": "embeddings.class_embedding",
    "pos_embed": "embeddings.position_embedding",
    "patch_embed.proj": "embeddings.patch_embedding",
    "norm": "post_layernorm",
}
_INSIDE = {
    "norm1": "layer_norm1",
    "norm2": "layer_norm2",
    "attn.qkv": "self_attn.qkv",
    "attn.proj": "self_attn.projection",
}


class BlipReward(PreparedNetwork):
    """ImageReward from a folder with its weights, med_config.json and BERT's tokenizer."""

    def __init__(self, folder: Path, *, device: str | None = None) -> None:
        self.device = device or best_device()
        weights = find_file(folder, IMAGEREWARD_WEIGHTS, of="ImageReward")
        state = read_state(weights)
        _require_names(state, str(weights))
        path = find_file(folder, ["med_config.json"], of="ImageReward")
        settings: dict[str, Any] = read_json(path, "ImageReward's settings of its text side are needed, as JSON")
        missing = [name for name in ("encoder_width", "hidden_size", "num_attention_heads") if name not in settings]
        if missing:
            raise BadFile("ImageReward's med_config.json is needed", found=f"no {', '.join(missing)}", where=str(path))
        config = settings
        rows = state["blip.text_encoder.embeddings.word_embeddings.weight"].shape[0]
        self._tokenizer = load_tokenizer(folder, rows)
        self._eyes = _vision(_under(state, "blip.visual_encoder."), str(weights), self.device)
        self._reader = _text(_under(state, "blip.text_encoder."), config, str(weights), self.device)
        self._head = linear_stack(_under(state, "mlp."), where=str(weights)).to(self.device)
        side = self._eyes.config.image_size
        assert isinstance(side, int)
        self.rule, self.side = _PEER.pictures, side

    def numbers(self, pixels: torch.Tensor, texts: Sequence[str]) -> torch.Tensor:
        """One number for each picture and its prompt."""
        image_states = self._eyes(pixels).last_hidden_state
        tokens = self.tokens(texts)
        understood = self._reader(
            input_ids=tokens["input_ids"],
            attention_mask=tokens["attention_mask"],
            encoder_hidden_states=image_states,
            encoder_attention_mask=torch.ones(image_states.shape[:2], dtype=torch.long, device=self.device),
        ).last_hidden_state[:, 0]
        values: torch.Tensor = (self._head(understood).squeeze(-1) - IMAGE_REWARD_MEAN) / IMAGE_REWARD_SD
        return values

    def tokens(self, texts: Sequence[str]) -> Any:
        """The texts as BERT takes them."""
        return self._tokenizer(
            list(texts), padding="max_length", truncation=True, max_length=_LONGEST, return_tensors="pt"
        ).to(self.device)


def _require_names(state: State, where: str) -> None:
    """Say what a file of another model is, before its parts are looked for."""
    needed = ("blip.visual_encoder.patch_embed.", "blip.text_encoder.embeddings.word_embeddings.", "mlp.layers.")
    missing = [prefix for prefix in needed if not any(name.startswith(prefix) for name in state)]
    spare = [name for name in state if not name.startswith(("blip.", "mlp."))]
    if spare and not missing:
        spare_names = f"{len(spare)} left over ({', '.join(spare[:3])})"
        raise MissingWeights("weights of ImageReward and of nothing else are needed", found=spare_names, where=where)
    if missing:
        raise MissingWeights(
            f"ImageReward's weights are needed, with names that begin with {', '.join(needed)}",
            found=f"none with {', '.join(missing)}; the first are {', '.join(list(state)[:3])}",
            where=where,
        )


def _under(state: State, prefix: str) -> State:
    return {name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)}


def _vision(state: State, where: str, device: str) -> BlipVisionModel:
    renamed = {_vision_name(name): tensor for name, tensor in state.items()}
    hidden, _, patch, _ = renamed["embeddings.patch_embedding.weight"].shape
    places = renamed["embeddings.position_embedding"].shape[1] - 1
    config = BlipVisionConfig(
        hidden_size=hidden,
        intermediate_size=renamed["encoder.layers.0.mlp.fc1.weight"].shape[0],
        num_hidden_layers=1 + max(int(name.split(".")[2]) for name in renamed if name.startswith("encoder.layers.")),
        num_attention_heads=hidden // 64,
        image_size=patch * round(places**0.5),
        patch_size=patch,
        layer_norm_eps=1e-6,
    )
    network = BlipVisionModel(config)
    load_weights(network, renamed, where=where)
    ready: BlipVisionModel = network.eval().requires_grad_(False).to(device)
    return ready


def _vision_name(name: str) -> str:
    if name in _VISION:
        return _VISION[name]
    module, _, kind = name.rpartition(".")
    if module.startswith("blocks."):
        _, number, inner = module.split(".", 2)
        return f"encoder.layers.{number}.{_INSIDE.get(inner, inner)}.{kind}"
    return f"{_VISION.get(module, module)}.{kind}"


def _text(state: State, settings: dict[str, Any], where: str, device: str) -> BlipTextModel:
    tensors = {name: tensor for name, tensor in state.items() if not name.endswith("position_ids")}
    names = ("hidden_size", "num_attention_heads", "num_hidden_layers", "intermediate_size", "hidden_act",
             "layer_norm_eps", "max_position_embeddings")  # fmt: skip
    config = BlipTextConfig(
        **{name: settings[name] for name in names if name in settings},
        vocab_size=tensors["embeddings.word_embeddings.weight"].shape[0],
        encoder_hidden_size=settings["encoder_width"],
        is_decoder=True,  # what gives its layers eyes; its attention to the text itself stays both ways
        bos_token_id=None,
        eos_token_id=None,
        sep_token_id=None,
    )
    network = BlipTextModel(config, add_pooling_layer=False)
    load_weights(network, tensors, where=where)
    ready: BlipTextModel = network.eval().requires_grad_(False).to(device)
    return ready


def load_tokenizer(folder: Path, rows: int) -> Any:
    """BERT's tokenizer, with the two tokens that ImageReward adds where its weights have rows for them."""
    stated = any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer_config.json"))
    kind = AutoTokenizer if stated else BertTokenizer  # vocab.txt alone says nothing of its kind
    tokenizer = load_from_hub(kind.from_pretrained, folder, what="BERT's tokenizer")
    tokens = [token for token in ("[DEC]", "[ENC]") if token not in tokenizer.get_vocab()]
    if len(tokenizer) + len(tokens) <= rows:
        tokenizer.add_special_tokens({"additional_special_tokens": tokens}, replace_extra_special_tokens=False)
    check_vocabulary(tokenizer, rows, where=str(folder))
    return tokenizer
