"""Asking people: which question comes next, what a rater may see, and whether an answer counts."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
