/* The rows of the published tables, as points: facts (models-and-kernels.md) 4.1, 4.3, 4.4, 4.6 and
 * 4.9. Single values, as printed there; the laws of calib_builtin.c were fitted to many more.
 *
 * 0 is left out. Three of H100's KDA decodes beat its memory (3.4 us for 12.7 MB; 13.6 and 14 us
 * for 50.8 MB): they came from the L2 cache. */
#include "sim/cost/calib_tables.h"

/* clang-format off */
static const struct calib_row hopper_rows[] = { /* the last two numbers: us on H100, on H200 */
    {CALIB_KDA_PREFILL, 96, 96, 1, 64, 0, 0, 0, 0, {30.7, 30.2}},
    {CALIB_KDA_PREFILL, 48, 48, 1, 64, 0, 0, 0, 0, {27.4, 27.3}},
    {CALIB_KDA_PREFILL, 24, 24, 1, 64, 0, 0, 0, 0, {26.6, 26.2}},
    {CALIB_KDA_PREFILL, 12, 12, 1, 64, 0, 0, 0, 0, {25.7, 25.6}},
    {CALIB_KDA_PREFILL, 96, 96, 1, 256, 0, 0, 0, 0, {60, 57}},
    {CALIB_KDA_PREFILL, 48, 48, 1, 256, 0, 0, 0, 0, {44, 43}},
    {CALIB_KDA_PREFILL, 24, 24, 1, 256, 0, 0, 0, 0, {41, 41}},
    {CALIB_KDA_PREFILL, 12, 12, 1, 256, 0, 0, 0, 0, {39, 39}},
    {CALIB_KDA_PREFILL, 96, 96, 1, 1024, 0, 0, 0, 0, {151, 137}},
    {CALIB_KDA_PREFILL, 48, 48, 1, 1024, 0, 0, 0, 0, {117, 114}},
    {CALIB_KDA_PREFILL, 24, 24, 1, 1024, 0, 0, 0, 0, {105, 104}},
    {CALIB_KDA_PREFILL, 12, 12, 1, 1024, 0, 0, 0, 0, {91, 91}},
    {CALIB_KDA_PREFILL, 96, 96, 1, 2048, 0, 0, 0, 0, {271, 246}},
    {CALIB_KDA_PREFILL, 48, 48, 1, 2048, 0, 0, 0, 0, {212, 200}},
    {CALIB_KDA_PREFILL, 24, 24, 1, 2048, 0, 0, 0, 0, {181, 180}},
    {CALIB_KDA_PREFILL, 12, 12, 1, 2048, 0, 0, 0, 0, {171, 170}},
    {CALIB_KDA_PREFILL, 96, 96, 1, 4096, 0, 0, 0, 0, {512, 460}},
    {CALIB_KDA_PREFILL, 48, 48, 1, 4096, 0, 0, 0, 0, {398, 374}},
    {CALIB_KDA_PREFILL, 24, 24, 1, 4096, 0, 0, 0, 0, {342, 334}},
    {CALIB_KDA_PREFILL, 12, 12, 1, 4096, 0, 0, 0, 0, {312, 310}},
    {CALIB_KDA_PREFILL, 96, 96, 1, 8192, 0, 0, 0, 0, {996, 891}},
    {CALIB_KDA_PREFILL, 48, 48, 1, 8192, 0, 0, 0, 0, {771, 720}},
    {CALIB_KDA_PREFILL, 24, 24, 1, 8192, 0, 0, 0, 0, {658, 642}},
    {CALIB_KDA_PREFILL, 12, 12, 1, 8192, 0, 0, 0, 0, {602, 596}},
    {CALIB_KDA_PREFILL, 96, 96, 1, 16384, 0, 0, 0, 0, {1955, 1747}},
    {CALIB_KDA_PREFILL, 48, 48, 1, 16384, 0, 0, 0, 0, {1508, 1409}},
    {CALIB_KDA_PREFILL, 24, 24, 1, 16384, 0, 0, 0, 0, {1286, 1257}},
    {CALIB_KDA_PREFILL, 12, 12, 1, 16384, 0, 0, 0, 0, {1180, 1165}},
    {CALIB_KDA_PREFILL, 96, 96, 1, 32768, 0, 0, 0, 0, {3874, 3460}},
    {CALIB_KDA_PREFILL, 48, 48, 1, 32768, 0, 0, 0, 0, {2987, 2787}},
    {CALIB_KDA_PREFILL, 24, 24, 1, 32768, 0, 0, 0, 0, {2542, 2482}},
    {CALIB_KDA_PREFILL, 12, 12, 1, 32768, 0, 0, 0, 0, {2334, 2303}},
    {CALIB_KDA_PREFILL, 96, 96, 4, 2048, 0, 0, 0, 0, {974, 736}},
    {CALIB_KDA_PREFILL, 96, 96, 8, 1024, 0, 0, 0, 0, {911, 746}},
    {CALIB_KDA_PREFILL, 96, 96, 16, 512, 0, 0, 0, 0, {962, 816}},
    {CALIB_KDA_PREFILL, 96, 96, 32, 256, 0, 0, 0, 0, {1050, 952}},
    {CALIB_KDA_PREFILL, 96, 96, 64, 128, 0, 0, 0, 0, {1263, 1231}},
    {CALIB_KDA_PREFILL, 12, 12, 2, 4096, 0, 0, 0, 0, {340, 332}},
    {CALIB_KDA_PREFILL, 12, 12, 4, 2048, 0, 0, 0, 0, {209, 200}},
    {CALIB_KDA_PREFILL, 12, 12, 8, 1024, 0, 0, 0, 0, {148, 137}},
    {CALIB_KDA_PREFILL, 12, 12, 16, 512, 0, 0, 0, 0, {147, 133}},
    {CALIB_KDA_PREFILL, 12, 12, 64, 128, 0, 0, 0, 0, {191, 179}},
    {CALIB_KDA_PREFILL, 96, 96, 64, 64, 0, 0, 0, 0, {870, 857}},
    {CALIB_KDA_PREFILL_FLA, 96, 96, 1, 64, 0, 0, 0, 0, {67.5, 68.6}},
    {CALIB_KDA_PREFILL_FLA, 96, 96, 1, 1024, 0, 0, 0, 0, {506, 442}},
    {CALIB_KDA_PREFILL_FLA, 96, 96, 1, 4096, 0, 0, 0, 0, {1853, 1571}},
    {CALIB_KDA_PREFILL_FLA, 96, 96, 1, 8192, 0, 0, 0, 0, {3668, 3102}},
    {CALIB_KDA_PREFILL_FLA, 96, 96, 1, 32768, 0, 0, 0, 0, {14642, 12395}},
    {CALIB_KDA_PREFILL_FLA, 12, 12, 1, 8192, 0, 0, 0, 0, {648, 606}},
    {CALIB_KDA_DECODE_FUSED, 96, 96, 1, 1, 0, 0, 0, 0, {7.6, 7.3}},
    {CALIB_KDA_DECODE, 96, 96, 1, 1, 0, 0, 0, 0, {0, 4.4}},
    {CALIB_KDA_DECODE_FUSED, 12, 12, 1, 1, 0, 0, 0, 0, {7.3, 7.2}},
    {CALIB_KDA_DECODE, 12, 12, 1, 1, 0, 0, 0, 0, {3.3, 4.3}},
    {CALIB_KDA_DECODE_FUSED, 96, 96, 8, 1, 0, 0, 0, 0, {41.6, 31.2}},
    {CALIB_KDA_DECODE, 96, 96, 8, 1, 0, 0, 0, 0, {34.2, 23.2}},
    {CALIB_KDA_DECODE_FUSED, 12, 12, 8, 1, 0, 0, 0, 0, {7.4, 7.4}},
    {CALIB_KDA_DECODE, 12, 12, 8, 1, 0, 0, 0, 0, {6.2, 5.8}},
    {CALIB_KDA_DECODE_FUSED, 96, 96, 32, 1, 0, 0, 0, 0, {156, 115}},
    {CALIB_KDA_DECODE, 96, 96, 32, 1, 0, 0, 0, 0, {140, 102}},
    {CALIB_KDA_DECODE_FUSED, 12, 12, 32, 1, 0, 0, 0, 0, {0, 12.7}},
    {CALIB_KDA_DECODE, 12, 12, 32, 1, 0, 0, 0, 0, {0, 12.6}},
    {CALIB_KDA_DECODE_FUSED, 96, 96, 64, 1, 0, 0, 0, 0, {310, 226}},
    {CALIB_KDA_DECODE, 96, 96, 64, 1, 0, 0, 0, 0, {279, 203}},
    {CALIB_KDA_DECODE_FUSED, 12, 12, 64, 1, 0, 0, 0, 0, {41.9, 31.2}},
    {CALIB_KDA_DECODE, 12, 12, 64, 1, 0, 0, 0, 0, {39.1, 29.7}},
    {CALIB_KDA_DECODE_FUSED, 96, 96, 128, 1, 0, 0, 0, 0, {613, 448}},
    {CALIB_KDA_DECODE, 96, 96, 128, 1, 0, 0, 0, 0, {557, 402}},
    {CALIB_KDA_DECODE_FUSED, 12, 12, 128, 1, 0, 0, 0, 0, {80.4, 59.8}},
    {CALIB_KDA_DECODE, 12, 12, 128, 1, 0, 0, 0, 0, {74.3, 55.8}},
    {CALIB_KDA_DECODE_FUSED, 96, 96, 256, 1, 0, 0, 0, 0, {1222, 893}},
    {CALIB_KDA_DECODE, 96, 96, 256, 1, 0, 0, 0, 0, {1114, 802}},
    {CALIB_KDA_DECODE_FUSED, 12, 12, 256, 1, 0, 0, 0, 0, {156, 116}},
    {CALIB_KDA_DECODE, 12, 12, 256, 1, 0, 0, 0, 0, {144, 106}},
    {CALIB_KDA_DECODE_FUSED, 96, 96, 512, 1, 0, 0, 0, 0, {2447, 1784}},
    {CALIB_KDA_DECODE, 96, 96, 512, 1, 0, 0, 0, 0, {2226, 1599}},
    {CALIB_KDA_DECODE_FUSED, 12, 12, 512, 1, 0, 0, 0, 0, {307, 226}},
    {CALIB_KDA_DECODE, 12, 12, 512, 1, 0, 0, 0, 0, {283, 207}},
    {CALIB_GDN_DECODE, 64, 16, 64, 1, 0, 0, 0, 0, {184, 136}},
    {CALIB_CONV_UPDATE, 96, 96, 64, 1, 0, 0, 0, 0, {17, 17}},
    {CALIB_CONV_UPDATE, 96, 96, 256, 1, 0, 0, 0, 0, {70, 61}},
    {CALIB_MLA_PREFILL, 128, 0, 1, 1024, 0, 0, 0, 0, {140, 136}},
    {CALIB_MLA_PREFILL, 64, 0, 1, 1024, 0, 0, 0, 0, {83, 80}},
    {CALIB_MLA_PREFILL, 32, 0, 1, 1024, 0, 0, 0, 0, {57, 54}},
    {CALIB_MLA_PREFILL, 16, 0, 1, 1024, 0, 0, 0, 0, {34, 34}},
    {CALIB_MLA_PREFILL, 128, 0, 1, 2048, 0, 0, 0, 0, {379, 380}},
    {CALIB_MLA_PREFILL, 64, 0, 1, 2048, 0, 0, 0, 0, {211, 207}},
    {CALIB_MLA_PREFILL, 32, 0, 1, 2048, 0, 0, 0, 0, {125, 126}},
    {CALIB_MLA_PREFILL, 16, 0, 1, 2048, 0, 0, 0, 0, {81, 81}},
    {CALIB_MLA_PREFILL, 128, 0, 1, 4096, 0, 0, 0, 0, {1263, 1249}},
    {CALIB_MLA_PREFILL, 64, 0, 1, 4096, 0, 0, 0, 0, {654, 643}},
    {CALIB_MLA_PREFILL, 32, 0, 1, 4096, 0, 0, 0, 0, {358, 350}},
    {CALIB_MLA_PREFILL, 16, 0, 1, 4096, 0, 0, 0, 0, {207, 206}},
    {CALIB_MLA_PREFILL, 128, 0, 1, 8192, 0, 0, 0, 0, {5133, 4816}},
    {CALIB_MLA_PREFILL, 64, 0, 1, 8192, 0, 0, 0, 0, {2321, 2321}},
    {CALIB_MLA_PREFILL, 32, 0, 1, 8192, 0, 0, 0, 0, {1212, 1203}},
    {CALIB_MLA_PREFILL, 16, 0, 1, 8192, 0, 0, 0, 0, {640, 633}},
    {CALIB_MLA_PREFILL, 128, 0, 1, 16384, 0, 0, 0, 0, {18647, 19166}},
    {CALIB_MLA_PREFILL, 64, 0, 1, 16384, 0, 0, 0, 0, {9365, 9555}},
    {CALIB_MLA_PREFILL, 32, 0, 1, 16384, 0, 0, 0, 0, {4888, 4946}},
    {CALIB_MLA_PREFILL, 16, 0, 1, 16384, 0, 0, 0, 0, {2359, 2275}},
    {CALIB_MLA_PREFILL, 128, 0, 1, 32768, 0, 0, 0, 0, {78284, 76993}},
    {CALIB_MLA_PREFILL, 64, 0, 1, 32768, 0, 0, 0, 0, {41137, 40775}},
    {CALIB_MLA_PREFILL, 32, 0, 1, 32768, 0, 0, 0, 0, {18008, 18893}},
    {CALIB_MLA_PREFILL, 16, 0, 1, 32768, 0, 0, 0, 0, {9156, 9327}},
    {CALIB_MLA_DECODE, 128, 0, 1, 0, 4096, 0, 0, 0, {23, 22}},
    {CALIB_MLA_DECODE, 128, 0, 1, 0, 32768, 0, 0, 0, {52, 48}},
    {CALIB_MLA_DECODE, 128, 0, 1, 0, 131072, 0, 0, 0, {99, 96}},
    {CALIB_MLA_DECODE, 128, 0, 32, 0, 4096, 0, 0, 0, {93, 86}},
    {CALIB_MLA_DECODE, 128, 0, 32, 0, 32768, 0, 0, 0, {511, 488}},
    {CALIB_MLA_DECODE, 128, 0, 32, 0, 131072, 0, 0, 0, {1948, 1974}},
    {CALIB_MLA_DECODE, 128, 0, 128, 0, 4096, 0, 0, 0, {272, 262}},
    {CALIB_MLA_DECODE, 128, 0, 128, 0, 32768, 0, 0, 0, {2031, 1958}},
    {CALIB_MLA_DECODE, 16, 0, 1, 0, 4096, 0, 0, 0, {19, 19}},
    {CALIB_MLA_DECODE, 16, 0, 1, 0, 32768, 0, 0, 0, {35, 29}},
    {CALIB_MLA_DECODE, 16, 0, 1, 0, 131072, 0, 0, 0, {86, 65}},
    {CALIB_MLA_DECODE, 16, 0, 32, 0, 32768, 0, 0, 0, {417, 293}},
    {CALIB_MLA_DECODE, 16, 0, 128, 0, 8192, 0, 0, 0, {414, 290}},
    {CALIB_MLA_DECODE, 16, 0, 128, 0, 32768, 0, 0, 0, {1595, 1100}},
    {CALIB_MLA_DECODE, 16, 0, 128, 0, 131072, 0, 0, 0, {6306, 4569}},
    {CALIB_GQA_PREFILL, 64, 0, 1, 8192, 0, 0, 0, 0, {1971, 1942}},
    {CALIB_GQA_PREFILL, 64, 0, 1, 16384, 0, 0, 0, 0, {7497, 7051}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 1, 12288, 7168, {62, 48}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 32, 12288, 7168, {66, 46}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 128, 12288, 7168, {63, 47}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 256, 12288, 7168, {68, 62}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 1024, 12288, 7168, {217, 215}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 4096, 12288, 7168, {918, 946}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 8192, 12288, 7168, {1718, 2049}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 1, 7168, 12288, {73, 51}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 32, 7168, 12288, {61, 45}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 128, 7168, 12288, {72, 55}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 256, 7168, 12288, {66, 61}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 1024, 7168, 12288, {232, 235}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 4096, 7168, 12288, {988, 900}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 8192, 7168, 12288, {1886, 2094}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 1, 6144, 7168, {34, 27}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 32, 6144, 7168, {34, 25}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 128, 6144, 7168, {34, 25}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 256, 6144, 7168, {37, 31}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 1024, 6144, 7168, {115, 111}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 4096, 6144, 7168, {448, 439}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 8192, 6144, 7168, {862, 958}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 1, 7168, 1536, {10.3, 8.5}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 32, 7168, 1536, {10.6, 8.6}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 128, 7168, 1536, {10.7, 8.6}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 256, 7168, 1536, {11.7, 10.5}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 1024, 7168, 1536, {35, 34}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 4096, 7168, 1536, {121, 131}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 8192, 7168, 1536, {232, 236}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 1, 1536, 7168, {11.6, 9.7}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 32, 1536, 7168, {12.5, 10.4}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 128, 1536, 7168, {13, 11.8}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 256, 1536, 7168, {15, 15}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 1024, 1536, 7168, {31, 29}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 4096, 1536, 7168, {115, 116}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 8192, 1536, 7168, {226, 226}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 1, 3584, 7168, {21, 17}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 32, 3584, 7168, {23, 18}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 128, 3584, 7168, {22, 18}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 256, 3584, 7168, {26, 23}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 1024, 3584, 7168, {69, 65}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 4096, 3584, 7168, {296, 300}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 8192, 3584, 7168, {510, 535}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 1, 7168, 3584, {20, 17}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 32, 7168, 3584, {21, 16}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 128, 7168, 3584, {23, 17}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 256, 7168, 3584, {24, 21}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 1024, 7168, 3584, {73, 72}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 4096, 7168, 3584, {264, 268}},
    {CALIB_GEMM, 0, 0, 0, 0, 0, 8192, 7168, 3584, {505, 535}},
};

