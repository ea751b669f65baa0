"""Which folder may include which, and where third-party headers may appear."""

import re
import sys

import source_tree

# A folder includes itself and what stands here; ARCHITECTURE.md draws the same edges. Siblings
# (config, memory, graph; ep/cpu, ep/sim) never include each other.
LAYERS = {
    "base": set(),
    "config": {"base"},
    "memory": {"base"},
    "graph": {"base"},
    "ops": {"base", "graph"},
    "ep": {"base", "memory", "graph", "ops"},
    "ep/cpu": {"base", "memory", "graph", "ops", "ep"},
    "ep/sim": {"base", "memory", "graph", "ops", "ep"},
    "model": {"base", "memory", "graph", "ops", "ep"},
    "scheduler": {"base", "memory", "ep", "model"},
    "http": {"base", "model", "scheduler"},
    "daemon": {"base", "config", "memory", "graph", "ops", "ep", "model", "scheduler", "http"},
}
# Single headers beyond the table: where concrete providers are named.
EXTRA = {("daemon", "ep/cpu/cpu_ep.h")}
# Header (regular expression) -> the files (regular expression) that may include it.
CONFINED = {
    r"uv\.h$": r"^(http|daemon)/",
    r"llhttp\.h$": r"^http/parser",
    r"cJSON\.h$": r"^config/",
    r"(protobuf-c/|\.pb-c\.h$)": r"^graph/",
    r"dnnl": r"^ep/cpu/dnnl/",
    r"^(cuda|cublas|cudnn|nvrtc)": r"^ep/cuda/",
    r"^(turbojpeg|png|tiffio|openjpeg)\.h$": r"^ops/image/codec/",
    r"^webp/": r"^ops/image/codec/",
    r"^re2/": r"^ops/text/regex\.cpp$",
    r"^systemd/": r"^daemon/notify\.c$",
    r"^dlfcn\.h$": r"^ep/module\.c$",
    r"^criterion/": r"^tests/",
    r"^assert\.h$": r"^tests/",
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def folder_of(path):
    """The folder of the table that a path belongs to, None for none."""
    parts = path.split("/")
    if len(parts) > 2 and "/".join(parts[:2]) in LAYERS:
        return "/".join(parts[:2])
    return parts[0] if len(parts) > 1 and parts[0] in LAYERS else None


def check_own(path, header):
    """The reason why a file may not include a header of the project; None when it may."""
    source, target = folder_of(path), folder_of(header)
    if source is None or target is None or source == target:
        return None
    if target not in LAYERS[source] and (source, header) not in EXTRA:
        return f"{source} may not include {target}"
    if header.endswith("internal.h"):
        return f"internal header of {target}"
    return None


def check_file(path):
    text = source_tree.read(path)
    name = path.as_posix()
    for match in INCLUDE.finditer(text):
        header = match.group(2)
        reason = check_own(name, header)
        is_own = match.group(1) == '"' and folder_of(header) is not None
        for pattern, allowed in CONFINED.items():
            if not is_own and re.search(pattern, header) and not re.search(allowed, name):
                reason = f"only files matching {allowed} may include it"
        if reason is not None:
            yield f"{name}:{source_tree.line_of(text, match.start())}: {header}: {reason}"


def main():
    problems = []
    for path in source_tree.files(".c", ".h", ".cpp", ".cu", ".inc"):
        if path.parts[0] != "tests":
            problems.extend(check_file(path))
    return source_tree.finish("layers", problems)


if __name__ == "__main__":
    sys.exit(main())
