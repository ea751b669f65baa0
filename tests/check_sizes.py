"""Files of at most 600 lines, functions of at most 100. Tables (.inc) are exempt."""

import ast
import re
import sys

import source_tree

MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 100
# With the project's brace style a function's braces are the ones in column 0, and the name stands
# on the nearest line above that begins in column 0.


def c_functions(text):
    """(name, first line, lines) of every function."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if line != "{":
            continue
        end = next((i for i in range(number, len(lines)) if lines[i].startswith("}")), number)
        first = number
        while first > 0 and lines[first][:1] in ("", " ", "{"):
            first -= 1
        match = re.search(r"(\w+)\(", lines[first])
        yield (match.group(1) if match else lines[first]), first + 1, end - first + 1


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1


def check_file(path):
    text = source_tree.read(path)
    count = text.count("\n")
    if count > MAX_FILE_LINES:
        yield f"{path}: {count} lines, allowed are {MAX_FILE_LINES}"
    if path.suffix == ".py":
        functions = python_functions(text)
    elif path.suffix in (".c", ".h", ".cpp", ".cu"):
        functions = c_functions(text)
    else:
        functions = ()
    for name, line, length in functions:
        if length > MAX_FUNCTION_LINES:
            yield f"{path}:{line}: {name} has {length} lines, allowed are {MAX_FUNCTION_LINES}"


def main():
    problems = []
    for path in source_tree.files(".c", ".h", ".cpp", ".cu", ".py", ".sh"):
        problems.extend(check_file(path))
    return source_tree.finish("sizes", problems)


if __name__ == "__main__":
    sys.exit(main())
