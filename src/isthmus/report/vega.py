"""The JavaScript that draws the charts of a page: vega-embed with all that it needs, as one script."""

import os
import tempfile
from importlib.metadata import version
from pathlib import Path

_SNIPPET = "window.vegaEmbed = vegaEmbed;"
# Shows that a kept file is complete.
_END = "/* end of vega-embed */"


def script() -> str:
    """A script that defines ``window.vegaEmbed`` and leaves no other name behind.

    Putting it together takes more than a second, so it is kept in the user's cache, under the version of vl-convert
    that it came from. A cache that cannot be read or written costs only that time.
    """
    try:
        path = _cache() / f"vega-embed-{version('vl-convert-python')}.js"
    except RuntimeError:  # A user without a home directory.
        path = None
    try:
        kept = path.read_text(encoding="utf-8") if path else ""
        if kept.endswith(_END):
            return _enclosed(kept)
    except (OSError, UnicodeDecodeError):
        pass
    import vl_convert

    bundle = f"{vl_convert.javascript_bundle(_SNIPPET)}{_END}"
    if path:
        _keep(path, bundle)
    return _enclosed(bundle)


def prepare_page() -> None:
    """Make what every HTML page needs and the user's cache keeps: a second of work the first time, none later."""
    script()


def _enclosed(bundle: str) -> str:
    # The names at the top of the bundle are one letter long and would meet those of any other script.
    return f"(()=>{{{bundle}}})();"


def _cache() -> Path:
    root = os.environ.get("XDG_CACHE_HOME", "")
    # The specification says that a relative path is to be ignored.
    return (Path(root) if Path(root).is_absolute() else Path.home() / ".cache") / "isthmus"


def _keep(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Moved into place when complete, so that nobody reads half of it.
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as part:
            part.write(text)
        Path(part.name).replace(path)
    except OSError:
        pass