static const struct calib_row h800_rows[] = { /* InferSim; facts 4.4 */
    {CALIB_MLA_DECODE, 128, 0, 1, 0, 4096, 0, 0, 0, {21.7, 0}},
    {CALIB_MLA_DECODE, 128, 0, 1, 0, 131072, 0, 0, 0, {94, 0}},
    {CALIB_MLA_DECODE, 128, 0, 32, 0, 4096, 0, 0, 0, {85.6, 0}},
    {CALIB_MLA_DECODE, 128, 0, 32, 0, 32768, 0, 0, 0, {551, 0}},
    {CALIB_MLA_DECODE, 128, 0, 128, 0, 4096, 0, 0, 0, {292, 0}},
    {CALIB_MLA_DECODE, 128, 0, 128, 0, 8192, 0, 0, 0, {550, 0}},
    {CALIB_MLA_DECODE, 128, 0, 128, 0, 32768, 0, 0, 0, {2095, 0}},
    {CALIB_MLA_PREFILL, 128, 0, 1, 1024, 0, 0, 0, 0, {116.9, 0}},
    {CALIB_MLA_PREFILL, 128, 0, 1, 4096, 0, 0, 0, 0, {1105, 0}},
    {CALIB_MLA_PREFILL, 128, 0, 1, 8192, 0, 0, 0, 0, {4539, 0}},
    {CALIB_MLA_PREFILL, 128, 0, 1, 16384, 0, 0, 0, 0, {17774, 0}},
    {CALIB_MLA_PREFILL, 128, 0, 1, 32768, 0, 0, 0, 0, {76338, 0}},
};

