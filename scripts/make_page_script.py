"""Writes the JavaScript that draws the charts of a page, packed as pages have it; the build does it.

Usage: make_page_script.py FILE.js.gz.base64; needs vl-convert-python.
"""

import base64
import gzip
import sys
from pathlib import Path

_SNIPPET = "window.vegaEmbed = vegaEmbed;"


def main(target: Path) -> None:
    """Write the script."""
    import vl_convert

    # The names at the top of the bundle are one letter long and would meet those of any other script.
    script = f"(()=>{{{vl_convert.javascript_bundle(_SNIPPET)}}})();"
    target.write_bytes(base64.b64encode(gzip.compress(script.encode(), mtime=0)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
