"""ai.onnx.ml: trees, linear models, support vectors and what prepares their features."""

import numpy as np

from generators import generator
from generators.linear import plain
from random_case import NUMPY, Unsuitable, tensor

ML = "ai.onnx.ml"
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def features(draw, dtype, width, rows=None):
    """Values that are exact in float, in which the peers compute."""
    values = draw.values("float" if dtype == "double" else dtype,
                         (rows or draw.integer(1, 5), width), -3, 3, special=0, wide=0)
    return values.astype(NUMPY[dtype])


def model(draw, data, attributes, outputs, **more):
    """A case whose peers are given the features as float, for which they have kernels."""
    modern = draw.case([data.astype(np.float32)], attributes, outputs, **more)
    return draw.case([data], attributes, outputs, modern=modern, **more)


def labels(draw, count, integers="classlabels_ints"):
    """Attributes that name the classes, and the type of the label output."""
    if draw.chance():
        return {"classlabels_strings": [f"label{i}" for i in range(count)]}, "string"
    return {integers: [10 * i + 1 for i in range(count)]}, "int64"


@generator("Binarizer", domain=ML)
def binarizer(draw):
    return draw.case([plain(draw, draw.type(), draw.shape(1, 2, least=1))], {"threshold": 0.5})


@generator("Normalizer", domain=ML)
def normalizer(draw):
    return draw.case([features(draw, draw.type(), draw.integer(1, 4))],
                     {"norm": draw.choice(["MAX", "L1", "L2"])}, ["float"], rtol=1e-5)


@generator("Scaler", domain=ML)
def scaler(draw):
    width = draw.integer(1, 4)
    count = draw.choice([1, width])
    return draw.case([features(draw, draw.type(), width)],
                     {"offset": [draw.real() for _ in range(count)],
                      "scale": [draw.real() for _ in range(count)]}, ["float"], rtol=1e-5)


@generator("Imputer", domain=ML)
def imputer(draw):
    width, dtype = draw.integer(1, 4), draw.type()
    data = features(draw, dtype, width)
    if dtype in ("float", "double"):
        data[draw.rng.random(data.shape) < 0.3] = np.nan
        return draw.case([data], {"imputed_value_floats": [draw.real() for _ in range(
            draw.choice([1, width]))], "replaced_value_float": float("nan")})
    return draw.case([data], {"imputed_value_int64s": [draw.integer(5, 9) for _ in range(
        draw.choice([1, width]))], "replaced_value_int64": 1})


@generator("OneHotEncoder", domain=ML)
def one_hot(draw):
    dtype = draw.type()
    shape = draw.shape(1, 2, least=1)
    if dtype == "string":
        words = ["a", "b", "c"]
        flat = [draw.choice(words + ["other"]) for _ in range(int(np.prod(shape)))]
        return draw.case([np.array(flat, np.object_).reshape(shape)],
                         {"cats_strings": words, "zeros": 1}, ["float"])
    data = draw.rng.integers(0, 4, shape).astype(NUMPY[dtype])
    return draw.case([data], {"cats_int64s": [0, 1, 2], "zeros": 1}, ["float"])


@generator("LabelEncoder", domain=ML)
def label_encoder(draw):
    source, target = draw.type(), draw.out_type()
    if draw.opset < 2:
        if {source, target} != {"string", "int64"}:
            raise Unsuitable
        words = ["a", "b", "c"]
        if source == "string":
            data = np.array([draw.choice(words + ["x"]) for _ in range(4)], np.object_)
        else:
            data = draw.rng.integers(0, 5, 4).astype(np.int64)
        return draw.case([data], {"classes_strings": words, "default_int64": -5,
                                  "default_string": "none"}, [target])
    names = {"string": "strings", "int64": "int64s", "float": "floats"}
    keys = {"string": ["a", "b", "c"], "int64": [1, 2, 3], "float": [1.0, 2.0, 3.0],
            "double": [1.0, 2.0, 3.0], "int32": [1, 2, 3], "int16": [1, 2, 3]}
    values = {**keys, "string": ["x", "y", "z"]}
    if draw.opset < 4 and not (source in names and target in names):
        raise Unsuitable
    flat = np.array(keys[source] + keys[source][:1], NUMPY[source])
    data = draw.rng.permutation(flat).reshape(2, 2)
    attributes = {}
    for side, kind, pool in (("keys", source, keys), ("values", target, values)):
        if kind in names:
            attributes[f"{side}_{names[kind]}"] = pool[kind]
        else:
            attributes[f"{side}_tensor"] = tensor(np.array(pool[kind], NUMPY[kind]), side)
    if draw.opset < 4:
        return draw.case([data], attributes, [target])
    return draw.case([data], attributes, [target], check=mapped(keys[source], values[target]))


