/* Attributes as initializers of tables of cases; what they point to lives as long as the table. */
#ifndef ONNXD_TESTS_GRAPH_ATTRIBUTE_LITERALS_H
#define ONNXD_TESTS_GRAPH_ATTRIBUTE_LITERALS_H

#include "graph/graph.h"

#define INT(key, number)                                                                           \
    {                                                                                              \
        .name = key, .kind = ONNXD_ATTRIBUTE_INT, .count = 1, .value.i = (number)                  \
    }

#define INTS(key, length, ...)                                                                     \
    {                                                                                              \
        .name = key, .kind = ONNXD_ATTRIBUTE_INTS, .count = (length),                              \
        .value.ints = (const int64_t[])                                                            \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

#define TEXT(key, text)                                                                            \
    {                                                                                              \
        .name = key, .kind = ONNXD_ATTRIBUTE_STRING, .count = 1, .value.s = {                      \
            text,                                                                                  \
            sizeof(text) - 1                                                                       \
        }                                                                                          \
    }

#endif
