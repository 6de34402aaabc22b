"""The engines that autotune can start; a new one is a file here and a line below."""

from collections.abc import Mapping

from trials.engines import atom, llamacpp, sglang, vllm
from trials.engines.adapter import Engine, EngineNotFound, Failure, Kind, Pattern
from trials.engines.emulated.adapter import Emulated

__all__ = ["ENGINES", "Engine", "EngineNotFound", "Failure", "Kind", "Pattern", "engine"]

ENGINES: Mapping[str, Engine] = {
    "atom": atom.Atom(),
    "emulated": Emulated(),
    "llamacpp": llamacpp.LlamaCpp(),
    "sglang": sglang.Sglang(),
    "vllm": vllm.Vllm(),
}


def engine(name: str) -> Engine:
    """
    Return the adapter of an engine.

    Raises:
        EngineNotFound: There is none of this name.
    """
    if name not in ENGINES:
        raise EngineNotFound(f"no engine is called {name!r}: known are {', '.join(ENGINES)}")
    return ENGINES[name]
