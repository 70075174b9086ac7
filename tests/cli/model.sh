# snapsim model: sizes with their arithmetic, of public reports' models; what is not known is refused
# with what to do. The files of models that reports name are in the shared folder.
set -eu
# shellcheck source=tests/expect.sh
. "$ROOT/tests/expect.sh"

shows() { # shows WORDS ARGUMENTS...: a line of `model show` has these words, blanks aside
    words=$1
    shift
    "$SNAPSIM" model show "$@" >shown || fail "model show $*: status $?"
    tr -s ' ' <shown | grep -qF -- "$words" || fail "model show $*: no '$words' in $(cat shown)"
}

# llama.cpp's Qwen3.6-27B: 16,384 MiB of KV at 262,144 tokens; four states are 598.50 MiB, 627,572,736 B
shows "live state 149.6 MiB = 156,893,184 B" qwen3.6-27b --conv-dtype fp32
shows "(4 - 1) x (2 x 16 x 128 + 48 x 128) x 4 B = 122,880 B" Qwen3.6-27B --conv-dtype fp32
shows "request of 262,144 tokens 156,893,184 + 262,144 x 65,536 = 17,336,762,368 B" \
    qwen3.6-27b --conv-dtype fp32 --context 262144
# 8.5 and 4 bits
shows "2 x 4 x 256 x 34/32 B = 2,176 B/token" qwen3.5-27b --kv-dtype q8_0
shows "2 x 4 x 256 x 1/2 B = 1,024 B/token" qwen3.5-27b --kv-dtype int4
# K3 in eight stages: nine recurrent layers in the fullest, and four of attention in another
shows "9 of 69 layers x 6,512,640 = 58,613,760 B" kimi-k3 --pp 8
shows "4 of 24 layers x 1,152 = 4,608 B/token" kimi-k3 --pp 8
shows "stages: attention at 4-92/4,93 of 93" kimi-k3 --pp 8
shows "stages: layers of each kind spread evenly [I]" nemotron3-super --pp 8
# a window, with keys and values of two widths
shows "128 tokens x 8 x (192 + 128) x 2 B = 655,360 B" mimo-v2-flash
shows "4/2 x (192 + 128) x 2 B = 1,280 B/token" mimo-v2-flash --tp 2
shows "(3 - 1) x 2048/2 x 2 B = 4,096 B" lfm2-1.2b --tp 2
"$SNAPSIM" cost --model kimi-k3 --pp 8 | tr -s ' ' | grep -q "^ kda recurrence .* us x 9 = " ||
    fail "a stage's costs are not those of its layers"

fails 2 "fp8-scaled is a layout for MLA, the model has swa layers" \
    model show gpt-oss-20b --kv-dtype fp8-scaled
fails 2 "bf16, fp8, fp8-scaled, int4, q8_0 or q4_0 was expected" model show kimi-k3 --kv-dtype int3
fails 2 "pp: at most 93 was expected" model show kimi-k3 --pp 94

# A config.json, by any path; one of another family says what to do.
cat >config.json <<'END'
{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "vocab_size": 128256,
 "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336}
END
shows "32 layers x 4,096 = 131,072 B/token" config.json
shows "32 layers x 4,096 = 131,072 B/token" ./config.json
sed 's/llama/rwkv7/' config.json >other.json
fails 1 "other.json:1: model_type: 'rwkv7' is not a family that is known" model show other.json
fails 1 "snapsim model show NAME --format json" model show other.json
# What it prints as a model of one's own is read back as the same.
"$SNAPSIM" model show config.json --format json >mine.json
shows "32 layers x 4,096 = 131,072 B/token" mine.json

inputs=${SNAPSIM_SHARED-$ROOT/../shared}/cases/inputs
if [ ! -d "$inputs" ]; then
    echo "skipped: no reports' models at '$inputs' (SNAPSIM_SHARED)"
    exit 77
fi
fails 1 'kind "conv", with count, inner_dim and conv_kernel' model show "$inputs/m02_lfm2.json"
sed 's/"mamba1",\(.*\)"state_dim":0,"dt_rank":1,/"conv",\1/' "$inputs/m02_lfm2.json" >lfm2.json
shows "18 layers x 8,192 = 147,456 B" lfm2.json
shows "9 layers x 2,560 = 23,040 B/token" "$inputs/m04_mimo_v2_flash.json"
shows "64 layers x 4,255,744 = 272,367,616 B" "$inputs/m05_codestral_mamba.json"
shows "27 layers x 5,316,608 = 143,548,416 B" "$inputs/m07_nemotron_nano_9b.json"
fails 1 "this model has no KV: memory 'ideal' is what it needs" run "$inputs/r06_1cat90_5x3.jsonl" \
    --model "$inputs/m05_codestral_mamba.json" --memory static:ratio=0.5
