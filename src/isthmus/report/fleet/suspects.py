"""Suspect hosts as the tools of a cluster take them, and nothing else."""

from typing import TextIO

from isthmus.fleet import Survey, is_host_name
from isthmus.report.fleet.words import suspect_hosts


def write(survey: Survey, format_name: str, out: TextIO) -> None:
    """Write a host list of Slurm, or one name a line for kubectl; nothing where nobody is suspect.

    Names that no tool would take for a host are left out: they could be taken for something else.
    """
    if format_name == "slurm":
        lines = list(filter(None, [suspect_hosts(survey)]))
    else:
        lines = [host for host in survey.suspects if is_host_name(host)]
    out.writelines(f"{line}\n" for line in lines)
