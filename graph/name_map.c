#include "graph/name_map.h"

#include <string.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/clock.h"

void onnxd_name_map_init(onnxd_name_map *map)
{
    memset(map, 0, sizeof(*map));
    if (getrandom(&map->seed, sizeof(map->seed), GRND_NONBLOCK) != (ssize_t)sizeof(map->seed))
        map->seed = (uint64_t)onnxd_now_ns() ^ (uint64_t)(uintptr_t)map;
}

void onnxd_name_map_deinit(onnxd_name_map *map)
{
    onnxd_free(map->entries);
    memset(map, 0, sizeof(*map));
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint32_t hash_name(uint64_t seed, const char *name)
{
    size_t length = strlen(name);
    uint64_t hash = seed ^ (uint64_t)length;
    while (length > 0) {
        uint64_t word = 0;
        size_t step = length < sizeof(word) ? length : sizeof(word);
        memcpy(&word, name, step);
        hash = mix(hash ^ word, seed | 1) ^ (hash >> 23);
        hash = mix(hash ^ 0x9e3779b97f4a7c15u, 0xd6e8feb86659fd93u);
        name += step;
        length -= step;
    }
    return (uint32_t)(hash ^ (hash >> 32));
}

/* The slot of `name`, or the empty slot where it belongs. The map is never full. */
static size_t find_slot(const onnxd_name_map *map, const char *name, uint32_t hash)
{
    size_t slot = hash & (map->capacity - 1);
    while (map->entries[slot].name != NULL &&
           (map->entries[slot].hash != hash || strcmp(map->entries[slot].name, name) != 0))
        slot = (slot + 1) & (map->capacity - 1);
    return slot;
}

static onnxd_status *grow(onnxd_name_map *map)
{
    size_t capacity = map->capacity == 0 ? 16 : map->capacity * 2;
    onnxd_name_entry *entries = onnxd_alloc_zero(capacity, sizeof(*entries));
    if (entries == NULL)
        return onnxd_error_out_of_memory("name map", capacity * sizeof(*entries), UINT64_MAX);
    onnxd_name_map grown = {.entries = entries, .capacity = capacity};
    for (size_t i = 0; i < map->capacity; i++) {
        const onnxd_name_entry *entry = &map->entries[i];
        if (entry->name != NULL)
            entries[find_slot(&grown, entry->name, entry->hash)] = *entry;
    }
    onnxd_free(map->entries);
    map->entries = entries;
    map->capacity = capacity;
    return NULL;
}

onnxd_status *onnxd_name_map_add(onnxd_name_map *map, const char *name, uint32_t id,
                                 uint32_t *out_id, bool *out_added)
{
    if (map->count >= map->capacity / 2)
        ONNXD_TRY(grow(map));
    uint32_t hash = hash_name(map->seed, name);
    onnxd_name_entry *entry = &map->entries[find_slot(map, name, hash)];
    *out_added = entry->name == NULL;
    if (entry->name == NULL) {
        *entry = (onnxd_name_entry){.name = name, .id = id, .hash = hash};
        map->count++;
    }
    *out_id = entry->id;
    return NULL;
}

uint32_t onnxd_name_map_find(const onnxd_name_map *map, const char *name)
{
    if (map->capacity == 0)
        return UINT32_MAX;
    const onnxd_name_entry *entry = &map->entries[find_slot(map, name, hash_name(map->seed, name))];
    return entry->name == NULL ? UINT32_MAX : entry->id;
}
