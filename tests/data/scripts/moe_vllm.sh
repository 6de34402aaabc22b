#!/usr/bin/env bash
# Serves a mixture of experts with vLLM; the tests' own, in the manner of benchmark scripts.
set -e
check_env_vars MODEL TP CONC

if [[ "$MODEL" != /* ]]; then hf download "$MODEL"; fi
if [ -n "${ROCR_VISIBLE_DEVICES:-}" ]; then
    export HIP_VISIBLE_DEVICES="$ROCR_VISIBLE_DEVICES"
fi

PORT=${PORT:-8888}
LOG=server.log
export VLLM_ROCM_USE_AITER=1 VLLM_ROCM_QUICK_REDUCE_QUANTIZATION=INT4
if [ "$TP" -lt 8 ]; then
    export VLLM_ROCM_USE_AITER_RMSNORM=0
fi

BLOCK=32
ASYNC=""
if [[ "${ISL:-1024}" == "8192" && "${EP_SIZE:-1}" -gt 1 ]]; then
    ASYNC="--no-async-scheduling"
elif (( CONC >= 64 )); then
    export VLLM_ROCM_SHUFFLE_KV_CACHE_LAYOUT=1
    BLOCK=16
else
    ASYNC="--no-async-scheduling"
fi

if [ "${EP_SIZE:-0}" -gt 1 ]; then
  EP=" --enable-expert-parallel"
else
  EP=" "
fi

case "$CONC" in
    1|2|4) SEQS=32 ;;
    8) SEQS=64 ;;
    *) SEQS=$((2 * CONC)) ;;
esac

MORE=(--trust-remote-code --kv-cache-dtype fp8)
[ "$SEQS" -gt 256 ] && SEQS=256
MORE+=(--max-num-seqs "$SEQS")

start_gpu_monitor
vllm serve $MODEL --port $PORT \
    --tensor-parallel-size=$TP \
    $EP \
    --max-model-len ${MAX_MODEL_LEN:-9472} \
    --block-size=$BLOCK $ASYNC \
    --compilation-config "{\"cudagraph_mode\":\"FULL_DECODE_ONLY\",\"max_cudagraph_capture_size\":$SEQS}" \
    "${MORE[@]}" > $LOG 2>&1 &
SERVER_PID=$!

wait_for_server_ready --port "$PORT" --server-pid "$SERVER_PID"
