#include "ep/options.h"

#include "ep/cpu/internal.h"

#define FIELD(name) offsetof(onnxd_cpu_options, name)
#define TERABYTE 1099511627776.0

static const char *const winograd_choices[] = {"auto", "off", NULL};
static const char *const isa_choices[] = {"auto",        "portable",    "avx2", "avx512",
                                          "avx512_vnni", "avx512_bf16", NULL};
static const char *const precision_choices[] = {"fp32", "bf16", NULL};

const onnxd_ep_option_def onnxd_cpu_option_defs[] = {
    {.key = "cpu.threads",
     .kind = ONNXD_EP_OPTION_INT,
     .offset = FIELD(threads),
     .minimum = 0,
     .maximum = 1024,
     .help =
         "threads that the kernels of all requests share, and the most requests that run side by "
         "side; 0: as many CPUs as affinity and quota allow"},
    {.key = "cpu.memory_limit_bytes",
     .kind = ONNXD_EP_OPTION_INT,
     .offset = FIELD(memory_limit_bytes),
     .minimum = 0,
     .maximum = 1024 * TERABYTE,
     .help = "most bytes in buffers, cached ones included; 0: no limit"},
    {.key = "cpu.memory_cache_bytes",
     .kind = ONNXD_EP_OPTION_INT,
     .offset = FIELD(memory_cache_bytes),
     .minimum = 0,
     .maximum = 1024 * TERABYTE,
     .help = "released buffers beyond this go back to the system at once"},
    {.key = "cpu.batch_cache_bytes",
     .kind = ONNXD_EP_OPTION_INT,
     .offset = FIELD(batch_cache_bytes),
     .minimum = -1,
     .maximum = TERABYTE,
     .help = "batches whose values between two steps take more bytes are computed in parts where "
             "that spares going to memory; 0: always as a whole; -1: half of "
             "what the second-level caches of cpu.threads cores hold"},
    {.key = "cpu.kernel_cache",
     .kind = ONNXD_EP_OPTION_INT,
     .offset = FIELD(kernel_cache),
     .minimum = 0,
     .maximum = 1048576,
     .help = "kernels kept for reuse that no model holds"},
    {.key = "cpu.isa",
     .kind = ONNXD_EP_OPTION_ENUM,
     .offset = FIELD(isa),
     .choices = isa_choices,
     .help = "instructions that kernels of this provider's own use; auto: the best there are"},
    {.key = "cpu.onednn",
     .kind = ONNXD_EP_OPTION_BOOL,
     .offset = FIELD(uses_onednn),
     .help = "whether oneDNN's kernels are used where there are no better ones"},
    {.key = "cpu.vector_kernels",
     .kind = ONNXD_EP_OPTION_BOOL,
     .offset = FIELD(uses_vector_kernels),
     .help =
         "whether kernels of this provider's own are used where there are; false: oneDNN's, and "
         "the portable ones"},
    {.key = "cpu.winograd",
     .kind = ONNXD_EP_OPTION_ENUM,
     .offset = FIELD(winograd),
     .choices = winograd_choices,
     .help = "auto: convolutions use Winograd's method where it is likely faster and, tried with "
             "their weights, errs no more than cpu.winograd_error; off: never"},
    {.key = "cpu.winograd_error",
     .kind = ONNXD_EP_OPTION_FLOAT,
     .offset = FIELD(winograd_error),
     .minimum = 0,
     .maximum = 1,
     .help = "largest error that Winograd's method may show, as a part of the largest element of "
             "the result"},
    {.key = "cpu.precision",
     .kind = ONNXD_EP_OPTION_ENUM,
     .offset = FIELD(precision),
     .choices = precision_choices,
     .help = "bf16: where it is likely faster, matrix products and convolutions with constant "
             "weights round their factors to bfloat16 and sum in fp32: all of them where "
             "AVX512_BF16 is faster than fp32, elsewhere those of few rows and many weights, while "
             "the others "
             "stay as exact as with fp32; fp32: none"},
    {.key = NULL},
};

onnxd_status *onnxd_cpu_options_parse(const onnxd_ep_config *config, onnxd_cpu_options *out_options)
{
    onnxd_cpu_options options = {.memory_cache_bytes = (int64_t)1 << 30,
                                 .batch_cache_bytes = -1,
                                 .kernel_cache = 1024,
                                 .uses_onednn = true,
                                 .uses_vector_kernels = true,
                                 .winograd_error = 1e-4};
    ONNXD_TRY(onnxd_ep_options_parse(onnxd_cpu_option_defs, ONNXD_COUNT(onnxd_cpu_option_defs) - 1,
                                     config, &options));
    if (options.isa != ONNXD_CPU_ISA_AUTO &&
        !onnxd_simd_is_available((onnxd_simd_level)(options.isa - 1)))
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "option 'cpu.isa' is '%s', which this processor does not have; the best "
                           "it has is '%s'",
                           isa_choices[options.isa], onnxd_simd_level_name(onnxd_simd_best()));
    *out_options = options;
    return NULL;
}
