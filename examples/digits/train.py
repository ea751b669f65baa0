#!/usr/bin/env python3
"""Train the example model: handwritten digits, 8x8 pixels, ten classes.

Uses the data set that scikit-learn bundles, trains a small multilayer perceptron and writes, beside
this script, digits.onnx (opset 13, batch dimension dynamic), request.json (one sample as an Open
Inference Protocol request) and samples.json (held-out images with their true labels).

    python3 examples/digits/train.py           train and write the files
    python3 examples/digits/train.py --check   measure the committed model on the held-out images
"""

import argparse
import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

HERE = pathlib.Path(__file__).resolve().parent
PIXEL_MAX = 16.0
REQUIRED_ACCURACY = 0.95
SAMPLE_COUNT = 20


def held_out_split():
    digits = load_digits()
    images = digits.data.astype(np.float32)
    return train_test_split(images, digits.target, test_size=0.25, random_state=7,
                            stratify=digits.target)


def build_model(classifier):
    (hidden_weight, output_weight) = (w.astype(np.float32) for w in classifier.coefs_)
    (hidden_bias, output_bias) = (b.astype(np.float32) for b in classifier.intercepts_)
    nodes = [
        helper.make_node("Mul", ["image", "pixel_scale"], ["scaled"], name="scale"),
        helper.make_node("Gemm", ["scaled", "hidden_weight", "hidden_bias"], ["hidden"],
                         name="hidden"),
        helper.make_node("Relu", ["hidden"], ["activated"], name="activation"),
        helper.make_node("Gemm", ["activated", "output_weight", "output_bias"], ["scores"],
                         name="scores"),
        helper.make_node("Softmax", ["scores"], ["probabilities"], name="softmax", axis=1),
    ]
    initializers = [
        numpy_helper.from_array(np.float32(1.0 / PIXEL_MAX), "pixel_scale"),
        numpy_helper.from_array(hidden_weight, "hidden_weight"),
        numpy_helper.from_array(hidden_bias, "hidden_bias"),
        numpy_helper.from_array(output_weight, "output_weight"),
        numpy_helper.from_array(output_bias, "output_bias"),
    ]
    graph = helper.make_graph(
        nodes, "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 64])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", 10])],
        initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)],
                              producer_name="onnxd examples/digits")
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    return model


def accuracy_of(path, images, labels):
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    probabilities = session.run(None, {"image": images})[0]
    return float(np.mean(np.argmax(probabilities, axis=1) == labels))


def infer_request(images):
    return {
        "inputs": [
            {
                "name": "image",
                "shape": list(images.shape),
                "datatype": "FP32",
                "data": [float(v) for v in images.ravel()],
            }
        ]
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true",
                        help="only measure the committed model on the held-out images")
    check_only = parser.parse_args().check

    train_images, test_images, train_labels, test_labels = held_out_split()
    path = HERE / "digits.onnx"
    if not check_only:
        classifier = MLPClassifier(hidden_layer_sizes=(32,), alpha=1e-2, max_iter=600,
                                   random_state=7)
        classifier.fit(train_images / PIXEL_MAX, train_labels)
        onnx.save(build_model(classifier), path)
        samples = [
            {"image": [int(v) for v in image], "label": int(label)}
            for image, label in zip(test_images[:SAMPLE_COUNT], test_labels[:SAMPLE_COUNT])
        ]
        (HERE / "samples.json").write_text(
            "[\n" + ",\n".join(json.dumps(s) for s in samples) + "\n]\n")
        (HERE / "request.json").write_text(json.dumps(infer_request(test_images[:1])) + "\n")

    accuracy = accuracy_of(path, test_images, test_labels)
    print(f"{len(test_labels)} held-out images, accuracy {accuracy:.4f}")
    return 0 if accuracy >= REQUIRED_ACCURACY else 1


if __name__ == "__main__":
    sys.exit(main())
