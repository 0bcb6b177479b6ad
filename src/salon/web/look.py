"""The look of the studio and of the scoring service: the ground of all of Salon's pages, its icon, and own files."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from salon.report.page import asset, ground

STATIC = Path(__file__).parent / "static"
ASK_AGAIN = {"Cache-Control": "no-cache"}
"""Browsers keep a file, and ask whether it changed."""
router = APIRouter(include_in_schema=False)


class Static(StaticFiles):
    """Files of the package."""

    def __init__(self) -> None:
        super().__init__(directory=STATIC, check_dir=False)

    def file_response(self, *arguments: object, **more: object) -> Response:
        response = super().file_response(*arguments, **more)  # type: ignore[arg-type]  # whatever Starlette gives
        response.headers.update(ASK_AGAIN)
        return response


@router.get("/static/look.css")
def look(request: Request) -> Response:
    """Colors, type and what else all pages share."""
    sheet, tag = _look()
    headers = ASK_AGAIN | {"ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(sheet, media_type="text/css", headers=headers)


@router.get("/favicon.ico")
@router.get("/static/favicon.svg")
def icon() -> Response:
    """Also for browsers that ask for one before they have read a page."""
    return Response(asset("favicon.svg"), media_type="image/svg+xml", headers=ASK_AGAIN)


@cache
def _look() -> tuple[str, str]:
    sheet = ground()
    return sheet, f'"{hashlib.sha256(sheet.encode()).hexdigest()[:20]}"'
