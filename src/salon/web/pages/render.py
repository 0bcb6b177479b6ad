"""Pages from templates. Everything is escaped; Markdown of the owner's may hold no HTML."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup
from starlette.responses import HTMLResponse

from salon.web.words import PageWords

TEMPLATES = Path(__file__).parent.parent / "templates"


def page(name: str, *, language: str, status: int = 200, **values: object) -> HTMLResponse:
    """The template `name`, with the words of a language as `t`."""
    text = _templates().get_template(name).render(t=PageWords(language), language=language, **values)
    return HTMLResponse(text, status)


def markdown(text: str) -> Markup:
    """The owner's Markdown as HTML; HTML in it is shown, not used, and links go to safe places only."""
    return Markup(_markdown().render(text))


@cache
def _templates() -> Environment:
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["markdown"] = markdown
    return made


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False})
