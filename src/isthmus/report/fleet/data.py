"""A fleet as plain data for scripts: keys, causes and severities never change with the language, sentences do."""

from typing import Any

import msgspec
import numpy as np

from isthmus.fleet import RATE, Judged, Outlier, Survey
from isthmus.report.fleet.files import about_files
from isthmus.report.fleet.words import beside_reference, cause_why, evidence, verdict, warnings


def fleet_data(survey: Survey) -> dict[str, Any]:
    """The answer, every outlier, the groups with their typical times, and what was read."""
    everything = survey.gathered
    return {
        "format": "isthmus.survey",
        "schema_version": 1,
        "hosts": len(survey.hosts),
        "devices": survey.count,
        "points": len(everything.points),
        "margin": survey.margin,
        "rate": RATE,
        "verdict": verdict(survey),
        "warnings": warnings(survey),
        "beside_reference": [text for text, _ in beside_reference(survey)],
        "suspects": survey.suspects,
        "wrong": [_device(survey, place) | {"cases": everything.devices[place].wrong} for place in survey.wrong],
        "outliers": [_outlier(survey, outlier) for outlier in survey.outliers],
        "perhaps": [_outlier(survey, outlier) for outlier in survey.perhaps],
        "below_reference": [
            _device(survey, each.device) | {"lost": round(each.lost, 4), **each.kind._asdict()} for each in survey.below
        ],
        "groups": [_group(survey, judged) for judged in survey.groups],
        "reference": survey.reference.name if survey.reference else None,
        "files": everything.files,
        "skipped": dict(everything.skipped),
        "duplicates": [{"host": each.host, "device": each.spec} for each in everything.duplicates],
        "missing": everything.missing,
        "partial": [
            {"fleet": fleet, "here": here, "ranks": ranks} for fleet, (here, ranks) in everything.partial.items()
        ],
        "short_hosts": survey.short_hosts,
        "lacking": [_device(survey, place) for place in survey.lacking],
        "versions": dict(survey.versions),
        "notes": about_files(survey),
    }


def _device(survey: Survey, place: int) -> dict[str, Any]:
    device = survey.gathered.devices[place]
    return {
        "host": device.host,
        "device": device.spec,
        "pci_address": device.pci_address,
        "card": device.card,
        "rank": device.rank,
    }


def _outlier(survey: Survey, outlier: Outlier) -> dict[str, Any]:
    return _device(survey, outlier.device) | {
        "lost": round(outlier.lost, 4),
        "severity": outlier.severity,
        "phases": outlier.phases,
        "directions": outlier.directions,
        "cause": outlier.cause,
        "evidence": evidence(survey, outlier),
        "why": cause_why(outlier.cause),
        "next": outlier.command,
        "neighbours": [survey.gathered.devices[place].spec for place in outlier.neighbours],
        "differences": [
            {**msgspec.to_builtins(cause.difference), "explains": cause.explains, "of": cause.of}
            for cause in outlier.causes
        ]
        + [{**msgspec.to_builtins(fact), "explains": 0, "of": 0} for fact in outlier.others],
        "slow": [{"phase": each.phase, **each.kind._asdict(), "lost": round(each.lost, 4)} for each in outlier.slow],
    }


def _group(survey: Survey, judged: Judged) -> dict[str, Any]:
    group, checkup = judged.group, judged.checkup
    return {
        "device": group.device,
        "link": group.link,
        "cpu": group.cpu,
        "devices": len(group.members),
        "judged": len(judged.judged),
        "looks_right": checkup.right if checkup else None,
        "together": [each.kind._asdict() | {"lost": round(each.lost, 4)} for each in judged.contentions],
        "typical_seconds": [
            msgspec.to_builtins(point) | {"median": float(f"{seconds:.5g}")}
            for point, seconds in zip(survey.gathered.points, judged.typical.tolist(), strict=True)
            if np.isfinite(seconds)
        ],
    }
