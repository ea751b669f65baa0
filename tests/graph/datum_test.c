#include "graph/datum.h"

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "tests/graph/build_graph.h"

static onnxd_datum *number(void)
{
    const onnxd_shape scalar = onnxd_shape_of_rank(0);
    onnxd_tensor *tensor = NULL;
    onnxd_datum *datum = NULL;
    expect_ok(onnxd_tensor_create(ONNXD_FLOAT, &scalar, &tensor));
    expect_ok(onnxd_datum_of_tensor(tensor, &datum));
    onnxd_tensor_release(tensor);
    return datum;
}

static onnxd_datum **list(size_t count)
{
    onnxd_datum **datums = onnxd_alloc_zero(count, sizeof(onnxd_datum *));
    cr_assert(datums != NULL);
    return datums;
}

Test(datum, elements_have_the_kind_of_the_sequence)
{
    uint64_t live = onnxd_alloc_query().live_count;
    onnxd_datum *made = NULL;
    onnxd_datum **items = list(3);
    items[0] = number();
    expect_error(onnxd_datum_of_items(ONNXD_VALUE_SEQUENCE, ONNXD_FLOAT, items, 2, &made),
                 ONNXD_INVALID_ARGUMENT, "element 1 of a sequence is of kind nothing, not tensor");
    expect_ok(onnxd_datum_nothing(ONNXD_FLOAT, &items[1]));
    expect_error(onnxd_datum_of_items(ONNXD_VALUE_SEQUENCE, ONNXD_FLOAT, items, 2, &made),
                 ONNXD_INVALID_ARGUMENT, "element 1 of a sequence is of kind optional, not tensor");
    expect_error(onnxd_datum_of_items(ONNXD_VALUE_SEQUENCE_OF_MAPS, ONNXD_FLOAT, items, 2, &made),
                 ONNXD_INVALID_ARGUMENT,
                 "element 0 of a sequence of maps is of kind tensor, not map");
    expect_error(onnxd_datum_of_items(ONNXD_VALUE_SEQUENCE, ONNXD_INT64, items, 1, &made),
                 ONNXD_INVALID_ARGUMENT, "element 0 of a sequence of int64 has element type float");
    cr_expect(made == NULL);
    onnxd_datums_free(items, 3);
    onnxd_datums_free(NULL, 3);
    cr_expect(onnxd_alloc_query().live_count == live);
}
