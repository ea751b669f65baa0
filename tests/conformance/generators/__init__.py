"""How random cases of each operator are drawn.

A generator is a function of a Draw that returns a Case, or raises Unsuitable when the drawn types
fit no valid one. `generate` finds it by operator and domain; operators without one are drawn from
their schema alone (elementwise.default).
"""

import importlib

_GENERATORS = {}
FAMILIES = ("elementwise", "movement", "reduction", "indexing", "linear", "pooling",
            "normalization", "quantization", "recurrent", "attention", "image", "signals", "texts",
            "randomness", "sequences", "control", "training", "trees", "contrib",
            "contrib_attention", "contrib_quantization")


def generator(*operators, domain="ai.onnx"):
    """Registers a function for operators of a domain."""
    def register(function):
        for operator in operators:
            _GENERATORS[domain, operator] = function
        return function
    return register


def generate(draw):
    if not _GENERATORS:
        for family in FAMILIES:
            importlib.import_module(f"generators.{family}")
    definition = draw.definition
    function = _GENERATORS.get((definition["domain"], definition["operator"]))
    if function is None:
        function = importlib.import_module("generators.elementwise").default
    return function(draw)
