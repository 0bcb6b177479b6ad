"""Pictures from a diffusers pipeline on this machine, by local folder or hub name.

Noise is drawn on the CPU from the ask's own seed, whatever the device and whoever shares the batch: the same seed means
the same noise everywhere, and the same picture up to the arithmetic of the device. Weights are read from safetensors
only, and no code that comes with a model is run.
"""

from __future__ import annotations

import hashlib
import io
import json
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from PIL import Image

from salon.errors import BadFile, BadValue, MissingExtra
from salon.store import read_picture
from salon.study import Abilities, Ask, FailedPicture, GeneratedPicture, Signature

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # diffusers imports pipelines that torch calls outdated, and that are not used
        import torch
        from diffusers import AutoPipelineForImage2Image, AutoPipelineForText2Image, __version__ as diffusers_version

        from salon.models import best_device
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("diffusers") from None

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
_OWN = {"prompt", "image", "generator", "width", "height", "strength", "num_inference_steps", "guidance_scale"}
"""What a pipeline is told by a setting of its own, or by the ask."""
_END = 1 << 16
"""Bytes of each end of a file that its fingerprint covers."""
_Batch = list[tuple[int, Ask]]


class DiffusersGenerator:
    """A text-to-image pipeline, used for image-to-image too where its family has one.

    Loaded when the first picture is wanted. `device` and `dtype` default to the best there is: CUDA or MPS at half
    precision, else the CPU at full. `options` go to the pipeline as they are (negative_prompt, eta ...). A hub name is
    looked up in the local cache first, and only there when `offline` is set or HF_HUB_OFFLINE is.
    """

    def __init__(
        self,
        source: str | Path,
        *,
        name: str | None = None,
        device: str | None = None,
        dtype: str | None = None,
        steps: int | None = None,
        guidance: float | None = None,
        batch: int = 1,
        options: Mapping[str, Any] | None = None,
        revision: str | None = None,
        offline: bool = False,
    ) -> None:
        self.source, self.revision = str(source), revision
        self.name = name or Path(self.source).name
        self.is_local = Path(self.source).is_dir()
        self.offline = offline or self.is_local
        self.device = device or best_device()
        self.dtype = dtype or ("float32" if self.device == "cpu" else "float16")
        self.steps, self.guidance, self.options = steps, guidance, dict(options or {})
        self._check(batch)
        self.abilities = Abilities(image_to_image=True, seeded=True, batch=batch, offline=self.offline)

    def _check(self, batch: int) -> None:
        if self.dtype not in DTYPES:
            raise BadValue("dtype is one of " + ", ".join(DTYPES), found=self.dtype, where=self.name)
        if batch < 1 or (self.steps is not None and self.steps < 1):
            values = f"batch {batch}, steps {self.steps}"
            raise BadValue("batch and steps are 1 or more", found=values, where=self.name)
        if clash := _OWN & self.options.keys():
            raise BadValue(f"{clash.pop()!r} is no further option: it has a setting of its own", where=self.name)
        try:
            torch.device(self.device)
        except RuntimeError:
            raise BadValue(
                "a device of torch is needed", found=self.device, remedy="cpu, cuda, cuda:1 or mps"
            ) from None

    @cached_property
    def signature(self) -> Signature:
        """The model, how it is run, and the versions that run it; device and batch change no more than rounding."""
        model = {"source": Path(self.source).name if self.is_local else self.source, "revision": self.revision}
        run = {"dtype": self.dtype, "steps": self.steps, "guidance": self.guidance}
        versions = {"diffusers": diffusers_version, "torch": torch.__version__.partition("+")[0]}
        further = {key: json.dumps(value, sort_keys=True, default=str) for key, value in self.options.items()}
        data = fingerprint(Path(self.source)) if self.is_local else None
        return Signature(method="diffusers", data=data, settings=model | run | versions | further)

    def make(self, asks: Sequence[Ask]) -> Iterator[tuple[int, GeneratedPicture | FailedPicture]]:
        """(index into `asks`, result), batch by batch; asks of one size share a batch."""
        for ask in asks:
            if (ask.width is None) != (ask.height is None):
                where = f"prompt {ask.prompt.id!r}"
                raise BadValue("width and height are needed together", found="one of them", where=where)
        if asks:
            _ = self._text_to_image
        if any(ask.image is not None for ask in asks):
            _ = self._image_to_image
        return self._results(asks)

    def _results(self, asks: Sequence[Ask]) -> Iterator[tuple[int, GeneratedPicture | FailedPicture]]:
        alike: dict[tuple[object, ...], _Batch] = defaultdict(list)
        for index, ask in enumerate(asks):
            alike[ask.width, ask.height, ask.strength, ask.image is None].append((index, ask))
        size = self.abilities.batch
        for group in alike.values():
            for start in range(0, len(group), size):
                yield from self._batch(group[start : start + size])

    def _batch(self, batch: _Batch) -> Iterator[tuple[int, GeneratedPicture | FailedPicture]]:
        """The pictures of one batch. When it fails (memory, one bad ask) its halves are tried, down to one ask."""
        started = time.perf_counter()
        try:
            output = self._run([ask for _, ask in batch])
        except (RuntimeError, ValueError, TypeError, BadFile) as error:
            if len(batch) > 1:
                half = len(batch) // 2
                yield from self._batch(batch[:half])
                yield from self._batch(batch[half:])
            else:
                yield batch[0][0], FailedPicture(reason=f"{type(error).__name__}: {error}"[:1000], kind="error")
            return
        seconds = round((time.perf_counter() - started) / len(batch), 3)
        unsafe = getattr(output, "nsfw_content_detected", None) or [False] * len(batch)
        for (index, _), image, blocked in zip(batch, output.images, unsafe, strict=True):
            if blocked:
                yield (
                    index,
                    FailedPicture(reason="the pipeline's safety checker blacked the picture out", kind="refused"),
                )
            else:
                target = io.BytesIO()
                image.convert("RGB").save(target, "PNG", compress_level=4)
                png = target.getvalue()
                yield index, GeneratedPicture(image=png, facts={"seconds": seconds, "device": self.device})

    def _run(self, asks: Sequence[Ask]) -> Any:
        first = asks[0]
        settings = {"num_inference_steps": self.steps, "guidance_scale": self.guidance}
        arguments = {name: value for name, value in settings.items() if value is not None} | self.options
        if first.image is None:
            pipeline = self._text_to_image
            arguments |= {} if first.width is None else {"width": first.width, "height": first.height}
        else:
            pipeline = self._image_to_image
            arguments["image"] = [_start(ask) for ask in asks]
            arguments |= {} if first.strength is None else {"strength": first.strength}
        noise = [torch.Generator("cpu").manual_seed(ask.seed) for ask in asks]
        return pipeline(prompt=[ask.prompt.view() for ask in asks], generator=noise, **arguments)

    @cached_property
    def _text_to_image(self) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # diffusers and the hub disagree about arguments
                pipeline = AutoPipelineForText2Image.from_pretrained(
                    self.source,
                    revision=self.revision,
                    dtype=DTYPES[self.dtype],
                    local_files_only=self.offline,
                    use_safetensors=True,
                )
        except (OSError, ValueError, KeyError) as error:
            raise BadFile(
                "a text-to-image pipeline with safetensors weights is needed",
                found=" ".join(str(error).split()) or type(error).__name__,
                where=self.source,
                remedy="name the folder that save_pretrained wrote, or a pipeline of the hub that is in the cache",
            ) from None
        return self._placed(pipeline)

    @cached_property
    def _image_to_image(self) -> Any:
        try:
            return self._placed(AutoPipelineForImage2Image.from_pipe(self._text_to_image))
        except ValueError as error:
            raise BadValue("a pipeline with an image-to-image kind is needed", found=error, where=self.name) from None

    def _placed(self, pipeline: Any) -> Any:
        pipeline.set_progress_bar_config(disable=True)
        return pipeline.to(device=self.device, dtype=DTYPES[self.dtype])


def fingerprint(folder: Path) -> str:
    """Twelve hex digits over the names, sizes and both ends of a pipeline's files; to read them whole takes minutes."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        size = path.stat().st_size
        digest.update(f"{path.relative_to(folder).as_posix()}\n{size}\n".encode())
        with open(path, "rb") as file:
            digest.update(file.read(_END))
            file.seek(max(_END, size - _END))
            digest.update(file.read(_END))
    return digest.hexdigest()[:12]


def _start(ask: Ask) -> Image.Image:
    """The picture to start from, at the size asked for."""
    image = read_picture(ask.image or b"").image
    if ask.width is None or ask.height is None:
        return image
    return image.resize((ask.width, ask.height), Image.Resampling.LANCZOS)
