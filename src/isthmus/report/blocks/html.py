"""Blocks of a report as one HTML page that needs nothing else: no network, no other file."""

import base64
import gzip
from collections.abc import Iterable
from typing import TextIO

import msgspec

from isthmus.report.blocks.blocks import Block, Heading, HeatMap, Picture
from isthmus.report.environment import environment
from isthmus.report.trace.lanes import Lanes, lanes_of


class _Pictures:
    """Collects what the page's script draws while the template is rendered; `packed` goes last."""

    def __init__(self) -> None:
        self._lanes: list[Lanes] = []

    def __len__(self) -> int:
        return len(self._lanes)

    def lanes(self, picture: Picture) -> Lanes:
        """Keep the lanes of a picture, and give them."""
        self._lanes.append(lanes_of(picture.trace))
        return self._lanes[-1]

    def packed(self) -> str:
        """The lanes of all pictures."""
        return _packed([lanes.packed() for lanes in self._lanes])


def _packed(content: object) -> str:
    """Base64 of gzip of JSON, so that nothing in it can be taken for markup."""
    return base64.b64encode(gzip.compress(msgspec.json.encode(content), mtime=0)).decode()


def write(blocks: Iterable[Block], out: TextIO) -> None:
    """Write the page to `out`."""
    shown = list(blocks)
    title = next((block.text for block in shown if isinstance(block, Heading)), "")
    sections: list[list[Block]] = [[]]
    for block in shown:
        if isinstance(block, Heading) and block.level < 3 and sections[-1]:
            sections.append([])
        sections[-1].append(block)
    template = environment().get_template("blocks.html.j2")
    maps = any(isinstance(block, HeatMap) for block in shown)
    # In parts, since tables and lanes are what is large.
    out.writelines(template.generate(title=title, sections=sections, pictures=_Pictures(), maps=maps, packed=_packed))
