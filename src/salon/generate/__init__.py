"""Items from prompts: generators behind one interface, and a run that never loses a picture."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
