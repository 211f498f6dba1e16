"""The draft of copies that need not be made at all: they gain all that they cost, as far as nothing hides it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from isthmus.advice.rates import Rates, saved
from isthmus.advice.rule import Draft
from isthmus.advice.scene import Scene
from isthmus.trace import Integers


def removed(scene: Scene, rates: Rates, rows: Integers, facts: Mapping[str, Any]) -> Draft | None:
    """None for no copies."""
    if not rows.size:
        return None
    cost = scene.cost(rows, rates)
    gains = saved(cost, np.zeros((rows.size, 3)), scene.exposed(rows))
    return Draft("copies", rows, gains, facts=facts)
