"""Every header compiles alone. Arguments: folders of generated headers, if there are any."""

import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

import source_tree

MODULES = ("libuv", "libcjson", "libprotobuf-c")
FOLDERS = ("base", "config", "memory", "graph", "ops", "ep", "model", "scheduler", "http", "daemon")


def generate(folder):
    subprocess.run(["protoc-c", "--proto_path=graph", f"--c_out={folder}", "onnx.proto"],
                   cwd=source_tree.ROOT, check=True)


def main():
    folders = sys.argv[1:]
    if any((pathlib.Path(folder) / "onnx.pb-c.h").exists() for folder in folders):
        return check(folders)
    with tempfile.TemporaryDirectory() as folder:
        generate(folder)
        return check([*folders, folder])


def check(folders):
    compiler = os.environ.get("CC", "cc")
    flags = subprocess.run(["pkg-config", "--cflags", *MODULES], check=True, capture_output=True,
                           text=True).stdout
    # llhttp's header lies where its sources are
    includes = ["-I", str(source_tree.ROOT), "-I/usr/share/include/llhttp", "-I/usr/include/llhttp",
                *(f"-I{folder}" for folder in folders), *shlex.split(flags)]
    problems = []
    for path in source_tree.files(".h"):
        if path.parts[0] not in FOLDERS:
            continue
        result = subprocess.run(
            [compiler, "-std=c11", "-D_GNU_SOURCE", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
             "-Wno-unused-function", *includes, "-include", str(path), "-xc", "/dev/null"],
            cwd=source_tree.ROOT, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            problems.append(f"{path}:\n{result.stderr}")
    return source_tree.finish("headers", problems)


if __name__ == "__main__":
    sys.exit(main())
