#include "sim/model/presets.h"

#include <string.h>

#include "sim/core/text.h"

/* Geometry of a family, with the parts that differ as arguments. The convolution has four taps in
 * every model here. */
#define KDA(count_, heads_, gate_lora_)                                                            \
    {                                                                                              \
        .kind = LAYER_KDA, .count = count_, .heads = heads_, .key_dim = 128, .value_dim = 128,     \
        .conv_kernel = 4, .decay_lora = 128, .gate_lora = gate_lora_                               \
    }
#define GDN(count_, heads_)                                                                        \
    {                                                                                              \
        .kind = LAYER_GDN, .count = count_, .heads = heads_, .key_heads = 16, .key_dim = 128,      \
        .value_dim = 128, .conv_kernel = 4                                                         \
    }
#define MAMBA2(count_, heads_, head_dim_, state_dim_, groups_)                                     \
    {                                                                                              \
        .kind = LAYER_MAMBA2, .count = count_, .heads = heads_, .head_dim = head_dim_,             \
        .state_dim = state_dim_, .groups = groups_, .conv_kernel = 4                               \
    }
#define MAMBA1(count_, inner_, rank_)                                                              \
    {                                                                                              \
        .kind = LAYER_MAMBA1, .count = count_, .inner_dim = inner_, .state_dim = 16,               \
        .dt_rank = rank_, .conv_kernel = 4                                                         \
    }
#define LIGHTNING(count_, heads_)                                                                  \
    {                                                                                              \
        .kind = LAYER_LIGHTNING, .count = count_, .heads = heads_, .key_dim = 128,                 \
        .value_dim = 128                                                                           \
    }
#define MLA(count_, heads_, q_lora_, nope_, rope_, value_, gate_)                                  \
    {                                                                                              \
        .kind = LAYER_MLA, .count = count_, .heads = heads_, .q_lora = q_lora_, .kv_lora = 512,    \
        .nope_dim = nope_, .rope_dim = rope_, .value_dim = value_, .output_gate = gate_            \
    }
#define GQA(count_, heads_, kv_heads_, head_dim_, gate_)                                           \
    {                                                                                              \
        .kind = LAYER_GQA, .count = count_, .heads = heads_, .kv_heads = kv_heads_,                \
        .head_dim = head_dim_, .output_gate = gate_                                                \
    }
#define DENSE(count_, inner_, gated_)                                                              \
    {                                                                                              \
        .kind = LAYER_DENSE, .count = count_, .inner_dim = inner_, .gated = gated_                 \
    }
#define MOE(count_, experts_, active_, expert_, latent_, shared_, gated_)                          \
    {                                                                                              \
        .kind = LAYER_MOE, .count = count_, .experts = experts_, .experts_per_token = active_,     \
        .expert_dim = expert_, .latent_dim = latent_, .shared_dim = shared_, .gated = gated_       \
    }

