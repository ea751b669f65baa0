#include "base/number_convert.h"

#include <charconv>
#include <system_error>

namespace
{

template <typename Float> bool convert_to(const char *text, size_t length, Float *out)
{
    Float value;
    std::from_chars_result result = std::from_chars(text, text + length, value);
    if (result.ec != std::errc())
        return false;
    *out = value;
    return true;
}

template <typename Float> size_t convert_from(char *buffer, size_t capacity, Float value)
{
    std::to_chars_result result = std::to_chars(buffer, buffer + capacity, value);
    return result.ec == std::errc() ? static_cast<size_t>(result.ptr - buffer) : 0;
}

} // namespace

bool onnxd_convert_to_f64(const char *text, size_t length, double *out)
{
    return convert_to(text, length, out);
}

bool onnxd_convert_to_f32(const char *text, size_t length, float *out)
{
    return convert_to(text, length, out);
}

size_t onnxd_convert_from_f64(char *buffer, size_t capacity, double value)
{
    return convert_from(buffer, capacity, value);
}

size_t onnxd_convert_from_f32(char *buffer, size_t capacity, float value)
{
    return convert_from(buffer, capacity, value);
}
