"""The patterns by which `choice_answer.py` reads multiple-choice answers, in English and Chinese.

`STATEMENTS` state a letter ("The answer is (B)", "答案是B"); the others recognise labels, mentions, denials and what
may follow a letter.
"""

from __future__ import annotations

import re

ANSWER_TAG = re.compile(r"<answer>(.{0,400}?)(?:</answer>|\Z)", re.IGNORECASE | re.DOTALL)
BOXED = re.compile(r"\\boxed\s*\{\s*(?:\\(?:text|mathrm|textbf)\s*\{)?([^{}]{1,200})\}*")
MARKDOWN = str.maketrans("", "", "*`#$")
QUOTED_LINE = re.compile(r"^\s*>\s?", re.MULTILINE)
EXACT = re.compile(r"[\s(\[{<\"'“‘【「]*([A-Za-z])[\s)\]}>\"'”’】」.,:;。、!]*")

OPEN = r"[\s(\[{<\"'“‘【「:]*"
LETTER = rf"{OPEN}(?<![A-Za-z0-9])(?P<letter>[A-Za-z])(?![A-Za-z0-9])"
NOUN = r"(?:option|choice|letter|answer|number)?"
SURELY = (
    r"(?:(?:clearly|therefore|thus|definitely|probably|(?:most\s+)?likely|indeed|simply|obviously|actually|hence)\s+)?"
)
IS = r"(?:is|are|was|would\s+be|should\s+be|must\s+be|will\s+be|(?:seems|appears)\s+to\s+be|=|:|-+>?|→)"

STATEMENT_RULES: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (
        ("ans", "choice", "option", "one", "match"),
        re.compile(
            r"\b(?:ans(?:wers?)?|choice(?=[\"']?\s*:)|(?:correct|right|best|final|closest|my)\s+(?:one|option|choice|letter|match))\b[\"'】\]]*"
            r"(?:\s+(?:to|for)\s+(?:this|the)\s+\w+)?(?:\s+(?:here|choice|option|letter))?\s*"
            rf"(?:{IS}\s*)*{SURELY}{NOUN}{LETTER}",
            re.IGNORECASE,
        ),
    ),
    (
        ("choos", "chose", "select", "pick", "go with", "going with", "opt for"),
        re.compile(
            r"(?<!not )(?<!n't )(?<!never )\b"
            r"(?:choos(?:e|ing)|chose|select(?:ed|ing)?|pick(?:ed)?|go(?:ing)?\s+with|opt\s+for)"
            rf"\s+(?:the\s+)?{NOUN}{LETTER}",
            re.IGNORECASE,
        ),
    ),
    (
        ("correct", "right", "best"),
        re.compile(
            r"(?<![A-Za-z0-9'’])\(?(?-i:(?P<letter>[A-Z]))\)?\s*(?:is|would\s+be|seems)\s+(?:the\s+)?(?:most\s+)?"
            r"(?:correct|right|best)(?:\s+(?:answer|option|choice|one|match))?\s*(?=[.,;!\n]|$|because|since|as\b)",
            re.IGNORECASE,
        ),
    ),
    (
        ("it", "this", "so", "thus", "hence", "therefore", "say", "think", "believe", "guess", "conclusion"),
        re.compile(
            r"\b(?:it\s*(?:['’]s|is|must\s+be|should\s+be|would\s+be|has\s+to\s+be)|this\s+is|i(?:['’]d|\s+would)\s+say"
            r"|i\s+(?:think|believe)(?:\s+it(?:['’]s|\s+is))?|my\s+guess\s+is|so|thus|hence|therefore|in\s+conclusion)"
            rf"[,:]?\s*{SURELY}(?:option\s+|choice\s+)?{LETTER}(?=[)\].,;:!\"'”’\s]*(?:$|[\n.]))",
            re.IGNORECASE,
        ),
    ),
    (
        ("答案", "选", "正确的是", "回答"),
        re.compile(
            r"(?<![不别非勿没可未])(?:答案|正确的?选项|正确的是|我的选择|回答|选择|选)[\"'】\]]*(?:应该|应当|应|就|可能|大概)?"
            rf"(?:是|为|:|=|选择?|-+>?|→|\s)*(?:选项|字母)?{LETTER}",
            re.IGNORECASE,
        ),
    ),
    (
        ("正确", "对", "符合", "合适", "准确"),
        re.compile(
            r"(?<![A-Za-z0-9])(?P<letter>[A-Z])\)?\s*(?:选项|项|答案)?(?:才?是|为)?(?:最)?(?:正确|符合|合适|准确|对的|对(?=[。.,\s]|$))"
        ),
    ),
    (
        ("是", "因此", "所以", "故", "综上", "最终", "总之"),
        re.compile(
            rf"(?:(?:我认为|我觉得|应该|应当|显然|大概|肯定|可能|就)是|因此|所以|故|综上所述|综上|最终|总之)[,:]?(?:是|为)?(?:选项)?{LETTER}"
            r"(?=[)\].,。;:!\"'”’\s]*(?:$|[\n.。]))"
        ),
    ),
)
STATEMENTS = tuple((re.compile("|".join(words)), pattern) for words, pattern in STATEMENT_RULES)
"""A quick search for words without which the pattern cannot match, then the pattern."""
STATEMENTS_IN_ASCII = tuple(rule for rule in STATEMENTS if rule[0].pattern.isascii())
ANY_WORD = re.compile("|".join(words.pattern for words, _ in STATEMENTS))
ANY_WORD_IN_ASCII = re.compile("|".join(words.pattern for words, _ in STATEMENTS_IN_ASCII))
"""The words of all rules: without one of them none can match."""

