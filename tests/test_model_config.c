/* test_model_config.c - models from Hugging Face's config.json.
 *
 * The configs here were written for the test, from the geometry of shared facts
 * (models-and-kernels.md 1 and 2) and the keys that each family uses; what they must give is what
 * the preset of that model gives, which test_model.c holds against the published table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/core/text.h"
#include "sim/model/flops.h"
#include "sim/model/kind.h"
#include "sim/model/model.h"
#include "sim/model/presets.h"
#include "tests/inputs.h"
#include "tests/suite.h"

#define ROWS(array) ((int)(sizeof(array) / sizeof *(array)))

static char scratch[64];

static void make_scratch(void)
{
    strcpy(scratch, "/tmp/test_model_config.XXXXXX");
    int file = mkstemp(scratch);
    ck_assert_int_ge(file, 0);
    close(file);
}

static void drop_scratch(void)
{
    remove(scratch);
}

/* Reads text, with ' for ", as a file. */
static int read_config(const char *text, struct model *out, struct err *err)
{
    char *source = input_unquote(text);
    ck_assert_int_eq(text_write_file(scratch, source, strlen(source), err), 0);
    free(source);
    return model_read_file(out, scratch, err);
}

#define X3(word) word "," word "," word
#define Q4 X3("'linear_attention'") ",'full_attention'"
#define Q16 Q4 "," Q4 "," Q4 "," Q4
#define Q64 Q16 "," Q16 "," Q16 "," Q16
#define M9 X3("'mamba'") "," X3("'mamba'") "," X3("'mamba'") ",'attention'"
#define L8 "0,0,0,0,0,0,0,1"
#define L80 L8 "," L8 "," L8 "," L8 "," L8 "," L8 "," L8 "," L8 "," L8 "," L8
#define MIMO6 "1,1,1,1,1,0"
#define G4 X3("'linear_attention'") ",'deepseek_sparse_attention'"
#define GLM44 G4 "," G4 "," G4 "," G4 "," G4 "," G4 "," G4 "," G4 "," G4 "," G4 "," G4
#define S10 X3(X3("'sparse'")) ",'sparse'"
#define S41 S10 "," S10 "," S10 "," S10 ",'sparse'"
#define W2 "'sliding_attention','full_attention'"
#define W8 W2 "," W2 "," W2 "," W2
#define C3 "'conv','conv','full_attention'"

