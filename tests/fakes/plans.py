"""Plans of trials on the fake engine; `AUTOTUNE_LLAMA_SERVER` must name it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from evals import Gate
from search_spaces import Deadlines, Recipe, Serve, Target, Workload
from trials.plan import Plan

WORKLOAD = Workload(input_tokens=4, output_tokens=3, concurrency=(1, 2), waves=4, warmup_waves=1)


def plan(
    folder: Path,
    *flags: str,
    gates: Sequence[Gate] = (),
    overrides: Mapping[int, Serve] | None = None,
    workload: Workload = WORKLOAD,
    request_s: float = 30.0,
    **limits: float,
) -> Plan:
    """Return the plan of a short trial of the fake engine with these flags; `limits` are further deadlines."""
    return Plan(
        recipe=Recipe(
            space="small",
            target=Target(engine="llamacpp", model="m", hardware="cpu"),
            workload=workload,
            config={},
            serve=Serve(args=("--token-s", "0.002", *flags)),
            overrides=dict(overrides or {}),
        ),
        folder=folder,
        space_folder=folder.parent,
        data_root=folder.parent,
        deadlines=Deadlines(ready_s=60.0, stop_s=5.0, request_s=request_s, **limits),
        gates=tuple(gates),
        seed=7,
    )
