"""Learn what people prefer: heads on frozen encoders, reward models with uncertainty, and what both are worth."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