static const struct row {
    const char *preset, *attention_at, *text;
} rows[] = {
    {"kimi-k3", "4-92/4,93",
     "{'model_type':'kimi_k3','vision_config':{'hidden_size':1},'text_config':{"
     "'model_type':'kimi_linear','hidden_size':7168,'num_hidden_layers':93,'vocab_size':163840,"
     "'num_attention_heads':96,'q_lora_rank':1536,'kv_lora_rank':512,'qk_nope_head_dim':128,"
     "'qk_rope_head_dim':64,'v_head_dim':128,'mla_use_nope':true,'mla_use_output_gate':true,"
     "'linear_attn_config':{'num_heads':96,'head_dim':128,'short_conv_kernel_size':4,"
     "'use_full_rank_gate':true,'gate_lower_bound':-5.0,'full_attn_layers':[4,8,12,16,20,24,28,32,"
     "36,40,44,48,52,56,60,64,68,72,76,80,84,88,92,93]},'first_k_dense_replace':1,"
     "'intermediate_size':33792,'num_experts':896,'num_experts_per_token':16,"
     "'moe_intermediate_size':3072,'routed_expert_hidden_size':3584,'num_shared_experts':2,"
     "'moe_layer_freq':1,'tie_word_embeddings':false}}"},
    {"kimi-linear-48b", "4-24/4,27",
     "{'architectures':['KimiLinearForCausalLM'],'model_type':'kimi_linear','hidden_size':2304,"
     "'num_hidden_layers':27,'vocab_size':163840,'num_attention_heads':32,'q_lora_rank':null,"
     "'kv_lora_rank':512,'qk_nope_head_dim':128,'qk_rope_head_dim':64,'v_head_dim':128,"
     "'linear_attn_config':{'num_heads':32,'head_dim':128,'short_conv_kernel_size':4,"
     "'full_attn_layers':[4,8,12,16,20,24,27]},'first_k_dense_replace':1,'intermediate_size':9216,"
     "'num_experts':256,'num_experts_per_token':8,'moe_intermediate_size':1024,"
     "'num_shared_experts':1,'moe_layer_freq':1,'routed_scaling_factor':2.446}"},
    {"qwen3-next-80b", "4-48/4",
     "{'model_type':'qwen3_next','hidden_size':2048,'num_hidden_layers':48,'vocab_size':151936,"
     "'full_attention_interval':4,'num_attention_heads':16,'num_key_value_heads':2,'head_dim':256,"
     "'linear_num_value_heads':32,'linear_num_key_heads':16,'linear_key_head_dim':128,"
     "'linear_value_head_dim':128,'linear_conv_kernel_dim':4,'num_experts':512,"
     "'num_experts_per_tok':10,'moe_intermediate_size':512,'shared_expert_intermediate_size':512,"
     "'intermediate_size':5120,'decoder_sparse_step':1,'mlp_only_layers':[]}"},
    {"qwen3.5-27b", "4-64/4",
     "{'model_type':'qwen3_5','text_config':{'model_type':'qwen3_5_text','hidden_size':5120,"
     "'num_hidden_layers':64,'vocab_size':248320,'layer_types':[" Q64 "],"
     "'num_attention_heads':24,'num_key_value_heads':4,'head_dim':256,'attn_output_gate':true,"
     "'linear_num_value_heads':48,'linear_num_key_heads':16,'linear_key_head_dim':128,"
     "'linear_value_head_dim':128,'linear_conv_kernel_dim':4,'intermediate_size':17408,"
     "'mamba_ssm_dtype':'float32'}}"},
    {"qwen3.5-397b", "4-60/4",
     "{'model_type':'qwen3_5_moe','text_config':{'model_type':'qwen3_5_moe_text',"
     "'hidden_size':4096,'num_hidden_layers':60,'vocab_size':248320,'full_attention_interval':4,"
     "'num_attention_heads':32,'num_key_value_heads':2,'head_dim':256,'attn_output_gate':true,"
     "'linear_num_value_heads':64,'linear_num_key_heads':16,'linear_key_head_dim':128,"
     "'linear_value_head_dim':128,'linear_conv_kernel_dim':4,'num_experts':512,"
     "'num_experts_per_tok':10,'moe_intermediate_size':1024,"
     "'shared_expert_intermediate_size':1024,'mamba_ssm_dtype':'float32'}}"},
    /* attention after 3, 3, 3, 3, 3 and 4 of the 23 Mamba2 layers; feed-forward is no place */
    {"nemotron3-nano", "4-20/4,25",
     "{'model_type':'nemotron_h','hidden_size':2688,'num_hidden_layers':52,'vocab_size':131072,"
     "'hybrid_override_pattern':'MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME',"
     "'mamba_num_heads':64,'mamba_head_dim':64,'ssm_state_size':128,'n_groups':8,'conv_kernel':4,"
     "'num_attention_heads':32,'num_key_value_heads':2,'head_dim':128,'mlp_hidden_act':'relu2',"
     "'n_routed_experts':128,'num_experts_per_tok':6,'moe_intermediate_size':1856,"
     "'moe_shared_expert_intermediate_size':3712,'n_shared_experts':1,'intermediate_size':1856,"
     "'time_step_limit':[0.0,Infinity],'expand':2}"},
    {"minimax-text-01", "8-80/8",
     "{'model_type':'minimax_text_01','hidden_size':6144,'num_hidden_layers':80,"
     "'vocab_size':200064,'attn_type_list':[" L80 "],'num_attention_heads':64,"
     "'num_key_value_heads':8,'head_dim':128,'num_local_experts':32,'num_experts_per_tok':2,"
     "'intermediate_size':9216,'shared_intermediate_size':0}"},
    {"ling-2.5-1t", "8-80/8",
     "{'model_type':'bailing_hybrid','hidden_size':8192,'num_hidden_layers':80,"
     "'vocab_size':157184,'layer_group_size':8,'num_attention_heads':64,'head_dim':128,"
     "'num_key_value_heads':64,'q_lora_rank':1536,'kv_lora_rank':512,'qk_nope_head_dim':128,"
     "'qk_rope_head_dim':64,'v_head_dim':128,'first_k_dense_replace':4,'intermediate_size':18432,"
     "'num_experts':256,'num_experts_per_tok':8,'moe_intermediate_size':2048,"
     "'num_shared_experts':1,'moe_shared_expert_intermediate_size':2048}"},
    {"jamba-1.5-mini", "5-29/8",
     "{'model_type':'jamba','hidden_size':4096,'num_hidden_layers':32,'vocab_size':65536,"
     "'attn_layer_period':8,'attn_layer_offset':4,'expert_layer_period':2,'expert_layer_offset':1,"
     "'mamba_d_state':16,'mamba_d_conv':4,'mamba_expand':2,'mamba_dt_rank':256,"
     "'num_attention_heads':32,'num_key_value_heads':8,'intermediate_size':14336,'num_experts':16,"
     "'num_experts_per_tok':2,'sliding_window':null}"},
    {"granite-4-h-small", "10-40/10",
     "{'model_type':'granitemoehybrid','hidden_size':4096,'num_hidden_layers':40,"
     "'vocab_size':100352,'layer_types':[" M9 "," M9 "," M9 "," M9 "],'mamba_n_heads':128,"
     "'mamba_d_head':'auto','mamba_expand':2,'mamba_d_state':128,'mamba_n_groups':1,"
     "'mamba_d_conv':4,'num_attention_heads':32,'num_key_value_heads':8,'num_local_experts':72,"
     "'num_experts_per_tok':10,'intermediate_size':768,'shared_intermediate_size':1536,"
     "'tie_word_embeddings':true}"},
    {"falcon-h1-34b", "",
     "{'model_type':'falcon_h1','hidden_size':5120,'num_hidden_layers':72,'vocab_size':261120,"
     "'mamba_n_heads':32,'mamba_d_head':128,'mamba_d_ssm':4096,'mamba_d_state':256,"
     "'mamba_n_groups':2,'mamba_d_conv':4,'num_attention_heads':20,'num_key_value_heads':4,"
     "'head_dim':128,'intermediate_size':21504}"},
    {"glm-5.3-flash", "4-44/4",
     "{'model_type':'glm5_next','text_config':{'model_type':'glm5_next_text','hidden_size':4096,"
     "'num_hidden_layers':45,'vocab_size':154880,'layer_types':[" GLM44 ",'linear_attention'],"
     "'linear_attn_config':{'num_heads':64,'head_dim':128,'short_conv_kernel_size':4,"
     "'full_attn_layers':[3,7]},'num_attention_heads':64,'num_key_value_heads':1,"
     "'q_lora_rank':1536,'kv_lora_rank':512,'qk_nope_head_dim':256,'qk_rope_head_dim':0,"
     "'v_head_dim':256,'index_n_heads':32,'index_head_dim':128,'mlp_layer_types':[" X3(
         "'dense'") ",'sparse'," S41 "],'first_k_dense_replace':3,'intermediate_size':12288,"
                    "'n_routed_experts':288,'num_experts_per_tok':8,'moe_intermediate_size':2048,"
                    "'n_shared_experts':1}}"},
    {"gpt-oss-20b", "2-24/2",
     "{'model_type':'gpt_oss','hidden_size':2880,'num_hidden_layers':24,'vocab_size':201088,"
     "'layer_types':[" W8 "," W8 "," W8 "],'sliding_window':128,'num_attention_heads':64,"
     "'num_key_value_heads':8,'head_dim':64,'num_local_experts':32,'num_experts_per_tok':4,"
     "'intermediate_size':2880,'hidden_act':'silu'}"},
    {"lfm2-8b-a1b", "3-19/4,22",
     "{'model_type':'lfm2_moe','hidden_size':2048,'num_hidden_layers':24,'vocab_size':65536,"
     "'full_attn_idxs':[2,6,10,14,18,21],'conv_L_cache':3,'num_attention_heads':32,"
     "'num_key_value_heads':8,'num_dense_layers':2,'intermediate_size':7168,'num_experts':32,"
     "'num_experts_per_tok':4,'moe_intermediate_size':1792,'tie_word_embeddings':true}"},
    {"deepseek-v3", "",
     "{'model_type':'deepseek_v3','hidden_size':7168,'num_hidden_layers':61,'vocab_size':129280,"
     "'num_attention_heads':128,'num_key_value_heads':128,'q_lora_rank':1536,'kv_lora_rank':512,"
     "'qk_nope_head_dim':128,'qk_rope_head_dim':64,'v_head_dim':128,'first_k_dense_replace':3,"
     "'moe_layer_freq':1,'intermediate_size':18432,'n_routed_experts':256,'num_experts_per_tok':8,"
     "'moe_intermediate_size':2048,'n_shared_experts':1}"},
    {"llama-3.1-8b", "",
     "{'model_type':'llama','hidden_size':4096,'num_hidden_layers':32,'vocab_size':128256,"
     "'num_attention_heads':32,'num_key_value_heads':8,'intermediate_size':14336}"},
    {"codestral-mamba-7b", "",
     "{'model_type':'mamba2','hidden_size':4096,'num_hidden_layers':64,'vocab_size':32768,"
     "'num_heads':128,'head_dim':64,'state_size':128,'n_groups':8,'conv_kernel':4,'expand':2,"
     "'time_step_limit':[0.0,Infinity]}"},
    {"lfm2-1.2b", "3-9/3,11-15/2",
     "{'model_type':'lfm2','hidden_size':2048,'num_hidden_layers':16,'vocab_size':65536,"
     "'layer_types':[" C3 "," C3 "," C3
     ",'conv','full_attention','conv','full_attention','conv','full_attention','conv'],"
     "'conv_L_cache':3,'num_attention_heads':32,'num_key_value_heads':8,'block_ff_dim':12288,"
     "'block_auto_adjust_ff_dim':true,'block_ffn_dim_multiplier':1.0,'block_multiple_of':256,"
     "'tie_word_embeddings':true}"},
    /* layers 1, 6, 12, 18 ... 48 */
    {"mimo-v2-flash", "1-6/5,12-48/6",
     "{'model_type':'mimo_v2_flash','hidden_size':4096,'num_hidden_layers':48,'vocab_size':152576,"
     "'hybrid_layer_pattern':[0,1,1,1,1,0," MIMO6 "," MIMO6 "," MIMO6 "," MIMO6 "," MIMO6 "," MIMO6
     ",1,1,1,1,1,0],'num_attention_heads':64,'num_key_value_heads':4,'head_dim':192,"
     "'v_head_dim':128,'swa_num_attention_heads':64,'swa_num_key_value_heads':8,"
     "'swa_head_dim':192,'swa_v_head_dim':128,'sliding_window':128,'intermediate_size':16384,"
     "'n_routed_experts':256,'num_experts_per_tok':8,'moe_intermediate_size':2048,"
     "'n_shared_experts':null,'moe_layer_freq':[0," X3("1,1,1,1,1") "," X3("1,1,1,1,1") "," X3(
         "1,1,1,1,1") ",1,1]}"},
};

