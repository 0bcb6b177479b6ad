"""The page to try a scoring service: GET /.

It is an empty frame: names of criteria, pictures and numbers come over the API, with the token of whoever looks. So the
frame may be read by anybody, and tells nothing.
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from salon.web.pages.render import page

router = APIRouter(include_in_schema=False)


@router.get("/")
async def try_it(request: Request) -> HTMLResponse:
    """Drop pictures, weigh criteria, see scores and the pick."""
    settings = request.app.state.settings
    return page(
        "scoring/try.html",
        language="en",
        asks_token=not settings.no_token,
        keeps_log=request.app.state.decisions is not None,
        most_images=settings.most_images,
    )