/* FlashKDA BENCHMARK_H20.md, InferSim; facts 4.4, 4.5 */
static const struct calib_row h20_rows[] = {
    {CALIB_KDA_PREFILL, 96, 96, 1, 8192, 0, 0, 0, 0, {2622, 0}},
    {CALIB_KDA_PREFILL, 96, 96, 8, 1024, 0, 0, 0, 0, {2043, 0}},
    {CALIB_KDA_PREFILL, 64, 64, 1, 8192, 0, 0, 0, 0, {1622, 0}},
    {CALIB_KDA_PREFILL, 64, 64, 8, 1024, 0, 0, 0, 0, {1395, 0}},
    {CALIB_KDA_PREFILL_FLA, 96, 96, 1, 8192, 0, 0, 0, 0, {4839, 0}},
    {CALIB_KDA_PREFILL_FLA, 96, 96, 8, 1024, 0, 0, 0, 0, {4672, 0}},
    {CALIB_KDA_PREFILL_FLA, 64, 64, 1, 8192, 0, 0, 0, 0, {3166, 0}},
    {CALIB_KDA_PREFILL_FLA, 64, 64, 8, 1024, 0, 0, 0, 0, {3218, 0}},
    {CALIB_GDN_PREFILL, 96, 96, 1, 8192, 0, 0, 0, 0, {3199, 0}},
    {CALIB_GDN_PREFILL, 32, 16, 1, 4096, 0, 0, 0, 0, {527, 0}},
    {CALIB_GDN_DECODE, 32, 16, 1, 1, 0, 0, 0, 0, {74, 0}},
    {CALIB_GDN_DECODE, 32, 16, 64, 1, 0, 0, 0, 0, {129, 0}},
    {CALIB_GDN_DECODE, 32, 16, 256, 1, 0, 0, 0, 0, {483, 0}},
    {CALIB_GDN_DECODE, 32, 16, 1024, 1, 0, 0, 0, 0, {1914, 0}},
    {CALIB_CONV_PREFILL, 32, 16, 1, 4096, 0, 0, 0, 0, {65, 0}},
    {CALIB_MLA_DECODE, 128, 0, 128, 0, 8192, 0, 0, 0, {2711, 0}},
};

