"""What a rank tells rank 0 of its device: small, since ten thousand of them do."""

import zlib
from pathlib import Path
from typing import Literal

import msgspec

from isthmus.errors import RunFileError, as_text
from isthmus.record import Fingerprint, Phase, Point, Summary, read_run, summaries


class Report(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """That a rank is there, is ready or ends; or what it has measured in a phase, and why not all of it."""

    kind: Literal["beat", "ready", "ended", "bye"]
    phase: Phase = "alone"
    why: str = ""
    run_file: str = ""
    fingerprint: Fingerprint | None = None
    placement: str = ""
    bound_node: int | None = None
    note: str = ""
    points: list[Point] = []
    summaries: list[Summary] = []

    def encode(self) -> bytes:
        """The message."""
        return zlib.compress(msgspec.json.encode(self))


BEAT = Report(kind="beat").encode()
READY = Report(kind="ready").encode()
BYE = Report(kind="bye").encode()


def decode(message: bytes) -> Report:
    """The report in a message. Raises msgspec.ValidationError for one of a version with other reports."""
    return msgspec.json.decode(zlib.decompress(message), type=Report)


def ended(path: Path, phase: Phase, why: str) -> Report:
    """What the run file of a phase says, which may hold a part only, or not be there at all."""
    if not path.exists():
        return Report(kind="ended", phase=phase, why=why or "it wrote no run file")
    try:
        run = read_run(path)
    except RunFileError as error:
        return Report(kind="ended", phase=phase, why=why or str(error))
    by_point = summaries(run)
    placement = run.end.placement if run.end else None
    return Report(
        kind="ended",
        phase=phase,
        why=why,
        run_file=as_text(path.name),
        fingerprint=run.fingerprint,
        placement=placement.note if placement else "",
        bound_node=placement.bound_node if placement else None,
        note=run.end.note if run.end else "",
        points=list(by_point),
        summaries=list(by_point.values()),
    )
