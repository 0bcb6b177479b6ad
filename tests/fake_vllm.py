"""A vLLM server in little: the HTTP interface that TRL 1.16 uses, with a real model behind it, and the part of the
package `vllm` that TRL imports.

The stand-in ends at the edge: `vllm` here has no engine, and weights reach the server by a queue where NCCL would carry
them. The client, its requests, the placing of pictures and the order of weights are TRL's own.
"""

from __future__ import annotations

import base64
import io
import json
import queue
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from salon.models import LoadedVlm

PACKAGE = {
    "vllm/__init__.py": "__version__ = '0.29.0'\nLLM = RequestOutput = SamplingParams = None\n",
    "vllm/sampling_params.py": "class StructuredOutputsParams: pass\n",
    "vllm/utils/__init__.py": "",
    "vllm/utils/network_utils.py": "def get_ip():\n    return '127.0.0.1'\n",
    "vllm/distributed/__init__.py": "",
    "vllm/distributed/weight_transfer/__init__.py": "",
    "vllm/distributed/weight_transfer/nccl_common.py": "from fake_vllm import join as trainer_init\n",
    "vllm/distributed/weight_transfer/packed_tensor.py": (
        "from fake_vllm import send as packed_nccl_broadcast_producer\n"
    ),
    "vllm-0.29.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: vllm\nVersion: 0.29.0\n",
}
_SENT: queue.Queue[Any] = queue.Queue()


def install(folder: Path) -> None:
    """Put the stand-in where this process imports `vllm` from, and have TRL imported anew."""
    for name, text in PACKAGE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    sys.path.insert(0, str(folder))
    for name in [name for name in sys.modules if name.startswith(("trl", "salon.train.distill"))]:
        del sys.modules[name]
    from trl.generation.vllm_client import VLLMClient

    init = VLLMClient.init_communicator
    VLLMClient.init_communicator = lambda self, device: init(self, "cuda")  # TRL refuses CPUs, for NCCL's sake


def join(info: dict[str, Any]) -> Any:
    """The trainer's end of the group that weights go over."""
    return type("Communicator", (), {"group": type("Group", (), {})()})()


def send(iterator: Iterator[Any], group: Any, src: int, post_iter_func: Any) -> None:
    """Every tensor, in the order announced."""
    for item in iterator:
        _SENT.put(post_iter_func(item).detach().clone())


class FakeServer:
    """Generates with a VLM from a folder, whose weights a trainer replaces."""

    def __init__(self, folder: str) -> None:
        self.vlm = LoadedVlm(folder, device="cpu")
        self.requests: list[tuple[str, Any]] = []
        self._turn = threading.Lock()

    def answer(self, path: str, body: Any) -> Any:
        """What the server says to a request."""
        self.requests.append((path, body))
        known = {
            "/health": {}, "/v1/models": {"data": [{"id": "tiny"}]}, "/get_world_size": {"world_size": 1},
            "/server_info": {"vllm_config": {"weight_transfer_config": {"backend": "nccl"},
                                             "model_config": {"logprobs_mode": "processed_logprobs"}}},
            "/init_weight_transfer_engine": {}, "/start_weight_update": {}, "/finish_weight_update": {},
            "/reset_prefix_cache": {"success": True},
        }  # fmt: skip
        if path in known:
            return known[path]
        with self._turn:
            return {
                "/update_weights": self._update,
                "/v1/chat/completions/render": self._render,
                "/inference/v1/generate": self._generate,
            }[path](body)

    def _update(self, body: Any) -> Any:
        told = body["update_info"]
        own = dict(self.vlm.model.named_parameters())
        for name, shape in zip(told["names"], told["shapes"], strict=True):
            tensor = _SENT.get(timeout=30)
            assert list(tensor.shape) == shape
            own.pop(name).data.copy_(tensor)
        assert not own, "every weight is sent"
        return {}

    def _render(self, body: Any) -> Any:
        (part,) = body["messages"][0]["content"]
        return {"features": {"png": part["image_url"]["url"].partition(",")[2],
                             "mm_placeholders": {"image": [{"offset": 0, "length": 1}]}}}  # fmt: skip

    @torch.no_grad()
    def _generate(self, body: Any) -> Any:
        wanted, ids = body["sampling_params"], body["token_ids"]
        picture = Image.open(io.BytesIO(base64.b64decode(body["features"]["png"])))
        seen = self.vlm.processor.image_processor(images=[picture], return_tensors="pt")
        image_token = self.vlm.model.config.image_token_id
        assert ids.index(image_token) == body["features"]["mm_placeholders"]["image"][0]["offset"]
        prompt = torch.tensor([ids])
        banned = self.vlm.tokenizer.convert_tokens_to_ids(wanted["bad_words"])
        made = self.vlm.model.generate(
            input_ids=prompt, attention_mask=torch.ones_like(prompt), **seen,
            mm_token_type_ids=(prompt == image_token).long(), do_sample=True, temperature=wanted["temperature"],
            top_k=0, top_p=1.0, max_new_tokens=wanted["max_tokens"], num_return_sequences=wanted["n"],
            suppress_tokens=banned, output_logits=True, return_dict_in_generate=True,
        )  # fmt: skip
        chances = torch.stack(made.logits, dim=1).float().log_softmax(-1)
        rows = [self._row(row[len(ids) :].tolist(), chances[number]) for number, row in enumerate(made.sequences)]
        return {"choices": rows}

    def _row(self, ids: list[int], chances: torch.Tensor) -> Any:
        end = self.vlm.tokenizer.eos_token_id
        ids = ids[: ids.index(end) + 1] if end in ids else ids
        content = [{"token": f"token_id:{id}", "logprob": chances[place, id].item(), "top_logprobs": []}
                   for place, id in enumerate(ids)]  # fmt: skip
        return {"token_ids": ids, "logprobs": {"content": content}}


@contextmanager
def serving(server: FakeServer) -> Iterator[str]:
    """The address of `server` while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply(None)

        def do_POST(self) -> None:
            self._reply(json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}"))

        def _reply(self, body: Any) -> None:
            said = json.dumps(server.answer(self.path.partition("?")[0], body)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: Any) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.server_address[1]}"
    finally:
        listening.shutdown()
        listening.server_close()
