"""`python -m isthmus` is the `isthmus` command."""

import sys

from isthmus.commands import main

__all__: list[str] = []

if __name__ == "__main__":
    sys.exit(main())
