"""Tables in Markdown or HTML, read into one ordered labelled tree.

The tree is that of PubTabNet's TEDS: one node for `table`, `thead`, `tbody`, `tr` and each cell; a cell is a leaf
with its spans and its content. It differs in one point: a `th` is a cell as `td` is, so that its text counts (in
PubTabNet's code the text of a `th` is not compared at all). A Markdown table has no sections and no spans, so
`simplified` brings an HTML table down to what Markdown can say before the two are compared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from lxml import etree, html
from tliveomni_eval.evals.text.width import fold_spaces, fold_width
from tliveomni_eval.evals.text.wrapping import unfence

MAX_TABLE_NODES = 400
"""Nodes of a table that are read; 40 rows of 9 cells. Tree edit distance costs the product of two tables' nodes."""
_MAX_DEPTH = 32
_MAX_SPAN = 1000

_NOT_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_DELIMITER_CELL = re.compile(r"\s*:?-+:?\s*\Z")
_TABLE_TAG = re.compile(r"<\s*table\b", re.IGNORECASE)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_CELL_TAGS = ("td", "th")
_SECTION_TAGS = ("thead", "tbody", "tfoot")


@dataclass(slots=True)
class TableNode:
    """A node of the table tree.

    Attributes:
        tag: `table`, `thead`, `tbody`, `tfoot`, `tr`, `td`, `th`, or any other tag found there.
        colspan: Columns a cell covers, 1 or more; 0 for a node that is no cell.
        rowspan: Rows a cell covers, likewise.
        content: Tokens of a cell: characters, and inline tags such as `<b>` as one token each.
        children: Child nodes in order; a cell has none.
        inline_elements: Number of elements inside of a cell, which count in the denominator of TEDS.
    """

    tag: str
    colspan: int = 0
    rowspan: int = 0
    content: tuple[str, ...] = ()
    children: list[TableNode] = field(default_factory=list)
    inline_elements: int = 0

    @property
    def is_cell(self) -> bool:
        """Whether the node is a leaf with content."""
        return self.tag in _CELL_TAGS

    def text(self) -> str:
        """The content of a cell without inline tags."""
        if not self.inline_elements:
            return "".join(self.content)
        return "".join(token for token in self.content if len(token) == 1)


@dataclass(frozen=True, slots=True)
class Table:
    """A table that was read from a text.

    Attributes:
        root: The `table` node.
        markup: The language it was written in: `html`, `markdown`, or `plain` after `simplified`.
        truncated: Whether nodes beyond `MAX_TABLE_NODES` were left out.
    """

    root: TableNode
    markup: Literal["html", "markdown", "plain"]
    truncated: bool = False

    def rows(self) -> list[list[str]]:
        """The text of the cells, row by row, width and spaces folded."""
        return [[cell.text() for cell in row.children] for row in simplified(self).root.children]


def parse_table(text: str) -> Table | None:
    """The first table in `text`: HTML if there is a `<table`, else Markdown; None if there is neither.

    A code fence and text around the table are ignored.
    """
    body = unfence(text)
    if not _TABLE_TAG.search(body) and _TABLE_TAG.search(text):
        body = text
    return parse_html_table(body) if _TABLE_TAG.search(body) else parse_markdown_table(body)


def parse_html_table(text: str) -> Table | None:
    """The first HTML table in `text`, wherever it stands; None if the text holds none."""
    try:
        document = html.document_fromstring(
            _NOT_XML.sub("", text).encode("utf-8"), parser=html.HTMLParser(remove_comments=True, encoding="utf-8")
        )
    except (etree.LxmlError, ValueError):
        return None
    element = next(document.iter("table"), None)
    if element is None:
        return None
    budget = _Budget(MAX_TABLE_NODES)
    root = _html_node(element, budget, 0)
    return Table(root, "html", truncated=budget.exceeded)


