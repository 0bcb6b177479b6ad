"""Where work runs: in this process, on a pool of processes, or on Ray."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
