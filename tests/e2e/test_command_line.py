"""The subcommands: exit codes, messages, --help."""

import json
import re

import numpy
import onnx
import pytest
from onnx import helper, numpy_helper

import support

SUBCOMMANDS = ("serve", "run", "bench", "inspect", "check-config", "list-eps", "list-passes",
               "list-operators", "healthcheck")


def test_help_names_every_subcommand():
    text = support.run_onnxd("--help").stdout
    for name in SUBCOMMANDS:
        assert name in text


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_help_of_each_subcommand(name):
    text = support.run_onnxd(name, "--help").stdout
    assert name in text and "usage" in text.lower()


@pytest.mark.parametrize("arguments", [["nosuch"], ["serve", "--nosuch"], ["run"], []])
def test_usage_errors(arguments):
    result = support.run_onnxd(*arguments, check=False)
    assert result.returncode == 64
    assert result.stderr


def test_run_with_random_inputs(digits_path):
    support.run_onnxd("run", digits_path)


def test_run_reports_a_missing_model(tmp_path):
    result = support.run_onnxd("run", tmp_path / "nosuch.onnx", check=False)
    assert result.returncode == 1
    assert "nosuch.onnx" in result.stderr


def test_run_tells_how_integers_differ(tmp_path):
    values = [helper.make_tensor_value_info(name, onnx.TensorProto.INT64, [3]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", values[:1],
                              values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "model.onnx")
    data = tmp_path / "test_data_set_0"
    data.mkdir()
    for name, array in (("input_0", [1, 20, -3]), ("output_0", [1, 25, -13])):
        tensor = numpy_helper.from_array(numpy.array(array, dtype=numpy.int64), name)
        (data / f"{name}.pb").write_bytes(tensor.SerializeToString())
    result = support.run_onnxd("run", tmp_path / "model.onnx", "--data", tmp_path, check=False)
    assert result.returncode == 1
    assert ("2 of 3 elements differ, the first at 1: found 20, expected 25, "
            "greatest difference 10 absolute, 0.769 relative") in result.stdout


def identity_model(folder):
    values = [helper.make_tensor_value_info(name, onnx.TensorProto.INT64, ["n"]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", values[:1],
                              values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / "model.onnx")
    return folder / "model.onnx"


def sequence_model(folder):
    graph = helper.make_graph(
        [helper.make_node("SplitToSequence", ["x"], ["y"], axis=0)], "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.INT64, ["n"])],
        [helper.make_tensor_sequence_value_info("y", onnx.TensorProto.INT64, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / "model.onnx")
    return folder / "model.onnx"


@pytest.mark.parametrize("make", [identity_model, sequence_model])
def test_run_on_inputs_alone_shows_and_saves_the_outputs(tmp_path, make):
    path = make(tmp_path)
    data, saved = tmp_path / "data", tmp_path / "saved"
    data.mkdir()
    saved.mkdir()
    tensor = numpy_helper.from_array(numpy.array([7, 20, -3]), "x")
    (data / "input_0.pb").write_bytes(tensor.SerializeToString())
    text = support.run_onnxd("run", path, "--data", data, "--save-outputs", saved).stdout
    assert "input 'x' int64[3]: 7, 20, -3" in text and "output 'y'" in text
    assert text.count("20") == 2 and "equal" not in text
    assert (saved / "output_0.pb").stat().st_size > 0
    # Folders of test data are there to be compared.
    data.rename(tmp_path / "test_data_set_0")
    result = support.run_onnxd("run", path, "--data", tmp_path, check=False)
    assert result.returncode == 1 and "output_0.pb" in result.stderr


def test_run_tells_what_a_folder_lacks(tmp_path):
    path = identity_model(tmp_path)
    result = support.run_onnxd("run", path, "--data", tmp_path, check=False)
    assert result.returncode == 1
    for name in ("input_0.pb", "output_0.pb", "test_data_set_0"):
        assert name in result.stderr
    result = support.run_onnxd("run", path, "--data", tmp_path / "nosuch", check=False)
    assert result.returncode == 1
    assert result.stderr.strip() == f"onnxd: folder '{tmp_path / 'nosuch'}' not found"


def test_bench_prints_json(digits_path):
    result = support.run_onnxd("bench", digits_path, "--threads", 1, "--batch", 4, "--warmup", 3,
                               "--iterations", 20, "--json")
    report = json.loads(result.stdout)
    latency = report["latency_ms"]
    assert 0 < latency["median"] <= latency["p90"] <= latency["p99"]
    assert report["throughput_per_s"] > 0


def test_bench_of_a_tiny_model(digits_path):
    result = support.run_onnxd("bench", digits_path, "--iterations", 20)
    unit, median = re.search(r"latency in (us|ms): median ([0-9.]+)", result.stdout).groups()
    assert float(median) >= 1 or unit == "us"
    assert float(median) > 0
    report = json.loads(support.run_onnxd("bench", digits_path, "--iterations", 1, "--json").stdout)
    assert report["threads"] >= 1
    assert f" {report['threads']} CPU threads" in result.stdout


def test_bench_of_requests_in_flight(digits_path):
    """As many as there are, whether or not they run side by side."""
    for concurrency in (1, 3):
        result = support.run_onnxd("bench", digits_path, "--threads", 2, "--concurrency",
                                   concurrency, "--iterations", 50, "--json")
        report = json.loads(result.stdout)
        assert report["concurrency"] == concurrency
        assert 0 < report["latency_ms"]["min"] <= report["latency_ms"]["mean"]
        assert report["throughput_per_s"] > 0


def test_bench_profiles_steps(digits_path):
    arguments = ("bench", digits_path, "--threads", 1, "--iterations", 20, "--profile")
    profile = json.loads(support.run_onnxd(*arguments, "--json").stdout)["profile"]
    assert profile["peak_gflop_per_s"] > 0 and profile["peak_gb_per_s"] > 0
    steps = profile["steps"]
    assert len(steps) > 1
    assert sum(step["us"] for step in steps) == pytest.approx(profile["total_us"], rel=1e-3)
    for step in steps:
        assert step["provider"] == "cpu_ep:0" and step["implementation"] and step["node"]
        assert 0 <= step["gflop_share"] and 0 < step["gb_per_s"]
    lines = support.run_onnxd(*arguments).stdout.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("steps: "))
    times = [float(line.split()[0]) for line in lines[first + 2:]]
    assert len(times) == len(steps) and times == sorted(times, reverse=True)


def test_list_operators():
    lines = support.run_onnxd("list-operators").stdout.splitlines()
    operators = {}
    for line in lines:
        domain, operator, opsets = line.split(maxsplit=2)
        assert re.fullmatch(r"\d+-\d+(, \d+-\d+)*", opsets), line
        operators[domain, operator] = opsets
    assert len(operators) == len(lines) > 50
    for name in ("Add", "Conv", "Gemm", "Relu", "Softmax"):
        first, last = operators["ai.onnx", name].split(", ")[-1].split("-")
        assert int(first) <= 13 <= int(last)


def test_inspect(digits_path):
    text = support.run_onnxd("inspect", digits_path).stdout
    for word in ("image", "probabilities", "Gemm", "cpu_ep:0"):
        assert word in text


def test_inspect_tells_how_to_get_a_memory_plan(digits_path):
    assert "--shape" in support.run_onnxd("inspect", digits_path).stdout
    text = support.run_onnxd("inspect", digits_path, "--shape", "image=2x64").stdout
    assert "no memory plan" not in text and "arena" in text


def test_list_eps():
    text = support.run_onnxd("list-eps").stdout
    assert "cpu_ep" in text and "cpu.threads" in text


def test_every_listed_pass_can_be_left_out(digits_path):
    text = support.run_onnxd("list-passes").stdout
    names = re.findall(r"^  (\w+) +\S", text, re.M)
    assert len(names) == len(set(names)) and {"fold_constants", "channels_last"} <= set(names)
    result = support.run_onnxd("inspect", digits_path, "--set",
                               "models.disabled_passes=" + ",".join(names))
    assert "partition 0" in result.stdout


def check_config(tmp_path, text):
    path = tmp_path / "onnxd.json"
    path.write_text(text)
    return path, support.run_onnxd("check-config", path, check=False)


def test_check_config_accepts_a_good_file(tmp_path):
    assert check_config(tmp_path, '{"http": {"max_connections": 10}}')[1].returncode == 0


@pytest.mark.parametrize("text, line, words", [
    ('{\n  "http": {\n    "max_conections": 10\n  }\n}', 3, ["max_conections", "max_connections"]),
    ('{\n  "http": {"max_connections": "many"}\n}', 2, ["max_connections", "many"]),
    ('{\n  "http": {"max_connections": -1}\n}', 2, ["max_connections", "-1"]),
    ('{\n\n  "htp": {}\n}', 3, ["htp", "http"]),
    ('{"http": {"max_connections": 1}\n, "http": {}}', 2, ["http"]),
    ('{"http": {},}', 1, []),
    ('{"http": {}} trailing', 1, []),
])
def test_check_config_names_file_line_key_and_reason(tmp_path, text, line, words):
    path, result = check_config(tmp_path, text)
    assert result.returncode == 78
    output = result.stdout + result.stderr
    assert f"{path}:{line}:" in output
    for word in words:
        assert word in output


BAD_PARTS = [
    ('{"http": {\n"listen": ["localhost:8000"]}}', 2, "http.listen: address 'localhost:8000'"),
    ('{"models": {\n"name": "a b"}}', 2, "models.name: 'a b' is no name of a model"),
    ('{"models": {\n"ep": "gpu_ep"}}', 2, "models.ep: provider 'gpu_ep' is not configured"),
    ('{"models": {\n"disabled_passes": ["fold_constant"]}}', 2,
     "models.disabled_passes: 'fold_constant' is no graph pass, did you mean 'fold_constants'?"),
    ('{"providers": [\n{"name": "cpu"}]}', 2,
     "providers[0].name: no provider 'cpu' is linked in"),
    ('{"providers": [\n{"name": "x", "module": "/nonexistent.so"}]}', 2,
     "providers[0].module: "),
    ('{"providers": [{"name": "cpu_ep", "options": {\n"cpu.thread": 1}}]}', 2,
     "providers[0].options.cpu.thread: unknown option 'cpu.thread', did you mean 'cpu.threads'?"),
    ('{"providers": [{"name": "cpu_ep", "options": {\n"cpu.threads": "four"}}]}', 2,
     "providers[0].options.cpu.threads: option 'cpu.threads' is 'four'"),
]


@pytest.mark.parametrize("text, line, message", BAD_PARTS)
def test_what_serve_refuses_check_config_refuses_too(tmp_path, digits_path, text, line, message):
    path, result = check_config(tmp_path, text)
    assert result.returncode == 78
    assert f"{path}:{line}: {message}" in result.stderr
    served = support.run_onnxd("serve", "--config", path, digits_path, check=False, timeout=60)
    assert served.returncode == 78
    assert f"{path}:{line}: {message}" in served.stderr


def test_check_config_knows_the_options_of_a_module(tmp_path):
    settings = {"providers": [support.sim_provider(kernel_latency_us=1)]}
    assert check_config(tmp_path, json.dumps(settings))[1].returncode == 0
    settings["providers"][0]["options"]["sim.nosuch"] = "1"
    result = check_config(tmp_path, json.dumps(settings))[1]
    assert result.returncode == 78
    assert "providers[0].options.sim.nosuch: unknown option" in result.stderr


def test_the_example_configuration_works_from_the_checkout():
    path = support.ROOT / "examples" / "config.json"
    support.run_onnxd("check-config", path)
    for source in json.loads(path.read_text())["models"]["sources"]:
        assert list((support.ROOT / source).glob("*.onnx"))


def test_a_missing_configuration_is_named_once(tmp_path):
    result = support.run_onnxd("check-config", tmp_path / "none.json", check=False)
    assert result.returncode == 78
    assert result.stderr == f"onnxd: configuration: file '{tmp_path}/none.json' not found\n"


def test_serve_refuses_a_bad_config(tmp_path, digits_path):
    path = tmp_path / "onnxd.json"
    path.write_text('{"providers": [{"name": "cpu_ep", "options": {"cpu.thread": "1"}}]}')
    result = support.run_onnxd("serve", "--config", path, digits_path, check=False)
    assert result.returncode == 78
    assert "cpu.thread" in result.stderr and "cpu.threads" in result.stderr


def test_environment_sets_options(tmp_path, digits_path):
    result = support.run_onnxd("serve", digits_path, check=False,
                               env={"ONNXD_HTTP_MAX_CONNECTIONS": "none"})
    assert result.returncode == 78
    assert "ONNXD_HTTP_MAX_CONNECTIONS" in result.stderr
