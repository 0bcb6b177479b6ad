"""Where weights come from: a file or folder of the user's, or the local hub cache.

    BadFile
    └── MissingWeights        weights are needed that are not there

Weights are read from safetensors, or from pickles that hold nothing but tensors; code that comes with weights is never
run. Nothing is downloaded here: a hub name is looked up in the local cache, unless the user's own settings allow more.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from salon.errors import BadFile, MissingExtra
from salon.models.cache import folder_sha256, model_files, sha256_of_files

try:
    import safetensors.torch
    import torch
    from huggingface_hub import snapshot_download
    from transformers.utils import logging
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

_HOLDERS = ("state_dict", "model", "module")
"""Keys under which released checkpoints keep their tensors."""

State = dict[str, torch.Tensor]


class MissingWeights(BadFile):
    """Weights are needed that are not there."""


def find_file(folder: Path, names: Iterable[str], *, of: str) -> Path:
    """The first of the files `names` that `folder` holds; MissingWeights when none is there."""
    candidates = list(names)
    path = next((folder / name for name in candidates if (folder / name).is_file()), None)
    if path is None:
        raise MissingWeights(
            f"{of} needs a file named {' or '.join(candidates)}",
            found=_listing(folder),
            where=str(folder),
            remedy="put the released file there; docs/methods/scorers.md says what each folder holds",
        )
    return path


def _listing(folder: Path) -> str:
    if not folder.is_dir():
        return "no such folder" if not folder.exists() else "a file"
    names = sorted(path.name for path in folder.iterdir())
    return ", ".join(names[:8]) + (" ..." if len(names) > 8 else "") or "an empty folder"


def read_state(path: Path) -> State:
    """The tensors of a checkpoint by name, out of whatever it wraps them in."""
    try:
        if path.suffix == ".safetensors":
            return {name: tensor.clone() for name, tensor in safetensors.torch.load_file(path).items()}
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # unpicklers raise almost anything
        raise BadFile(
            "a checkpoint of tensors is needed",
            found=" ".join(str(error).split())[:200] or type(error).__name__,
            where=str(path),
            remedy="save its state_dict as safetensors; a pickled model is not opened, because that runs its code",
        ) from None
    for key in _HOLDERS:
        if isinstance(loaded, Mapping) and isinstance(loaded.get(key), Mapping):
            loaded = loaded[key]
    if not isinstance(loaded, Mapping) or not all(isinstance(value, torch.Tensor) for value in loaded.values()):
        raise BadFile("a checkpoint of named tensors is needed", found=type(loaded).__name__, where=str(path))
    return {name.removeprefix("module."): tensor for name, tensor in loaded.items()}


def load_weights(module: torch.nn.Module, state: Mapping[str, torch.Tensor], *, where: str) -> None:
    """Fill `module` from `state`: every tensor it needs, none left over.

    Libraries that skip what does not fit leave random weights behind and a score that looks like one.
    """
    try:
        missing, unexpected = module.load_state_dict(dict(state), strict=False)
    except RuntimeError as error:
        raise BadFile(
            "weights of the right shapes are needed", found=" ".join(str(error).split()), where=where
        ) from None
    if missing or unexpected:
        parts = [f"{len(names)} {word} ({', '.join(names[:3])} ...)" for word, names in
                 (("missing", missing), ("left over", unexpected)) if names]  # fmt: skip
        raise MissingWeights("weights that fit the network are needed", found=", ".join(parts), where=where)


def load_from_hub(load: Callable[..., Any], source: str | Path, *, what: str, **options: Any) -> Any:
    """`load(source)` from a folder or the hub's cache; MissingWeights says what to give where it is not there.

    Code that lies beside the weights is refused outright: transformers would ask, and take any `y` on stdin for a yes.
    A network gets memory of its own: libraries map files into memory and read them late, so that a file that is
    written over would change the numbers of a network that is loaded.
    """
    logging.disable_progress_bar()  # a bar for each of many small networks hides the progress of the run
    offline = Path(source).is_dir() or os.environ.get("HF_HUB_OFFLINE") == "1"
    try:
        loaded = load(str(source), local_files_only=offline, trust_remote_code=False, **options)
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:  # readers of broken files raise almost anything
        raise MissingWeights(
            f"{what} is needed: a folder, or a hub name that is in the local cache",
            found=" ".join(str(error).split())[:200] or type(error).__name__,
            where=str(source),
            remedy="name the folder that save_pretrained wrote, or fetch it once where there is a network",
        ) from None
    for network in loaded if isinstance(loaded, tuple) else (loaded,):
        if isinstance(network, torch.nn.Module):
            _unmap(network)
    return loaded


@torch.no_grad()
def _unmap(network: torch.nn.Module) -> None:
    """Copy what lies in the computer's own memory: it may be a part of a file."""
    for tensor in (*network.parameters(), *network.buffers()):
        if tensor.device.type == "cpu":
            tensor.data = tensor.data.clone()