START_TEST(as_the_preset)
{
    static const char *const settings[] = {"", "tp=2,conv-dtype=fp32", "kv-dtype=fp8"};
    const struct row *row = &rows[_i];
    const struct model *preset = input_preset(row->preset);
    struct model model;
    struct err err = {""};
    ck_assert_msg(read_config(row->text, &model, &err) == 0, "%s", err.text);
    ck_assert_str_eq(model.attention_at, row->attention_at);
    for (int i = 0; i < ROWS(settings); i++) {
        struct sharding sharding;
        struct model_sizes wanted, found;
        param_defaults(sharding_params, &sharding);
        sharding.state_dtype = STATE_DTYPE_FP32;
        ck_assert_int_eq(
            param_parse_list(sharding_params, &sharding, settings[i], "sharding", &err), 0);
        ck_assert_int_eq(model_sizes(preset, &sharding, &wanted, &err), 0);
        ck_assert_int_eq(model_sizes(&model, &sharding, &found, &err), 0);
        ck_assert_uint_eq(found.recurrent_layers, wanted.recurrent_layers);
        ck_assert_uint_eq(found.attention_layers, wanted.attention_layers);
        ck_assert_uint_eq(found.state_bytes, wanted.state_bytes);
        ck_assert_uint_eq(found.kv_bytes_per_token, wanted.kv_bytes_per_token);
    }
    ck_assert_uint_eq(flops_parameters(&model), flops_parameters(preset));
    ck_assert_uint_eq(flops_active_parameters(&model), flops_active_parameters(preset));
    ck_assert_double_eq(flops_prefill(&model, 1000, 5000, 64),
                        flops_prefill(preset, 1000, 5000, 64));
}
END_TEST

