import json
import random

import jiwer
import pytest
from rapidfuzz.distance import Levenshtein
from tliveomni_eval.evals.metrics.asr import MAX_OUTPUT_CHARS, AsrScore, score_asr
from tliveomni_eval.evals.metrics.hotwords import biased_errors, hotword_hits
from tliveomni_eval.evals.metrics.named_entity_error import entity_misses, fuzzy_distance, match_entities
from tliveomni_eval.evals.metrics.token_errors import token_errors
from tliveomni_eval.evals.record import Counts
from tliveomni_eval.evals.text.degenerate import echoes, is_repetitive, repeated_share


def random_tokens(rng: random.Random, alphabet: str = "abcd") -> list[str]:
    return [rng.choice(alphabet) for _ in range(rng.randrange(12))]


def test_errors_equal_jiwer_on_random_transcripts() -> None:
    rng = random.Random(11)
    for _ in range(500):
        reference, hypothesis = random_tokens(rng), random_tokens(rng)
        errors = token_errors(reference, hypothesis)
        expected = jiwer.process_words(" ".join(reference), " ".join(hypothesis))
        assert (errors.substitutions, errors.deletions, errors.insertions) == (
            expected.substitutions,
            expected.deletions,
            expected.insertions,
        )
        assert errors.counts == Counts(Levenshtein.distance(reference, hypothesis), len(reference))
        covered = list(errors.pairs())
        assert [pair[0] for pair in covered if pair[0] is not None] == list(range(len(reference)))
        assert [pair[1] for pair in covered if pair[1] is not None] == list(range(len(hypothesis)))


def test_biased_and_unbiased_errors_add_up_and_follow_the_token() -> None:
    rng = random.Random(12)
    for _ in range(500):
        reference, hypothesis = random_tokens(rng), random_tokens(rng)
        errors = token_errors(reference, hypothesis)
        split = biased_errors(reference, hypothesis, errors, [("a",), ("d",)])
        expected = {True: [0, 0], False: [0, 0]}
        for ref, hyp in errors.pairs():
            token = hypothesis[hyp] if ref is None else reference[ref]  # type: ignore[index]
            expected[token in "ad"][0] += ref is None or hyp is None or reference[ref] != hypothesis[hyp]
            expected[token in "ad"][1] += ref is not None
        assert (split.biased, split.unbiased) == (Counts(*expected[True]), Counts(*expected[False]))
        assert split.biased + split.unbiased == errors.counts


def test_a_hotword_of_several_tokens_is_biased_only_as_a_whole() -> None:
    reference, hypothesis = list("小棕瓶的小瓶"), list("小棕品的小品")
    split = biased_errors(reference, hypothesis, token_errors(reference, hypothesis), [tuple("小棕瓶")])
    assert split.biased == Counts(1, 3)
    assert split.unbiased == Counts(1, 3)


def test_hotwords_are_clipped_and_absent_ones_are_false_positives() -> None:
    hits = hotword_hits(
        ["a", "b", "a", "b"],
        ["a", "b", "a", "b", "a", "b", "c", "art"],
        [("a", "b"), ("c",), ("d",), ("ar",), ("a", "b")],
    )
    assert (hits.right, hits.missed, hits.invented) == (2, 0, 2)
    assert (hits.precision, hits.recall, hits.f1) == (Counts(2, 4), Counts(2, 2), Counts(4, 6))
    missed = hotword_hits(["a"], [], [("a",)])
    assert (missed.precision, missed.recall) == (Counts(0, 0), Counts(0, 1))


@pytest.mark.parametrize(("length", "distance"), [(1, 0), (2, 0), (3, 1), (4, 1), (5, 2), (7, 3)])
def test_fuzzy_distance_is_half_the_length_rounded_up_less_one(length: int, distance: int) -> None:
    assert fuzzy_distance(length) == distance


def test_named_entities_exact_and_fuzzy() -> None:
    entity = tuple("雅诗兰黛")
    matches = match_entities(list("雅思兰黛好雅诗兰黛"), {entity: 2})
    assert matches.exact == (entity,)
    assert matches.fuzzy == (tuple("雅思兰黛"), entity)
    misses = entity_misses(
        list("雅诗兰黛和小棕瓶"), list("雅思兰黛和小红花"), [entity, tuple("小棕瓶"), tuple("没说过")]
    )
    assert (misses.exact, misses.fuzzy) == (Counts(2, 2), Counts(1, 2))
    pair = entity_misses(list("娇兰娇兰"), list("娇兰娇韵"), [tuple("娇兰")])
    assert (pair.exact, pair.fuzzy) == (Counts(1, 2), Counts(1, 2))


def test_the_same_words_in_another_script_are_right() -> None:
    score = score_asr(
        "这款小棕瓶，编号AB一零二零，只要一百二十九块九。",
        "這款小棕瓶编号AB-1020 只要￥129.90",
        lang="zh",
        hotwords=["小棕瓶", "神仙水"],
    )
    assert score.cer.num == score.biased_cer.num == score.unbiased_cer.num == score.ne_fnr.num == 0
    assert score.hotword_f1 == Counts(2, 2)
    assert score.price_exact == score.sku_exact == Counts(1, 1)
    assert score.status == "ok"


@pytest.mark.parametrize(
    ("reference", "hypothesis", "price", "sku"),
    [
        ("只要199元", "只要299元", Counts(0, 1), Counts(0, 0)),
        ("只要19.9元", "只要199元", Counts(0, 1), Counts(0, 0)),
        ("只要199元", "只要一百九十九块，原价299元", Counts(1, 2), Counts(0, 0)),
        ("型号AB1020", "型号AB1026", Counts(0, 0), Counts(0, 1)),
        ("没有数字", "没有数字", Counts(0, 0), Counts(0, 0)),
    ],
)
def test_prices_and_skus_are_compared_as_wholes(reference: str, hypothesis: str, price: Counts, sku: Counts) -> None:
    score = score_asr(reference, hypothesis, lang="zh")
    assert (score.price_exact, score.sku_exact) == (price, sku)


