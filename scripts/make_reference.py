"""Makes a reference for `isthmus compare` from runs of machines of one kind: RUN... -o FOLDER/NAME.json.gz."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from isthmus.compare import made_reference
from isthmus.errors import IsthmusError
from isthmus.record import read_run

_SUFFIX = ".json.gz"


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
        reference = made_reference(name, [read_run(path) for path in arguments.runs])
    except IsthmusError as error:
        print(f"make_reference: {error}", file=sys.stderr)
        return 2
    data = reference.encoded()
    arguments.output.write_bytes(data)
    print(f"{arguments.output}: {len(reference.figures)} figures, {len(reference.run.cases)} cases, {len(data)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
