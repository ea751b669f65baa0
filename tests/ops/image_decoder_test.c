#include <criterion/criterion.h>

#include "tests/ops/op_text.h"

Test(image_decoder, plain_formats)
{
    static const op_text calls[] = {
        /* P6 2 1 255, then two pixels. */
        {"ImageDecoder", 20, "", "uint8[17]{80,54,10,50,32,49,10,50,53,53,10,1,2,3,4,5,6}",
         "uint8[1,2,3]{1,2,3,4,5,6}"},
        {"ImageDecoder", 20, "pixel_format='BGR'",
         "uint8[17]{80,54,10,50,32,49,10,50,53,53,10,1,2,3,4,5,6}", "uint8[1,2,3]{3,2,1,6,5,4}"},
        {"ImageDecoder", 20, "pixel_format='Grayscale'",
         "uint8[14]{80,54,10,49,32,49,10,50,53,53,10,255,0,0}", "uint8[1,1,1]{76}"},
        /* P2 1 2 3, then "0 2" as text: of three levels. */
        {"ImageDecoder", 20, "", "uint8[12]{80,50,32,49,32,50,32,51,32,48,32,50}",
         "uint8[2,1,3]{0,0,0,170,170,170}"},
        /* P4 9 1: two bytes a row, a set bit is black. */
        {"ImageDecoder", 20, "pixel_format='Grayscale'", "uint8[9]{80,52,10,57,32,49,10,128,0}",
         "uint8[1,9,1]{0,255,255,255,255,255,255,255,255}"},
    };
    EXPECT_EVALUATED(calls);
}

/* What no decoder takes is an empty picture; nothing is read past the end. */
Test(image_decoder, damaged_files)
{
    static const op_text calls[] = {
        {"ImageDecoder", 20, "", "uint8[0]{}", "uint8[0,0,3]{}"},
        {"ImageDecoder", 20, "pixel_format='Grayscale'", "uint8[3]{1,2,3}", "uint8[0,0,1]{}"},
        /* Signatures with nothing behind them: JPEG, PNG, TIFF, JPEG 2000, WebP. */
        {"ImageDecoder", 20, "", "uint8[3]{255,216,255}", "uint8[0,0,3]{}"},
        {"ImageDecoder", 20, "", "uint8[6]{255,216,255,224,255,255}", "uint8[0,0,3]{}"},
        {"ImageDecoder", 20, "", "uint8[8]{137,80,78,71,13,10,26,10}", "uint8[0,0,3]{}"},
        {"ImageDecoder", 20, "", "uint8[8]{73,73,42,0,255,255,255,255}", "uint8[0,0,3]{}"},
        {"ImageDecoder", 20, "", "uint8[5]{255,79,255,81,0}", "uint8[0,0,3]{}"},
        {"ImageDecoder", 20, "", "uint8[12]{82,73,70,70,4,0,0,0,87,69,66,80}", "uint8[0,0,3]{}"},
        /* P6 of 65535 x 65535 and no pixels; of no width; one byte short. */
        {"ImageDecoder", 20, "", "uint8[18]{80,54,32,54,53,53,51,53,32,54,53,53,51,53,32,49,32,0}",
         "uint8[0,0,3]{}"},
        {"ImageDecoder", 20, "", "uint8[11]{80,54,32,48,32,49,32,49,32,0,0}", "uint8[0,0,3]{}"},
        {"ImageDecoder", 20, "", "uint8[11]{80,54,32,49,32,49,32,49,32,0,0}", "uint8[0,0,3]{}"},
        /* A BMP of 1 x -2147483648 in 24 bits, and one whose pixels begin beyond the end. */
        {"ImageDecoder", 20, "",
         "uint8[54]{66,77,0,0,0,0,0,0,0,0,54,0,0,0,40,0,0,0,1,0,0,0,0,0,0,128,1,0,24,0,0,0,0,0,0,0,"
         "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}",
         "uint8[0,0,3]{}"},
        {"ImageDecoder", 20, "",
         "uint8[54]{66,77,0,0,0,0,0,0,0,0,255,255,255,255,40,0,0,0,1,0,0,0,1,0,0,0,1,0,24,0,0,0,0,"
         "0,"
         "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}",
         "uint8[0,0,3]{}"},
        /* JPEG 2000 of 1 x 1 x 5 and nothing in its tile. */
        {"ImageDecoder", 20, "",
         "uint8[93]{255,79,255,81,0,53,0,0,0,0,0,1,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,1,0,0,0"
         ",1,0,0,0,0,0,0,0,0,0,5,7,1,1,7,1,1,7,1,1,7,1,1,7,1,1,255,82,0,12,0,0,0,1,0,0,4"
         ",4,0,1,255,92,0,4,64,64,255,144,0,10,0,0,0,0,0,0,0,1,255,147,255,217}",
         "uint8[0,0,3]{}"},
        {"ImageDecoder", 20, "pixel_format='CMYK'", "uint8[1]{0}",
         "error: 'CMYK', must be one of 'RGB', 'BGR', 'Grayscale'"},
    };
    EXPECT_EVALUATED(calls);
}

/* Headers that claim more than the file could hold: refused before a decoder takes memory. */
Test(image_decoder, sizes_that_are_only_claimed)
{
    static const op_text calls[] = {
        /* JPEG 2000 of 20000 x 20000 x 3, then of 1000 x 1000 x 3, which passes the limit of the
         * output alone. */
        {"ImageDecoder", 20, "",
         "uint8[87]{255,79,255,81,0,47,0,0,0,0,78,32,0,0,78,32,0,0,0,0,0,0,0,0,0,0,78,32"
         ",0,0,78,32,0,0,0,0,0,0,0,0,0,3,7,1,1,7,1,1,7,1,1,255,82,0,12,0,0,0,1,0,0,4,4,0"
         ",1,255,92,0,4,64,64,255,144,0,10,0,0,0,0,0,0,0,1,255,147,255,217}",
         "error: a picture of 20000 x 20000 takes 4800000000 bytes, 536870912 are allowed"},
        {"ImageDecoder", 20, "",
         "uint8[87]{255,79,255,81,0,47,0,0,0,0,3,232,0,0,3,232,0,0,0,0,0,0,0,0,0,0,3,232"
         ",0,0,3,232,0,0,0,0,0,0,0,0,0,3,7,1,1,7,1,1,7,1,1,255,82,0,12,0,0,0,1,0,0,4,4,0"
         ",1,255,92,0,4,64,64,255,144,0,10,0,0,0,0,0,0,0,1,255,147,255,217}",
         "error: a tensor would pass the limit"},
        /* WebP, lossless, of 16383 x 16383. */
        {"ImageDecoder", 20, "",
         "uint8[26]{82,73,70,70,18,0,0,0,87,69,66,80,86,80,56,76,6,0,0,0,47,254,191,255,"
         "15,0}",
         "error: a picture of 16383 x 16383 takes 1073610756 bytes, 536870912 are allowed"},
    };
    EXPECT_EVALUATED(calls);
}