def load_network(
    load: Callable[..., Any], source: str | Path, *, what: str, exact: bool = False, **options: Any
) -> Any:
    """The network that `load` finds at `source`, ready to be asked: one with weights missing would answer at random.

    With `exact` no weights may be left over either.
    """
    level = logging.get_verbosity()
    logging.set_verbosity_error()  # its report of unused weights; what is missing is said below
    try:
        options |= {"output_loading_info": True, "ignore_mismatched_sizes": True}
        network, report = load_from_hub(load, source, what=what, **options)
    finally:
        logging.set_verbosity(level)
    wrong = sorted([*report["missing_keys"], *(str(key) for key in report["mismatched_keys"])])
    spare = [name for name in sorted(report["unexpected_keys"]) if exact and not name.endswith("position_ids")]
    if wrong or spare:
        parts = [f"{len(names)} {word} ({', '.join(names[:3])})" for word, names in
                 (("missing or of another shape", wrong), ("left over", spare)) if names]  # fmt: skip
        problems = ", ".join(parts)
        raise MissingWeights("weights that fit the network are needed", found=problems, where=str(source))
    return network.eval()


def best_device() -> str:
    """CUDA or MPS where there is one, else the CPU."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def fingerprint(place: str | Path) -> str | None:
    """64 hex digits over every byte of the files of a folder and their paths, or of one file.

    Of a hub name, those of its files in the local cache; None where it has none there.
    """
    folder = Path(place) if Path(place).exists() else _cached(str(place))
    return None if folder is None else folder_sha256(folder)


def _cached(name: str) -> Path | None:
    """The folder that a hub name stands for in the local cache: nothing is fetched."""
    try:
        return Path(snapshot_download(name, local_files_only=True))
    except (OSError, ValueError):  # not there, or no name of the hub's
        return None


def model_fingerprint(folder: Path) -> str:
    """64 hex digits over card, weights and backbone of a model; logs and texts about it do not count."""
    return sha256_of_files(model_files(folder))


def stated_licence(folder: Path) -> str:
    """The licence that the README beside weights names in its header, as the hub's do."""
    with suppress(OSError, UnicodeDecodeError):
        header = (folder / "README.md").read_text(encoding="utf-8").split("---")
        match = re.search(r"^license(?:_name)?:\s*(\S+)", header[1] if len(header) > 2 else "", re.MULTILINE)
        if match:
            return match[1]
    return "not stated beside the weights; ask their maker"


def weights_folder(place: str | Path, *, what: str) -> Path:
    """A folder of weights, whose files can be hashed; MissingWeights where there is none."""
    folder = Path(place)
    if not folder.is_dir():
        raise MissingWeights(
            f"{what} is needed: a folder as save_pretrained writes it",
            found="a file" if folder.exists() else "no such folder",
            where=str(folder),
        )
    return folder


def check_vocabulary(tokenizer: Any, rows: int, *, where: str) -> None:
    """MissingWeights unless the weights have a row for every token, and most rows have a token.

    Without its vocabulary a tokenizer loads as one that knows nothing, and every text is the same to it. A token past
    the last row stops the run in the middle.
    """
    tokens = len(tokenizer)
    if not rows / 2 <= tokens <= rows:
        raise MissingWeights(
            f"the tokenizer of the same release is needed: the weights have {rows:,} rows of a vocabulary",
            found=f"one of {tokens:,} tokens",
            where=where,
            remedy="put its vocabulary (vocab.json and merges.txt, vocab.txt, or tokenizer.json) beside the weights",
        )
