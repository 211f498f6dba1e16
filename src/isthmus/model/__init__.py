"""What the measurements mean: rate curves, how they settle, how they compare, and conclusions in sentences."""

from isthmus.model.conclusions import findings, verdict
from isthmus.model.contrast import Contrast, contrast
from isthmus.model.curve import ONE_WAY, Curve, Point, bandwidth_curves, find
from isthmus.model.finding import Finding, Severity
from isthmus.model.phrases import (
    MEMORY_NAMES,
    about_bytes,
    capitalised,
    describe_device,
    link_rate,
    memory_name,
)
from isthmus.model.shape import (
    LARGE_BYTES,
    SMALL_BYTES,
    HalfSize,
    Plateau,
    Steadiness,
    half_size,
    latency,
    peak,
    plateau,
    steadiness,
    trend,
)

__all__ = [
    "LARGE_BYTES",
    "MEMORY_NAMES",
    "ONE_WAY",
    "SMALL_BYTES",
    "Contrast",
    "Curve",
    "Finding",
    "HalfSize",
    "Plateau",
    "Point",
    "Severity",
    "Steadiness",
    "about_bytes",
    "bandwidth_curves",
    "capitalised",
    "contrast",
    "describe_device",
    "find",
    "findings",
    "half_size",
    "latency",
    "link_rate",
    "memory_name",
    "peak",
    "plateau",
    "steadiness",
    "trend",
    "verdict",
]
