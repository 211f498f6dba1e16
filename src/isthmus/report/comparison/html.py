"""A comparison as one HTML page in the style of the report: verdict, causes, charts, tables, every case folded away."""

from typing import TextIO

from isthmus.report.comparison.document import Document, PageOnly
from isthmus.report.embedding import Embedded
from isthmus.report.environment import environment


def write(shown: Document, more: PageOnly, out: TextIO) -> None:
    """Write the page to `out`; it needs nothing else."""
    out.write(environment().get_template("compare.html.j2").render(shown=shown, more=more, embedded=Embedded()))
