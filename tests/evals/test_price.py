from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tliveomni_eval.evals.metrics.price import find_prices, single_price


def matches(reference: str, hypothesis: str) -> bool:
    right, read = single_price(reference), single_price(hypothesis)
    assert right is not None
    return read is not None and right.matches(read)


@pytest.mark.parametrize(
    ("reference", "hypothesis"),
    [
        ("¥19.9", "￥19.9"),
        ("¥19.90", "19.9"),
        ("¥19.9", "价格是¥19.9"),
        ("¥19.9", "19.9元"),
        ("¥1,299", "￥１２９９"),
        ("¥1299", "1,299.00 RMB"),
        ("¥199", "CNY199"),
        ("¥199", "RMB 199"),
        ("¥19.9", "19块9"),
        ("¥19.9", "19元9角"),
        ("¥9.9", "9.9元2件"),
        ("¥9.9", "1. ¥9.9"),
        ("¥19.9", "The price is 19.9 yuan."),
        ("¥19.9", "¥19.9 (19.90元)"),
        ("¥12000", "1.2万"),
        ("¥19.9", "50ml ¥19.9"),
        ("$12.99", "US$12.99"),
        ("¥199", "到手价:199元/件"),
        ("¥.5", "0.50"),
        ("¥19.9", '{"price": 19.9}'),
        ("¥199", "199块钱"),
        ("¥19.9", "x2 ¥19.9"),
    ],
)
def test_the_same_price_in_other_words_matches(reference: str, hypothesis: str) -> None:
    assert matches(reference, hypothesis)


@pytest.mark.parametrize(
    ("reference", "hypothesis"),
    [
        ("¥19.9", "¥199"),
        ("¥199", "¥19.9"),
        ("¥199", "¥299"),
        ("¥19.9", "¥19.9 or ¥29.9"),
        ("¥19.9", "¥19.9 199"),
        ("¥19.9", "-19.9"),
        ("¥19.9", "¥-19.9"),
        ("¥19.9", "$19.9"),
        ("¥199", "A199"),
        ("¥199", "199ml"),
        ("¥19", "19%"),
        ("¥19.9", "19.9.5"),
        ("¥199", "1,99"),
        ("¥19.9", "NaN"),
        ("¥19", "19-29"),
        ("¥199", "1 99"),
        ("¥199", "¥199 $199"),
        ("¥3", "3件"),
        ("¥7.5", "7.5折"),
        ("¥199", "199 ¥199 $199"),
        ("¥100000", "1e5"),
        ("¥199", "第199"),
    ],
)
def test_another_price_or_none_does_not_match(reference: str, hypothesis: str) -> None:
    assert not matches(reference, hypothesis)


@given(st.decimals(min_value=0, max_value=10**7, places=2))
def test_every_written_form_of_an_amount_is_read_back(amount: Decimal) -> None:
    for text in (f"¥{amount}", f"￥{amount:,}", f"{amount}元", f"现价{amount.normalize():f}元", f"RMB {amount:,}"):
        assert [price.amount for price in find_prices(text)] == [amount]


@given(st.decimals(min_value=0, max_value=10**5, places=1), st.decimals(min_value=0, max_value=10**5, places=1))
def test_prices_match_only_if_the_amounts_are_equal(first: Decimal, second: Decimal) -> None:
    assert matches(f"¥{first}", f"{second}元") == (first == second)
