"""A document as one HTML page that needs nothing else: no network, no other file, any browser of today."""

import base64
import gzip
import re
from collections.abc import Sequence
from functools import cache
from typing import Any, TextIO

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from isthmus.document.chart import Spec, Tiles, Timeline, all_looks
from isthmus.document.document import Block, Charts, Document, Heading, HeatMap, Picture
from isthmus.document.finding import level_word
from isthmus.document.grid import Cell, Column
from isthmus.document.section import Lanes
from isthmus.language import say, sentences, spoken
from isthmus.messages import plain
from isthmus.report import vega
from isthmus.report.drawing import VegaLite, packed
from isthmus.report.still import still

# Between a number and its unit, where no line is to end; commands, which people copy, go round it by "| e".
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:[KMGT]?i?B(?:/s)?|GT/s|[GM]Hz|[num]?s|min|W|%)(?![A-Za-z/]))")


def write(document: Document, out: TextIO) -> None:
    """Write the page to `out`, in parts, since tables and pictures may be large."""
    sections: list[list[Block]] = [[]]
    kinds = set()
    for block in document.shown_to("page"):
        if isinstance(block, Heading) and block.level == 2:
            sections.append([])
        sections[-1].append(block)
        kinds.add(type(block))
    page = _environment().get_template("page.html.j2")
    parts = page.stream(
        titles=document.title.splitlines(),
        sections=sections,
        # A run's page has dozens of screens, of which one answers.
        folds=document.kind == "runs",
        embedded=_Embedded(),
        has_charts=Charts in kinds,
        has_lanes=Picture in kinds,
        has_maps=HeatMap in kinds,
        packed=_packed,
        library=vega.packed_script,
        still_of=_still_of,
    )
    # By the thousand: a page has a hundred thousand.
    parts.enable_buffering(1000)
    # Here, where no filter or markup of a template goes round it.
    out.writelines(map(plain, parts))


def fragment(document: Document, name: str) -> str:
    """A screen (strips, sentences, tables) as an element of somebody else's page, whose anchors begin with the name."""
    template = _environment().get_template("fragment.html.j2")
    return plain(template.render(blocks=list(document.shown_to("page")), id=f"isthmus-{name}", embedded=_Embedded()))


@cache
def _environment() -> Environment:
    """Templates that escape everything: what a file says is text, comes from elsewhere, may hold any characters.

    They are compiled once: that takes as long as to fill them.
    """
    made = Environment(
        loader=PackageLoader("isthmus.report"),
        autoescape=True,
        finalize=_unbroken,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(all_looks=all_looks, level_word=level_word, say=say, sentences=sentences, spoken=spoken)
    return made


def _still_of(spec: Spec | Timeline | Tiles) -> Markup:
    return Markup(still(spec))  # Its texts are escaped.


def _unbroken(value: object) -> object:
    return _BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", value) if type(value) is str and " " in value else value


class _Embedded:
    """Collects what the page's scripts unpack, while its template is rendered; each kind is packed once, last."""

    def __init__(self) -> None:
        self._charts: list[VegaLite] = []
        self._numbers: dict[int, int] = {}  # of charts by their specs, which the document keeps
        # The first is what a cell shows that has no more to say.
        self._details: dict[str, int] = {"": 0}
        self._cells: list[int] = []
        self._lanes: list[dict[str, Any]] = []

    def __len__(self) -> int:
        return len(self._charts) + len(self._details) - 1

    def add(self, spec: Spec | Timeline | Tiles) -> int:
        """Keep a chart, once; gives the number by which the page's script finds it."""
        if id(spec) not in self._numbers:
            self._numbers[id(spec)] = len(self._charts)
            self._charts.append(packed(spec))
        return self._numbers[id(spec)]

    def cells(self, columns: Sequence[Column], cells: Sequence[Cell]) -> Markup:
        """The cells of a row: a page has tens of thousands, hence no loop of a template and few classes.

        What pointing at each shows is kept; the page's script counts cells as this does.
        """
        shown = []
        for column, cell in zip(columns, cells, strict=True):
            self._cells.append(self._details.setdefault(cell.detail, len(self._details)))
            classes = " ".join(["prose"] * column.prose + [cell.state] * (cell.state != "ok"))
            text = escape(_unbroken(cell.text.replace("#", "█") if cell.state == "bar" else cell.text))
            half = f" <i>{cell.sign}{escape(cell.half_width)}</i>" if cell.half_width else ""
            unit = f"&nbsp;{escape(cell.unit)}" if cell.unit else ""
            shown.append(f'<td class="{classes}">' if classes else "<td>")
            shown.append(f"{text}{half}{unit}</td>")
        return Markup("".join(shown))

    def add_lanes(self, lanes: Lanes) -> int:
        """Keep lanes over time; gives the number by which the page's script finds them."""
        self._lanes.append({"span": lanes.span, "texts": list(lanes.texts), "lanes": lanes.lanes})
        return len(self._lanes) - 1

    def drawings(self) -> str:
        """The charts and the details.

        Three quarters of a page's size would be these otherwise; every browser since 2023 unpacks them itself.
        """
        return _packed({"charts": self._charts, "details": list(self._details)}, cells=self._cells)

    def lanes(self) -> str:
        """All lanes."""
        return _packed(self._lanes)


def _plain(content: Any) -> Any:
    """The content with every text as no reader is misled by."""
    match content:
        case str():
            return plain(content)
        case dict():
            return {name: _plain(value) for name, value in content.items()}
        case list() | tuple():
            return [_plain(value) for value in content]
    return content


def _packed(content: Any, **ours: Any) -> str:
    """Base64 of gzip of JSON, so that nothing in it can be taken for markup; the same content gives the same text."""
    content = ours | _plain(content) if ours else _plain(content)
    return base64.b64encode(gzip.compress(msgspec.json.encode(content), mtime=0)).decode()
