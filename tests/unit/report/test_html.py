"""The page: complete in itself, safe whatever a run file says, and graceful with little to show."""

import base64
import gzip
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from isthmus.record import Run
from tests.synthetic import runs as synthetic

HOSTILE = '<script>alert("x")</script><img src=x onerror=alert(1)>&amp;'
VOID = {"meta", "br", "img", "path", "link", "input", "hr"}


class Page(HTMLParser):
    """Elements, their attributes and texts; complains about tags that do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and data.strip():
            self.texts.append((self._open[-1], data))

    def unpacked(self, begin: bytes) -> bytes:
        """What the page's script unpacks and begins so."""
        packed = (text for tag, text in self.texts if tag == "script" and not text.startswith('"use strict"'))
        (content,) = (each for each in map(gzip.decompress, map(base64.b64decode, packed)) if each.startswith(begin))
        return content

    def drawings(self) -> Any:
        return json.loads(self.unpacked(b"{"))

    def specs(self) -> list[Any]:
        return self.drawings()["charts"]  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def page_of() -> Callable[..., str]:
    import io

    from isthmus.report.renderers import html
    from isthmus.report.runs import runs_document

    def render(*runs: Run) -> str:
        out = io.StringIO()
        html.write(runs_document(runs), out)
        return out.getvalue()

    return render


@pytest.fixture(scope="module")
def full_page(page_of: Callable[..., str]) -> str:
    return page_of(synthetic.h200())


def test_nothing_is_asked_of_the_network(full_page: str) -> None:
    page = Page(full_page)
    for tag, attributes in page.tags:
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            assert (attributes.get(name) or "#").startswith("#"), (tag, name)
    styles = " ".join(text for tag, text in page.texts if tag == "style")
    assert "@import" not in styles
    assert "url(" not in styles
    policies = [attributes["content"] or "" for tag, attributes in page.tags if "http-equiv" in attributes]
    assert len(policies) == 1
    assert policies[0].startswith("default-src 'none';")
    assert not re.search(r"https?://", full_page)


def test_the_drawing_script_is_there_once_and_the_page_is_small(full_page: str) -> None:
    assert Page(full_page).unpacked(b"(()=>").count(b"window.vegaEmbed=") == 1
    assert len(full_page.encode()) < 700_000


def test_the_raw_samples_drawn_include_fastest_and_slowest(page_of: Callable[..., str]) -> None:
    cases = synthetic.cases({("copy", "h2d", "pageable"): synthetic.Truth(8e-6, 9e9, 0.2)}, [1 << 20], samples=500)
    data = Page(page_of(synthetic.run(cases))).specs()[-1]["datasets"]["points"]
    rates = [row[data["names"].index("y")] for row in data["rows"]]
    times = cases[0].samples("host_seconds")
    assert len(rates) == 40
    assert max(rates) == pytest.approx((1 << 20) / min(times) / 1e9, rel=1e-3)
    assert min(rates) == pytest.approx((1 << 20) / max(times) / 1e9, rel=1e-3)


def test_what_a_run_file_says_is_text(page_of: Callable[..., str]) -> None:
    key = ("copy", "h2d", HOSTILE)
    cases = synthetic.cases({key: synthetic.Truth(8e-6, 50e9), ("copy", "h2d", "pinned"): synthetic.Truth(8e-6, 50e9)})
    cases += synthetic.skips(("copy", "d2h", "pinned"), [1], HOSTILE)
    cases[0] = msgspec.structs.replace(cases[0], verified="no", note=HOSTILE)
    run = synthetic.run(cases, name=HOSTILE, device=synthetic.gpu(name=HOSTILE, conditions={HOSTILE: HOSTILE}))
    settings = msgspec.structs.replace(run.settings, command=["/opt/bin/isthmus", HOSTILE], mode=HOSTILE)
    page = Page(page_of(msgspec.structs.replace(run, settings=settings), run))
    kinds = {tag for tag, _ in page.tags}
    assert "img" not in kinds
    assert not any("alert" in text for tag, text in page.texts if tag == "script")
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert any(HOSTILE.replace("&amp;", "") in text for tag, text in page.texts if tag == "h1")


def test_the_verdict_stands_before_curves_and_headings_descend_in_order(full_page: str) -> None:
    page = Page(full_page)
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert full_page.index('id="verdict"') < full_page.index('id="bandwidth"') < full_page.index('id="machine"')
    identifiers = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))
    targets = {(attributes["href"] or "")[1:] for tag, attributes in page.tags if tag == "a"}
    assert targets <= set(identifiers)