def mapped(keys, values):
    """No peer knows every pair of types."""
    def check(case, outputs):
        wanted = [values[keys.index(v)] for v in case.inputs[0].ravel().tolist()]
        found = [v.decode() if isinstance(v, bytes) else v for v in outputs[0].ravel().tolist()]
        return None if found == wanted else f"found {found}, expected {wanted}"
    return check


@generator("CategoryMapper", domain=ML)
def category_mapper(draw):
    words = ["a", "b", "c"]
    if draw.type() == "string":
        data = np.array([draw.choice(words + ["x"]) for _ in range(4)], np.object_)
        target = "int64"
    else:
        data, target = draw.rng.integers(0, 5, 4).astype(np.int64), "string"
    if target != draw.out_type():
        raise Unsuitable
    return draw.case([data], {"cats_strings": words, "cats_int64s": [1, 2, 3],
                              "default_int64": -5, "default_string": "none"}, [target])


@generator("FeatureVectorizer", domain=ML)
def feature_vectorizer(draw):
    rows, widths = draw.integer(1, 3), [draw.integer(1, 3) for _ in range(draw.integer(1, 3))]
    dtype = draw.type()
    return draw.case([features(draw, dtype, w, rows) for w in widths],
                     {"inputdimensions": widths}, ["float"])


@generator("LinearRegressor", domain=ML)
def linear_regressor(draw):
    width, targets = draw.integer(1, 4), draw.integer(1, 3)
    return model(draw, features(draw, draw.type(), width),
                     {"coefficients": [draw.real() for _ in range(width * targets)],
                      "intercepts": [draw.real() for _ in range(targets)] if draw.chance()
                      else None, "targets": targets}, ["float"], scale=True)


@generator("LinearClassifier", domain=ML)
def linear_classifier(draw):
    width, classes = draw.integer(1, 4), draw.integer(2, 4)
    names, kind = labels(draw, classes)
    return model(draw, features(draw, draw.type(), width),
                     {"coefficients": [draw.real() for _ in range(width * classes)],
                      "intercepts": [draw.real() for _ in range(classes)],
                      "post_transform": draw.choice(TRANSFORMS[:3]), "multi_class": 0, **names},
                     [kind, "float"], scale=True, atol=1e-5)


def random_tree(draw, width, depth):
    """[(mode, feature, value, true child, false child)]; a leaf has no children."""
    nodes = []

    def grow(level):
        at = len(nodes)
        nodes.append(None)
        if level == depth or draw.chance(0.2) and level > 0:
            nodes[at] = ("LEAF", 0, 0.0, 0, 0)
            return at
        mode = draw.choice(["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"])
        left = grow(level + 1)
        right = grow(level + 1)
        nodes[at] = (mode, draw.integer(0, width - 1), draw.real(-2, 2), left, right)
        return at

    grow(0)
    return nodes


def tree_attributes(draw, width, outputs, prefix):
    """Attributes nodes_* and those of the leaves, of one to three trees."""
    columns = {name: [] for name in ("treeids", "nodeids", "featureids", "values", "modes",
                                     "truenodeids", "falsenodeids",
                                     "missing_value_tracks_true", "hitrates")}
    leaves = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
    same_mode = draw.choice(["BRANCH_LEQ", "BRANCH_LT", None])
    for tree in range(draw.integer(1, 3)):
        for at, (mode, feature, value, true, false) in enumerate(
                random_tree(draw, width, draw.integer(1, 3))):
            row = (tree, at, feature, value, mode if mode == "LEAF" else same_mode or mode, true,
                   false, draw.integer(0, 1), 1.0)
            for name, cell in zip(columns, row):
                columns[name].append(cell)
            if mode == "LEAF":
                for out in range(outputs):
                    for name, cell in zip(leaves, (tree, at, out, draw.real())):
                        leaves[name].append(cell)
    return {**{f"nodes_{k}": v for k, v in columns.items()},
            **{f"{prefix}_{k}": v for k, v in leaves.items()}}


