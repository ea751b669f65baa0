/* Compiler attributes used throughout. */
#ifndef ONNXD_BASE_COMPILER_H
#define ONNXD_BASE_COMPILER_H

#define ONNXD_NODISCARD __attribute__((warn_unused_result))
#define ONNXD_PRINTF(format_index, first_index)                                                    \
    __attribute__((format(printf, format_index, first_index)))
#define ONNXD_RETURNS_NONNULL __attribute__((returns_nonnull))
#define ONNXD_UNUSED __attribute__((unused))
#define ONNXD_EXPORT __attribute__((visibility("default")))
#define ONNXD_LIKELY(x) __builtin_expect(!!(x), 1)
#define ONNXD_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define ONNXD_COUNT(array) (sizeof(array) / sizeof((array)[0]))
/* The structure of type `type` whose member `member` is at `pointer`. */
#define ONNXD_CONTAINER_OF(pointer, type, member)                                                  \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#endif
