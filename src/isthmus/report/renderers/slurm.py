"""The suspect hosts of a fleet as the tools of Slurm take them, and nothing else."""

from typing import TextIO

from isthmus.document.document import Document
from isthmus.report.fleet.words import suspect_hosts


def write(document: Document, out: TextIO) -> None:
    """Write one host list, without names that no tool would take for a host; nothing where no host is suspect."""
    if hosts := suspect_hosts(document.subject):
        out.write(f"{hosts}\n")
