"""Settings of the scoring service, and what its tokens allow."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from pydantic import Field

from salon.web.settings import WebSettings

Protocol = Literal["flow-grpo", "flow-factory", "unirl", "cosmos"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)


class ScoringSettings(WebSettings):
    """How a scoring service is served. `folder` is its own: the hashes of its tokens are kept there."""

    folder: Path = Field(Path(".salon-scores"), description="Folder of the service: hashes of tokens.")
    port: int = Field(8100, ge=0, le=65535, description="Port to listen on.")
    no_token: bool = Field(False, description="Let everybody on this machine in; only on a loopback address.")
    speak: tuple[Protocol, ...] = Field((), description="Protocols of trainers that are served beside the own routes.")
    trusted_networks: tuple[str, ...] = Field((), description="Networks whose machines need no token for scores.")
    reward_weights: str | None = Field(None, description="Weights of criteria in the one reward of a trainer.")
    roots: tuple[Path, ...] = Field((), description="Folders below which pictures may be named by path.")
    model_root: Path | None = Field(None, description="Folder below which models may be loaded over HTTP.")
    most_upload: int = Field(64 << 20, ge=1024, description="Bytes of one request.")
    most_picture: int = Field(32 << 20, ge=1024, description="Bytes of one picture.")
    most_pixels: int = Field(1 << 25, ge=1, description="Pixels of one picture, as its header says.")
    most_images: int = Field(64, ge=1, le=4096, description="Pictures of one request.")
    most_at_once: int = Field(256, ge=1, description="Requests with pictures under way at once.")
    most_bytes_at_once: int = Field(512 << 20, ge=1024, description="Bytes of all requests under way together.")
    session_rate: float = Field(200, gt=0, description="Requests a second of one token, once its burst is used up.")
    session_burst: int = Field(1000, ge=1, description="Requests one token may send at once.")
    address_rate: float = Field(1000, gt=0, description="Requests a second from one address.")
    address_burst: int = Field(5000, ge=1, description="Requests one address may send at once.")


TokenScope = Literal["score", "admin", "metrics"]


SCOPES: tuple[TokenScope, ...] = get_args(TokenScope)
