"""What the GPU vendors' own tools print: nvidia-smi, amd-smi and rocm-smi (pure)."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """
    One GPU at one moment; None is what its tool does not tell.

    Attributes:
        index: As its tool counts.
        clock_mhz: Of the compute units; where a GPU has several, their mean.
        temperature_c: Of the die's hottest spot where the tool knows it.
        memory_mib: In use, by every process.
    """

    index: int
    power_w: float | None
    clock_mhz: float | None
    temperature_c: float | None
    memory_mib: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """
    What a GPU is; None is what its tool does not tell.

    Attributes:
        index: As its tool counts.
        memory_mib: That it has.
        driver: The version of the kernel's driver.
    """

    index: int
    name: str | None
    memory_mib: float | None
    driver: str | None


@dataclass(frozen=True, slots=True)
class Listing:
    """A vendor's program, the arguments that make it tell what the GPUs are, and what its answer means."""

    name: str
    args: tuple[str, ...]
    parse: Callable[[str], tuple[Device, ...]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A vendor's program, the arguments that make it tell, and what its answer means."""

    name: str
    args: tuple[str, ...]
    parse: Callable[[str], tuple[Gpu, ...]]


def nvidia_smi(answer: str) -> tuple[Gpu, ...]:
    """
    Return the GPUs in what nvidia-smi prints as `csv,noheader,nounits`.

    Raises:
        ValueError: If it is something else.

    Source: `nvidia-smi --help-query-gpu`; tests/captures/telemetry/nvidia-smi.csv. What a GPU does not tell is in
        square brackets there.
    """
    rows = [line.split(", ") for line in answer.splitlines() if line.strip()]
    return tuple(
        Gpu(index=int(i), power_w=_number(w), clock_mhz=_number(mhz), temperature_c=_number(c), memory_mib=_number(mib))
        for i, w, mhz, c, mib in rows
    )


def nvidia_smi_static(answer: str) -> tuple[Device, ...]:
    """
    Return the GPUs in what nvidia-smi prints of their names as `csv,noheader,nounits`.

    Raises:
        ValueError: If it is something else.

    Source: `nvidia-smi --help-query-gpu`; tests/captures/telemetry/nvidia-smi-static.csv.
    """
    rows = [line.split(", ") for line in answer.splitlines() if line.strip()]
    return tuple(
        Device(index=int(i), name=_word(name), memory_mib=_number(mib), driver=_word(driver))
        for i, name, driver, mib in rows
    )


def amd_smi(answer: str) -> tuple[Gpu, ...]:
    """
    Return the GPUs in what `amd-smi metric --json` prints: a list, in newer ones inside `gpu_data`.

    A quantity is {"value", "unit"}, a bare number or "N/A"; memory in its "MB" is in units of 2**20 bytes.

    Raises:
        ValueError: If it is something else.

    Source: ROCm/amdsmi@7ac597a8 amdsmi_cli/amdsmi_commands.py (metric_gpu), README.md there.
    """
    return tuple(map(_amd_gpu, _amd_gpus(answer)))


def amd_smi_static(answer: str) -> tuple[Device, ...]:
    """
    Return the GPUs in what `amd-smi static --asic --driver --vram --json` prints, shaped as that of `amd_smi`.

    Raises:
        ValueError: If it is something else.

    Source: ROCm/amdsmi amdsmi_cli/amdsmi_commands.py (static_gpu); tests/captures/telemetry/README.md.
    """
    return tuple(
        Device(
            index=gpu["gpu"],
            name=_word(_section(gpu, "asic").get("market_name")),
            memory_mib=_number(_section(gpu, "vram").get("size")),
            driver=_word(_section(gpu, "driver").get("version")),
        )
        for gpu in _amd_gpus(answer)
    )


def _amd_gpus(answer: str) -> list[Mapping[str, Any]]:
    told = _json(answer)
    gpus = told.get("gpu_data") if isinstance(told, dict) else told
    if not isinstance(gpus, list):
        raise ValueError(f"no list of GPUs: {answer:.200}")  # noqa: TRY004 what the caller catches
    return [gpu for gpu in gpus if isinstance(gpu, dict) and isinstance(gpu.get("gpu"), int)]


def _amd_gpu(gpu: Mapping[str, Any]) -> Gpu:
    power, heat, clock = (_section(gpu, name) for name in ("power", "temperature", "clock"))
    clocks = [
        mhz
        for name, domain in clock.items()
        if name.startswith("gfx_") and isinstance(domain, dict) and (mhz := _number(domain.get("clk"))) is not None
    ]
    return Gpu(
        index=gpu["gpu"],
        power_w=_first(power, "socket_power", "current_socket_power", "average_socket_power"),
        clock_mhz=fmean(clocks) if clocks else None,
        temperature_c=_first(heat, "hotspot", "edge"),
        memory_mib=_first(_section(gpu, "mem_usage"), "used_vram"),
    )


def rocm_smi(answer: str) -> tuple[Gpu, ...]:
    """
    Return the GPUs in what rocm-smi prints as JSON: an object with a `cardN` for each, every value a text.

    Raises:
        ValueError: If it is something else.

    Source: ROCm/rocm_smi_lib@0f02a3a2 python_smi_tools/rocm_smi.py (formatJson, showPower, showTemp, showMemInfo);
        output in henrygd/beszel#414.
    """
    return tuple(_rocm_card(index, card) for index, card in _rocm_cards(_rocm(answer)))


def rocm_smi_static(answer: str) -> tuple[Device, ...]:
    """
    Return the GPUs in what rocm-smi prints of their names; the driver stands beside them, once.

    Raises:
        ValueError: If it is something else.

    Source: ROCm/rocm_smi_lib@0f02a3a2 python_smi_tools/rocm_smi.py (showProductName, showDriverVersion).
    """
    told = _rocm(answer)
    driver = _word(_section(told, "system").get("Driver version"))
    return tuple(
        Device(
            index=index,
            name=_word(card.get("Card Series") or card.get("Card series")),
            memory_mib=_mib(card.get("VRAM Total Memory (B)")),
            driver=driver,
        )
        for index, card in _rocm_cards(told)
    )


def _rocm(answer: str) -> Mapping[str, Any]:
    told = _json(answer)
    if not isinstance(told, dict):
        raise ValueError(f"no object of cards: {answer:.200}")  # noqa: TRY004 what the caller catches
    return told


def _rocm_cards(told: Mapping[str, Any]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for name, card in told.items():
        if re.fullmatch(r"card\d+", name) and isinstance(card, dict):
            yield int(name.removeprefix("card")), card


def _rocm_card(index: int, card: Mapping[str, Any]) -> Gpu:
    return Gpu(
        index=index,
        power_w=_first(card, "Current Socket Graphics Package Power (W)", "Average Graphics Package Power (W)"),
        clock_mhz=_first(card, "sclk clock speed:"),
        temperature_c=_first(card, "Temperature (Sensor junction) (C)", "Temperature (Sensor edge) (C)"),
        memory_mib=_mib(card.get("VRAM Total Used Memory (B)")),
    )


def _mib(size_bytes: object) -> float | None:
    return None if (number := _number(size_bytes)) is None else number / (1 << 20)


def _word(said: object) -> str | None:
    """Return what a tool says in words; None where it says that it does not know."""
    return said.strip() or None if isinstance(said, str) and said.strip("[] ") not in {"N/A", "Not Supported"} else None


def _json(answer: str) -> Any:  # noqa: ANN401 JSON
    """Return the JSON in an answer; a tool may warn in the lines before it."""
    start = re.search(r"^\s*[\[{]", answer, re.MULTILINE)
    if start is None:
        raise ValueError(f"no JSON: {answer:.200}")
    return json.JSONDecoder().raw_decode(answer[start.start() :].lstrip())[0]


def _section(gpu: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = gpu.get(name)
    return section if isinstance(section, dict) else {}


def _first(quantities: Mapping[str, Any], *names: str) -> float | None:
    return next((number for name in names if (number := _number(quantities.get(name))) is not None), None)


def _number(quantity: object) -> float | None:
    """Return the number of a quantity, with or without its unit; None where it has none."""
    if isinstance(quantity, dict):
        return _number(quantity.get("value"))
    found = re.search(r"-?\d+(?:\.\d+)?", str(quantity))
    return float(found[0]) if found else None


TOOLS = (
    Tool(
        "nvidia-smi",
        ("--query-gpu=index,power.draw,clocks.sm,temperature.gpu,memory.used", "--format=csv,noheader,nounits"),
        nvidia_smi,
    ),
    Tool("amd-smi", ("metric", "--power", "--clock", "--temperature", "--mem-usage", "--json"), amd_smi),
    Tool(
        "rocm-smi",
        ("--showpower", "--showclocks", "--showtemp", "--showmeminfo", "vram", "--json"),
        rocm_smi,
    ),
)
"""In the order in which they are tried."""

LISTINGS = (
    Listing(
        "nvidia-smi",
        ("--query-gpu=index,name,driver_version,memory.total", "--format=csv,noheader,nounits"),
        nvidia_smi_static,
    ),
    Listing("amd-smi", ("static", "--asic", "--driver", "--vram", "--json"), amd_smi_static),
    Listing(
        "rocm-smi", ("--showproductname", "--showdriverversion", "--showmeminfo", "vram", "--json"), rocm_smi_static
    ),
)
"""The same tools, asked what the GPUs are."""
