#!/usr/bin/env bash
# Serves with SGLang and a cache that has a config file of its own; the tests' own.
PER_RANK=$((TOTAL_CPU_DRAM_GB / TP))
CONFIG="$RESULT_DIR/cache.json"
mkdir -p "$RESULT_DIR"
cat > "$CONFIG" <<EOF
{
  "mode": "embedded",
  "segment": "${PER_RANK}GB"
}
EOF
export CACHE_CONFIG="$CONFIG"

PARALLEL=(--tp "$TP")
CHUNK=$ISL
if [ "$DP_ATTENTION" = "true" ]; then
    export GPU_MAX_HW_QUEUES=5
    CHUNK=$((ISL * TP))
    PARALLEL+=(--dp "$TP" --enable-dp-attention)
fi

serve() {
    local weights=$1
    python3 -m sglang.launch_server --model-path "$weights" --host=0.0.0.0 --port "$PORT" \
        "${PARALLEL[@]}" --chunked-prefill-size "$CHUNK" --max-running-requests ${CONC} \
        --mem-fraction-static 0.90 --disable-radix-cache 2>&1 | tee server.log &
}
serve "$MODEL"
