"""What the service tells systemd, and what a reload takes over."""

import json
import re
import signal
import socket
import subprocess
import time

import pytest

import support


class Notifications:
    """The socket that systemd would listen on."""

    def __init__(self, folder):
        self.path = str(folder / "notify.sock")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.messages = []

    def wait_for(self, text, timeout_s=30):
        deadline = time.monotonic() + timeout_s
        while not any(text in message for message in self.messages):
            self.socket.settimeout(max(deadline - time.monotonic(), 0.001))
            try:
                self.messages.append(self.socket.recv(4096).decode())
            except TimeoutError:
                raise AssertionError(f"no '{text}' in {self.messages}") from None
        return next(message for message in self.messages if text in message)

    def close(self):
        self.socket.close()


@pytest.fixture
def notifications(tmp_path, monkeypatch):
    listener = Notifications(tmp_path)
    monkeypatch.setenv("NOTIFY_SOCKET", listener.path)
    yield listener
    listener.close()


def wait_for_log(server, pattern, timeout_s=30):
    deadline = time.monotonic() + timeout_s
    while not re.search(pattern, server.log()):
        assert time.monotonic() < deadline, f"no '{pattern}' in\n{server.log()}"
        time.sleep(0.02)


def rewrite(server, **groups):
    settings = json.loads(server.config_path.read_text())
    settings.update(groups)
    server.config_path.write_text(json.dumps(settings))
    server.process.send_signal(signal.SIGHUP)


def test_systemd_hears_of_start_reload_and_stop(notifications, start_server, digits_path):
    server = start_server(repository=digits_path)
    assert "models: 1 ready, 0 loading, 0 failed" in notifications.wait_for("READY=1")
    notifications.messages.clear()
    server.process.send_signal(signal.SIGHUP)
    assert re.search(r"MONOTONIC_USEC=\d+", notifications.wait_for("RELOADING=1"))
    notifications.wait_for("READY=1")
    server.process.send_signal(signal.SIGTERM)
    notifications.wait_for("STOPPING=1")
    assert server.process.wait(30) == 0


def test_the_watchdog_is_petted(notifications, monkeypatch, start_server, digits_path):
    monkeypatch.setenv("WATCHDOG_USEC", "200000")
    start_server(repository=digits_path)
    for _ in range(3):
        notifications.messages.clear()
        notifications.wait_for("WATCHDOG=1")


def test_a_reload_takes_over_what_it_can_and_names_the_rest(start_server, digits_path):
    server = start_server(repository=digits_path)
    rewrite(server, logging={"level": "debug"}, scheduler={"max_queue_size": 7},
            daemon={"drain_timeout_ms": 12345})
    wait_for_log(server, r"configuration reloaded")
    assert "takes effect at the next start key=scheduler.max_queue_size" in server.log()
    assert "key=daemon.drain_timeout_ms" not in server.log()
    assert server.stop() is None
    assert "timeout_ms=12345" in server.log()


def test_a_reload_ends_with_a_summary(start_server, digits_path, tmp_path):
    (tmp_path / "good.onnx").write_bytes(digits_path.read_bytes())
    server = start_server(repository=tmp_path)
    assert "models reloaded" not in server.log()
    (tmp_path / "bad.onnx").write_bytes(b"nonsense")
    server.process.send_signal(signal.SIGHUP)
    wait_for_log(server, r"level=warn module=model models reloaded: ready=1 failed=1")
    (tmp_path / "bad.onnx").unlink()
    server.process.send_signal(signal.SIGHUP)
    wait_for_log(server, r"level=info module=model models reloaded: ready=1 failed=0")


def test_debug_lines_tell_settings_and_providers(start_server, digits_path):
    server = start_server(repository=digits_path, arguments=("--log-level", "debug"),
                          config={"providers": [support.CPU_PROVIDER, support.sim_provider()]})
    log = server.log()
    assert re.search(r"level=debug module=config set: key=logging.level by=--log-level", log)
    assert re.search(rf"key=http.listen by={server.config_path}:\d+", log)
    assert re.search(r"module=ep module loaded: provider=sim_ep version=\S+ path=/", log)
    for label in ("cpu_ep:0", "sim_ep:0"):
        assert f"level=debug module=ep provider opened: label={label} " in log


def test_a_failed_start_is_a_line_of_the_log(digits_path, tmp_path):
    result = support.run_onnxd("serve", tmp_path / "none.onnx", "--listen", "127.0.0.1:0",
                               check=False)
    assert result.returncode == 78
    last = result.stderr.splitlines()[-1]
    assert "level=error module=daemon start failed: " in last and "none.onnx" in last


def test_a_bad_reload_changes_nothing(start_server, digits_path):
    server = start_server(repository=digits_path)
    rewrite(server, daemon={"drain_timeout_ms": 0})
    wait_for_log(server, r"reload refused")
    assert f"{server.config_path}:1: daemon.drain_timeout_ms: out of range: '0'" in server.log()
    assert server.get("/v2/health/ready")[0] == 200
    assert server.stop() is None
    assert "timeout_ms=25000" in server.log()


def test_many_signals_at_once(start_server, digits_path):
    """Reloads that come while one is running are folded into one; the last one counts."""
    server = start_server(repository=digits_path)
    for timeout in range(1000, 1050):
        rewrite(server, daemon={"drain_timeout_ms": timeout})
    wait_for_log(server, r"configuration reloaded")
    time.sleep(0.3)
    assert server.stop() is None
    assert "timeout_ms=1049" in server.log()


def test_unix_socket_and_healthcheck(start_server, digits_path, tmp_path):
    path = tmp_path / "http.sock"
    server = start_server(repository=digits_path,
                          config={"http": {"listen": ["127.0.0.1:0", f"unix:{path}"]}})
    support.run_onnxd("healthcheck", "--url", f"unix:{path}")
    support.run_onnxd("healthcheck", "--url", f"http://{server.address}/v2/health/live")
    support.run_onnxd("healthcheck", env={"ONNXD_HTTP_LISTEN": server.address})
    missing = support.run_onnxd("healthcheck", "--url", f"http://{server.address}/nosuch",
                                check=False)
    assert missing.returncode == 1
    assert server.stop() is None
    assert support.run_onnxd("healthcheck", "--url", server.address,
                             check=False).returncode == 1


def test_a_file_can_have_another_name(start_server, digits_path):
    server = start_server(repository=digits_path, arguments=("--model-name", "numbers"))
    assert server.get("/v2/models/numbers/ready")[0] == 200
    assert server.get("/v2/models/digits")[0] == 404


def test_a_socket_in_a_folder_that_is_not_there(tmp_path, digits_path):
    result = support.run_onnxd("serve", digits_path, "--listen", f"unix:{tmp_path}/nosuch/x.sock",
                               check=False)
    assert result.returncode != 0
    assert "no such file or directory" in result.stderr and "nosuch/x.sock" in result.stderr


def test_an_address_in_use_is_named(start_server, digits_path):
    server = start_server(repository=digits_path)
    result = support.run_onnxd("serve", digits_path, "--listen", server.address, check=False)
    assert result.returncode == 1
    assert server.address in result.stderr and "in use" in result.stderr


def test_more_connections_than_descriptors_are_refused(digits_path):
    arguments = [str(support.BINARY), "serve", str(digits_path), "--listen", "127.0.0.1:0",
                 "--set", "http.max_connections=1000"]
    result = subprocess.run(["prlimit", "--nofile=512:512", *arguments], capture_output=True,
                            text=True, timeout=60, check=False)
    assert result.returncode == 78
    assert "http.max_connections: 1000 connections need 1064 file descriptors" in result.stderr
