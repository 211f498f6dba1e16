"""Runs of the openacc experiment whose truth is known: seconds of each way and phase."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from isthmus.record import GIB, KIB, Case, Metric, Series, Verified

COMPILER = "g++ 12.2.0"


@dataclass(frozen=True)
class Truth:
    """Seconds of the two phases of a way."""

    into: float
    out: float


# The whole of 1 GiB on an H200, about.
WHOLE = {"explicit": Truth(0.134, 0.18), "automatic": Truth(0.13, 0.33), "native": Truth(0.134, 0.17)}
STENCIL_PHASES: Sequence[Metric] = ("compute_seconds", "pack_seconds", "copy_seconds", "unpack_seconds")


def case(
    method: str,
    phases: Mapping[Metric, float],
    *,
    size: int = GIB,
    noise: float = 0.0,
    seed: int = 1,
    verified: Verified = "yes",
    compiler: str = COMPILER,
    **changes: object,
) -> Case:
    """One case whose samples are those seconds of its phases, times noise."""
    random = np.random.default_rng(seed)
    samples = {
        metric: [float(t) for t in seconds * random.lognormal(0, noise, 12)]
        for metric, seconds in phases.items()
        if seconds
    }
    totals = [sum(parts) for parts in zip(*samples.values(), strict=True)]
    series = [Series(metric="host_seconds", samples=totals)]
    series += [Series(metric=metric, samples=times) for metric, times in samples.items()]
    fields = {"compiler": "" if method.startswith("native") else compiler} | changes
    return Case(
        experiment="openacc",
        method=method,
        host_memory="managed" if method.endswith(("automatic", "both")) else "pageable",
        bytes=size,
        series=series,
        verified=verified,
        **fields,  # type: ignore[arg-type]
    )


def array(program: str, ways: Mapping[str, Truth], **changes: object) -> list[Case]:
    """One part of an array, each way; ``native`` belongs to the contiguous program."""
    return [
        case(
            "native_explicit" if way == "native" else f"{program}_{way}",
            {"in_seconds": truth.into, "out_seconds": truth.out},
            **changes,  # type: ignore[arg-type]
        )
        for way, truth in ways.items()
    ]


def stencil(pack: str, ways: Mapping[str, Sequence[float]], side: int = 4 * KIB, halo: int = 1) -> list[Case]:
    """One stencil, each way with its seconds of compute, pack, copies and unpack."""
    size = side * (side // 2 + 2 * halo) * 8
    return [
        case(
            f"stencil_{pack}_{way}",
            dict(zip(STENCIL_PHASES, seconds, strict=True)),
            size=size,
            rows=side,
            halo=halo,
            ranks=1,
        )
        for way, seconds in ways.items()
    ]


def skip(method: str, reason: str, **changes: object) -> Case:
    """A case that could not be measured."""
    memory = "managed" if method.endswith(("automatic", "both")) else "pageable"
    fields: dict[str, object] = {"bytes": GIB} | changes
    return Case(experiment="openacc", method=method, host_memory=memory, skipped=True, note=reason, **fields)  # type: ignore[arg-type]


def everything(*, both: bool = False) -> list[Case]:
    """What a default run gives; with `both`, as nvc++ does: the directives ignored."""
    ignored = {"both": WHOLE["automatic"]} if both else {}
    part = {"explicit": WHOLE["explicit"], "automatic": Truth(0.02, 0.11), "native": WHOLE["native"]}
    strided = {"explicit": WHOLE["explicit"], "automatic": Truth(0.2, 0.3)}
    found = [
        *array("contiguous", WHOLE | ignored, fraction=1.0),
        *array("contiguous", part, fraction=0.1),
        *array("stride", strided, stride_bytes=4 * KIB),
        *stencil("cpu", {"explicit": (0.1, 0.01, 0.4, 0.01), "automatic": (0.5, 0.3, 0.0, 0.2)}),
        *stencil("gpu", {"explicit": (0.1, 0.001, 0.002, 0.001), "automatic": (0.1, 0.002, 0.01, 0.002)}),
    ]
    return found if both else [*found, skip("contiguous_both", "GCC has no managed mode", fraction=1.0)]
