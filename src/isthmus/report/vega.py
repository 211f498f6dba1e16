"""The JavaScript that draws the charts of a page: vega-embed with all that it needs, as one script."""

from functools import cache

from isthmus.errors import Unsupported
from isthmus.files import read_bounded
from isthmus.installing import installed_file


@cache
def packed_script() -> str:
    """A script that defines ``window.vegaEmbed`` and leaves no other name behind, as base64 of gzip.

    scripts/make_page_script.py made it when the package was built. Raises Unsupported where it cannot be read.
    """
    try:
        return read_bounded(installed_file("vega-embed.js.gz.base64")).decode()
    except OSError as error:
        raise Unsupported(str(error)) from None