def parse_markdown_table(text: str) -> Table | None:
    r"""The first block of lines with `|` in `text`; None if the text holds none.

    The second row of the block must be a delimiter row (`|---|:-:|`), except that a block in which every line
    starts and ends with `|` may lack it. A `\|` is a bar inside of a cell, a `<br>` a space.
    """
    block: list[str] = []
    for line in text.splitlines():
        if "|" in line:
            block.append(line.strip())
        elif block and _is_markdown_table(block):
            break
        else:
            block = []
    if not _is_markdown_table(block):
        return None
    rows = [cells for cells in map(_markdown_cells, block) if not all(map(_DELIMITER_CELL.match, cells))]
    root = TableNode("table")
    left = MAX_TABLE_NODES - 1
    for cells in rows:
        kept = cells[: max(0, left - 1)]
        if not kept:
            return Table(root, "markdown", truncated=True)
        row = TableNode("tr", children=[TableNode("td", 1, 1, tuple(cell)) for cell in kept])
        root.children.append(row)
        left -= len(kept) + 1
        if len(kept) < len(cells):
            return Table(root, "markdown", truncated=True)
    return Table(root, "markdown")


def simplified(table: Table) -> Table:
    """`table` with what Markdown can say: rows of cells, plain text with folded spaces, no sections, `th` as `td`."""
    if table.markup == "plain":
        return table
    root = TableNode("table")
    for row in _rows_of(table.root):
        cells = [
            TableNode("td", cell.colspan, cell.rowspan, tuple(fold_spaces(fold_width(cell.text()))))
            for cell in row.children
            if cell.is_cell
        ]
        root.children.append(TableNode("tr", children=cells))
    return Table(root, "plain", table.truncated)


@dataclass(slots=True)
class _Budget:
    left: int
    exceeded: bool = False


def _rows_of(root: TableNode) -> list[TableNode]:
    rows: list[TableNode] = []
    for node in root.children:
        if node.tag == "tr":
            rows.append(node)
        elif node.tag in _SECTION_TAGS:
            rows.extend(child for child in node.children if child.tag == "tr")
    return rows


def _is_markdown_table(block: list[str]) -> bool:
    if len(block) >= 2 and all(map(_DELIMITER_CELL.match, _markdown_cells(block[1]))):
        return True
    return bool(block) and all(len(line) > 2 and line.startswith("|") and line.endswith("|") for line in block)


def _markdown_cells(line: str) -> list[str]:
    inner = line.replace("\\|", "\x00").removeprefix("|").removesuffix("|")
    cells = (_BREAK.sub(" ", cell).replace("\x00", "|") for cell in inner.split("|"))
    return [" ".join(cell.split()).replace("**", "") for cell in cells]


def _html_node(element: html.HtmlElement, budget: _Budget, depth: int) -> TableNode:
    budget.left -= 1
    tag = str(element.tag)
    if tag in _CELL_TAGS:
        tokens: list[str] = list(element.text or "")
        inline = _inline_tokens(element, tokens, 0)
        return TableNode(tag, _span(element, "colspan"), _span(element, "rowspan"), tuple(tokens), [], inline)
    node = TableNode(tag)
    for child in element:
        if budget.left <= 0 or depth >= _MAX_DEPTH:
            budget.exceeded = True
            break
        if isinstance(child.tag, str):
            node.children.append(_html_node(child, budget, depth + 1))
    return node


def _inline_tokens(element: html.HtmlElement, tokens: list[str], depth: int) -> int:
    """Append the tokens of the elements inside of a cell as PubTabNet does; returns how many elements there are."""
    count = 0
    for child in element:
        if not isinstance(child.tag, str) or depth >= _MAX_DEPTH:
            continue
        tokens.append(f"<{child.tag}>")
        tokens.extend(child.text or "")
        count += 1 + _inline_tokens(child, tokens, depth + 1)
        if child.tag != "unk":
            tokens.append(f"</{child.tag}>")
        if child.tag != "td":
            tokens.extend(child.tail or "")
    return count


def _span(element: html.HtmlElement, attribute: str) -> int:
    try:
        return min(max(int(element.get(attribute, "1")), 1), _MAX_SPAN)
    except ValueError:
        return 1
