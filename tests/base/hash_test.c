#include "base/hash.h"

#include <criterion/criterion.h>

/* Every byte counts, wherever it is. */
Test(hash, tells_bytes_apart)
{
    unsigned char data[19] = {0};
    uint64_t seen[sizeof(data) + 1];
    seen[sizeof(data)] = onnxd_hash_bytes(ONNXD_HASH_SEED, data, sizeof(data));
    for (size_t i = 0; i < sizeof(data); i++) {
        data[i] = 1;
        seen[i] = onnxd_hash_bytes(ONNXD_HASH_SEED, data, sizeof(data));
        data[i] = 0;
    }
    for (size_t i = 0; i <= sizeof(data); i++)
        for (size_t j = 0; j < i; j++)
            cr_assert_neq(seen[i], seen[j], "%zu and %zu", i, j);
}

Test(hash, goes_on_where_it_was)
{
    const char text[] = "0123456789abcdefXYZ";
    const uint64_t once = onnxd_hash_bytes(ONNXD_HASH_SEED, text, 19);
    const uint64_t first = onnxd_hash_bytes(ONNXD_HASH_SEED, text, 8);
    cr_assert_eq(onnxd_hash_bytes(first, text + 8, 11), once);
    cr_assert_neq(onnxd_hash_word(ONNXD_HASH_SEED, 1), onnxd_hash_word(ONNXD_HASH_SEED, 2));
}
