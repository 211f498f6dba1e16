"""Makes a reference for `isthmus compare` and `check` from runs of one kind of device: RUN... -o FOLDER/NAME.json.gz.

At least three runs on at least two cards, told apart by their UUIDs: one card shows nothing of how cards differ.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from isthmus.compare import made_reference
from isthmus.errors import IsthmusError
from isthmus.record import read_run

_SUFFIX = ".json.gz"
_LEAST_RUNS, _LEAST_CARDS = 3, 2


def main() -> int:
    """Write the reference and say what it holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run files of one kind of device")
    parser.add_argument("-o", "--output", type=Path, required=True, help=f"NAME{_SUFFIX}; NAME is the reference's")
    arguments = parser.parse_args()
    if not arguments.output.name.endswith(_SUFFIX):
        parser.error(f"{arguments.output}: expected a name that ends in {_SUFFIX}")
    try:
        name = arguments.output.name.removesuffix(_SUFFIX)
        runs = [read_run(path) for path in arguments.runs]
        cards = {run.fingerprint.device.uuid for run in runs} - {""}
        if len(runs) < _LEAST_RUNS or len(cards) < _LEAST_CARDS:
            parser.error(
                f"{len(runs)} runs on {len(cards)} cards; a reference needs at least {_LEAST_RUNS} on {_LEAST_CARDS}"
            )
        reference = made_reference(name, runs)
    except IsthmusError as error:
        print(f"make_reference: {error}", file=sys.stderr)
        return 2
    data = reference.encoded()
    arguments.output.write_bytes(data)
    held = f"{len(reference.figures)} figures, {len(reference.run.cases)} cases, {len(data)} bytes"
    print(f"{arguments.output}: {len(cards)} cards, {held}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