/* H100, PCIe 5, cuMemcpyBatchAsync to the device: us of 100,000 pieces (facts 4.9). */
static const struct calib_row h100_batched_rows[] = {
    {CALIB_HOST_COPY, 0, 0, 0, 0, 0, 4096, 0, 0, {107789, 0}}, /* 3.8 GB/s */
    {CALIB_HOST_COPY, 0, 0, 0, 0, 0, 8192, 0, 0, {154566, 0}}, /* 5.3 GB/s */
    {CALIB_HOST_COPY, 0, 0, 0, 0, 0, 16384, 0, 0, {260063, 0}}, /* 6.3 GB/s */
    {CALIB_HOST_COPY, 0, 0, 0, 0, 0, 24576, 0, 0, {356174, 0}}, /* 6.9 GB/s */
    {CALIB_HOST_COPY, 0, 0, 0, 0, 0, 28672, 0, 0, {65015.9, 0}}, /* 44.1 GB/s */
    {CALIB_HOST_COPY, 0, 0, 0, 0, 0, 65536, 0, 0, {126517, 0}}, /* 51.8 GB/s */
};
/* clang-format on */

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct calib_table tables[CALIB_TABLES] = {
    [CALIB_TABLE_HOPPER] = {hopper_rows, COUNT(hopper_rows)},
    [CALIB_TABLE_H800] = {h800_rows, COUNT(h800_rows)},
    [CALIB_TABLE_H20] = {h20_rows, COUNT(h20_rows)},
    [CALIB_TABLE_H100_BATCHED] = {h100_batched_rows, COUNT(h100_batched_rows)},
};

