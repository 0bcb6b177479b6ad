"""A public arena as a web application. Everything that processes share is in the database; the secret in the folder."""

from __future__ import annotations

from fastapi import Depends, FastAPI
from starlette.requests import Request

from salon.bench import PublicArena
from salon.store import TooFrequent
from salon.web import errors, rendering
from salon.web.app import Readiness
from salon.web.arena import pages
from salon.web.arena.settings import ArenaWebSettings
from salon.web.arena.state import ArenaState
from salon.web.auth import SAFE, check_origin
from salon.web.guard import HEADERS, RequestGuard
from salon.web.settings import check_web_settings, read_secret

errors.STATUS[TooFrequent] = 429


async def _same_site(request: Request) -> None:
    """What changes something comes from a page of this arena. A vote also needs its ballot's token."""
    if request.method not in SAFE:
        check_origin(request, request.app.state.settings)


def create_arena_app(arena: PublicArena, settings: ArenaWebSettings) -> FastAPI:
    """The application of one arena; whoever opened its database closes it."""
    check_web_settings(settings)
    app = FastAPI(
        title="Salon arena", version="1", docs_url=None, redoc_url=None, openapi_url=None,
        dependencies=[Depends(_same_site)],
    )  # fmt: skip
    app.state.arena = ArenaState(arena, settings, read_secret(settings.folder))
    app.state.settings = settings
    app.state.readiness = Readiness(arena.database)
    errors.install_error_handlers(app)
    app.include_router(rendering.router)
    app.mount("/static", rendering.StaticAssets())
    app.include_router(pages.router)
    app.add_middleware(RequestGuard, settings=settings, headers=_headers(app.state.arena.captcha.sources))
    return app


def _headers(sources: tuple[str, ...]) -> dict[str, str]:
    """The studio's headers; a captcha of others may load its own scripts and frames, and nothing else."""
    if not sources:
        return HEADERS
    policy = HEADERS["Content-Security-Policy"]
    for kind in ("script-src", "frame-src", "connect-src", "style-src"):
        policy += f"; {kind} 'self' {' '.join(sources)}"
    return HEADERS | {"Content-Security-Policy": policy}
