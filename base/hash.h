/*
 * A hash for tables in memory: FNV-1a over words, with a fold that brings the high bits down. Not
 * for anything that an enemy may aim at, and not for anything that is stored.
 */
#ifndef ONNXD_BASE_HASH_H
#define ONNXD_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The hash of nothing. */
#define ONNXD_HASH_SEED 14695981039346656037ull

static inline uint64_t onnxd_hash_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 1099511628211ull;
    return hash ^ (hash >> 32);
}

/* Eight bytes at a time, then one by one. */
static inline uint64_t onnxd_hash_bytes(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *source = data;
    uint64_t word;
    size_t at = 0;
    for (; bytes - at >= sizeof(word); at += sizeof(word)) {
        memcpy(&word, source + at, sizeof(word));
        hash = onnxd_hash_word(hash, word);
    }
    for (; at < bytes; at++)
        hash = onnxd_hash_word(hash, source[at]);
    return hash;
}

#endif
