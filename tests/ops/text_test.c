#include <criterion/criterion.h>

#include "tests/ops/op_text.h"

Test(text, concatenation)
{
    static const op_text calls[] = {
        {"StringConcat", 20, "", "string[2,1]{a,b}; string[2]{x,y}", "string[2,2]{ax,ay,bx,by}"},
        {"StringConcat", 20, "", "string[0]{}; string[1]{x}", "string[0]{}"},
        {"StringConcat", 20, "", "string[2]{a,b}; string[3]{x,y,z}", "error: "},
    };
    EXPECT_EVALUATED(calls);
}

Test(text, split)
{
    static const op_text calls[] = {
        {"StringSplit:2", 20, "delimiter='-'", "string[2]{a-b--c,d}",
         "string[2,4]{a,b,,c,d,,,}; int64[2]{4,1}"},
        {"StringSplit:2", 20, "delimiter='-' maxsplit=1", "string[1]{a-b-c}",
         "string[1,2]{a,b-c}; int64[1]{2}"},
        {"StringSplit:2", 20, "maxsplit=0 delimiter='-'", "string[1]{a-b}",
         "string[1,1]{a-b}; int64[1]{1}"},
        {"StringSplit:2", 20, "", "string[0,2]{}", "string[0,2,0]{}; int64[0,2]{}"},
    };
    EXPECT_EVALUATED(calls);
    static const op_text inferred[] = {
        {"StringSplit:2", 20, "", "string[s0,2]", "string[s0,2,?]; int64[s0,2]"},
        {"StringSplit:2", 20, "", "string[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]",
         "error: rank 16, at most 15"},
    };
    EXPECT_INFERRED(inferred);
}

Test(text, normalization)
{
    static const op_text calls[] = {
        {"StringNormalizer", 10, "stopwords=['Monday'] case_change_action='UPPER'",
         "string[3]{monday,tuesday,MONDAY}", "string[1]{TUESDAY}"},
        {"StringNormalizer", 10, "stopwords=['a'] is_case_sensitive=1", "string[1,2]{a,A}",
         "string[1,1]{A}"},
        {"StringNormalizer", 10, "stopwords=['a']", "string[1,2]{a,A}", "string[1,1]{}"},
        {"StringNormalizer", 10, "case_change_action='LOWER'", "string[1]{\xc3\x84\xc3\x96}",
         "string[1]{\xc3\xa4\xc3\xb6}"},
        {"StringNormalizer", 10, "case_change_action='TITLE'", "string[1]{a}",
         "error: 'TITLE', must be one of 'NONE', 'LOWER', 'UPPER'"},
        {"StringNormalizer", 10, "", "string[2,2]{a,b,c,d}", "error: allowed are [C] and [1,C]"},
    };
    EXPECT_EVALUATED(calls);
}

Test(text, regular_expressions)
{
    static const op_text calls[] = {
        {"RegexFullMatch", 20, "pattern='a+b?'", "string[4]{aab,,aabb,a}", "bool[4]{1,0,0,1}"},
        /* Exponential for a matcher that goes back. */
        {"RegexFullMatch", 20, "pattern='(a|a)*b'",
         "string[1]{aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}", "bool[1]{0}"},
        {"RegexFullMatch", 20, "pattern='(a'", "string[1]{a}",
         "error: attribute 'pattern' is not a regular expression of RE2"},
        {"RegexFullMatch", 20, "", "string[1]{a}", "error: attribute 'pattern' of"},
    };
    EXPECT_EVALUATED(calls);
}

#define GRAMS                                                                                      \
    "mode='TF' min_gram_length=1 max_gram_length=2 ngram_counts=[0,2] ngram_indexes=[0,1,2] "      \
    "pool_int64s=[5,6,5,6] "

#define TRIPLES                                                                                    \
    "mode='TF' min_gram_length=3 max_gram_length=3 ngram_counts=[0,0,0] ngram_indexes=[0] "        \
    "pool_int64s=[5,6,7] "

Test(text, term_counts)
{
    static const op_text calls[] = {
        {"TfIdfVectorizer", 9, GRAMS "max_skip_count=0", "int64[4]{5,6,7,5}", "float[3]{2,1,1}"},
        {"TfIdfVectorizer", 9, GRAMS "max_skip_count=1", "int64[2,3]{5,9,6,6,5,6}",
         "float[2,3]{1,1,1,1,2,1}"},
        {"TfIdfVectorizer", 9, GRAMS "max_skip_count=9223372036854775806", "int32[2]{5,6}",
         "float[3]{1,1,1}"},
        {"TfIdfVectorizer", 9, GRAMS "max_skip_count=0", "int64[0]{}", "float[3]{0,0,0}"},
        /* Three tokens reach over a row of five at a distance of two, and no further. */
        {"TfIdfVectorizer", 9, TRIPLES "max_skip_count=0", "int64[5]{5,9,6,9,7}", "float[1]{0}"},
        {"TfIdfVectorizer", 9, TRIPLES "max_skip_count=1", "int64[5]{5,9,6,9,7}", "float[1]{1}"},
        {"TfIdfVectorizer", 9, TRIPLES "max_skip_count=9223372036854775806", "int64[5]{5,9,6,9,7}",
         "float[1]{1}"},
        {"TfIdfVectorizer", 9, TRIPLES "max_skip_count=5", "int64[2]{5,6}", "float[1]{0}"},
        {"TfIdfVectorizer", 9, GRAMS "max_skip_count=0", "string[1]{5}",
         "error: the pool holds integers, the input has type string"},
        {"TfIdfVectorizer", 9, GRAMS "max_skip_count=-1", "int64[1]{5}", "error: max_skip_count"},
        {"TfIdfVectorizer", 9,
         "mode='TF' min_gram_length=1 max_gram_length=1 max_skip_count=0 ngram_counts=[0,9] "
         "ngram_indexes=[0] pool_int64s=[5]",
         "int64[1]{5}", "error: attribute 'ngram_counts': element 1 is 9, allowed are 0 to 1"},
        {"TfIdfVectorizer", 9,
         "mode='TF' min_gram_length=1 max_gram_length=1 max_skip_count=0 ngram_counts=[0] "
         "ngram_indexes=[-1] pool_int64s=[5]",
         "int64[1]{5}", "error: element 0 is -1, it must not be negative"},
        {"TfIdfVectorizer", 9,
         "mode='IDF' min_gram_length=1 max_gram_length=1 max_skip_count=0 ngram_counts=[0] "
         "ngram_indexes=[0] pool_int64s=[5] weights=[0.5]",
         "int64[3]{5,5,5}", "float[1]{0.5}"},
    };
    EXPECT_EVALUATED(calls);
}

/* "If the tokenizer removes the entire content", the last extent is 0, marks or not. */
Test(text, strings_without_tokens)
{
#define TOKENIZER(mark, expression)                                                                \
    "com.microsoft/Tokenizer", 1,                                                                  \
        "mark=" mark " mincharnum=1 pad_value='#' tokenexp='" expression "'"
    static const op_text calls[] = {
        {TOKENIZER("1", "[0-9]+"), "string[2]{ab,c}", "string[2,0]{}"},
        {TOKENIZER("0", "[0-9]+"), "string[1,2]{ab,c}", "string[1,2,0]{}"},
        {TOKENIZER("1", "[a-b]+"), "string[2]{ab,c}", "string[2,3]{\x02,ab,\x03,\x02,\x03,#}"},
        {TOKENIZER("1", "[a-b]+"), "string[0]{}", "string[0,0]{}"},
    };
    EXPECT_EVALUATED(calls);
}
