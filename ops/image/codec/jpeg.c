/* JPEG by libjpeg, with its default upsampling, which ONNX asks for. */
#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>

#include "ops/image/codec/codec.h"

typedef struct decoder {
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr errors;
    jmp_buf failed;
} decoder;

static void leave(j_common_ptr info)
{
    decoder *d = info->client_data;
    longjmp(d->failed, 1);
}

static void say_nothing(j_common_ptr info)
{
    (void)info;
}

static void note_nothing(j_common_ptr info, int level)
{
    (void)info, (void)level;
}

static bool read_rows(decoder *d, onnxd_image_room *room)
{
    d->info.out_color_space = JCS_RGB;
    jpeg_start_decompress(&d->info);
    if (d->info.output_components != 3)
        return false;
    uint8_t *row = onnxd_image_room_make(room, d->info.output_width, d->info.output_height);
    if (row == NULL)
        return false;
    while (d->info.output_scanline < d->info.output_height) {
        JSAMPROW rows[1] = {row + (size_t)d->info.output_scanline * d->info.output_width * 3};
        (void)jpeg_read_scanlines(&d->info, rows, 1);
    }
    jpeg_finish_decompress(&d->info);
    return true;
}

bool onnxd_decode_jpeg(const uint8_t *data, size_t bytes, onnxd_image_room *room)
{
    decoder d = {.info = {.err = NULL}};
    volatile bool is_good = false;
    if (bytes < 3 || data[0] != 0xff || data[1] != 0xd8 || data[2] != 0xff)
        return false;
    d.info.err = jpeg_std_error(&d.errors);
    d.errors.error_exit = leave;
    d.errors.output_message = say_nothing;
    d.errors.emit_message = note_nothing;
    d.info.client_data = &d;
    if (setjmp(d.failed) == 0) {
        jpeg_create_decompress(&d.info);
        d.info.mem->max_memory_to_use = (long)ONNXD_IMAGE_MAX_SCRATCH;
        jpeg_mem_src(&d.info, data, (unsigned long)bytes);
        is_good = jpeg_read_header(&d.info, TRUE) == JPEG_HEADER_OK && read_rows(&d, room);
    }
    jpeg_destroy_decompress(&d.info);
    return is_good;
}
