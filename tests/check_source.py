"""Calls and words that have no place in the sources."""

import re
import sys

import source_tree

# Calls (regular expression) -> (why, files that may nevertheless).
BANNED_CALLS = {
    r"alloca|strcpy|strcat|sprintf|vsprintf|gets|strtok|tmpnam|mktemp":
        ("unbounded or unsafe", r"^$"),
    r"atoi|atol|atoll|atof|strtol|strtoul|strtoll|strtoull|strtod|strtof|sscanf|fscanf|scanf":
        ("use base/number.h", r"^(base/number|ops/convert_text)"),
    r"system|popen|execl|execv|execvp|fork": ("no other programs are started", r"^$"),
    r"setjmp|longjmp": ("no jumps across functions", r"^$"),
    r"assert|abort": ("input must not end the process", r"^$"),
    r"malloc|calloc|realloc|aligned_alloc|posix_memalign|free|strdup|strndup":
        ("use base/alloc.h", r"^base/(alloc|status)\.c$"),
    r"printf|puts|putchar": ("only the command line writes to standard output", r"^daemon/"),
    r"cJSON_Minify|cJSON_Compare|cJSONUtils_\w+": ("not bounded", r"^$"),
}
# Words (regular expression) in any text file of the tree.
BANNED_WORDS = {
    r"\b(TODO|FIXME|XXX|HACK)\b": "unfinished work belongs into the issues",
    r"/(work|root|home)/\w": "a path of one machine",
}
WORD_FILES = (".c", ".h", ".cpp", ".cu", ".inc", ".md", ".txt", ".cmake", ".py", ".sh", ".service",
              ".json")


def check_calls(path):
    text = source_tree.without_comments(source_tree.read(path))
    name = path.as_posix()
    for pattern, (why, allowed) in BANNED_CALLS.items():
        if re.search(allowed, name):
            continue
        for match in re.finditer(rf"(?<![\w.>]){'(' + pattern + ')'}\s*\(", text):
            yield f"{name}:{source_tree.line_of(text, match.start())}: {match.group(1)}: {why}"


def check_words(path):
    text = source_tree.read(path)
    for pattern, why in BANNED_WORDS.items():
        for match in re.finditer(pattern, text):
            yield f"{path}:{source_tree.line_of(text, match.start())}: {match.group(0)}: {why}"


def check_limits(path):
    text = source_tree.without_comments(source_tree.read(path))
    for match in re.finditer(r"\.timeout\s*=", text):
        yield (f"{path}:{source_tree.line_of(text, match.start())}: CTest limits the time of a test; "
               "a limit of Criterion's leaks memory of its own, which LeakSanitizer reports")


def check_layout(path):
    text = source_tree.read(path)
    if text and not text.endswith("\n"):
        yield f"{path}: no newline at the end"
    for match in re.finditer(r"[ \t]+$|\t", text, re.M):
        yield f"{path}:{source_tree.line_of(text, match.start())}: tab or trailing white space"


def main():
    problems = []
    for path in source_tree.files(".c", ".h", ".cpp", ".cu", ".inc"):
        if path.parts[0] not in ("tests", "bench"):
            problems.extend(check_calls(path))
        else:
            problems.extend(check_limits(path))
        problems.extend(check_layout(path))
    for path in source_tree.files(*WORD_FILES):
        if path.name != "check_source.py":
            problems.extend(check_words(path))
    return source_tree.finish("source", problems)


if __name__ == "__main__":
    sys.exit(main())
