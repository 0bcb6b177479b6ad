"""Routes about models: list, load, activate, roll back."""

from __future__ import annotations

import re
from pathlib import Path

from fastapi import APIRouter, Request

from salon.calls import ModelInfo, ModelsAnswer
from salon.judge import COMPOSITES, MEASUREMENTS, RELEASED
from salon.select import LoadFailed, LoadOrder, LoadRefused, ScoringService
from salon.store import is_inside
from salon.web.errors import log
from salon.web.scoring import answers
from salon.web.scoring.access import AdminCaller, ScoreCaller
from salon.web.scoring.answers import REFUSALS
from salon.web.scoring.requests import ActivateIn, LoadIn, is_plain

router = APIRouter(prefix="/v1/models", responses=REFUSALS)
_FOLDERS = re.compile(r"(?<![\w.])/(?:[^/\s'\",;]+/)+")


@router.get("", response_model=ModelsAnswer)
async def models(request: Request, caller: ScoreCaller) -> ModelsAnswer:
    """What is loaded, and which of it answers."""
    return _models_answer(request)


@router.post("/load", response_model=ModelsAnswer)
async def load(body: LoadIn, request: Request, caller: AdminCaller) -> ModelsAnswer:
    """Load a model beside the active one and warm it up; what cannot be loaded changes nothing."""
    service: ScoringService = request.app.state.service
    try:
        loaded = await service.load(
            LoadOrder(
                name=body.name,
                scorers=tuple(_scorer(name, request.app.state.settings.model_root) for name in body.scorers),
                models=tuple(_below(name, request.app.state.settings.model_root) for name in body.models),
            )
        )
    except LoadFailed as error:
        log.warning("%s: %s", caller.name, error)
        parts = [part and _FOLDERS.sub("", part) for part in (error.needed, error.found, error.where, error.remedy)]
        without_folders = LoadFailed(str(parts[0]), found=parts[1], where=parts[2], remedy=parts[3])
        raise without_folders from None
    log.info("%s loaded model %s", caller.name, loaded.version)
    if body.activate:
        service.activate(loaded.version)
    return _models_answer(request)


@router.post("/activate", response_model=ModelsAnswer)
async def activate(body: ActivateIn, request: Request, caller: AdminCaller) -> ModelsAnswer:
    """Answer with this version from now on; requests under way are finished by the one that has them."""
    request.app.state.service.activate(body.version)
    log.info("%s activated model %s", caller.name, body.version)
    return _models_answer(request)


@router.post("/rollback", response_model=ModelsAnswer)
async def rollback(request: Request, caller: AdminCaller) -> ModelsAnswer:
    """Back to the version before."""
    back = request.app.state.service.rollback()
    log.info("%s rolled back to model %s", caller.name, back.version)
    return _models_answer(request)


def _models_answer(request: Request) -> ModelsAnswer:
    service: ScoringService = request.app.state.service
    active = service.active.version
    return ModelsAnswer(
        active=active,
        before=service.before,
        models=tuple(
            ModelInfo(
                name=loaded.model.order.name,
                version=loaded.version,
                active=loaded.version == active,
                loaded_at=loaded.model.loaded_at,
                waiting=loaded.batcher.waiting,
                changed=loaded.model.changed_files(),
                criteria=tuple(answers.criterion_info(line) for line in loaded.model.criteria),
                replicas=tuple(loaded.batcher.looker.status()),
            )
            for loaded in service.versions
        ),
        gates=tuple(request.app.state.gates),
    )


def _scorer(name: str, root: Path | None) -> str:
    """A built-in scorer by its name; a released one as KIND:FOLDER, the folder below the root."""
    if name in MEASUREMENTS or name in COMPOSITES:
        return name
    kind, _, folder = name.partition(":")
    if kind in RELEASED and folder:
        return f"{kind}:{_below(folder, root)}"
    raise LoadRefused(
        "the name of a built-in scorer, or KIND:FOLDER of a released one below --model-root, is needed",
        found="another",
        remedy=f"built in are {', '.join((*MEASUREMENTS, *COMPOSITES))}; released are {', '.join(RELEASED)}",
    )


def _below(name: str, root: Path | None) -> str:
    if root is None or not is_plain(name) or not is_inside(root / name, root) or not (root / name).is_dir():
        raise LoadRefused(
            "a folder of a model below --model-root is needed",
            found="a service without one" if root is None else "another, or none",
        )
    return str((root / name).resolve())
