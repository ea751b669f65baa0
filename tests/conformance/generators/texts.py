"""Operators on strings."""

import numpy as np

from generators import generator
from random_case import NUMPY

SENTENCES = ("", "a b c", " lead", "two  spaces", "x,y,,z", "Hello World", "\u00c9t\u00e9 \u4e16")


def strings(draw, options, shape):
    flat = [draw.choice(options) for _ in range(int(np.prod(shape)))]
    return np.array(flat, np.object_).reshape(shape)


@generator("StringConcat")
def string_concat(draw):
    shape = draw.shape()
    return draw.case([draw.values("string", shape),
                      draw.values("string", draw.broadcastable(shape))])


@generator("StringSplit")
def string_split(draw):
    return draw.case([strings(draw, SENTENCES, draw.shape(1, 3, least=1))],
                     {"delimiter": draw.choice([None, " ", ",", "ll"]),
                      "maxsplit": draw.choice([None, 1, 2])}, ["string", "int64"],
                     peers=("reference",))


@generator("StringNormalizer")
def string_normalizer(draw):
    words = ("monday", "Tuesday", "WEDNESDAY", "friday", "friday")
    shape = (draw.integer(1, 6),)
    if draw.chance(0.3):
        shape = (1, *shape)
    return draw.case([strings(draw, words, shape)],
                     {"case_change_action": draw.choice(["NONE", "LOWER", "UPPER"]),
                      "is_case_sensitive": draw.integer(0, 1),
                      "stopwords": draw.choice([None, ["monday"], ["Friday", "tuesday"]])})


@generator("RegexFullMatch")
def regex_full_match(draw):
    pattern = draw.choice([r"[a-z]+", r"\d{2,3}", r"(a|b)*c?", r".*@.+\.(com|org)", r"\w+ \w+"])
    texts = ("abc", "12", "1234", "ababc", "me@x.org", "two words", "", "A")
    return draw.case([strings(draw, texts, draw.shape())], {"pattern": pattern})


@generator("TfIdfVectorizer")
def tf_idf(draw):
    dtype = draw.type()
    pool = [draw.integer(1, 5) for _ in range(3)] + [1, 2, 2, 3, 4, 5]
    counts, indexes = [0, 3], list(range(6))
    shape = (draw.integer(4, 9),) if draw.chance() else (draw.integer(1, 3), draw.integer(4, 9))
    data = draw.rng.integers(1, 6, shape)
    attributes = {"min_gram_length": draw.integer(1, 2), "max_gram_length": 2,
                  "max_skip_count": draw.integer(0, 2), "mode": draw.choice(["TF", "IDF", "TFIDF"]),
                  "ngram_counts": counts, "ngram_indexes": indexes}
    pool[:3] = [int(v) for v in draw.rng.permutation(5)[:3] + 1]
    if draw.chance():
        attributes["weights"] = [0.5, 1.0, 2.0, 0.25, 1.5, 3.0]
    if dtype == "string":
        attributes["pool_strings"] = [f"w{v}" for v in pool]
        data = np.array([f"w{v}" for v in data.ravel()], np.object_).reshape(shape)
    else:
        attributes["pool_int64s"] = pool
        data = data.astype(NUMPY[dtype])
    return draw.case([data], attributes)
