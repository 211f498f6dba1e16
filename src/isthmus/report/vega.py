"""The JavaScript that draws the charts of a page: vega-embed with all that it needs, as one script."""

import base64
import gzip
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from isthmus.cache import CacheRefused, kept, reason
from isthmus.files import read_bounded, write_whole
from isthmus.messages import to_stderr_once

_SNIPPET = "window.vegaEmbed = vegaEmbed;"
_NAME = "vega-embed.js.gz.base64"


def packed_script() -> str:
    """A script that defines ``window.vegaEmbed`` and leaves no other name behind, as base64 of gzip.

    Putting it together takes more than a second, so it is kept in the user's cache, under the version of vl-convert
    that it came from. A cache that cannot be read or written costs only that time.
    """
    try:
        folder = kept("scripts", f"vega-embed-packed-{version('vl-convert-python')}", _keep)
        return read_bounded(folder / _NAME).decode()
    except OSError as error:
        if isinstance(error, CacheRefused):
            to_stderr_once(f"isthmus: scripts of pages are not kept: {reason(error)}")
        return _packed_bundle()


def prepare_page() -> None:
    """Make what every HTML page needs and the user's cache keeps: a second of work the first time, none later.

    What it lacks is for the page to say.
    """
    with suppress(ImportError):
        packed_script()


def _keep(folder: Path) -> None:
    with write_whole(folder / _NAME) as file:
        file.write(_packed_bundle().encode())


def _packed_bundle() -> str:
    import vl_convert

    # The names at the top of the bundle are one letter long and would meet those of any other script.
    script = f"(()=>{{{vl_convert.javascript_bundle(_SNIPPET)}}})();"
    return base64.b64encode(gzip.compress(script.encode(), mtime=0)).decode()
