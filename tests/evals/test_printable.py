"""Text that a model or a data set controls stays text in a terminal, in Markdown and in XML."""

from __future__ import annotations

import re
import unicodedata
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tliveomni_eval.evals.gate.printable import markdown_code, markdown_text, printable

HOSTILE = [
    "\x1b]0;owned\x07\x1b[2J",
    "\x9b31m",
    "price\u202etxt.exe",
    "\u2066\u2067",
    "line\nbreak\r\u2028\u2029",
    "</code><script>alert(1)</script>",
    "` ![x](javascript:alert(1)) @everyone #1 |",
    "[x](http://127.0.0.1/) <img src=x onerror=alert(1)>",
    "]]><!--<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>&a;",
    "\x00\x01\ufffe\uffff\ud83d",
    "'; DROP TABLE runs; --",
    "$(touch pwned)`touch pwned`",
]
texts = st.sampled_from(HOSTILE) | st.text(max_size=120)


@settings(max_examples=200, deadline=None)
@given(texts)
def test_what_is_printed_is_one_line_that_no_terminal_obeys(text: str) -> None:
    shown = printable(text, 1000)
    assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    shown.encode("utf-8")


class Tags(HTMLParser):
    """Collects tags and text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


@settings(max_examples=200, deadline=None)
@given(texts)
def test_no_text_leaves_its_markdown_code_span(text: str) -> None:
    span = markdown_code(text, 1000)
    parser = Tags()
    parser.feed(span)
    parser.close()
    assert (parser.tags, parser.text) == (["code"], printable(text, 1000))
    assert not re.search(r"[|`\[\]\n*_]", span)


@settings(max_examples=200, deadline=None)
@given(texts)
def test_markdown_prose_holds_no_markup_link_or_mention(text: str) -> None:
    prose = markdown_text(text, 1000)
    parser = Tags()
    parser.feed(prose)
    parser.close()
    assert parser.tags == []
    assert not re.search(r"[|`\[\]\n*_]|@\w|\bhttps?:", prose)


@pytest.mark.parametrize("text", HOSTILE)
def test_xml_that_holds_the_text_is_well_formed_and_gives_it_back(text: str) -> None:
    case = ET.Element("testcase", name=printable(text, 1000))
    case.text = printable(text, 1000)
    read = ET.fromstring(ET.tostring(case, encoding="unicode"))
    assert (read.get("name"), read.text, len(read)) == (printable(text, 1000), printable(text, 1000), 0)
