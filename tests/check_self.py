"""The checks beside this file find what they are meant to find."""

import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import check_fault_classes
import check_layers
import check_sizes
import check_source
import source_tree


class Checks(unittest.TestCase):
    def problems(self, check, name, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            with mock.patch.object(source_tree, "ROOT", pathlib.Path(folder)):
                return list(check(pathlib.Path(name)))

    def test_layers(self):
        refused = [
            ("base/a.c", '#include "graph/graph.h"\n'),
            ("graph/a.c", '#include "memory/pool.h"\n'),
            ("ep/sim/a.c", '#include "ep/cpu/cpu_ep.h"\n'),
            ("ep/a.c", '#include "ep/cpu/cpu_ep.h"\n'),
            ("scheduler/a.c", '#include "http/server.h"\n'),
            ("daemon/a.c", '#include "ep/cpu/kernel.h"\n'),
            ("model/a.c", '#include "graph/internal.h"\n'),
            ("model/a.c", '#include <uv.h>\n'),
            ("http/routes/a.c", '#include <llhttp.h>\n'),
            ("http/a.c", '#include <cjson/cJSON.h>\n'),
            ("ep/cpu/a.c", '#include <oneapi/dnnl/dnnl.h>\n'),
            ("daemon/a.c", '#  include  <systemd/sd-daemon.h>\n'),
            ("base/a.c", '#include <assert.h>\n'),
        ]
        for name, text in refused:
            self.assertEqual(len(self.problems(check_layers.check_file, name, text)), 1, text)
        accepted = [
            ("daemon/wire.c", '#include "ep/cpu/cpu_ep.h"\n#include <uv.h>\n'),
            ("ep/cpu/dnnl/a.c", '#include <oneapi/dnnl/dnnl.h>\n#include "ep/cpu/internal.h"\n'),
            ("http/parser.c", '#include <llhttp.h>\n#include "model/store.h"\n'),
        ]
        for name, text in accepted:
            self.assertEqual(self.problems(check_layers.check_file, name, text), [])

    def test_sizes(self):
        def function(lines):
            return "int f(int a,\n      int b)\n{\n" + "    a++;\n" * lines + "}\n"

        self.assertEqual(self.problems(check_sizes.check_file, "a.c", function(96)), [])
        self.assertEqual(len(self.problems(check_sizes.check_file, "a.c", function(97))), 1)
        self.assertEqual(self.problems(check_sizes.check_file, "a.h", "\n" * 600), [])
        self.assertEqual(len(self.problems(check_sizes.check_file, "a.h", "\n" * 601)), 1)
        long = "def f():\n" + "    pass\n" * 100
        self.assertEqual(len(self.problems(check_sizes.check_file, "a.py", long)), 1)

    def test_source(self):
        refused = ["strcpy(a, b);", "x = malloc (4);", "assert(x);", "atoi(t);", "system(t);"]
        for text in refused:
            self.assertEqual(len(self.problems(check_source.check_calls, "model/a.c", text)), 1,
                             text)
        accepted = ['"strcpy(a, b)"', "/* assert(x) */", "onnxd_free(x);", "entry->free(x);",
                    "static_assert(1);", "snprintf(a, 1, b);", "source.free(x);"]
        for text in accepted:
            self.assertEqual(self.problems(check_source.check_calls, "model/a.c", text), [])
        self.assertEqual(len(self.problems(check_source.check_words, "a.md", "TO" "DO: x\n")), 1)
        self.assertEqual(
            len(self.problems(check_source.check_limits, "a.c", "Test(a, b, .timeout = 9)\n")), 1)
        self.assertEqual(self.problems(check_source.check_limits, "a.c", "Test(a, timeout)\n"), [])
        self.assertEqual(len(self.problems(check_source.check_layout, "a.c", "x \n")), 1)
        self.assertEqual(len(self.problems(check_source.check_layout, "a.c", "x")), 1)

    def test_fault_classes(self):
        rows = "".join(f"| {name} | what | `ops: a/b`<br>`e2e: c.py::test_d` |\n"
                       for name in check_fault_classes.CLASSES)
        tests = {"a/b", "c.py::test_d"}
        self.assertEqual(list(check_fault_classes.check_page(rows, tests)), [])
        first = rows.partition("\n")[2]
        self.assertEqual(len(list(check_fault_classes.check_page(first, tests))), 1)
        renamed = rows.replace("a/b", "a/gone", 1)
        self.assertEqual(len(list(check_fault_classes.check_page(renamed, tests))), 1)
        source = 'static const char *const names[] = {"axis", NULL};\nonnxd_attribute_int(node, "k");\n'
        self.assertEqual(len(self.problems(
            lambda path: check_fault_classes.check_attributes(path, {"axis"}), "ops/a.c", source)), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
