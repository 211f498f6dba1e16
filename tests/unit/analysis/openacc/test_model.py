"""OpenACC programs: names of later versions, and what is concluded of slow ones."""

from isthmus.analysis.conclusions import findings
from isthmus.analysis.openacc import openacc_works
from isthmus.document.finding import Finding
from isthmus.record import Case
from tests.synthetic import openacc as synthetic_openacc
from tests.synthetic import runs as synthetic


def concluded(cases: list[Case]) -> dict[str, Finding]:
    return {finding.topic: finding for finding in findings(synthetic.run(cases))}


def test_a_name_of_a_later_version_breaks_nothing() -> None:
    cases = [synthetic_openacc.case(name, {"in_seconds": 1.0}) for name in ("mystery", "stencil_dma_explicit")]
    assert len(openacc_works(synthetic.run(cases))) == 2
    assert "openacc_native" not in concluded(cases)


def test_directives_slower_than_native_calls() -> None:
    truths = synthetic_openacc.WHOLE | {"explicit": synthetic_openacc.Truth(0.27, 0.17)}
    found = concluded(synthetic_openacc.array("contiguous", truths, fraction=1.0))["openacc_native"]
    assert found.level == "ATTENTION"
    assert "Compare the phases" in found.cure
