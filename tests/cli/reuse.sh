# Reuse of a trace whose answer is computed on paper: b shares 100 tokens with a after 10 s, waiting
# for a tool; c shares the first 50 of them after 30 s more, which b used last; d shares nothing.
set -eu
cat >trace.jsonl <<'END'
{"id":"x","block_size":10,"hash_id_scope":"global","start":0,"requests":[
END
tr -d '\n' <trace.jsonl >opening
{
    cat opening
    printf '{"t":0,"in":100,"out":0,"hash_runs":[[1,10]]},'
    printf '{"t":10,"in":150,"out":0,"input_types":["tool_result"],"hash_runs":[[1,10],[20,5]]},'
    printf '{"t":40,"in":80,"out":0,"input_types":["text"],"hash_runs":[[1,5],[30,3]]},'
    printf '{"t":50,"in":20,"out":0,"hash_runs":[[90,2]]}]}\n'
} >trace.jsonl
"$SNAPSIM" reuse trace.jsonl >reuse.csv
cat >expected.csv <<'END'
of,waited_for,from,to,requests,tokens
gap_s,tool,8,16,1,100
gap_s,person,16,32,1,50
depth_tokens,tool,64,128,1,100
depth_tokens,person,32,64,1,50
END
diff expected.csv reuse.csv
"$SNAPSIM" plot reuse reuse.csv -o reuse.png
[ "$(od -An -tx1 -N4 reuse.png | tr -d ' ')" = 89504e47 ]
