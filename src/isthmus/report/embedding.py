"""What a page's script unpacks: charts, the library that draws them, and what pointing at cells of tables shows."""

import base64
import gzip

import msgspec

from isthmus.document.chart import Spec, Stacks, Tiles, Timeline
from isthmus.report import vega
from isthmus.report.drawing import VegaLite, packed


class Embedded:
    """Collects the charts and details of one page while its template is rendered; `packed` goes last."""

    def __init__(self) -> None:
        self._charts: list[VegaLite] = []
        self._details: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._charts) + len(self._details)

    def add(self, spec: Spec | Stacks | Timeline | Tiles) -> int:
        """Keep what to draw; gives the number by which the page's script finds it."""
        self._charts.append(packed(spec))
        return len(self._charts) - 1

    def tell(self, detail: str) -> int:
        """Keep what pointing at a cell shows; gives the number by which the page's script finds it."""
        return self._details.setdefault(detail, len(self._details))

    def packed(self) -> str:
        """Base64 of gzip of JSON: the library, where there are charts, the charts and the details.

        Three quarters of a page's size would be these otherwise; every browser since 2023 unpacks them itself.
        """
        library = vega.script() if self._charts else ""
        content = msgspec.json.encode({"library": library, "charts": self._charts, "details": list(self._details)})
        # Without a time of its own, so that the same runs give the same page.
        return base64.b64encode(gzip.compress(content, mtime=0)).decode()
