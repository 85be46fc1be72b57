"""Prices read out of a text and compared as decimal numbers: ¥19.9 is not ¥199, and 19.90 is 19.9.

An amount is a number that no unit, letter or measure word claims (`50ml`, `A100`, `3件` and `7.5折` are none). A list
marker such as `1. ` in front of a line is none either. A currency mark is optional, but two different currencies never
match. A text that names two different prices does not say which one it read, so it matches nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from tliveomni_eval.evals.text.spoken_numbers import COUNTED_GOODS
from tliveomni_eval.evals.text.width import fold_width

_CURRENCIES = {
    "¥": "CNY", "cn¥": "CNY", "rmb": "CNY", "cny": "CNY", "元": "CNY", "块": "CNY", "块钱": "CNY", "yuan": "CNY",
    "人民币": "CNY", "$": "USD", "us$": "USD", "usd": "USD", "美元": "USD", "美金": "USD", "dollars": "USD",
    "dollar": "USD", "€": "EUR", "eur": "EUR", "欧元": "EUR", "£": "GBP", "gbp": "GBP", "英镑": "GBP",
    "hk$": "HKD", "hkd": "HKD", "港币": "HKD", "港元": "HKD", "日元": "JPY", "jpy": "JPY", "₩": "KRW", "韩元": "KRW",
}  # fmt: skip
_BY_LENGTH = sorted(_CURRENCIES, key=len, reverse=True)
_ANY_MARK = "|".join(re.escape(mark) for mark in _BY_LENGTH)
_CJK_MARK = "|".join(mark for mark in _BY_LENGTH if ord(mark[0]) >= 0x4E00)
_LETTER_MARK = "|".join(mark for mark in _BY_LENGTH if mark.isascii() and mark.isalpha())
_SIGN_MARK = "|".join(re.escape(mark) for mark in _BY_LENGTH if not mark.isalpha())
_NUMBER = r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|\.[0-9]+"
_AMOUNT = re.compile(
    rf"(?:(?<![0-9.,])(?P<before>{_ANY_MARK})[ ]?)?(?P<minus>[-−][ ]?)?(?<![0-9.])(?<![0-9],)"
    rf"(?P<number>{_NUMBER})(?![0-9]|[.,][0-9])(?P<scale>[ ]?万)?"
    rf"(?P<after>[ ]?(?:{_CJK_MARK}|(?:{_LETTER_MARK})(?![A-Za-z])|(?:{_SIGN_MARK})(?![ ]?[0-9.])))?",
    re.IGNORECASE,
)
_TENTHS = re.compile(rf"(?<=[元块])(?P<digit>[0-9])[角毛]|(?<=块)(?P<bare>[0-9])(?![0-9.A-Za-z%折]|{COUNTED_GOODS})")
_LETTER_BEFORE = re.compile(r"[A-Za-z_#第]\Z")
_UNIT_AFTER = re.compile(
    r"[A-Za-z%‰°]|[ ](?:ml|l|g|kg|mg|oz|lbs?|cm|mm|m|pcs|pieces?|packs?|box(?:es)?|bottles?|items?|days?|hours?|off)\b"
    r"|[ ]?(?:[%折件倍个瓶盒袋支片只套双条斤克升年月日号天秒米寸级位人档期次台张款]|包(?!邮))"
    r"|[ ]?(?:公斤|毫|小时|分钟|厘米|分贝)",
    re.IGNORECASE,
)
_LIST_MARKER = re.compile(r"^[ \t]*[0-9]{1,2}(?:[.)][ \t]+|、)", re.MULTILINE)
_RANGE_BEFORE = re.compile(r"[0-9元块][ ]?\Z")


@dataclass(frozen=True, slots=True)
class Price:
    """An amount of money.

    Attributes:
        amount: In units of the currency (yuan, not fen); exact.
        currency: ISO 4217 code, or None where the text does not say.
    """

    amount: Decimal
    currency: str | None

    def matches(self, other: Price) -> bool:
        """Whether the amounts are equal and the currencies, where both are known, too."""
        same_currency = self.currency is None or other.currency is None or self.currency == other.currency
        return same_currency and self.amount == other.amount

    def __str__(self) -> str:
        text = format(self.amount, "f")
        return f"{self.currency} {text}" if self.currency else text


def find_prices(text: str) -> list[Price]:
    """All amounts in `text`, in order.

    >>> [str(price) for price in find_prices("价格是￥１，２９９．００（50ml）")]
    ['CNY 1299.00']
    >>> [str(price) for price in find_prices("19块9")]
    ['CNY 19.9']
    """
    folded = _LIST_MARKER.sub("", fold_width(text))
    prices: list[Price] = []
    position = 0
    while match := _AMOUNT.search(folded, position):
        position = match.end()
        if _is_claimed(match, folded):
            continue
        amount = Decimal(match["number"].replace(",", ""))
        if tenths := _TENTHS.match(folded, position):
            position = tenths.end()
            amount += Decimal(tenths["digit"] or tenths["bare"]) / 10
        if match["scale"]:
            amount *= 10_000
        if match["minus"] and not _is_range(match, folded):
            amount = -amount
        mark = (match["before"] or match["after"] or "").strip().lower()
        prices.append(Price(amount, _CURRENCIES.get(mark)))
    return prices


def single_price(text: str) -> Price | None:
    """The one price that `text` names, or None where it names none or several different ones.

    The same price given twice (`¥19.9 (19.90元)`) is one price.
    """
    prices = find_prices(text)
    currencies = {price.currency for price in prices if price.currency}
    if len({price.amount for price in prices}) != 1 or len(currencies) > 1:
        return None
    return Price(prices[0].amount, next(iter(currencies), None))


def _is_claimed(match: re.Match[str], text: str) -> bool:
    """Whether a letter, unit or measure word makes the number something else than an amount of money."""
    if match["before"]:
        glued = match["before"][0].isascii() and match["before"][0].isalpha()
        return glued and _LETTER_BEFORE.search(text, max(0, match.start() - 1), match.start()) is not None
    start = match.start("number")
    if _LETTER_BEFORE.search(text, max(0, start - 1), start):
        return True
    return match["after"] is None and _UNIT_AFTER.match(text, match.end()) is not None


def _is_range(match: re.Match[str], text: str) -> bool:
    """Whether the minus sign stands between two numbers (`19-29`) rather than in front of one."""
    minus = match.start("minus")
    return match["before"] is None and _RANGE_BEFORE.search(text, max(0, minus - 2), minus) is not None