STATED_TEXT = re.compile(
    r"(?:\b(?:answer|(?:correct|right|best)\s+(?:option|choice|one))\s*(?:is|would\s+be|should\s+be|must\s+be|:)+"
    r"|(?:答案|正确选项|正确的是|选择|应选|故选)\s*(?:应该|应)?(?:是|为|:)+|(?:我|应该?|故)选)\s*([^\n.。;!]{1,300})",
    re.IGNORECASE,
)
LABEL = re.compile(
    r"^[(\[]?([A-Za-z])(?:[)\]][.:,、]?\s*|[.:、]\s*|,\s*(?![A-Z]\b)|\s+-+\s+|\s*[:]\s*)(?=\S)", re.MULTILINE
)
BARE_LINE = re.compile(r"^[ \t(\[{<\"'“]*([A-Za-z])[ \t)\]}>\"'”.,:;。]*$", re.MULTILINE)
LETTER_AND_TEXT = re.compile(r"^\(?([A-Za-z])\)?\s+(\S.*)$", re.DOTALL)
MENTION = re.compile(
    r"(?:\b(?:option|choice|选项)\s*[(\[\"']?|选项\s*[(\[\"']?|[(\[【]\s*)(?-i:(?P<letter>[A-Z]))(?![A-Za-z0-9])|(?<![A-Za-z0-9])(?P<item>[A-Z])\s*(?:选项|项)",
    re.IGNORECASE,
)
MENTION_DENIED = re.compile(
    r"[)\]】\"'\s]*(?:选项|项)?\s*(?:(?:is|are|was|would\s+be)\s+(?:clearly\s+)?(?:not|wrong|incorrect|false|ruled|eliminated)|isn['’]t|can\s*not|can['’]t"
    r"|doesn['’]t|does\s+not|(?:是|明显|显然)*(?:不|错|有误|排除))",
    re.IGNORECASE,
)
STATEMENT_DENIED = re.compile(
    r"(?:n['’]t|\bnot|\bnever)\s+(?:\w+\s+){0,4}$|不(?:认为|觉得|确定|知道|能说)[^,。\n]{0,8}$", re.IGNORECASE
)
DENIED_BEFORE = re.compile(
    r"(?:\bnot|n['’]t|\bexcept|\brule\s+out|\beliminate|不是|不选|并非|排除|除了)\s*(?:the\s+)?$", re.IGNORECASE
)

ANOTHER = re.compile(
    r"[\s)\]}\"'”]*(?:and|or|&|/|,|、|和|或者?|与|及)\s*(?:option\s+|选项)?[(\[\"']*(?P<other>[A-Z])(?![A-Za-z0-9'’])"
    r"(?!\s*(?:is|are|was|不|错|是|项|选项))"
)
CLOSED = re.compile(r"[\s]*[)\]}>】」\"'”’]")
ENDS_HERE = re.compile(r"\s*(?:$|[\n.,;:!?。、(\[]|-+\s|—)")
DOT_INSIDE = re.compile(r"\.\w")
SMALL_LABEL = re.compile(r"[a-z][.:、]\s")
ENUMERATED = re.compile(r"(?<![A-Za-z0-9])([A-Z])\s*[)\].:、]")
JOINED = re.compile(r"[+#%&°/]|-\w|['’][a-z]|\.\d")
FOLLOWS_A_LETTER = re.compile(
    r"\s+(?:because|since|as|for|given|which|is|in|by|but|so|due|according|from|based|where|here|not|rather|instead|with\s+the)\b",
    re.IGNORECASE,
)
FINAL = re.compile(
    r"final|therefore|thus|hence|\bso\b|conclusion|wait|actually|correct|因此|所以|故|综上|最终|应该|正确",
    re.IGNORECASE,
)
