"""The project's own source files, for the checks beside this file."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
SKIPPED = {"build", ".git", ".venv", ".cache", ".ccache", "__pycache__", "shared"}


def files(*suffixes):
    """Paths relative to the root, sorted, of files with one of the suffixes."""
    found = []
    for path in sorted(ROOT.rglob("*")):
        relative = path.relative_to(ROOT)
        if path.suffix in suffixes and path.is_file() and not SKIPPED.intersection(relative.parts):
            found.append(relative)
    return found


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def without_comments(text):
    """C text with comments and the insides of literals blanked; line breaks stay."""
    pattern = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)

    def blank(match):
        token = match.group(0)
        if token[0] in "\"'":
            return token[0] * 2
        return "\n" * token.count("\n")

    return pattern.sub(blank, text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def finish(name, problems):
    """Prints the problems and returns the exit code."""
    for problem in problems:
        print(problem)
    print(f"{name}: {len(problems)} problems")
    return 1 if problems else 0
