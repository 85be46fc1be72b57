"""Numbers, prices and product codes as people say them, in Chinese and English."""

from __future__ import annotations

import random
from typing import Final

_DIGITS_ZH: Final = "零一二三四五六七八九"
_ONES_EN: Final = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS_EN: Final = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def chinese_number(number: int) -> str:
    """A whole number from 0 to 9999 in Chinese, 两 before 百 and 千.

    >>> chinese_number(12), chinese_number(205), chinese_number(2980)
    ('十二', '两百零五', '两千九百八十')
    """
    if not 0 <= number <= 9999:
        raise ValueError(f"chinese_number says 0 to 9999, got {number}")
    if number < 10:
        return _DIGITS_ZH[number]
    spoken, zero_is_due = "", False
    for value, unit in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = number // value % 10
        if digit == 0:
            zero_is_due = bool(spoken)
            continue
        word = "两" if digit == 2 and value >= 100 else _DIGITS_ZH[digit]
        spoken += ("零" if zero_is_due else "") + ("" if digit == 1 and value == 10 and not spoken else word) + unit
        zero_is_due = False
    return spoken


def english_number(number: int) -> str:
    """A whole number from 0 to 9999 in English words.

    >>> english_number(42), english_number(205), english_number(1299)
    ('forty two', 'two hundred and five', 'one thousand two hundred and ninety nine')
    """
    if not 0 <= number <= 9999:
        raise ValueError(f"english_number says 0 to 9999, got {number}")
    if number < 20:
        return _ONES_EN[number]
    if number < 100:
        return _TENS_EN[number // 10] + (f" {_ONES_EN[number % 10]}" if number % 10 else "")
    value, word = (100, "hundred") if number < 1000 else (1000, "thousand")
    head, rest = divmod(number, value)
    link = " and " if rest < 100 else " "
    return f"{_ONES_EN[head]} {word}" + (f"{link}{english_number(rest)}" if rest else "")


def chinese_price(cents: int) -> str:
    """A price in yuan as a host says it; fractions are whole tenths.

    >>> chinese_price(12990), chinese_price(990), chinese_price(19900)
    ('一百二十九块九', '九块九', '一百九十九元')
    """
    yuan, tenths = cents // 100, cents % 100 // 10
    return f"{chinese_number(yuan)}块{_DIGITS_ZH[tenths]}" if tenths else f"{chinese_number(yuan)}元"


def english_price(cents: int) -> str:
    """A price in dollars.

    >>> english_price(4990), english_price(2000)
    ('forty nine dollars and ninety cents', 'twenty dollars')
    """
    dollars, rest = divmod(cents, 100)
    return f"{english_number(dollars)} dollars" + (f" and {english_number(rest)} cents" if rest else "")


def draw_cents(rng: random.Random, low: int, high: int) -> int:
    """A price between two whole amounts: mostly x9 and x9.9, as in shops."""
    whole = rng.randint(low, high)
    if rng.random() < 0.5:
        whole = max(low, whole // 10 * 10 + 9)
    return whole * 100 + (rng.choice((90, 90, 80, 50)) if whole < 300 and rng.random() < 0.4 else 0)


def draw_code(rng: random.Random) -> str:
    """A product code of two letters and two digits whose names sound apart, e.g. `KX27`."""
    return "".join(rng.sample("AFHKLMQRWXYZ", 2)) + "".join(rng.choice("23456789") for _ in range(2))


def spoken_code(code: str, chinese: bool) -> str:
    """A product code spelled out, one letter or digit at a time.

    >>> spoken_code("KX27", chinese=True), spoken_code("KX27", chinese=False)
    ('K X 二 七', 'K X two seven')
    """
    digits = _DIGITS_ZH if chinese else _ONES_EN
    return " ".join(digits[int(char)] if char.isdigit() else char for char in code)
