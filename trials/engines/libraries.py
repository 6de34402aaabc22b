"""What the libraries under an engine write to its log, whichever engine it is."""

from trials.engines.adapter import Building, Pattern

OUT_OF_MEMORY = (
    Pattern(
        r"HIP out of memory\. Tried to allocate [\d.]+ \w+",
        "memory",
        "https://github.com/lemonade-sdk/vllm-rocm/issues/5",
    ),
)
"""PyTorch's, on ROCm."""

PORT_TAKEN = (
    Pattern(
        r"\[Errno \d+\] error while attempting to bind on address .*",
        "world",
        "https://github.com/abetlen/llama-cpp-python/issues/77",
    ),
)
"""Of asyncio, under uvicorn."""

KERNELS_BUILDING = (
    Building(r"Triton autotuning for function \w+", "triton-lang/triton@00940173 python/triton/runtime/autotuner.py"),
    Building(r"\[Autotuner\]: Autotuning process starts", "flashinfer-ai/flashinfer@7146f71f flashinfer/autotuner.py"),
    Building(r"\bstart build \[\w+\]", "ROCm/aiter@d54ffc58 aiter/jit/core.py; ROCm/aiter#3108, ROCm/ATOM#302"),
)
"""Of Triton, FlashInfer and aiter."""
