"""One client for every server Salon asks: limits, retries, budget, and answers stored before they are used."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
