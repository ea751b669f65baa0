"""Starting the daemon and running its command line."""

import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

import onnx.backend.test
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("ONNXD_BINARY", ROOT / "build" / "release" / "onnxd")).resolve()
# The onnx package carries the nine light models and their stored outputs.
LIGHT_MODELS = pathlib.Path(onnx.backend.test.__file__).parent / "data" / "light"
SIM_MODULE = BINARY.parent / "providers" / "onnxd_sim_ep.so"
START_TIMEOUT_S = 120
STOP_TIMEOUT_S = 60

CPU_PROVIDER = {"name": "cpu_ep", "device_ids": [0]}


def sim_provider(**options):
    """Configuration of the simulated device; options as in `onnxd list-eps`."""
    return {"name": "sim_ep", "module": str(SIM_MODULE), "device_ids": [0],
            "options": {f"sim.{key}": str(value) for key, value in options.items()}}


def ort_session(path):
    """An ONNX Runtime session on its CPU provider, without its warnings."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def run_onnxd(*arguments, check=True, timeout=300, env=None):
    """Runs the command line; returns the completed process with text output."""
    result = subprocess.run([str(BINARY), *map(str, arguments)], capture_output=True, text=True,
                            timeout=timeout, env={**os.environ, **(env or {})})
    if check:
        assert result.returncode == 0, (
            f"onnxd {' '.join(map(str, arguments))}: exit {result.returncode}\n"
            f"{result.stdout}\n{result.stderr}")
    return result


class Server:
    """A daemon in the background. `address` is host:port of its listener."""

    def __init__(self, directory, repository=None, config=None, arguments=(), ready=True):
        self.directory = pathlib.Path(directory)
        settings = {"http": {"listen": ["127.0.0.1:0"]}, **(config or {})}
        settings["http"].setdefault("listen", ["127.0.0.1:0"])
        self.config_path = self.directory / "onnxd.json"
        self.config_path.write_text(json.dumps(settings, indent=2))
        command = [str(BINARY), "serve", "--config", str(self.config_path), *map(str, arguments)]
        if repository is not None:
            command += ["--model-repository", str(repository)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.lines = []
        self.answered = 0  # requests made through this object that were answered
        self.address = None
        self._listening = threading.Event()
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()
        if not self._listening.wait(START_TIMEOUT_S) or self.address is None:
            self.process.kill()
            raise AssertionError("the daemon did not listen:\n" + self.log())
        if ready:
            self.wait_ready()

    def _read_log(self):
        for line in self.process.stderr:
            self.lines.append(line)
            match = re.search(r"listening.*address=(\S+)", line)
            if match and self.address is None:
                self.address = match.group(1)
                self._listening.set()
        self._listening.set()

    def log(self):
        return "".join(self.lines)

    def get(self, path, headers=None):
        return self.request("GET", path, headers=headers)

    def request(self, method, path, body=None, headers=None):
        """(status, headers, body bytes) of one request on a connection of its own."""
        connection = http.client.HTTPConnection(self.address, timeout=120)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            response = connection.getresponse()
            answer = response.status, dict(response.getheaders()), response.read()
            self.answered += 1
            return answer
        finally:
            connection.close()

    def infer_json(self, model, request):
        status, _, body = self.request("POST", f"/v2/models/{model}/infer", json.dumps(request))
        return status, json.loads(body)

    def wait_ready(self):
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise AssertionError(f"the daemon ended with {self.process.returncode}:\n"
                                     + self.log())
            try:
                if self.get("/v2/health/ready")[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.02)
        raise AssertionError("the daemon did not become ready:\n" + self.log())

    def metrics(self):
        """{name with labels: value} of /metrics."""
        text = self.get("/metrics")[2].decode()
        samples = {}
        for line in text.splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                samples[name] = float(value)
        return samples

    def stop(self):
        """Ends the daemon with SIGTERM; None when it left cleanly, else the reason."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return "the daemon did not end after SIGTERM:\n" + self.log()
        self._reader.join(5)
        return None if code == 0 else f"the daemon ended with {code}:\n" + self.log()