static const struct model presets[] = {
    {.name = "kimi-k3",
     .summary = "Kimi K3: 93 layers, KDA and gated MLA, LatentMoE; 2.78T parameters, 104B active",
     .source = "aiconfigurator moonshotai--Kimi-K3_config.json and kimi_k3.py; arXiv 2607.24653",
     .hidden_dim = 7168,
     .vocab = 163840,
     .state_dtype = STATE_DTYPE_FP32,
     .group_count = 4,
     .groups = {KDA(69, 96, 0), MLA(24, 96, 1536, 128, 64, 128, true), DENSE(1, 33792, true),
                MOE(92, 896, 16, 3072, 3584, 6144, true)}},
    {.name = "kimi-linear-48b",
     .summary = "Kimi-Linear-48B-A3B: 27 layers, KDA and MLA without rotation",
     .source = "arXiv 2510.26692 and the MoonshotAI/Kimi-Linear config; the rank of the output gate"
               " (128, one head) is [I]",
     .hidden_dim = 2304,
     .vocab = 163840,
     .state_dtype = STATE_DTYPE_FP32,
     .group_count = 4,
     .groups = {KDA(20, 32, 128), MLA(7, 32, 0, 128, 64, 128, false), DENSE(1, 9216, true),
                MOE(26, 256, 8, 1024, 0, 1024, true)}},
    {.name = "qwen3-next-80b",
     .summary = "Qwen3-Next-80B-A3B: 48 layers, Gated DeltaNet and gated GQA",
     .source = "InferSim hf_configs. Its config names no state type: fp32 as SGLang stores it; vLLM"
               " would take bf16, --state-dtype bf16",
     .hidden_dim = 2048,
     .vocab = 151936,
     .state_dtype = STATE_DTYPE_FP32,
     .group_count = 3,
     .groups = {GDN(36, 32), GQA(12, 16, 2, 256, true), MOE(48, 512, 10, 512, 0, 512, true)}},
    {.name = "qwen3.5-4b",
     .summary = "Qwen3.5-4B: 32 layers, Gated DeltaNet and gated GQA, dense",
     .source = "openinfer docs/models/qwen35; Qwen3.5-4B config.json",
     .hidden_dim = 2560,
     .vocab = 248320,
     .tied_embedding = true,
     .state_dtype = STATE_DTYPE_FP32,
     .group_count = 3,
     .groups = {GDN(24, 32), GQA(8, 16, 4, 256, true), DENSE(32, 9216, true)}},
    {.name = "qwen3.5-27b",
     .summary = "Qwen3.5-27B: 64 layers, Gated DeltaNet and gated GQA, dense",
     .source = "aiconfigurator config; THUDM/slime scripts/models/qwen3.5-27B.sh",
     .hidden_dim = 5120,
     .vocab = 248320,
     .state_dtype = STATE_DTYPE_FP32,
     .group_count = 3,
     .groups = {GDN(48, 48), GQA(16, 24, 4, 256, true), DENSE(64, 17408, true)}},
    {.name = "qwen3.5-35b",
     .summary = "Qwen3.5-35B-A3B: 40 layers, Gated DeltaNet and gated GQA, MoE",
     .source = "aiconfigurator config; InferSim hf_configs/qwen3.5-35B-A3B_config.json",
     .hidden_dim = 2048,
     .vocab = 248320,
     .state_dtype = STATE_DTYPE_FP32,
     .group_count = 3,
     .groups = {GDN(30, 32), GQA(10, 16, 2, 256, true), MOE(40, 256, 8, 512, 0, 512, true)}},
    {.name = "qwen3.5-122b",
     .summary = "Qwen3.5-122B-A10B: 48 layers, Gated DeltaNet and gated GQA, MoE",
     .source = "aiconfigurator config",
     .hidden_dim = 3072,
     .vocab = 248320,
     .state_dtype = STATE_DTYPE_FP32,
     .group_count = 3,
     .groups = {GDN(36, 64), GQA(12, 32, 2, 256, true), MOE(48, 256, 8, 1024, 0, 1024, true)}},
    {.name = "qwen3.5-397b",
     .summary = "Qwen3.5-397B-A17B: 60 layers, Gated DeltaNet and gated GQA, MoE",
     .source = "aiconfigurator Qwen--Qwen3.5-397B-A17B_config.json",
     .hidden_dim = 4096,
     .vocab = 248320,
     .state_dtype = STATE_DTYPE_FP32,
     .group_count = 3,
     .groups = {GDN(45, 64), GQA(15, 32, 2, 256, true), MOE(60, 512, 10, 1024, 0, 1024, true)}},
    {.name = "nemotron-h-56b",
     .summary = "Nemotron-H-56B: 118 layers, Mamba2, GQA and dense",
     .source = "aiconfigurator config, hybrid override pattern",
     .hidden_dim = 8192,
     .vocab = 131072,
     .state_dtype = STATE_DTYPE_FP32,
     .group_count = 3,
     .groups = {MAMBA2(54, 256, 64, 256, 8), GQA(10, 64, 8, 128, false), DENSE(54, 32768, false)}},
    {.name = "nemotron3-nano",
     .summary = "Nemotron-3-Nano-30B-A3B: 52 layers, Mamba2, GQA and MoE",
     .source = "aiconfigurator config, hybrid override pattern",
     .hidden_dim = 2688,
     .vocab = 131072,
     .state_dtype = STATE_DTYPE_FP32,
     .group_count = 3,
     .groups = {MAMBA2(23, 64, 64, 128, 8), GQA(6, 32, 2, 128, false),
                MOE(23, 128, 6, 1856, 0, 3712, false)}},
    {.name = "nemotron3-super",
     .summary = "Nemotron-3-Super-120B-A12B: 88 layers, Mamba2, GQA and LatentMoE",
     .source = "aiconfigurator config, hybrid override pattern",
     .hidden_dim = 4096,
     .vocab = 131072,
     .state_dtype = STATE_DTYPE_FP32,
     .group_count = 3,
     .groups = {MAMBA2(40, 128, 64, 128, 8), GQA(8, 32, 2, 128, false),
                MOE(40, 512, 22, 2688, 1024, 5376, false)}},
    {.name = "nemotron3-ultra",
     .summary = "Nemotron-3-Ultra-550B-A55B: 108 layers, Mamba2, GQA and LatentMoE",
     .source = "aiconfigurator config, hybrid override pattern",
     .hidden_dim = 8192,
     .vocab = 131072,
     .state_dtype = STATE_DTYPE_FP32,
     .group_count = 3,
     .groups = {MAMBA2(48, 256, 64, 128, 8), GQA(12, 64, 2, 128, false),
                MOE(48, 512, 22, 5120, 2048, 10240, false)}},
    {.name = "minimax-text-01",
     .summary = "MiniMax-Text-01: 80 layers, lightning attention and GQA 7:1, MoE; 456B",
     .source = "MiniMaxAI/MiniMax-Text-01 config and README; the fp32 state is [I]",
     .hidden_dim = 6144,
     .vocab = 200064,
     .state_dtype = STATE_DTYPE_FP32,
     .group_count = 3,
     .groups = {LIGHTNING(70, 64), GQA(10, 64, 8, 128, false), MOE(80, 32, 2, 9216, 0, 0, true)}},
    {.name = "ling-2.5-1t",
     .summary = "Ring/Ling-2.5-1T: 80 layers, lightning attention (GLA) and MLA 7:1, MoE",
     .source =
         "sgl-project/sglang-jax issue 887 and its MLA test dimensions; the fp32 state and the"
         " feed-forward part (Ling-1T: 4 dense, 256 experts of 2048, top-8) are [I]",
     .hidden_dim = 8192,
     .vocab = 157184,
     .state_dtype = STATE_DTYPE_FP32,
     .group_count = 4,
     .groups = {LIGHTNING(70, 64), MLA(10, 64, 1536, 128, 64, 128, false), DENSE(4, 18432, true),
                MOE(76, 256, 8, 2048, 0, 2048, true)}},
    {.name = "glm-5.3-flash",
     .summary = "GLM-5.3-Flash: 45 layers, KDA and sparse MLA without rotation, MoE; 321B",
     .source = "glm5_next configs in public servers. Without the indexer's key cache (set"
               " index_bytes; GLM-5.2 takes 144); attention work is counted as dense. The rank of"
               " the KDA output gate is [I]",
     .hidden_dim = 4096,
     .vocab = 154880,
     .state_dtype = STATE_DTYPE_FP32,
     .group_count = 4,
     .groups = {KDA(34, 64, 128), MLA(11, 64, 1536, 256, 0, 256, false), DENSE(3, 12288, true),
                MOE(42, 288, 8, 2048, 0, 2048, true)}},
    {.name = "jamba-1.5-mini",
     .summary = "Jamba-1.5-Mini: 32 layers, Mamba and GQA 7:1, MoE every second; 52B",
     .source = "ai21labs/AI21-Jamba-1.5-Mini config.json",
     .hidden_dim = 4096,
     .vocab = 65536,
     .state_dtype = STATE_DTYPE_FP32,
     .group_count = 4,
     .groups = {MAMBA1(28, 8192, 256), GQA(4, 32, 8, 128, false), DENSE(16, 14336, true),
                MOE(16, 16, 2, 14336, 0, 0, true)}},
    {.name = "jamba-1.5-large",
     .summary = "Jamba-1.5-Large: 72 layers, Mamba and GQA 7:1, MoE every second; 398B",
     .source = "arXiv 2408.12570; no config file was opened: the geometry is [I]",
     .hidden_dim = 8192,
     .vocab = 65536,
     .state_dtype = STATE_DTYPE_FP32,
     .group_count = 4,
     .groups = {MAMBA1(63, 16384, 512), GQA(9, 64, 8, 128, false), DENSE(36, 24576, true),
                MOE(36, 16, 2, 24576, 0, 0, true)}},
    {.name = "granite-4-h-small",
     .summary = "Granite-4.0-H-Small: 40 layers, Mamba2 and GQA 9:1, MoE; 32B",
     .source = "ibm-granite/granite-4.0-h-small config.json as quoted publicly; heads of 64 and one"
               " group are [I]",
     .hidden_dim = 4096,
     .vocab = 100352,
     .tied_embedding = true,
     .state_dtype = STATE_DTYPE_FP32,
     .group_count = 3,
     .groups = {MAMBA2(36, 128, 64, 128, 1), GQA(4, 32, 8, 128, false),
                MOE(40, 72, 10, 768, 0, 1536, true)}},
    {.name = "falcon-h1-34b",
     .summary = "Falcon-H1-34B: 72 layers, each Mamba2 beside GQA, dense",
     .source =
         "Hugging Face transformers falcon_h1 table; groups 2 and 4 taps as in public ports of"
         " its config; inner width 21504 and vocabulary are [I]",
     .hidden_dim = 5120,
     .vocab = 261120,
     .state_dtype = STATE_DTYPE_FP32,
     .group_count = 3,
     .groups = {MAMBA2(72, 32, 128, 256, 2), GQA(72, 20, 4, 128, false), DENSE(72, 21504, true)}},
    {.name = "deepseek-v3",
     .summary = "DeepSeek-V3: 61 MLA layers, MoE; 671B. A control without recurrent layers",
     .source = "aiconfigurator config",
     .hidden_dim = 7168,
     .vocab = 129280,
     .state_dtype = STATE_DTYPE_FP32,
     .group_count = 3,
     .groups = {MLA(61, 128, 1536, 128, 64, 128, false), DENSE(3, 18432, true),
                MOE(58, 256, 8, 2048, 0, 2048, true)}},
    {.name = "kimi-k2",
     .summary = "Kimi-K2: 61 MLA layers, MoE; 1.03T. A control without recurrent layers",
     .source = "aiconfigurator moonshotai--Kimi-K2-Instruct_config.json",
     .hidden_dim = 7168,
     .vocab = 163840,
     .state_dtype = STATE_DTYPE_FP32,
     .group_count = 3,
     .groups = {MLA(61, 64, 1536, 128, 64, 128, false), DENSE(1, 18432, true),
                MOE(60, 384, 8, 2048, 0, 2048, true)}},
    {.name = "llama-3.1-8b",
     .summary = "Llama-3.1-8B: 32 GQA layers, dense. A control without recurrent layers",
     .source = "aiconfigurator config",
     .hidden_dim = 4096,
     .vocab = 128256,
     .state_dtype = STATE_DTYPE_FP32,
     .group_count = 2,
     .groups = {GQA(32, 32, 8, 128, false), DENSE(32, 14336, true)}},
    {.name = "marconi-7b",
     .summary = "The Marconi paper's 7B model: 4 attention, 24 state-space and 28 MLP layers, fp16",
     .source = "arXiv 2411.19379 and its artifact, byte and FLOP formulas as published (a state of"
               " 2 D N bytes beside a convolution of width 2 D + 2 N); the vocabulary is [I]",
     .hidden_dim = 4096,
     .vocab = 32000,
     .state_dtype = STATE_DTYPE_BF16,
     .snapshot_grain = 1, /* it splits the prefill in two where it wants a state */
     .group_count = 3,
     .groups = {{.kind = LAYER_MARCONI_SSM, .count = 24, .state_dim = 128},
                GQA(4, 32, 32, 128, false),
                DENSE(28, 16384, false)}},
};

#define PRESET_COUNT (sizeof presets / sizeof *presets)

const struct model *presets_at(size_t index)
{
    return index < PRESET_COUNT ? &presets[index] : NULL;
}

static const char *name_at(const void *table, size_t index)
{
    (void)table;
    return index < PRESET_COUNT ? presets[index].name : NULL;
}

const struct model *presets_find(const char *name, struct err *err)
{
    for (size_t i = 0; i < PRESET_COUNT; i++)
        if (strcmp(presets[i].name, name) == 0)
            return &presets[i];
    const char *near = text_nearest(name, name_at, NULL);
    struct text hint = {0};
    if (near) {
        text_printf(&hint, " (did you mean '%s'?)", near);
    } else {
        text_printf(&hint, "; known:");
        for (size_t i = 0; i < PRESET_COUNT; i++)
            text_printf(&hint, " %s", presets[i].name);
    }
    err_set(err, "unknown model '%.100s'%s", name, hint.data);
    text_close(&hint);
    return NULL;
}
