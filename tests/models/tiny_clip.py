"""Tiny random networks in the layouts in which scorers were released."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from PIL import Image
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch import nn
from transformers import (
    CLIPConfig,
    CLIPImageProcessorPil,
    CLIPModel,
    PreTrainedTokenizerFast,
)

SIDE = 32
DIM = 16


def pictures() -> list[Image.Image]:
    """Three that differ in color and proportions."""
    return [
        Image.new("RGB", size, color) for size, color in (((40, 50), "red"), ((64, 32), "teal"), ((32, 32), "gold"))
    ]


TEXTS = ["a red square", "a fair by the sea", "gold"]


def bpe(special: list[str], words: int = 300) -> Tokenizer:
    """A byte-level tokenizer that can write anything."""
    made = Tokenizer(models.BPE(unk_token=special[-1]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=words, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    made.train_from_iterator(TEXTS * 4, trainer)
    return made


def clip_config(words: int) -> CLIPConfig:
    shared = {"intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "hidden_act": "gelu"}
    return CLIPConfig(
        text_config={**shared, "hidden_size": 24, "vocab_size": words, "max_position_embeddings": 20,
                     "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1},
        vision_config={**shared, "hidden_size": 32, "image_size": SIDE, "patch_size": 8},
        projection_dim=DIM,
    )  # fmt: skip


def save_clip(folder: Path, *, weights: bool = True) -> CLIPModel:
    """A CLIP in the hub's layout; without weights only config, tokenizer and processor, as scorers need them."""
    folder.mkdir(parents=True, exist_ok=True)
    made = bpe(["<|startoftext|>", "<|endoftext|>"])
    made.post_processor = processors.TemplateProcessing(
        single="<|startoftext|> $A <|endoftext|>", special_tokens=[("<|startoftext|>", 0), ("<|endoftext|>", 1)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<|startoftext|>", eos_token="<|endoftext|>", pad_token="<|endoftext|>",
        model_max_length=20,
    )  # fmt: skip
    torch.manual_seed(0)
    network = CLIPModel(clip_config(len(tokenizer))).eval()
    if weights:
        network.save_pretrained(folder)
    else:
        network.config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    square = {"height": SIDE, "width": SIDE}
    CLIPImageProcessorPil(size={"shortest_edge": SIDE}, crop_size=square).save_pretrained(folder)
    return network


# -- open_clip, written down again ------------------------------------------------------------------------------------


class Block(nn.Module):
    """One layer of open_clip's transformer."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential()
        for name, part in (("c_fc", nn.Linear(width, 64)), ("gelu", nn.GELU()), ("c_proj", nn.Linear(64, width))):
            self.mlp.add_module(name, part)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        y = self.ln_1(x)
        x = x + self.attn(y, y, y, need_weights=False, attn_mask=mask)[0]
        return x + self.mlp(self.ln_2(x))


class Tower(nn.Module):
    """A stack of blocks under open_clip's names."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.resblocks = nn.ModuleList(Block(width, 2) for _ in range(2))

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        for block in self.resblocks:
            x = block(x, mask)
        return x


class Visual(nn.Module):
    """The picture side."""

    def __init__(self) -> None:
        super().__init__()
        self.class_embedding = nn.Parameter(torch.randn(32))
        self.positional_embedding = nn.Parameter(torch.randn((SIDE // 8) ** 2 + 1, 32))
        self.conv1 = nn.Conv2d(3, 32, 8, 8, bias=False)
        self.ln_pre, self.ln_post = nn.LayerNorm(32), nn.LayerNorm(32)
        self.transformer = Tower(32)
        self.proj = nn.Parameter(torch.randn(32, DIM))

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        patches = self.conv1(pixels).flatten(2).transpose(1, 2)
        first = self.class_embedding.expand(len(patches), 1, -1)
        x = self.transformer(self.ln_pre(torch.cat([first, patches], 1) + self.positional_embedding))
        return self.ln_post(x[:, 0]) @ self.proj


class OpenClip(nn.Module):
    """Both sides, as open_clip computes them: an oracle for the renamed weights."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.visual = Visual()
        self.token_embedding = nn.Embedding(words, 24)
        self.positional_embedding = nn.Parameter(torch.randn(20, 24))
        self.transformer = Tower(24)
        self.ln_final = nn.LayerNorm(24)
        self.text_projection = nn.Parameter(torch.randn(24, DIM))
        self.logit_scale = nn.Parameter(torch.tensor(4.6052))
        self.register_buffer("attn_mask", torch.full((20, 20), -torch.inf).triu(1))

    def texts(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.token_embedding(ids) + self.positional_embedding
        x = self.ln_final(self.transformer(x, self.attn_mask))
        return x[torch.arange(len(x)), ids.argmax(-1)] @ self.text_projection


def save_head(path: Path, width: int = DIM, prefix: str = "") -> nn.Sequential:
    """LAION's and ImageReward's kind of head."""
    torch.manual_seed(1)
    layers = [nn.Linear(width, 8), nn.Dropout(), nn.Linear(8, 6), nn.Dropout(), nn.Linear(6, 4), nn.Dropout(),
              nn.Linear(4, 3), nn.Linear(3, 1)]  # fmt: skip
    head = nn.Sequential(*layers).eval()
    if path.suffix:
        torch.save({f"layers.{name}": tensor for name, tensor in head.state_dict().items()}, path)
    return head


def write_json(path: Path, record: object) -> None:
    path.write_text(json.dumps(record))
