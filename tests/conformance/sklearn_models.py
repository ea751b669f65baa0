"""Models of scikit-learn as skl2onnx exports them.

    models(folder, rng) -> (name, path, feeds), ...

What tells probabilities comes twice: they are a tensor, or, in ..._zipmap, a sequence of maps from
label to probability, which is what skl2onnx writes by default.
"""

import warnings

import numpy as np
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (GradientBoostingClassifier, GradientBoostingRegressor,
                              RandomForestClassifier, RandomForestRegressor)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

OPSETS = {"": 18, "ai.onnx.ml": 3}
WORDS = ("the cat sat on the mat", "a dog and a cat", "birds fly over the house",
         "the dog sat in the house", "fish swim", "a bird and a fish")


def numeric():
    """(name, unfitted model)"""
    yield "forest_classifier", RandomForestClassifier(8, max_depth=5, random_state=0)
    yield "forest_regressor", RandomForestRegressor(8, max_depth=5, random_state=0)
    yield "gradient_boosting", GradientBoostingClassifier(n_estimators=8, random_state=0)
    yield "gradient_boosting_regressor", GradientBoostingRegressor(n_estimators=8, random_state=0)
    yield "svm_classifier", SVC(probability=True, random_state=0)
    yield "svm_regressor", SVR()
    yield "nearest_neighbors", KNeighborsClassifier(3)
    yield "nearest_neighbors_regressor", KNeighborsRegressor(3, weights="distance")
    yield "logistic", make_pipeline(StandardScaler(), LogisticRegression())
    yield "linear", LinearRegression()
    yield "pca_mlp", make_pipeline(PCA(3), MLPClassifier((6,), max_iter=200, random_state=0))
    yield "kmeans", KMeans(3, n_init=2, random_state=0)


def save(folder, name, model, sample, options=None):
    path = folder / f"{name}.onnx"
    proto = to_onnx(model, sample, target_opset=OPSETS, options=options) \
        if isinstance(sample, np.ndarray) else \
        to_onnx(model, initial_types=sample, target_opset=OPSETS, options=options)
    path.write_bytes(proto.SerializeToString())
    return path


def exports(folder, name, model, sample, feeds, **options):
    """(name, path, feeds) with and, where the model tells probabilities, without maps."""
    if not hasattr(model, "predict_proba"):
        yield name, save(folder, name, model, sample), feeds
        return
    for suffix, zipmap in (("", False), ("_zipmap", True)):
        choice = {id(model): {"zipmap": zipmap}, **options.get("options", {})}
        yield name + suffix, save(folder, name + suffix, model, sample, choice), feeds


def mixed(folder, rng):
    """A pipeline with a column of strings next to numbers."""
    colors = rng.choice(["red", "green", "blue"], 60)
    numbers = rng.normal(size=(60, 2)).astype(np.float32)
    rows = np.empty((60, 3), object)
    rows[:, 0], rows[:, 1:] = colors, numbers
    model = make_pipeline(
        ColumnTransformer([("color", OneHotEncoder(handle_unknown="ignore"), [0]),
                           ("rest", make_pipeline(SimpleImputer(), StandardScaler()), [1, 2])]),
        LogisticRegression())
    model.fit(rows, (numbers[:, 0] > 0).astype(int))
    types = [("color", StringTensorType([None, 1])), ("rest", FloatTensorType([None, 2]))]
    holes = numbers[:7].copy()
    holes[0, 0] = np.nan
    seen = np.append(colors[:6], "violet").reshape(-1, 1).astype(object)
    yield from exports(folder, "mixed_columns", model, types, [{"color": seen, "rest": holes}])


def text(folder):
    model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression())
    model.fit(list(WORDS), [0, 1, 0, 1, 0, 1])
    # onnxruntime wants the locale to be one that the machine has.
    options = {id(model.steps[0][1]): {"locale": "C"}}
    rows = np.array([[w] for w in WORDS + ("unknown words only", "")], object)
    yield from exports(folder, "tfidf", model, [("text", StringTensorType([None, 1]))],
                       [{"text": rows}], options=options)


def models(folder, rng):
    data = rng.normal(size=(120, 5)).astype(np.float32)
    classes = (data[:, 0] + data[:, 1] > 0).astype(int) + (data[:, 2] > 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in numeric():
            is_real = name.endswith("regressor") or name == "linear"
            # Labels may be texts.
            labels = np.array(["low", "middle", "high"])[classes] if name == "logistic" else classes
            model.fit(data, data[:, 0] * 2 + data[:, 1] if is_real else labels)
            yield from exports(folder, name, model, data[:1],
                               [{"X": data[:rows]} for rows in (1, 17)])
        yield from mixed(folder, rng)
        yield from text(folder)
