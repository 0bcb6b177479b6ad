"""The web layer: the studio, the public arena and the scoring service over HTTP.

FastAPI is imported only in this package.
"""

from importlib.util import find_spec

from salon.errors import MissingExtra

if any(find_spec(name) is None for name in ("argon2", "fastapi", "itsdangerous", "python_multipart", "uvicorn")):
    raise MissingExtra("serve")
