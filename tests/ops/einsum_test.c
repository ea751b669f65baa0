/* Einsum's equations, its shapes, and integers; Det. */
#include <criterion/criterion.h>

#include "tests/ops/op_text.h"

Test(einsum, equations_that_are_wrong)
{
    static const op_text calls[] = {
        {"Einsum", 12, "", "float[2]", "error: attribute 'equation'"},
        {"Einsum", 12, "equation='i,j->ij'", "float[2]",
         "error: the equation has more terms than the node inputs, 1"},
        {"Einsum", 12, "equation='i->i'", "float[2]; float[2]",
         "error: the equation has 1 terms for 2 inputs"},
        {"Einsum", 12, "equation='i->j'", "float[2]",
         "error: the output of the equation names 'j', which no input has"},
        {"Einsum", 12, "equation='i->ii'", "float[2]", "error: which it names already"},
        {"Einsum", 12, "equation='i->i->i'", "float[2]", "error: a character at offset 4"},
        {"Einsum", 12, "equation='i1'", "float[2]", "error: a character at offset 1"},
        {"Einsum", 12, "equation='..i'", "float[2]", "error: a character at offset 0"},
        {"Einsum", 12, "equation='...i...'", "float[2]", "error: more than one ellipsis"},
        {"Einsum", 12, "equation='abcdefghijklmnopq'", "float[2]", "error: more than 16 letters"},
        {"Einsum", 12, "equation='ij'", "float[2]", "error: input 0 has rank 1, its term has 2"},
        {"Einsum", 12, "equation='ii'", "float[2,3]",
         "error: input 0 has extents 2 and 3 for the letter 'i'"},
        {"Einsum", 12, "equation='i,i'", "float[2]; float[3]",
         "error: dimension 'i' of input 1 is 3, of an input before it 2"},
        {"Einsum", 12, "equation='...,...'", "float[2]; float[2,2]",
         "error: the ellipsis of input 1 stands for 2 dimensions"},
        {"Einsum", 12, "equation='i'", "bool[2]", "error: input 0 has type bool"},
        {"Einsum", 27, "equation='i'", "bfloat16[2]", "error: input 0 has type bfloat16"},
    };
    EXPECT_INFERRED(calls);
}

Test(einsum, shapes)
{
    static const op_text calls[] = {
        {"Einsum", 12, "equation='bij,bjk->bik'", "float[s0,2,3]; float[s0,3,s1]",
         "float[s0,2,s1]"},
        {"Einsum", 12, "equation='ba'", "float[2,3]", "float[3,2]"},
        {"Einsum", 12, "equation=' b a ->  a b '", "float[2,3]", "float[3,2]"},
        {"Einsum", 12, "equation='aB'", "float[2,3]", "float[3,2]"},
        {"Einsum", 12, "equation='i...j->j...i'", "float[2,s0,4,3]", "float[3,s0,4,2]"},
        {"Einsum", 12, "equation='i...->...'", "float*", "float*"},
        {"Einsum", 12, "equation='i...->i'", "float*", "float[?]"},
        {"Einsum", 12, "equation='...i,...i'", "float*; float[4,3]", "float[4]"},
        {"Einsum", 12, "equation='->...'", "float[]", "float[]"},
    };
    EXPECT_INFERRED(calls);
}

Test(einsum, values)
{
    static const op_text calls[] = {
        {"Einsum", 12, "equation='->'", "float[]{3}", "float[]{3}"},
        {"Einsum", 12, "equation='ii'", "int32[2,2]{1,2,3,4}", "int32[]{5}"},
        {"Einsum", 12, "equation='ii->i'", "int64[2,2]{1,2,3,4}", "int64[2]{1,4}"},
        {"Einsum", 12, "equation='i,i'", "int8[2]{127,1}; int8[2]{2,-128}", "int8[]{126}"},
        {"Einsum", 12, "equation='i,i->i'", "uint16[2]{65535,3}; uint16[2]{65535,5}",
         "uint16[2]{1,15}"},
        {"Einsum", 12, "equation='i,j->ji'", "float16[2]{1,2}; float16[2]{3,4}",
         "float16[2,2]{3,6,4,8}"},
        {"Einsum", 28, "equation='ij,jk'", "bfloat16[1,2]{1,2}; bfloat16[2,1]{3,4}",
         "bfloat16[1,1]{11}"},
        {"Einsum", 12, "equation='wx,xy,yz->wz'",
         "float[1,2]{1,2}; float[2,2]{1,0,0,1}; float[2,1]{3,4}", "float[1,1]{11}"},
        {"Einsum", 12, "equation='ij,kj->ik'", "float[2,2]{1,2,3,4}; float[2,2]{1,0,0,1}",
         "float[2,2]{1,2,3,4}"},
        {"Einsum", 12, "equation='...i,...i'", "float[2,2]{1,2,3,4}; float[1,2]{1,1}",
         "float[2]{3,7}"},
        {"Einsum", 12, "equation='i,->i'", "float[2]{1,2}; float[]{5}", "float[2]{5,10}"},
        {"Einsum", 12, "equation='ij,j->'", "double[2,2]{1,2,3,4}; double[2]{1,10}",
         "double[]{64}"},
        {"Einsum", 12, "equation='ij,jk->ik'", "float[2,0]{}; float[0,1]{}", "float[2,1]{0,0}"},
        {"Einsum", 12, "equation='ij->i'", "int32[2,0]{}", "int32[2]{0,0}"},
        {"Einsum", 12, "equation='ij->j'", "float[2,0]{}", "float[0]{}"},
        {"Einsum", 12, "equation='i,j,k->'", "int32[2]{1,2}; int32[2]{3,4}; int32[2]{5,6}",
         "int32[]{231}"},
    };
    EXPECT_EVALUATED(calls);
}

Test(einsum, determinants)
{
    static const op_text calls[] = {
        {"Det", 11, "", "float[2,2]{1,2,3,4}", "float[]{-2}"},
        {"Det", 22, "", "bfloat16[2,1,1]{3,-1}", "bfloat16[2]{3,-1}"},
        {"Det", 11, "", "double[2,0,0]{}", "double[2]{1,1}"},
        {"Det", 11, "", "float[0,2,2]{}", "float[0]{}"},
        {"Det", 11, "", "float[2,2]{0,1,1,0}", "float[]{-1}"},
        {"Det", 11, "", "float[2,2]{1,2,2,4}", "float[]{0}"},
        {"Det", 11, "", "float[2,2]{nan,1,1,1}", "float[]{NaN}"},
    };
    EXPECT_EVALUATED(calls);
    static const op_text shapes[] = {
        {"Det", 11, "", "float[s0,3,?]", "float[s0]"},
        {"Det", 11, "", "float*", "float*"},
        {"Det", 11, "", "float[2,3]", "error: the matrices are 2 by 3, they must be square"},
        {"Det", 11, "", "float[2]", "error: input 0 has rank 1, needed is 2 or more"},
    };
    EXPECT_INFERRED(shapes);
}
