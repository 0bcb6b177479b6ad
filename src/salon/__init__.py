"""Salon makes taste measurable: is there signal in these judgments, and what can be learned from them?

    >>> import salon
    >>> study = salon.open_study("study")                    # doctest: +SKIP
    >>> report = salon.check_study(study)                        # doctest: +SKIP
    >>> report.criteria[0].answer                            # doctest: +SKIP
    'yes, one taste'

Names are loaded when first used, so `import salon` is quick. Type checkers see them as they are.
"""

import lazy_loader

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name == "__version__":
        from salon.study import salon_version

        return salon_version()
    return _load(name)
