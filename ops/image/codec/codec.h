/*
 * Decoders of compressed images, one file per format, each around the format's own library where
 * there is one. All decode to RGB, a byte per channel, rows from the top, without gaps.
 *
 * The bytes may be anything: a decoder returns false for what is not its format or is damaged, and
 * neither prints nor aborts. Memory for the pixels comes from the caller, who can refuse.
 *
 * Threads: any.
 */
#ifndef ONNXD_OPS_IMAGE_CODEC_CODEC_H
#define ONNXD_OPS_IMAGE_CODEC_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* The most pixels that a picture may have along a side, as in JPEG. */
#define ONNXD_IMAGE_MAX_SIDE 65535
/* What a decoder may take beside the pixels. */
#define ONNXD_IMAGE_MAX_SCRATCH ((size_t)512 << 20)

/* Where the pixels go. */
typedef struct onnxd_image_room {
    /* Room for height * width * 3 bytes; both are 1 to ONNXD_IMAGE_MAX_SIDE. */
    onnxd_status *(*make)(struct onnxd_image_room *room, size_t width, size_t height,
                          uint8_t **out_pixels);
    onnxd_status *status; /* why a picture is refused, else NULL; owned by the caller */
} onnxd_image_room;

/* make() with its checks; NULL when the sides are out of range or make() fails. */
uint8_t *onnxd_image_room_make(onnxd_image_room *room, uint64_t width, uint64_t height);
/* Whether a picture may take so many bytes per pixel beside what make() gives. If not, room->status
 * says so: PAYLOAD_TOO_LARGE. */
bool onnxd_image_room_allows(onnxd_image_room *room, uint64_t width, uint64_t height,
                             uint64_t pixel_bytes);

typedef bool (*onnxd_image_decoder)(const uint8_t *data, size_t bytes, onnxd_image_room *room);

bool onnxd_decode_bmp(const uint8_t *data, size_t bytes, onnxd_image_room *room);
bool onnxd_decode_jpeg(const uint8_t *data, size_t bytes, onnxd_image_room *room);
bool onnxd_decode_jpeg2000(const uint8_t *data, size_t bytes, onnxd_image_room *room);
bool onnxd_decode_png(const uint8_t *data, size_t bytes, onnxd_image_room *room);
bool onnxd_decode_pnm(const uint8_t *data, size_t bytes, onnxd_image_room *room);
bool onnxd_decode_tiff(const uint8_t *data, size_t bytes, onnxd_image_room *room);
bool onnxd_decode_webp(const uint8_t *data, size_t bytes, onnxd_image_room *room);

#endif
