"""Runs of the paths experiment whose truth is known: a rate for each way of copies, and what work beside them loses."""

from collections.abc import Mapping, Sequence

from isthmus.record import GIB, MIB, Case, Direction, Verified
from tests.synthetic.made import drawn, without

SIZES = (16 * MIB, 64 * MIB, 256 * MIB, GIB)
# GB/s of one link.
LINK = {"pinned": 54.8, "pageable": 52.0}


def copies(
    method: str,
    gigabytes_per_second: float,
    *,
    target: str = "cuda:0",
    peer: str = "",
    memory: str = "pinned",
    direction: Direction = "h2d",
    size: int = GIB,
    shares: Mapping[str, float] | None = None,
    verified: Verified = "yes",
    note: str = "",
) -> Case:
    """Copies of one size by one way, of which each link took this share."""
    return Case(
        experiment="paths",
        method=method,
        direction=direction,
        host_memory=memory,
        bytes=size,
        target=target,
        peer=peer,
        carried={spec: int(share * 12 * size) for spec, share in (shares or {}).items()},
        verified=verified,
        note=note,
        series=[drawn(size / gigabytes_per_second / 1e9, 1, 0.001)],
    )


def skipped(method: str, note: str, peer: str = "") -> Case:
    return without(copies(method, 1.0, peer=peer), note)


def beside(
    method: str,
    work: str,
    loss: float,
    gigabytes_per_second: float,
    *,
    direction: Direction = "h2d",
    target: str = "cuda:0",
    peer: str = "cuda:1",
) -> Case:
    """Work of a neighbour that loses so much of its rate beside copies of this rate."""
    size = 256 * MIB
    alone = 5e-3 if work == "compute" else size / 55e9
    return Case(
        experiment="paths",
        method=method,
        direction=direction,
        host_memory="pinned",
        bytes=size,
        target=target,
        peer=peer,
        neighbour=work,
        verified="yes",
        series=[
            drawn(alone, 2, 0.001, metric="alone_seconds"),
            drawn(alone / (1 - loss), 3, 0.001, metric="beside_seconds"),
            drawn(size / gigabytes_per_second / 1e9, 4, 0.001),
        ],
    )


def at_once(count: int, gigabytes_per_second: float, direction: Direction = "h2d") -> Case:
    """All devices by their own links, at this rate together."""
    size = 64 * MIB
    return Case(
        experiment="paths",
        method="link",
        direction=direction,
        host_memory="pinned",
        bytes=size,
        devices=count,
        moved_bytes=count * size,
        verified="yes",
        series=[drawn(count * size / gigabytes_per_second / 1e9, 5, 0.001)],
    )


def whole(
    count: int = 2,
    targets: Sequence[str] = ("cuda:0",),
    factors: Mapping[int, float] | None = None,
    sizes: Sequence[int] = SIZES,
    loss: float = 0.04,
) -> list[Case]:
    """All of so many devices: each neighbour adds a link's rate but for a part that grows with less size."""
    gain = factors or {16 * MIB: 1.4, 64 * MIB: 1.75, 256 * MIB: 1.88, GIB: 1.92}
    specs = [f"cuda:{index}" for index in range(count)]
    found = []
    for target in targets:
        peers = [spec for spec in specs if spec != target]
        for memory, link in LINK.items():
            for direction in ("h2d", "d2h"):
                for size in sizes:
                    common = {"target": target, "memory": memory, "direction": direction, "size": size}
                    found.append(copies("own", link, **common))  # type: ignore[arg-type]
                    for peer in peers:
                        shares = {target: 0.51, peer: 0.49}
                        found.append(copies("one", link * gain[size], peer=peer, shares=shares, **common))  # type: ignore[arg-type]
                    if len(peers) > 1:
                        rate = link * (1 + (gain[size] - 1) * len(peers))
                        shares = dict.fromkeys([target, *peers], 1 / count)
                        found.append(copies("all", rate, shares=shares, **common))  # type: ignore[arg-type]
        for peer in peers:
            for direction in ("h2d", "d2h"):
                for work in ("copies_h2d", "copies_d2h", "compute"):
                    lost = 0.001 if work == "compute" else loss
                    place = {"direction": direction, "target": target, "peer": peer}
                    found.append(beside("own", work, lost / 4, 54.5, **place))  # type: ignore[arg-type]
                    found.append(beside("one", work, lost, 60.0, **place))  # type: ignore[arg-type]
    # The host feeds three links.
    limit = min(count, 3) * LINK["pinned"]
    return [*found, at_once(count, limit), at_once(count, limit, "d2h")]
