"""Select: put scores to work. The best of several pictures, gates, routes, chains, rewards.

A stage of its own: it takes items and numbers (whoever gave them) and decides.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