def test_english_counts_words_and_mixed_speech_counts_both() -> None:
    assert score_asr("it is 129 dollars", "it was $199", lang="en").cer == Counts(2, 4)
    assert score_asr("买 iphone 十五", "买 iphones 15", lang="mixed").cer == Counts(1, 4)


@pytest.mark.parametrize("output", ["", "  \n", None])
def test_no_output_is_all_deletions(output: str | None) -> None:
    score = score_asr("小棕瓶", output, lang="zh", hotwords=["小棕瓶"])
    assert score.cer == Counts(3, 3)
    assert score.hotword_recall == Counts(0, 1)
    assert score.status == ("error" if output is None else "empty")


def test_an_empty_reference_counts_errors_and_has_no_rate() -> None:
    score = score_asr(" 。", "谢谢观看", lang="zh")
    assert score.cer == Counts(4, 0) and score.cer.rate is None
    assert score.detail["rate_undefined"] is True
    assert score_asr("", "", lang="zh").cer == Counts(0, 0)


def test_loops_and_echoes_are_flagged() -> None:
    looped = score_asr("买一送一", "好的" * 50, lang="zh")
    assert looped.detail["repetitive"] is True
    prompt = "请把这段直播语音转写成文字，不要解释。"
    echoed = score_asr("大家好", prompt, lang="zh", prompt=prompt)
    assert echoed.detail["echoes_prompt"] is True
    words = ["小棕瓶", "神仙水", "大红瓶", "小黑瓶"]
    assert score_asr("大家好", "，".join(words), lang="zh", hotwords=words).detail["echoes_hotwords"] is True
    plain = score_asr("今天大家好好好好", "今天大家好好好好", lang="zh", hotwords=words, prompt=prompt)
    assert not {"repetitive", "echoes_prompt", "echoes_hotwords"} & set(plain.detail)


def test_repeated_share() -> None:
    assert repeated_share([]) == 0.0
    assert repeated_share(list("abcdefgh")) == 0.0
    assert repeated_share(list("xabababab")) == pytest.approx(8 / 9)
    assert not is_repetitive(list("abababab"), list("abababab"))
    assert not echoes(list("abc"), [], list("abc"))


def test_details_can_be_drawn() -> None:
    score = score_asr("只要199元", "只要299元", lang="zh")
    assert score.detail["alignment"] == [("substitute", 2, 3, 2, 3)]
    assert score.detail["reference_tokens"][2] == "1" and score.detail["hypothesis_tokens"][2] == "2"
    assert score.detail["prices"] == {"reference": ["199元"], "hypothesis": ["299元"]}
    assert set(score.counts) >= {"cer", "biased_cer", "hotword_f1", "ne_fnr", "price_exact"}


def test_reasoning_and_wrapping_are_not_part_of_the_transcript() -> None:
    assert score_asr("你好", "<think>听到了你好吗</think>\n```\n你好\n```", lang="zh").cer == Counts(0, 2)


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(ValueError, match="'fr'"):
        score_asr("a", "a", lang="fr")  # type: ignore[arg-type]


def hostile_output(rng: random.Random) -> str:
    pieces = [
        "",
        "\x00",
        "NaN",
        "-1",
        "1e999",
        "9" * 50,
        "٣٤",
        "💰",
        "\ud800",
        "[" * 20,
        '{"a":',
        "```",
        "\u202e",
        "\ufdfa",
        "é",
        "\n",
        "万",
        "亿",
        "十",
        "百",
        "零",
        "两",
        "点",
        "块",
        "毛",
        "角",
        "元",
        "¥",
        "$",
        "百分之",
        "折",
        "幺",
        "九",
        "小棕瓶",
        "9",
        ".",
        ",",
        "hundred",
        " and ",
        "one ",
        "twenty-",
        "point ",
        "dollars ",
        " cents",
        "'",
        "-",
        "<think>",
        "</think>",
        "rmb",
        "嗯",
        "um ",
    ]
    return "".join(rng.choice(pieces) for _ in range(rng.randrange(40)))


def assert_sound(score: AsrScore) -> None:
    for name, count in score.counts.items():
        assert name in ("cer", "biased_cer", "unbiased_cer") or count.num <= count.den
    json.dumps(score.detail)


def test_ten_thousand_hostile_outputs_give_sound_counts() -> None:
    rng = random.Random(5)
    for number in range(10_000):
        lang = ("zh", "en", "mixed")[number % 3]
        assert_sound(
            score_asr("小棕瓶只要九块九", hostile_output(rng), lang=lang, hotwords=["小棕瓶", "", "。", "\x00"])
        )  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "a ",
        "好",
        "小棕",
        "9",
        "九",
        "万",
        "\x00",
        "\ufdfa",
        "[",
        "one ",
        "1 dollars ",
        "萬",
        "萬x電",
        "，",
        "'",
        "块九",
    ],
)
def test_outputs_of_a_million_characters_are_cut(unit: str) -> None:
    score = score_asr("小棕瓶只要九块九", unit * (1_000_000 // len(unit)), lang="zh", hotwords=["小棕瓶"])
    assert score.status == "truncated"
    assert sum(map(len, score.detail["hypothesis_tokens"])) <= MAX_OUTPUT_CHARS
    assert_sound(score)
