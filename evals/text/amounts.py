"""Amounts of money in one form: 129块9, ¥129.90, RMB 129.9 and 129元9角 all become 129.9元; dollars likewise.

Works on lower-case text whose spoken numbers are digits already.
"""

from __future__ import annotations

import re
from collections import Counter

from tliveomni_eval.evals.text.spoken_numbers import COUNTED_GOODS

_ANY_MONEY = re.compile(
    r"[0-9],[0-9]{3}|[0-9] ?[块圆元]|[0-9] ?(?:rmb|cny|yuan|dollar|bucks|usd|美)|(?:[¥$民币]|rmb|cny) ?[0-9]"
)
_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_THOUSANDS = re.compile(r"(?<![0-9.,])[0-9]{1,3}(?:,[0-9]{3})+(?![0-9,])")
_YUAN_AND_TENTHS = re.compile(
    rf"(?<![0-9.])([0-9]+)(?:[块元]([0-9])(?:[毛角]([0-9])分?|[毛角])|块([0-9])(?![0-9.%a-z]|{COUNTED_GOODS}))"
)
_YUAN_BEFORE = re.compile(
    rf"(?:¥|(?<![a-z])(?:rmb|cny)|人民币) ?({_NUMBER})(?: ?(?:元|块钱|块|rmb|cny|yuan)(?![a-z]))?"
)
_YUAN_AFTER = re.compile(rf"(?<![0-9.])({_NUMBER}) ?(?:块钱|元钱|块|圆|元|(?:rmb|cny|yuan)(?![a-z]))")
_DOLLARS_AND_CENTS = re.compile(
    r"(?<![0-9.])([0-9]+) dollars?,? (?:and )?([0-9]{1,2}) cents?\b"
    r"|(?<![0-9.])([0-9]{1,3}) ([0-9]{2}) (?:dollars|bucks)\b"
)
_DOLLARS_BEFORE = re.compile(rf"(?:us)?\$ ?({_NUMBER})(?: ?(?:dollars?|usd|美元))?")
_DOLLARS_AFTER = re.compile(rf"(?<![0-9.])({_NUMBER}) ?(?:(?:dollars?|bucks|usd)(?![a-z])|美元|美金)")
_CANONICAL = re.compile(r"(?<![0-9.])([0-9]+(?:\.[0-9]+)?)(元| dollars(?![a-z]))")


def canonical_amounts(text: str) -> str:
    """Write every amount of money as `129.9元` or `12.99 dollars`, without thousands separators and trailing zeros.

    >>> canonical_amounts("原价¥1,299.00，现在129块9，9块9包邮，3块5")
    '原价1299元，现在129.9元，9.9元包邮，3.5元'
    """
    if not _ANY_MONEY.search(text):
        return text
    text = _THOUSANDS.sub(lambda match: match.group().replace(",", ""), text)
    text = _YUAN_AND_TENTHS.sub(lambda match: f"{match[1]}.{match[2] or match[4]}{match[3] or ''}元", text)
    text = _YUAN_BEFORE.sub(lambda match: f"{_plain(match[1])}元", text)
    text = _YUAN_AFTER.sub(lambda match: f"{_plain(match[1])}元", text)
    text = _DOLLARS_AND_CENTS.sub(_dollars_and_cents, text)
    text = _DOLLARS_BEFORE.sub(lambda match: f"{_plain(match[1])} dollars", text)
    return _DOLLARS_AFTER.sub(lambda match: f"{_plain(match[1])} dollars", text)


def amounts_in(canonical: str) -> Counter[str]:
    """The amounts of a text that `canonical_amounts` wrote, each with its currency, and how often each is said.

    >>> sorted(amounts_in("原价1299元现在129.9元"))
    ['129.9元', '1299元']
    """
    return Counter(f"{match[1]}{match[2]}" for match in _CANONICAL.finditer(canonical))


def _plain(number: str) -> str:
    whole, _, fraction = number.partition(".")
    fraction = fraction.rstrip("0")
    whole = whole.lstrip("0") or "0"
    return f"{whole}.{fraction}" if fraction else whole


def _dollars_and_cents(match: re.Match[str]) -> str:
    whole, cents = (match[1], match[2]) if match[1] else (match[3], match[4])
    return f"{_plain(whole + '.' + cents.rjust(2, '0'))} dollars"
