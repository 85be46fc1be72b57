"""Price tags that are told apart: whole yuan, no two alike."""

import random


def distinct_prices(rng: random.Random, count: int, low: int = 9, high: int = 499) -> list[str]:
    """``count`` printed prices, any two at least 8 % apart, so that the cheapest is no matter of one digit."""
    chosen: list[int] = []
    while len(chosen) < count:
        price = round(low * (high / low) ** rng.random())
        if all(abs(price - other) > 0.08 * max(price, other) for other in chosen):
            chosen.append(price)
    return [f"¥{price}" for price in chosen]


def similar_prices(rng: random.Random, price: str, count: int) -> list[str]:
    """``count`` other prices that differ from ``price`` in one digit, or in the place of two."""
    digits = price[1:]
    others: set[str] = set()
    while len(others) < count:
        changed = list(digits)
        at = rng.randrange(len(digits))
        if len(digits) > 1 and rng.random() < 0.35:
            other = rng.randrange(len(digits))
            changed[at], changed[other] = changed[other], changed[at]
        else:
            changed[at] = rng.choice("123456789")
        made = "".join(changed)
        if made != digits and made[0] != "0":
            others.add(f"¥{made}")
    return sorted(others)
