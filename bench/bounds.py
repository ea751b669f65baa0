"""How fast onnxd has to be, as ratios of medians to onnxruntime's; lower is better.

    missed(rows, peers) -> the bounds that the rows miss, a line each
"""

import math

# What a row may take at most, by model; of all others, and of those that take onnxruntime less than
# a millisecond.
ROWS = {"vgg19": 0.55, "resnet50": 0.82, "densenet121": 0.85, "minilm_128": 0.85, "minilm_16": 0.80,
        "resnet50_int8": 0.90, "minilm_int8_128": 0.90, "minilm_int8_16": 0.90,
        "resnet50_bf16": 0.55, "minilm_128_bf16": 0.55}
ANY_ROW, SHORT_ROW, SHORT_MS = 1.0, 0.60, 1.0
# Geometric means over all rows: of times, against onnxruntime and against the faster peer of each
# row; of load times and peak memory.
MEAN, MEAN_OF_FASTER, LOAD, MEMORY = 0.75, 0.95, 0.7, 0.8
REFERENCE = "onnxruntime"


def geometric_mean(values):
    values = [v for v in values if v is not None]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def row_bound(row):
    if row.engines[REFERENCE]["median_ms"] < SHORT_MS:
        return SHORT_ROW
    return ROWS.get(row.model, ANY_ROW)


def against_faster(row, peers):
    fastest = min(row.engines[p]["median_ms"] for p in peers if p in row.engines)
    return row.engines["onnxd"]["median_ms"] / fastest


def missed(rows, peers):
    lines = []
    if REFERENCE not in peers or not rows:
        return lines
    for row in rows:
        ratio, bound = row.ratio(REFERENCE), row_bound(row)
        if ratio > bound:
            lines.append(f"{row.model}, threads {row.threads}, batch {row.batch}: {ratio:.2f}, at "
                         f"most {bound:.2f}")
    means = [("geometric mean", [r.ratio(REFERENCE) for r in rows], MEAN),
             ("load time", [r.part(REFERENCE, "load_ms") for r in rows], LOAD),
             ("peak memory", [r.part(REFERENCE, "peak_rss_kib") for r in rows], MEMORY)]
    if len(peers) > 1:
        means.append(("geometric mean against the faster peer",
                      [against_faster(r, peers) for r in rows], MEAN_OF_FASTER))
    for name, ratios, bound in means:
        mean = geometric_mean(ratios)
        if mean > bound:
            lines.append(f"{name}: {mean:.2f}, at most {bound:.2f}")
    return lines
