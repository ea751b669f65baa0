/*
 * A hash map from names to 32-bit ids. Keys are borrowed. The hash is keyed with a random seed, so
 * that a model cannot choose names that collide.
 */
#ifndef ONNXD_GRAPH_NAME_MAP_H
#define ONNXD_GRAPH_NAME_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct onnxd_name_entry {
    const char *name; /* NULL: empty slot */
    uint32_t id;
    uint32_t hash;
} onnxd_name_entry;

typedef struct onnxd_name_map {
    onnxd_name_entry *entries;
    size_t capacity; /* 0 or a power of two */
    size_t count;
    uint64_t seed;
} onnxd_name_map;

/* Allocates nothing. */
void onnxd_name_map_init(onnxd_name_map *map);
void onnxd_name_map_deinit(onnxd_name_map *map);
/* `name` must outlive the map. *out_id is the id that the name has now, *out_added whether it is
 * new (then it is `id`). Errors: OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_name_map_add(onnxd_name_map *map, const char *name, uint32_t id,
                                                 uint32_t *out_id, bool *out_added);
/* UINT32_MAX when there is none. */
uint32_t onnxd_name_map_find(const onnxd_name_map *map, const char *name);

#endif
