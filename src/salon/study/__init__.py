"""The nouns of a preference study. No files, networks or GPUs in here."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
