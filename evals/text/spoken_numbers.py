"""Spoken numbers written as digits: 一百二十九 and "one hundred and twenty nine" become 129.

What is not a well-formed number (三五百, 十二一千, 七八个) stays as it was written, so that no two different
numbers ever become the same digits.
"""

from __future__ import annotations

import re

_ZH_DIGITS = {
    "零": 0, "〇": 0, "一": 1, "幺": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9,
}  # fmt: skip
_ZH_UNITS = {"十": 10, "百": 100, "千": 1000}
_ZH_SECTIONS = {"万": 10**4, "亿": 10**8}
_DIGIT = "零〇一二三四五六七八九"
MEASURE_WORDS = "个件瓶盒袋包支片只套双条斤克升天年月次位人种款张台本杯箱组份倍折"
"""Words after which a number counts things, inside of a regular-expression class."""
COUNTED_GOODS = r"(?:[个件瓶盒袋支片只套双条斤克升台本杯箱组份]|包(?!邮))"
"""Behind 九块九 and a number: goods are counted (九块九三件), the number is no part of the price."""

_ZH_RUN = re.compile(rf"(?:[{_DIGIT}十幺]|两(?=[百千万亿]))(?:[{_DIGIT}幺十百千万亿]|(?<=[百千万亿零])两(?=[百千万]))*")
_ANY_NUMBER = re.compile(rf"[0-9{_DIGIT}幺十百两]")
_LONE_TWO = re.compile(rf"(?<![0-9{_DIGIT}十百千万亿几半])两(?=[{MEASURE_WORDS}块元点])")
_DIGIT_AND_UNIT = re.compile(r"(?<![0-9.])([0-9]{1,12}(?:\.[0-9]{1,8})?)([百千万亿])(?![0-9百千万亿])")
_POINT = re.compile(r"(?<=[0-9])点(?=[0-9])")
_PERCENT = re.compile(r"百分之([0-9]+(?:\.[0-9]+)?)")
_DISCOUNT = re.compile(r"(?<![0-9.])([1-9])([1-9])(?=折)")
_TENTHS_THEN_COUNT = re.compile(rf"(块[{_DIGIT}0-9])(?=[{_DIGIT}两十]{COUNTED_GOODS})")
_MAX_RUN = 32

_EN_ONES = {
    word: value
    for value, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ]
    )
}
_EN_TENS = {
    word: 10 * value
    for value, word in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2)
}
_EN_SCALES = {"thousand": 10**3, "million": 10**6}
_EN_WORD = "|".join([*sorted(_EN_ONES, key=len, reverse=True), *_EN_TENS, "hundred", *_EN_SCALES])
_ANY_WORD = re.compile("[a-z]{3}")
_EN_RUN = re.compile(
    rf"(?<![a-z0-9'])(?:{_EN_WORD})(?:(?:[ -]|[ ]and[ ]|[ ]point[ ])(?:{_EN_WORD})(?![a-z0-9']))*(?![a-z0-9'])"
)


def chinese_numbers_to_digits(text: str) -> str:
    """Write the Chinese numbers of a text as digits.

    Cardinals (一百二十九, 一万二), digit by digit (二零二四, 幺三八), decimals (三点五), percentages (百分之三十),
    discounts (七五折 is 7.5折) and digits with a unit (1.2万) all become plain digits. 万 alone, 几十 or 二两 keep
    their characters.

    >>> chinese_numbers_to_digits("两千零一十二台，三点五折，一百二")
    '2012台，3.5折，120'
    """
    if not _ANY_NUMBER.search(text):
        return text
    text = _TENTHS_THEN_COUNT.sub(r"\1 ", text)
    text = _ZH_RUN.sub(_chinese_run, text)
    text = _LONE_TWO.sub("2", text)
    text = _POINT.sub(".", text)
    text = _DIGIT_AND_UNIT.sub(lambda match: _scaled(match[1], match[2]), text)
    text = _PERCENT.sub(r"\1%", text).replace("百分百", "100%")
    return _DISCOUNT.sub(r"\1.\2", text)


def english_numbers_to_digits(text: str) -> str:
    """Write the English number words of a lower-case text as digits.

    Single digits in a row are one digit string. A run that is no single number ("nineteen ninety nine") becomes
    several, with spaces between.

    >>> english_numbers_to_digits("one hundred and twenty-nine point five, nineteen ninety nine, a one zero two")
    '129.5, 19 99, a 102'
    """
    if not _ANY_WORD.search(text):
        return text
    return _EN_RUN.sub(lambda match: _english_run(re.split(r"[ -]", match.group())), text)


