"""The Markdown report: tables that parse, and nothing of a run taken for markup."""

from collections.abc import Callable

from tests.synthetic import runs as synthetic


def test_tables_have_as_many_cells_as_headings(rendered: Callable[..., str]) -> None:
    run = synthetic.run(synthetic.h200().cases, device=synthetic.gpu(name="a|b"))
    blocks = [block.splitlines() for block in rendered("markdown", run).split("\n\n") if block.startswith("|")]
    assert len(blocks) > 4
    for block in blocks:
        assert len({line.replace("\\|", "").count("|") for line in block}) == 1
        assert set(block[1]) <= set("|-:")


def test_names_cannot_become_markup(rendered: Callable[..., str]) -> None:
    run = synthetic.run([], name="*run*", device=synthetic.gpu(name="<img src=x> [link](there)\n# heading"))
    text = rendered("markdown", run)
    assert "<img" not in text.replace("\\<img", "")
    assert "\n# heading" not in text
    assert "\\[link\\]" in text
    assert "\\*run\\*" in text
