"""The web door: it lets people in, parses what they send and prints what the studio says.

FastAPI is imported in here and nowhere else.
"""

from importlib.util import find_spec

from salon.errors import MissingExtra

if any(find_spec(name) is None for name in ("argon2", "fastapi", "itsdangerous", "python_multipart", "uvicorn")):
    raise MissingExtra("serve")
