"""What the GPU vendors' tools print, read as numbers with units."""

from collections.abc import Callable
from pathlib import Path

import pytest

from trials.smi import (
    Device,
    Gpu,
    amd_smi,
    amd_smi_static,
    nvidia_smi,
    nvidia_smi_static,
    rocm_smi,
    rocm_smi_static,
)

CAPTURES = Path(__file__).parents[1] / "captures/telemetry"


def captured(name: str) -> str:
    return (CAPTURES / name).read_text(encoding="utf-8")


def test_nvidia_smi_tells_a_gpu_a_line() -> None:
    assert nvidia_smi(captured("nvidia-smi.csv")) == (
        Gpu(index=0, power_w=109.17, clock_mhz=420, temperature_c=34, memory_mib=0),
    )


def test_what_nvidia_smi_does_not_know_is_none() -> None:
    (gpu,) = nvidia_smi("3, [N/A], 1980, [Not Supported], 80000\n")
    assert gpu == Gpu(index=3, power_w=None, clock_mhz=1980, temperature_c=None, memory_mib=80000)


def test_amd_smi_tells_the_mean_clock_of_a_gpus_compute_dies_and_its_hottest_spot() -> None:
    assert amd_smi(captured("amd-smi.json")) == (
        Gpu(index=0, power_w=742, clock_mhz=2200, temperature_c=61, memory_mib=266240),
        Gpu(index=1, power_w=141, clock_mhz=150, temperature_c=38, memory_mib=283),
    )


def test_an_amd_smi_that_prints_a_list_of_other_names_is_understood_too() -> None:
    assert amd_smi(captured("amd-smi-list.json")) == (
        Gpu(index=0, power_w=94, clock_mhz=None, temperature_c=45, memory_mib=283),
    )


def test_a_warning_before_the_json_is_passed_over() -> None:
    warned = "WARNING: user is missing the group [render]\n" + captured("amd-smi.json")
    assert amd_smi(warned) == amd_smi(captured("amd-smi.json"))


def test_rocm_smi_tells_texts_with_units_in_their_names() -> None:
    assert rocm_smi(captured("rocm-smi.json")) == (
        Gpu(index=0, power_w=266, clock_mhz=2100, temperature_c=49, memory_mib=284),
        Gpu(index=1, power_w=19, clock_mhz=132, temperature_c=47, memory_mib=794341376 / (1 << 20)),
    )


@pytest.mark.parametrize("answer", ["No devices were found\n", "0, 1\n", "one, 2, 3, 4, 5\n"])
def test_another_answer_of_nvidia_smi_is_an_error(answer: str) -> None:
    with pytest.raises(ValueError, match=r"unpack|invalid literal"):
        nvidia_smi(answer)


@pytest.mark.parametrize("answer", ["", "no amdgpu driver", '{"gpu_data": 3}', '"text"'])
def test_another_answer_of_amd_smi_is_an_error(answer: str) -> None:
    with pytest.raises(ValueError, match=r"no JSON|no list of GPUs"):
        amd_smi(answer)


def test_a_gpu_of_which_amd_smi_tells_nothing_has_no_numbers() -> None:
    assert amd_smi('[{"gpu": 0, "power": "N/A"}, {"cpu": 0}, 3]') == (
        Gpu(index=0, power_w=None, clock_mhz=None, temperature_c=None, memory_mib=None),
    )


@pytest.mark.parametrize("answer", ["", "ERROR:root:Driver not initialized", "[1]"])
def test_another_answer_of_rocm_smi_is_an_error(answer: str) -> None:
    with pytest.raises(ValueError, match=r"no JSON|no object of cards"):
        rocm_smi(answer)


def test_nvidia_smi_tells_what_a_gpu_is() -> None:
    assert nvidia_smi_static(captured("nvidia-smi-static.csv")) == (
        Device(index=0, name="NVIDIA H200", memory_mib=143771, driver="580.159.04"),
    )


def test_amd_smi_tells_what_a_gpu_is_and_none_for_what_it_does_not_know() -> None:
    name, mib = "AMD Instinct MI355X", 294896
    assert amd_smi_static(captured("amd-smi-static.json")) == (
        Device(index=0, name=name, memory_mib=mib, driver="6.14.14"),
        Device(index=1, name=name, memory_mib=mib, driver=None),
    )


def test_rocm_smi_tells_the_driver_once_for_all() -> None:
    first, second = rocm_smi_static(captured("rocm-smi.json"))
    assert (first.index, first.name, first.driver) == (0, None, "6.14.14")
    assert (second.memory_mib, second.driver) == (25753026560 / (1 << 20), "6.14.14")


@pytest.mark.parametrize("parse", [nvidia_smi_static, amd_smi_static, rocm_smi_static])
def test_what_tells_of_no_gpu_is_refused(parse: Callable[[str], object]) -> None:
    with pytest.raises(ValueError, match=r"no JSON|invalid literal|unpack"):
        parse("No devices were found\n")
