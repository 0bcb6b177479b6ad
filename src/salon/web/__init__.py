"""The web door: it lets people in, parses what they send and prints what the studio says.

FastAPI is imported in here and nowhere else.
"""

from importlib.util import find_spec

from salon.errors import MissingExtra

_NEEDS = {"serve": ("argon2", "fastapi", "itsdangerous", "python_multipart", "uvicorn"), "generate": ("PIL",)}

for _extra, _names in _NEEDS.items():
    if any(find_spec(_name) is None for _name in _names):
        raise MissingExtra(_extra)
