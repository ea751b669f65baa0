#include "ops/choice.h"

#include <stdio.h>
#include <string.h>

#include "graph/attributes.h"
#include "ops/support.h"

/* Of the choices in a message; longer lists are cut. */
#define LIST_BYTES 160

onnxd_status *onnxd_op_choice(const onnxd_node *node, const char *name, const char *const *choices,
                              size_t count, size_t *inout_index)
{
    if (onnxd_node_attribute(node, name) == NULL)
        return NULL;
    onnxd_text text = {"", 0};
    ONNXD_TRY(onnxd_attribute_string(node, name, &text));
    for (size_t i = 0; i < count; i++) {
        if (strlen(choices[i]) == text.size && memcmp(choices[i], text.data, text.size) == 0) {
            *inout_index = i;
            return NULL;
        }
    }
    char list[LIST_BYTES] = "";
    size_t used = 0;
    for (size_t i = 0; i < count && used < sizeof(list); i++)
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s'%s'", i == 0 ? "" : ", ",
                                 choices[i]);
    return onnxd_op_error(node, "attribute '%s' is '%.64s', must be one of %s", name, text.data,
                          list);
}
