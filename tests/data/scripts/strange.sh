#!/usr/bin/env bash
# What nobody can know without running it; the tests' own.
source ./library.sh
version=$(rocm-smi --showfw | awk '{print $NF}')
if [[ "$version" == "" || $version -lt 177 ]]; then
    export HSA_NO_SCRATCH_RECLAIM=1
fi
diff <(echo a) <(echo b)
python3 - <<'PY'
import vllm
PY
for size in 1 2 4; do
    SIZES="$SIZES,$size"
done
if cache_is_wanted; then
    CACHE=(--kv-offloading-size 8)
fi
patch_engine --quick
eval "MODE=fast"
RATE=$(awk 'BEGIN{print (2.51 - 1) / 2}')
numactl -N 0 python3 -m vllm.entrypoints.openai.api_server --model m \
    --cuda-graph-sizes "$SIZES" --rate "$RATE" --max-model-len "$MAX_MODEL_LEN" \
    --chat-template "$(dirname "$0")/x.jinja" --seed 1 "${CACHE[@]}"
