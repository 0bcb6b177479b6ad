"""Is there signal in a study's judgments, and how good can a model get on them?

`check.check_study` gives a `results.CheckReport`, `report.check_page` its HTML page; `anchor.anchor` cuts another data
set down to the same shape, and `plan` answers before a study is run how large it must be.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
