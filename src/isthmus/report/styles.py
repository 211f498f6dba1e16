"""A check as programs that watch nodes take it: a first line of 80 bytes, and exit codes as each expects them."""

import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from isthmus.analysis.machine import links_of
from isthmus.messages import plain
from isthmus.report import write
from isthmus.report.check import Checked, check_document

if TYPE_CHECKING:
    from isthmus._native import ShownDict

STYLES = ("plain", "nagios", "npd", "nhc", "prometheus", "json")


def styled(
    checked: Sequence[Checked], failures: Sequence[str], style: str, here: str, *, strict: bool
) -> tuple[str, int]:
    """What to print, without a newline at its end, and the exit code; `failures` are devices that were not checked.

    `here` is the host of failures and of runs that name none.
    The styles are those of the program isthmus-check, in `native/judge`.
    """
    from isthmus import _native  # Nothing else of saved files needs it.

    text, code = _native.styled([*_failed(failures, here), *_shown(checked, here)], style, strict)
    if style == "json":
        out = io.StringIO()
        write(check_document(checked), "json", out)
        text = out.getvalue().rstrip()
    return text, code


def _failed(failures: Sequence[str], here: str) -> "Iterator[ShownDict]":
    for failure in failures:
        yield {"level": "none", "reason": plain(failure), "device": "-", "host": here}


def _shown(checked: Sequence[Checked], here: str) -> "Iterator[ShownDict]":
    for run, health, _ in checked:
        device = run.fingerprint.device
        counted = [link.replays for link in links_of(run) if link.replays is not None]
        yield {
            "level": health.level,
            "mark": health.mark,
            "reason": plain(health.points[0].text),
            "device": device.spec,
            "host": run.fingerprint.host.name or here,
            "name": device.name,
            "uuid": device.uuid,
            "index": device.index,
            "rates": [
                (rate.memory, rate.direction, rate.rate, rate.normals[0].low if rate.normals else 0.0)
                for rate in health.rates
            ],
            "replays": counted[-1] if counted else None,
        }