def test_charts_and_tables_have_names_for_those_who_cannot_see_them(full_page: str) -> None:
    page = Page(full_page)
    charts = [attributes for _, attributes in page.tags if attributes.get("class") == "chart"]
    # The first one twice: open, and among those of its section.
    assert len(charts) == 8
    assert all(attributes["role"] == "img" and attributes["aria-label"] for attributes in charts)
    assert all(attributes.get("scope") for tag, attributes in page.tags if tag == "th")
    assert ("html", {"lang": "en"}) in page.tags


def test_every_kind_has_a_colour_for_light_and_for_dark(full_page: str) -> None:
    used = set(re.findall(r"var\((--[\w-]+)\)", full_page))
    for variable in used:
        assert f"{variable}:" in full_page, variable
    kinds = [variable for variable in used if variable.startswith("--kind")]
    assert len(kinds) == 7
    assert all(full_page.count(f"{variable}:") == 2 for variable in kinds)


@pytest.mark.parametrize("skipped", [True, False])
def test_a_run_without_measurements_is_a_page_without_charts(page_of: Callable[..., str], skipped: bool) -> None:
    cases = synthetic.skips(("copy", "h2d", "pinned"), [1, 2], "no memory left") if skipped else []
    text = page_of(synthetic.run(cases, end=None))
    page = Page(text)
    assert "nothing to conclude" in text
    assert ("no memory left" in text) == skipped
    assert not [tag for tag, _ in page.tags if tag in ("script", "figure")]


def test_one_size_and_one_sample_make_a_page(page_of: Callable[..., str]) -> None:
    cases = synthetic.cases({("copy", "h2d", "pinned"): synthetic.Truth(8e-6, 5e9)}, [100_000_000], samples=1)
    spec = Page(page_of(synthetic.run(cases))).specs()[0]
    low, high = spec["layer"][1]["encoding"]["x"]["scale"]["domain"]
    assert low < 100_000_000 < high


def test_no_line_ends_between_a_number_and_its_unit(page_of: Callable[..., str]) -> None:
    texts = [text for tag, text in Page(page_of(synthetic.run([]))).texts if tag not in ("script", "style", "code")]
    units = r"(?:[KMG]?i?B(?:/s)?|[GM]Hz|[mu]?s)\b"
    assert [text for text in texts if re.search(rf"\d {units}", text)] == []
    assert sum(len(re.findall(r"\d\xa0" + units, text)) for text in texts) > 3


def test_the_command_to_repeat_it_names_no_folder(page_of: Callable[..., str]) -> None:
    run = synthetic.run([])
    settings = msgspec.structs.replace(run.settings, command=["/opt/venv/bin/isthmus", "measure", "--sizes", "1 B"])
    text = page_of(msgspec.structs.replace(run, settings=settings))
    assert '<code lang="en">isthmus measure --sizes &#39;1 B&#39;</code>' in text
    assert "/opt/venv" not in text


def test_the_page_can_be_walked_without_a_mouse(full_page: str) -> None:
    page = Page(full_page)
    landmarks = [tag for tag, _ in page.tags if tag in ("header", "main", "nav")]
    assert landmarks == ["header", "main"]
    # Everything but the answer is folded, and what is folded says what is in it.
    folded = re.findall(r'<details class="part[ long]*"><summary><h2 id="([\w-]+)-title">', full_page)
    assert folded[0] == "bandwidth"
    assert {"machine", "method"} <= set(folded)
    first_link = next(attributes for tag, attributes in page.tags if tag == "a")
    assert (first_link["class"], first_link["href"]) == ("skip", "#verdict")
    scrolled = [attributes for _, attributes in page.tags if attributes.get("class") == "scroll"]
    assert scrolled
    assert all(attributes["tabindex"] == "0" and attributes["aria-labelledby"] for attributes in scrolled)


def test_paper_has_all_of_the_parts_without_charts_and_tables(full_page: str) -> None:
    parts = re.findall(
        r'<details class="(part[^"]*)"><summary><h2 id="([^"]*)-title">(.*?)(?=</section>)', full_page, re.S
    )
    whole = {name for classes, name, _ in parts if classes == "part"}
    assert {"machine", "method"} <= whole < {name for _, name, _ in parts}
    for classes, _, content in parts:
        assert ("long" in classes.split()) == ('class="figures"' in content or "data-chart" in content)


def test_ticks_of_the_first_chart_differ(full_page: str) -> None:
    still = full_page.partition("data-chart=")[2].partition("</figure>")[0]
    ticks = re.findall(r"<text[^>]*>([^<]*)</text>", still)
    assert len(ticks) == len(set(ticks)) > 8