def parse_chinese_cardinal(run: str) -> int | None:
    """The value of a well-formed Chinese cardinal such as 一万零三百, or None.

    A last digit without its unit takes the next lower one: 一百二 is 120, 一万二 is 12000.
    """
    total = section = 0
    digit: int | None = None
    last_unit, last_section, after_zero = 10**4, 10**12, False
    for index, char in enumerate(run):
        if char in _ZH_SECTIONS:
            factor = _ZH_SECTIONS[char]
            section += (digit or 0) * (1 if after_zero or last_unit == 10**4 else last_unit // 10)
            if section == 0 or factor >= last_section:
                return None
            total += section * factor
            section, digit, last_unit, last_section, after_zero = 0, None, 10**4, factor, False
        elif char in _ZH_UNITS:
            unit = _ZH_UNITS[char]
            if unit >= last_unit or (digit is None and (unit != 10 or last_unit != 10**4)) or digit == 0:
                return None
            section += (1 if digit is None else digit) * unit
            digit, last_unit, after_zero = None, unit, False
        elif _ZH_DIGITS[char] == 0:
            if digit is not None or after_zero or index == 0:
                return None
            after_zero = True
        elif digit is not None:
            return None
        else:
            digit = _ZH_DIGITS[char]
    if digit is None:
        return None if after_zero else total + section
    if after_zero:
        return total + section + digit
    if last_unit < 10**4:
        return total + section + digit * (last_unit // 10)
    return total + digit * (last_section // 10 if last_section < 10**12 else 1)


def _chinese_run(match: re.Match[str]) -> str:
    run = match.group()
    if not any(char in _ZH_UNITS or char in _ZH_SECTIONS for char in run):
        digits = [_ZH_DIGITS[char] for char in run]
        counts_something = match.string[match.end() : match.end() + 1] in (*MEASURE_WORDS, "块", "元")
        if len(digits) == 2 and digits[1] == digits[0] + 1 and counts_something:
            return run  # 七八个 is seven or eight of them, not 78
        return "".join(map(str, digits))
    value = parse_chinese_cardinal(run) if len(run) <= _MAX_RUN else None
    return run if value is None else str(value)


def _scaled(number: str, unit: str) -> str:
    """`number` times the unit, by moving the point, so that nothing is rounded."""
    places = {"百": 2, "千": 3, "万": 4, "亿": 8}[unit]
    whole, _, fraction = number.partition(".")
    digits = whole + fraction[:places].ljust(places, "0")
    rest = fraction[places:].rstrip("0")
    return (digits.lstrip("0") or "0") + (f".{rest}" if rest else "")


def _english_run(words: list[str]) -> str:
    groups: list[str] = []
    position = 0
    while position < len(words):
        if words[position] in ("and", "point"):
            if words[position] == "point" and groups and position + 1 < len(words):
                fraction = ""
                while position + 1 < len(words) and _EN_ONES.get(words[position + 1], 10) < 10:
                    position += 1
                    fraction += str(_EN_ONES[words[position]])
                if fraction:
                    groups[-1] += f".{fraction}"
                else:
                    groups.append("point")
            else:
                groups.append(words[position])
            position += 1
            continue
        value, position = _english_number(words, position)
        groups.append(value)
    return " ".join(groups)


def _english_number(words: list[str], start: int) -> tuple[str, int]:
    """The longest number that starts at a word, as digits, and the position behind it."""
    digits = ""
    position = start
    while position < len(words) and _EN_ONES.get(words[position], 10) < 10:
        digits += str(_EN_ONES[words[position]])
        position += 1
    if len(digits) > 1 and (position == len(words) or words[position] not in ("hundred", *_EN_SCALES)):
        return digits, position
    total, limit, position = 0, 10**9, start
    while True:
        part, behind = _below_thousand(words, position)
        scale = _EN_SCALES.get(words[behind], 10**9) if behind < len(words) else 10**9
        if scale >= limit:
            return str(total + part), behind
        total, limit, position = total + part * scale, scale, behind + 1
        following = position + (position < len(words) - 1 and words[position] == "and")
        if following == len(words) or words[following] not in (*_EN_ONES, *_EN_TENS):
            return str(total), position
        position = following


def _below_thousand(words: list[str], start: int) -> tuple[int, int]:
    position, value = start, 0
    if words[position] in _EN_TENS:
        value = _EN_TENS[words[position]]
        position += 1
        if position < len(words) and 0 < _EN_ONES.get(words[position], 0) < 10:
            value += _EN_ONES[words[position]]
            position += 1
    elif words[position] in _EN_ONES:
        value = _EN_ONES[words[position]]
        position += 1
    else:
        value = 1
    if position < len(words) and words[position] == "hundred" and 0 < value < 100:
        value *= 100
        position += 1
        rest = position + (position < len(words) - 1 and words[position] == "and")
        if rest < len(words) and words[rest] in (*_EN_ONES, *_EN_TENS):
            part, behind = _below_thousand(words, rest)
            if part < 100:
                value, position = value + part, behind
    return value, position