@generator("TreeEnsembleRegressor", domain=ML)
def tree_regressor(draw):
    width, targets = draw.integer(1, 4), draw.integer(1, 3)
    return model(draw, features(draw, draw.type(), width),
                     {**tree_attributes(draw, width, targets, "target"), "n_targets": targets,
                      "aggregate_function": draw.choice([None, "SUM", "AVERAGE", "MIN", "MAX"]),
                      "base_values": [draw.real() for _ in range(targets)] if draw.chance(0.4)
                      else None, "post_transform": draw.choice(["NONE", "LOGISTIC"])},
                     ["float"], scale=True, atol=1e-5)


@generator("TreeEnsembleClassifier", domain=ML)
def tree_classifier(draw):
    width, classes = draw.integer(1, 4), draw.integer(3, 4)
    names, kind = labels(draw, classes, "classlabels_int64s")
    return model(draw, features(draw, draw.type(), width),
                     {**tree_attributes(draw, width, classes, "class"),
                      "post_transform": draw.choice(TRANSFORMS[:3]), **names}, [kind, "float"],
                     scale=True, atol=1e-5)


@generator("TreeEnsemble", domain=ML)
def tree_ensemble(draw):
    """One split with two leaves in each tree; ONNX's own cases have deeper ones."""
    dtype, trees = draw.type(), draw.integer(1, 3)
    width, targets = draw.integer(1, 3), draw.integer(1, 2)
    kind = NUMPY[dtype]
    splits = np.array([draw.real() for _ in range(trees)], kind)
    weights = np.array([draw.real() for _ in range(2 * trees)], kind)
    modes = draw.rng.integers(0, 4, trees).astype(np.uint8)
    return draw.case([features(draw, dtype, width)],
                     {"n_targets": targets, "tree_roots": list(range(trees)),
                      "nodes_modes": tensor(modes, "modes"),
                      "nodes_featureids": [draw.integer(0, width - 1) for _ in range(trees)],
                      "nodes_splits": tensor(splits, "splits"),
                      "nodes_truenodeids": [2 * t for t in range(trees)],
                      "nodes_falsenodeids": [2 * t + 1 for t in range(trees)],
                      "nodes_trueleafs": [1] * trees, "nodes_falseleafs": [1] * trees,
                      "leaf_targetids": [draw.integer(0, targets - 1) for _ in range(2 * trees)],
                      "leaf_weights": tensor(weights, "weights"),
                      "aggregate_function": draw.choice([None, 0, 1, 2, 3]),
                      "post_transform": 0}, scale=True, rtol=1e-5)


def kernel(draw, width):
    return {"kernel_type": draw.choice(["LINEAR", "POLY", "RBF", "SIGMOID"]),
            "kernel_params": [0.5, draw.real(0, 1), 2.0]}


@generator("SVMRegressor", domain=ML)
def svm_regressor(draw):
    width, vectors = draw.integer(1, 3), draw.integer(1, 4)
    return model(draw, features(draw, draw.type(), width),
                     {**kernel(draw, width), "n_supports": vectors,
                      "support_vectors": [draw.real() for _ in range(vectors * width)],
                      "coefficients": [draw.real() for _ in range(vectors)],
                      "rho": [draw.real()]}, ["float"], scale=True, rtol=1e-4, atol=1e-4)


@generator("SVMClassifier", domain=ML)
def svm_classifier(draw):
    width, classes = draw.integer(1, 3), draw.integer(2, 3)
    each = [draw.integer(1, 2) for _ in range(classes)]
    vectors, pairs = sum(each), classes * (classes - 1) // 2
    names, kind = labels(draw, classes)
    attributes = {**kernel(draw, width), "vectors_per_class": each,
                  "support_vectors": [draw.real() for _ in range(vectors * width)],
                  "coefficients": [draw.real() for _ in range(vectors * (classes - 1))],
                  "rho": [draw.real() for _ in range(pairs)], **names}
    if draw.chance():
        attributes |= {"prob_a": [draw.real(-1, -0.5) for _ in range(pairs)],
                       "prob_b": [draw.real(-0.5, 0.5) for _ in range(pairs)]}
    if draw.chance(0.2):
        attributes["coefficients"] = [abs(c) for c in attributes["coefficients"]]
    return model(draw, features(draw, draw.type(), width), attributes, [kind, "float"],
                     scale=True, rtol=1e-4, atol=1e-4)


