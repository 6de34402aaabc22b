#!/usr/bin/env bash
# Serves a hybrid model with ATOM and a cache in host memory; the tests' own.
set -eo pipefail
MODEL_PATH="${MODEL_PATH:-$MODEL}"

OFFLOAD=()
case "$CONC" in
    1|4)
        SEQS=32; TOKENS=8192; MEMORY=0.88
        ;;
    8|10)
        SEQS=16; TOKENS=$((CONC == 10 ? 4096 : 8192)); MEMORY=0.90
        export LMCACHE_MAX_LOCAL_CPU_SIZE="$((TOTAL_CPU_DRAM_GB / TP))"
        export LMCACHE_CHUNK_SIZE=256
        OFFLOAD=(--kv-transfer-config "{\"kv_connector\":\"lmcache_offload\",\"kv_role\":\"offload\"}")
        ;;
    *)
        echo "no such concurrency: $CONC" >&2
        exit 2
        ;;
esac

export AITER_LOG_LEVEL="${AITER_LOG_LEVEL:-WARNING}"
export AITER_QUICK_REDUCE_QUANTIZATION=INT4

SERVER=(
    python3 -m atom.entrypoints.openai_server
    --model "$MODEL_PATH"
    --host 0.0.0.0 --server-port "$PORT"
    # the length of the longest session
    --max-model-len 1048576
    -tp "$TP"
    --kv_cache_dtype fp8
    --max-num-seqs "$SEQS"
    --max-num-batched-tokens "$TOKENS"
    --gpu-memory-utilization "$MEMORY"
    --state-checkpoint-interval-tokens -1
    "${OFFLOAD[@]}"
)
"${SERVER[@]}" > server.log 2>&1 &