const struct calib_table *calib_table_at(enum calib_table_id id)
{
    return &tables[id];
}

const char *calib_table_source(enum calib_kernel kernel)
{
    switch (kernel) {
    case CALIB_KDA_PREFILL:
        return "FlashKDA; aiconfigurator kda/vllm 0.1.dev19262, or BENCHMARK_H20.md; facts 4.1, "
               "4.5";
    case CALIB_KDA_PREFILL_FLA:
        return "FLA chunk_kda; aiconfigurator kda, or FlashKDA BENCHMARK_H20.md; facts 4.1, 4.5";
    case CALIB_KDA_DECODE:
    case CALIB_KDA_DECODE_FUSED:
        return "aiconfigurator kda/vllm 0.1.dev19262; facts 4.3";
    case CALIB_GDN_PREFILL:
        return "FLA GDN, FlashKDA BENCHMARK_H20.md; InferSim, without its convolution; facts 4.5";
    case CALIB_GDN_DECODE:
        return "aiconfigurator linear_attention/vllm 0.24.0; InferSim; facts 4.3, 4.5";
    case CALIB_CONV_PREFILL:
        return "InferSim; facts 4.5";
    case CALIB_CONV_UPDATE:
        return "aiconfigurator kda; facts 4.3";
    case CALIB_MLA_PREFILL:
        return "aiconfigurator mla/trtllm 1.3.0rc20; InferSim; facts 4.4";
    case CALIB_MLA_DECODE:
        return "FA3: aiconfigurator mla/sglang 0.5.14; FlashMLA: InferSim; facts 4.4";
    case CALIB_GQA_PREFILL:
        return "FA3; aiconfigurator attention/vllm 0.24.0; facts 4.4";
    case CALIB_HOST_COPY:
        return "vLLM PR 42212, 100,000 descriptors; facts 4.9";
    case CALIB_GEMM:
        return "cuBLAS; aiconfigurator gemm/vllm 0.24.0; facts 4.6";
    case CALIB_LAUNCH_STREAM:
    case CALIB_LAUNCH_GRAPH:
    case CALIB_HBM_COPY:
    case CALIB_HBM_READ:
    case CALIB_SNAPSHOT_EMIT:
    case CALIB_MAMBA_PREFILL:
    case CALIB_MAMBA_DECODE:
    case CALIB_GQA_DECODE:
    case CALIB_SNAPSHOT_COPY:
    case CALIB_KV_GATHER:
    case CALIB_GEMM_FP8:
        break;
    }
    return NULL;
}
