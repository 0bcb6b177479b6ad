"""Networks that look at pictures and read text: encoders, OCR, saliency, VLMs."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
