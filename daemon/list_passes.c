#include <stdio.h>
#include <stdlib.h>

#include "daemon/command.h"
#include "ep/cpu/cpu_ep.h"
#include "graph/passes.h"

static void print(const onnxd_pass *const *passes)
{
    for (; *passes != NULL; passes++)
        printf("  %-26s %s\n", (*passes)->name, (*passes)->summary);
}

int onnxd_command_list_passes(const onnxd_invocation *invocation ONNXD_UNUSED,
                              const onnxd_config *config ONNXD_UNUSED)
{
    printf("every model:\n");
    print(onnxd_passes);
    printf("models that cpu_ep alone may run:\n");
    print(onnxd_cpu_ep_passes());
    return EXIT_SUCCESS;
}
