#include "base/suggest.h"

#include <string.h>

#include "base/compiler.h"

#define MAX_NAME 96

/* Edit distance over two rows; names beyond MAX_NAME are never near. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[2][MAX_NAME + 1];
    size_t *previous = rows[0];
    size_t *current = rows[1];

    for (size_t j = 0; j <= b_length; j++)
        previous[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        current[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t replace = previous[j - 1] + (a[i - 1] != b[j - 1]);
            size_t remove = previous[j] + 1;
            size_t insert = current[j - 1] + 1;
            size_t least = replace < remove ? replace : remove;
            current[j] = least < insert ? least : insert;
        }
        size_t *swap = previous;
        previous = current;
        current = swap;
    }
    return previous[b_length];
}

void onnxd_suggest_offer(onnxd_suggest *suggest, const char *candidate)
{
    size_t name_length = strlen(suggest->name);
    size_t length = strlen(candidate);
    if (name_length > MAX_NAME || length > MAX_NAME)
        return;
    size_t edits = distance(suggest->name, name_length, candidate, length);
    size_t allowed = length / 3 < 2 ? 2 : length / 3;
    if (edits > allowed || edits >= length)
        return;
    if (suggest->best == NULL || edits < suggest->distance) {
        suggest->best = candidate;
        suggest->distance = edits;
    }
}
