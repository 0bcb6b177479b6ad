"""Whether vLLM can sample the answers: refused at the start, in all processes, in place of a wait in the middle."""

from __future__ import annotations

import warnings

from salon.errors import BadValue, MissingExtra
from salon.train.distill_processes import TorchProcesses
from salon.train.distill_settings import DistillSettings
from salon.train.reward_setup import on_cpu

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TRL warns of its own experiments when it is imported
        from trl.generation.vllm_client import VLLMClient
        from trl.import_utils import is_vllm_available
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("distill") from None

SERVE = (
    'VLLM_SERVER_DEV_MODE=1 vllm serve MODEL --weight-transfer-config \'{"backend": "nccl"}\' '
    "--logprobs-mode processed_logprobs --max-logprobs -1"
)
"""How TRL wants a server to be started."""


def check_vllm(settings: DistillSettings, here: TorchProcesses) -> None:
    """Refuse a --vllm that cannot work; a server is waited for as long as --vllm-server-timeout says."""
    if settings.vllm == "off":
        return
    here.together(lambda: _check_installed(settings, here.count))
    if settings.vllm == "server":
        here.decide(lambda: _check_server(settings))


def _check_installed(settings: DistillSettings, count: int) -> None:
    if not is_vllm_available():
        raise BadValue(
            f"--vllm {settings.vllm} needs the package vllm",
            found="not installed",
            remedy="pip install 'trl[vllm]', or --vllm off",
        )
    if settings.vllm == "colocate" and on_cpu():
        raise BadValue("--vllm colocate needs a GPU", found="none", remedy="--vllm off")
    if settings.vllm == "colocate" and count % settings.vllm_tensor_parallel_size:
        raise BadValue(
            "the number of processes must be a multiple of --vllm-tensor-parallel-size",
            found=f"{count} processes, {settings.vllm_tensor_parallel_size}",
        )


def _check_server(settings: DistillSettings) -> None:
    """With TRL's own client, as TRL will do again."""
    address = settings.vllm_server_base_url or f"http://{settings.vllm_server_host}:{settings.vllm_server_port}"
    try:
        client = VLLMClient(base_url=address, connection_timeout=settings.vllm_server_timeout)
        reason = "no weight-transfer engine" if client.get_server_info()["weight_transfer_config"] is None else None
    except Exception as error:  # of whatever the client meets: nobody there, another server, no development mode
        reason = " ".join(str(error).split())[:200]
    if reason is not None:
        raise BadValue(
            "a vLLM server that takes weights from TRL is needed",
            found=reason,
            where=address,
            remedy=f"start one on other GPUs: {SERVE}",
        )
