"""HTML pages from templates, their sentences, and the style sheet and static files that all pages share.

Everything is escaped. Markdown written by the owner may not contain HTML.
"""

from __future__ import annotations

import hashlib
import tomllib
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles

from salon.collect import Sentences, languages
from salon.report import asset, ground

TEMPLATES = Path(__file__).parent / "templates"


def render_page(name: str, *, language: str, status: int = 200, **values: object) -> HTMLResponse:
    """The template `name`, with the words of a language as `t`."""
    text = _templates().get_template(name).render(t=PageWords(language), language=language, **values)
    return HTMLResponse(text, status)


def markdown(text: str) -> Markup:
    """The owner's Markdown as HTML; HTML in it is shown, not used, and links go to safe places only."""
    return Markup(_markdown().render(text))


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["markdown"] = markdown
    return environment


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False})


# -- sentences ------------------------------------------------------------------------------------------------------

_FOLDER = Path(__file__).parent / "sentences"


def _read(language: str) -> dict[str, str]:
    parts = tomllib.loads((_FOLDER / f"{language}.toml").read_text(encoding="utf-8"))
    return {f"{part}.{key}": sentence for part, some in parts.items() for key, sentence in some.items()}


_MORE = {language: _read(language) for language in languages()}


class PageWords(Sentences):
    """Sentences of one language, by key."""

    def __init__(self, language: str) -> None:
        super().__init__(language)
        self._sentences = self._sentences | _MORE[language]

    def __contains__(self, key: str) -> bool:
        return key in self._sentences


# -- style sheet and static files -----------------------------------------------------------------------------------

STATIC = Path(__file__).parent / "static"
REVALIDATE = {"Cache-Control": "no-cache"}
"""Browsers keep a file, and ask whether it changed."""
router = APIRouter(include_in_schema=False)


class StaticAssets(StaticFiles):
    """Files of the package."""

    def __init__(self) -> None:
        super().__init__(directory=STATIC, check_dir=False)

    def file_response(self, *arguments: object, **more: object) -> Response:
        response = super().file_response(*arguments, **more)  # type: ignore[arg-type]  # whatever Starlette gives
        response.headers.update(REVALIDATE)
        return response


@router.get("/static/look.css")
def look_css(request: Request) -> Response:
    """Colors, type and what else all pages share."""
    sheet, tag = _sheet_and_tag()
    headers = REVALIDATE | {"ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(sheet, media_type="text/css", headers=headers)


@router.get("/favicon.ico")
@router.get("/static/favicon.svg")
def icon() -> Response:
    """Also for browsers that ask for one before they have read a page."""
    return Response(asset("favicon.svg"), media_type="image/svg+xml", headers=REVALIDATE)


@cache
def _sheet_and_tag() -> tuple[str, str]:
    sheet = ground()
    return sheet, f'"{hashlib.sha256(sheet.encode()).hexdigest()[:20]}"'