/* A window that all layers have: 32 layers of 4,096 tokens of 2 x 8 x 128 values in bf16, no KV. */
START_TEST(window_of_all_layers)
{
    struct model model;
    struct model_sizes sizes;
    struct sharding sharding;
    struct err err = {""};
    param_defaults(sharding_params, &sharding);
    ck_assert_int_eq(read_config("{'model_type':'mistral','hidden_size':4096,"
                                 "'num_hidden_layers':32,'vocab_size':32000,"
                                 "'num_attention_heads':32,'num_key_value_heads':8,"
                                 "'intermediate_size':14336,'sliding_window':4096,"
                                 "'_name_or_path':'mistralai/Mistral-7B-v0.1'}",
                                 &model, &err),
                     0);
    ck_assert_str_eq(model.name, "Mistral-7B-v0.1");
    ck_assert_int_eq(model_sizes(&model, &sharding, &sizes, &err), 0);
    ck_assert_uint_eq(sizes.state_bytes, 32ull * 4096 * 2 * 8 * 128 * 2);
    ck_assert_uint_eq(sizes.kv_bytes_per_token, 0);
}
END_TEST

/* Ling 3: groups of 6, what is left over at the end is attention too; KDA has a matrix of 128 x 128
 * and windows of 3 inputs of 3 x 128 channels in each of 32 heads. */
