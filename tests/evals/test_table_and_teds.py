import random

import pytest
from apted import APTED, Config
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein
from tliveomni_eval.evals.metrics.table import MAX_TABLE_NODES, TableNode, parse_html_table, parse_table
from tliveomni_eval.evals.metrics.teds import teds, tree_edit_distance

MARKDOWN = "| 规格 | 价格 |\n|---|:-:|\n| 50ml | ¥19.9 |\n| 100ml | ¥199 |"
HTML = (
    "<table><thead><tr><th>规格</th><th>价格</th></tr></thead>"
    "<tbody><tr><td>50ml</td><td>￥19.9</td></tr><tr><td>100ml</td><td> ¥199 </td></tr></tbody></table>"
)


class UnitCosts(Config):  # type: ignore[misc]
    def rename(self, first: TableNode, second: TableNode) -> float:
        if (first.tag, first.colspan, first.rowspan) != (second.tag, second.colspan, second.rowspan):
            return 1.0
        return float(Levenshtein.normalized_distance(first.content, second.content))

    def children(self, node: TableNode) -> list[TableNode]:
        return node.children


def random_tree(rng: random.Random, depth: int = 0) -> TableNode:
    if depth == 3 or (depth and rng.random() < 0.3):
        text = "".join(rng.choice("12.¥元") for _ in range(rng.randrange(4)))
        return TableNode(rng.choice(["td", "th"]), rng.choice([1, 1, 2]), 1, tuple(text))
    children = [random_tree(rng, depth + 1) for _ in range(rng.randrange(4))]
    return TableNode(rng.choice(["table", "tr", "tbody"]), children=children)


def test_tree_edit_distance_equals_apted_on_random_trees() -> None:
    rng = random.Random(20)
    for _ in range(500):
        first, second = random_tree(rng), random_tree(rng)
        expected = APTED(first, second, UnitCosts()).compute_edit_distance()
        assert tree_edit_distance(first, second) == pytest.approx(expected, abs=1e-9)


def compared(reference: str, hypothesis: str) -> float:
    right, read = parse_table(reference), parse_table(hypothesis)
    assert right is not None and read is not None
    return teds(right, read)


def test_markdown_equals_html_of_the_same_cells() -> None:
    assert compared(MARKDOWN, HTML) == 1.0
    assert compared(HTML, MARKDOWN) == 1.0
    assert compared(HTML, HTML) == 1.0


def test_the_text_of_a_header_cell_counts() -> None:
    assert compared("<table><tr><th>a</th></tr></table>", "<table><tr><th>ZZZ</th></tr></table>") == 0.5
    assert compared(MARKDOWN, MARKDOWN.replace("规格", "xx")) < 1.0


def test_one_wrong_character_costs_its_share_of_the_cell() -> None:
    nodes = 9
    assert compared(MARKDOWN, MARKDOWN.replace("¥199", "¥19.9")) == pytest.approx(1 - (1 / 5) / nodes)


def test_spans_sections_and_inline_tags_count_as_in_pubtabnet() -> None:
    two_cells = "<html><body><table><tr><td>a</td><td>b</td></tr></table></body></html>"
    assert compared(two_cells, two_cells.replace("<td>a</td><td>b</td>", '<td colspan="2">a</td>')) == pytest.approx(
        1 / 3
    )
    bold = "<table><tr><td><b>ab</b></td></tr></table>"
    # Tokens <b>, a, b, </b> against a, b: 2 of 4; three elements below the table.
    assert compared(bold, "<table><tr><td>ab</td></tr></table>") == pytest.approx(1 - 0.5 / 3)


@pytest.mark.parametrize(
    "text",
    [
        f"```markdown\n{MARKDOWN}\n```",
        f"Here is the table:\n\n{MARKDOWN}\n\nAll prices in yuan | CNY.",
        MARKDOWN.replace("|---|:-:|\n", ""),
        "规格 | 价格\n--- | ---\n50ml | ¥19.9\n100ml | **¥199**",
        f"```html\n{HTML}\n```",
        f"<div>{HTML}</div> done",
        f"```json\n{{}}\n```\n{HTML}",
    ],
)
def test_wrapping_does_not_change_the_table(text: str) -> None:
    table = parse_table(text)
    assert table is not None
    assert table.rows() == [["规格", "价格"], ["50ml", "¥19.9"], ["100ml", "¥199"]]


@pytest.mark.parametrize("text", ["", "no table", "a | b", "¥19.9|¥29.9\nx", "<tabl", "\x00", "|", "||"])
def test_text_without_a_table_has_none(text: str) -> None:
    assert parse_table(text) is None


def test_an_escaped_bar_stays_in_its_cell() -> None:
    table = parse_table("| a \\| b | c |\n|---|---|\n| 1<br>2 | 3 |")
    assert table is not None and table.rows() == [["a | b", "c"], ["1 2", "3"]]


def test_a_table_beyond_the_limit_is_cut() -> None:
    exact = parse_table("<table>" + "<tr><td>1</td></tr>" * 199 + "<tr></tr></table>")
    assert exact is not None and not exact.truncated
    for text in ("<table>" + "<tr><td>1</td></tr>" * 5000, "| 1 | 2 |\n" * 5000, "|" + " 1 |" * 5000 + "\n"):
        table = parse_table(text)
        assert table is not None and table.truncated
        assert 1 + len(table.rows()) + sum(map(len, table.rows())) <= MAX_TABLE_NODES


def test_absurd_spans_and_nesting_are_bounded() -> None:
    table = parse_html_table('<table><tr><td colspan="99999999999" rowspan="-3">a<td colspan="x">b</table>')
    assert table is not None
    first, second = table.root.children[0].children
    assert (first.colspan, first.rowspan, second.colspan) == (1000, 1, 1)
    deep = parse_html_table("<table>" + "<tr><td>" + "<b>" * 500 + "x")
    assert deep is not None
    assert parse_html_table("<table>" + "<tbody><div><table>" * 300) is not None


@given(st.lists(st.lists(st.text("ab19.¥ ", max_size=5), min_size=2, max_size=4), min_size=1, max_size=4), st.text())
def test_teds_is_a_similarity_and_1_for_itself(rows: list[list[str]], other: str) -> None:
    text = (
        "<table>" + "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows) + "</table>"
    )
    assert compared(text, text) == 1.0
    hypothesis = parse_table(f"<table><tr><td>{other}")
    right = parse_table(text)
    assert hypothesis is not None and right is not None
    assert 0.0 <= teds(right, hypothesis) <= 1.0


def test_two_tables_without_rows_are_equal() -> None:
    assert compared("<table></table>", "<table></table>") == 1.0
