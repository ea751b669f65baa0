/*
 * Writing a TensorProto: dims = 1, data_type = 2, string_data = 6, name = 8, raw_data = 9. Few
 * enough fields to spell out, which keeps protobuf within graph/.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/model_io.h"

typedef struct writer {
    FILE *file;
    bool failed;
} writer;

static void put_bytes(writer *out, const void *data, size_t bytes)
{
    if (bytes != 0 && fwrite(data, 1, bytes, out->file) != bytes)
        out->failed = true;
}

static void put_varint(writer *out, uint64_t value)
{
    unsigned char bytes[10];
    size_t length = 0;
    do {
        bytes[length] = (unsigned char)((value & 0x7fu) | (value > 0x7fu ? 0x80u : 0u));
        value >>= 7;
        length++;
    } while (value != 0);
    put_bytes(out, bytes, length);
}

static void put_number(writer *out, unsigned field, uint64_t value)
{
    put_varint(out, field << 3);
    put_varint(out, value);
}

static void put_block(writer *out, unsigned field, const void *data, size_t bytes)
{
    put_varint(out, (field << 3) | 2u);
    put_varint(out, bytes);
    put_bytes(out, data, bytes);
}

static void put_tensor(writer *out, const char *name, const onnxd_tensor_view *view)
{
    for (int32_t i = 0; i < view->shape.rank; i++)
        put_number(out, 1, (uint64_t)view->shape.dims[i]);
    put_number(out, 2, (uint64_t)view->dtype);
    put_block(out, 8, name, strlen(name));
    if (view->dtype != ONNXD_STRING) {
        put_block(out, 9, onnxd_tensor_view_data(view), onnxd_tensor_view_bytes(view));
        return;
    }
    const onnxd_string *strings = onnxd_tensor_view_data(view);
    size_t count = onnxd_tensor_view_count(view);
    for (size_t i = 0; i < count; i++)
        put_block(out, 6, strings[i].data, strings[i].size);
}

onnxd_status *onnxd_save_tensor(const char *path, const char *name, const onnxd_tensor_view *view)
{
    char text[128];
    writer out = {.file = fopen(path, "we")};
    if (out.file == NULL)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "cannot write '%s': %s", path,
                           strerror_r(errno, text, sizeof(text)));
    put_tensor(&out, name, view);
    if (fclose(out.file) != 0)
        out.failed = true;
    if (out.failed)
        return onnxd_error(ONNXD_INTERNAL, "cannot write '%s'", path);
    return NULL;
}
