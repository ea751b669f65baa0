#include "ops/index/output.h"

#include "ops/control/pieces.h"

onnxd_status *onnxd_publish_output(onnxd_dynamic *dynamic, uint32_t index, onnxd_tensor *tensor)
{
    onnxd_status *status = onnxd_pieces_own_strings(dynamic->env, &tensor);
    if (status == NULL)
        status = onnxd_datum_of_tensor(tensor, &dynamic->outputs[index]);
    onnxd_tensor_release(tensor);
    return status;
}