START_TEST(ling_3)
{
    struct model model;
    struct model_sizes sizes;
    struct sharding sharding;
    struct err err = {""};
    param_defaults(sharding_params, &sharding);
    ck_assert_int_eq(
        read_config("{'model_type':'bailing_hybrid','hidden_size':2048,'num_hidden_layers':44,"
                    "'vocab_size':157184,'layer_group_size':6,'num_attention_heads':32,"
                    "'head_dim':128,'short_conv_kernel_size':4,'kv_lora_rank':512,"
                    "'qk_nope_head_dim':128,'qk_rope_head_dim':64,'v_head_dim':128,"
                    "'first_k_dense_replace':1,'intermediate_size':5120,'num_experts':512,"
                    "'num_experts_per_tok':8,'moe_intermediate_size':512,'num_shared_experts':1}",
                    &model, &err),
        0);
    ck_assert_int_eq(model_sizes(&model, &sharding, &sizes, &err), 0);
    ck_assert_str_eq(model.attention_at, "6-42/6,43-44");
    ck_assert_uint_eq(sizes.state_bytes, 35ull * (32 * 128 * 128 * 4 + 3 * 3 * 32 * 128 * 2));
    ck_assert_uint_eq(sizes.kv_bytes_per_token, 9 * 576 * 2);
}
END_TEST

/* Gemma 3 27B: of 62 layers every sixth is full attention; its weights are 27.0e9 with one
 * embedding of 262,208. Qwen3-30B-A3B with a dense layer in place of one of 48 mixtures: 128
 * experts of 768, and 3 x 2048 x 6144 instead. */
START_TEST(other_families)
{
    struct model model;
    struct model_sizes sizes;
    struct sharding sharding;
    struct err err = {""};
    param_defaults(sharding_params, &sharding);
    ck_assert_int_eq(
        read_config("{'model_type':'gemma3','text_config':{'model_type':'gemma3_text',"
                    "'hidden_size':5376,'num_hidden_layers':62,'vocab_size':262208,"
                    "'num_attention_heads':32,'num_key_value_heads':16,'head_dim':128,"
                    "'intermediate_size':21504,'sliding_window':1024,'sliding_window_pattern':6}}",
                    &model, &err),
        0);
    ck_assert_int_eq(model_sizes(&model, &sharding, &sizes, &err), 0);
    ck_assert_str_eq(model.attention_at, "6-60/6");
    ck_assert_uint_eq(sizes.kv_bytes_per_token, 10 * 2 * 16 * 128 * 2);
    ck_assert_uint_eq(sizes.state_bytes, 52ull * 1024 * 2 * 16 * 128 * 2);
    ck_assert_double_eq_tol((double)flops_parameters(&model), 27.0e9, 0.05e9);
    ck_assert_int_eq(read_config("{'model_type':'qwen3_moe','hidden_size':2048,"
                                 "'num_hidden_layers':48,'vocab_size':151936,"
                                 "'num_attention_heads':32,'num_key_value_heads':4,'head_dim':128,"
                                 "'decoder_sparse_step':1,'mlp_only_layers':[0],"
                                 "'intermediate_size':6144,'num_experts':128,"
                                 "'num_experts_per_tok':8,'moe_intermediate_size':768}",
                                 &model, &err),
                     0);
    ck_assert_uint_eq(model.group_count, 3);
    ck_assert_uint_eq(model.groups[1].count, 1);
    ck_assert_uint_eq(model.groups[1].inner_dim, 6144);
    ck_assert_uint_eq(model.groups[2].count, 47);
}
END_TEST

