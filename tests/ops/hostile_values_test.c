/*
 * Every operator with values that a client may send: each element of each input replaced by numbers
 * at the ends of its type, by what is no number, by texts that are none. Indices, lengths, axes,
 * counts, scales and boxes are all such values.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/ops/hostile.h"

#define MAX_ELEMENTS 12 /* of an input that are changed one by one; all at once, however many */

static unsigned result_count, refusal_count;

static void run(op_call *call)
{
    if (hostile_evaluate(call)[0] == '\0')
        result_count++;
    else
        refusal_count++;
}

/* Element `index`, or every one for -1. False when the call has no such element. */
static bool change(op_call *call, uint32_t input, int64_t index, size_t which)
{
    onnxd_tensor *value = call->values[input];
    if (value == NULL || index >= (int64_t)value->count)
        return false;
    for (size_t i = 0; i < value->count; i++)
        if (index < 0 || (int64_t)i == index)
            hostile_store(value, i, which);
    return true;
}

static void each_element(const op_text *text, const onnxd_op_def *def)
{
    static op_call c;
    op_call_open(&c, text);
    uint32_t inputs = c.node.input_count;
    op_call_close(&c);
    (void)def;
    for (uint32_t i = 0; i < inputs; i++)
        for (int64_t index = -1; index < MAX_ELEMENTS; index++)
            for (size_t which = 0; which < HOSTILE_VALUES; which++) {
                op_call_open(&c, text);
                if (which < hostile_value_count(c.types[i].dtype) && change(&c, i, index, which))
                    run(&c);
                else
                    op_call_close(&c);
            }
}

Test(hostile_values, every_element_of_every_input)
{
    hostile_for_each(each_element);
    cr_expect(result_count > 1000 && refusal_count > 1000, "%u results, %u refusals", result_count,
              refusal_count);
}

/* Two inputs at once: a length and an offset, a start and a step. */
static void each_pair(const op_text *text, const onnxd_op_def *def)
{
    static op_call c;
    op_call_open(&c, text);
    uint32_t inputs = c.node.input_count;
    op_call_close(&c);
    (void)def;
    for (uint32_t a = 0; a < inputs; a++)
        for (uint32_t b = a + 1; b < inputs; b++)
            for (size_t which = 0; which < HOSTILE_VALUES * HOSTILE_VALUES; which++) {
                size_t first = which / HOSTILE_VALUES, second = which % HOSTILE_VALUES;
                op_call_open(&c, text);
                if (first < hostile_value_count(c.types[a].dtype) &&
                    second < hostile_value_count(c.types[b].dtype) && change(&c, a, -1, first) &&
                    change(&c, b, -1, second))
                    run(&c);
                else
                    op_call_close(&c);
            }
}

Test(hostile_values, two_inputs_at_once)
{
    hostile_for_each(each_pair);
    cr_expect(result_count > 1000 && refusal_count > 1000, "%u results, %u refusals", result_count,
              refusal_count);
}

/* What every definition of the table is held to above, it is held to with a call that it accepts.
 */
Test(hostile_values, every_operator_has_a_call)
{
    size_t at = 0;
    for (const onnxd_op_def *def; (def = hostile_next_without_call(&at)) != NULL;)
        cr_expect(false, "no call for %s/%s of opset %lld", def->domain, def->op_type,
                  (long long)def->since);
}
