/* "Did you mean": the nearest of some names by edit distance. */
#ifndef ONNXD_BASE_SUGGEST_H
#define ONNXD_BASE_SUGGEST_H

#include <stddef.h>

typedef struct onnxd_suggest {
    const char *name; /* what was given */
    const char *best; /* NULL while nothing is near enough */
    size_t distance;
} onnxd_suggest;

/* Start with {.name = given}; offer every candidate; read `best`. Candidates further than a third
 * of their length (at least 2 edits) never become best. */
void onnxd_suggest_offer(onnxd_suggest *suggest, const char *candidate);

#endif