#define LLAMA                                                                                      \
    "{'model_type':'llama',\n'hidden_size':4096,'num_hidden_layers':32,'vocab_size':128256,"       \
    "'num_attention_heads':32,"

/* What cannot be read is named, with what to do. */
static const struct bad {
    const char *text, *parts[3];
} bads[] = {
    {"{\n'model_type':'rwkv7','hidden_size':8}",
     {":2: model_type: 'rwkv7' is not a family that is known: kimi_linear ",
      "snapsim model show NAME --format json", NULL}},
    {"{'architectures':['X']}", {"model_type: '' is not a family that is known", NULL, NULL}},
    {"{'model_type':'llama'}",
     {":1: model_type 'llama': no usable hidden_size, num_hidden_layers, vocab_size, which such a "
      "model needs",
      NULL, NULL}},
    {LLAMA "'num_key_value_heads':8}", {"no usable intermediate_size, which", NULL, NULL}},
    {LLAMA "'num_key_value_heads':5,'intermediate_size':8}",
     {"gqa: kv_heads (5) must divide heads (32)", NULL, NULL}},
    {LLAMA "'intermediate_size':99999999}",
     {"dense: inner_dim from 1 to 1048576 was expected (inner width), found 99999999", NULL, NULL}},
    {LLAMA "'intermediate_size':8,'layer_types':['full_attention']}",
     {"no usable layer_types", NULL, NULL}},
    {LLAMA "'intermediate_size':8,'sliding_window':128,'max_window_layers':20}",
     {"no usable layer_types", NULL, NULL}},
    {"{'model_type':'jamba','hidden_size':8,'num_hidden_layers':2,'vocab_size':9}",
     {"no usable layer_types", NULL, NULL}},
    {"{'model_type':'mimo_v2','hidden_size':8,'num_hidden_layers':1,'vocab_size':9,"
     "'layer_types':['linear_attention'],'intermediate_size':8}",
     {"no usable layer_types", NULL, NULL}},
    {"{'model_type':'qwen3_next','hidden_size':8,'num_hidden_layers':1025,'vocab_size':9}",
     {"num_hidden_layers: up to 1024 were expected", NULL, NULL}},
    {"{'model_type':'qwen3_next','hidden_size':8,'num_hidden_layers':4,'vocab_size':9,"
     "'full_attention_interval':4,'num_attention_heads':2,'intermediate_size':8}",
     {"linear_num_value_heads, linear_num_key_heads, linear_key_head_dim, linear_value_head_dim, "
      "linear_conv_kernel_dim",
      NULL, NULL}},
};

START_TEST(bad_configs)
{
    struct model model;
    struct err err = {""};
    ck_assert_int_eq(read_config(bads[_i].text, &model, &err), -1);
    for (int i = 0; i < 3 && bads[_i].parts[i]; i++)
        ck_assert_msg(strstr(err.text, bads[_i].parts[i]) != NULL, "%s\nhas no\n%s", err.text,
                      bads[_i].parts[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model_config");
    TCase *configs = tcase_create("configs");
    tcase_add_checked_fixture(configs, make_scratch, drop_scratch);
    tcase_add_loop_test(configs, as_the_preset, 0, ROWS(rows));
    tcase_add_test(configs, window_of_all_layers);
    tcase_add_test(configs, ling_3);
    tcase_add_test(configs, other_families);
    tcase_add_loop_test(configs, bad_configs, 0, ROWS(bads));
    suite_add_tcase(suite, configs);
    return suite_run(suite);
}
