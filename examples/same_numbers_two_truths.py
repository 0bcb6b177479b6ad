"""The same mean tau from two truths: one weak shared order, or two factions. Only the faction test tells them apart.

python examples/same_numbers_two_truths.py
"""

from __future__ import annotations

import salon
from salon.collect import SimulateSettings, simulate_study

TRUTHS = {"one shared order": {"model": "thurstone"}, "factions of 3 and 2": {"model": "factions", "factions": (3, 2)}}


def main() -> None:
    for truth, law in TRUTHS.items():
        study = simulate_study(SimulateSettings(prompts=150, tau=0.14, seed=4, **law))
        found = salon.check_study(study).criteria[0]
        numbers = found.statistics
        print(f"planted: {truth}")
        print(f"  mean tau {numbers.mean_tau:.2f}, p_max {numbers.mean_pmax:.2f}, cycles {numbers.cycle_rate:.2f}")
        print(f"  faction test p {found.factions.p_holm:.3f}: {found.answer}")


if __name__ == "__main__":
    main()
