"""Targets by name, and the order of a slice's devices."""

import itertools
import types

import jax
import pytest
from meshwright.aot import gpus, names, plugins

import meshwright as mw


@pytest.mark.parametrize(
    "text, count, each",
    [
        ("v5p:2x2x4", 16, "tpu-v5p"),
        ("v5p:4x4x8", 128, "tpu-v5p"),
        ("tpu-v5e:4x4", 16, "tpu-v5e"),
        ("v5e:1x1", 1, "tpu-v5e"),
        ("V6E:2X4", 8, "tpu-v6e"),
        (" v5e: 2x4 ", 8, "tpu-v5e"),
        ("v5litepod:2x2", 4, "tpu-v5e"),
        ("v4:2x2x1", 8, "tpu-v4"),
        ("tpu7x:2x2x1", 8, "tpu7x"),
        ("h100:16", 16, "h100"),
        ("b200:3", 3, "b200"),
    ],
)
def test_names(text, count, each):
    target = names.parse_target(text)
    assert target.count == count
    assert target.figures is names.device_figures()[each]
    assert names.parse_target(target.name) == target


def test_shapes_and_limits():
    assert names.parse_target("h100", 24).shape == (3, 8)
    assert names.parse_target("h100:8").limit_bytes == 80_000_000_000
    # A device is half of a chip.
    assert names.parse_target("v4:2x2x1").limit_bytes == 17_180_000_000
    device = types.SimpleNamespace(device_kind="TPU v5 lite")
    assert names.memory_limit(device) == 16_000_000_000
    device.device_kind = "abacus"
    assert names.memory_limit(device) is None


@pytest.mark.parametrize(
    "text, says",
    [
        ("v5q:2x2x1", "unknown name 'v5q'|unknown.*'v5q'.*v5p"),
        ("h10:8", "h100"),
        ("v5p", "has no shape; write the slice after the generation, such as v5p:2"),
        ("v5litepod-16", "has no shape; .*, such as v5e:4x4$"),
        ("v6e-8", "such as v6e:2x4$"),
        ("v5p-32", "such as v5p:2x2x4$"),
        ("v4-8", "such as v4:2x2x1$"),
        ("v5e-17", "such as v5e:2x2$"),
        ("h100-8", "did you mean 'h100'[?] Write a slice of TPUs as"),
        ("abacus", "unknown 'abacus'.*; write a slice of TPUs as"),
        ("v5e:2x2x2", "slices of TPU v5e have 2 dimensions, and 2x2x2 has 3"),
        ("v5e:3x3", "TPU v5e has no slice 3x3; it has 1x1, 2x2, 2x4"),
        ("v5e:32x32", "no slice 32x32"),
        ("v5p:2x2x8", "has no slice 2x2x8; it has 2x2x1, 2x2x2, 2x2x4, 2x4x4 and mult"),
        ("v5p:1x2x2", "no slice 1x2x2"),
        ("v5p:0x0x0", "no slice 0x0x0"),
        ("v5p:24x24x24", "at most 6144 chips, and 24x24x24 are 13824"),
        ("v5p:2xx2", "'2xx2' is no shape"),
        ("h100", "does not say how many GPUs; write h100:16"),
        ("h100:x", "'x' is no number of GPUs"),
        ("h100:12", "12 GPUs; expected 1 to 8, which are in one host, or a multiple"),
        ("h100:0", "0 GPUs"),
        ("mi300x:8", "GPU of AMD, whose plugin of JAX loads only where .* ROCm"),
    ],
)
def test_what_there_is_not(text, says):
    with pytest.raises(ValueError, match=says):
        names.parse_target(text)


def test_what_is_no_name():
    with pytest.raises(TypeError, match="expected a name, such as 'v5p:2x2x4'.*None"):
        mw.aot.devices(None)


def test_more_devices_than_the_slice_has():
    with pytest.raises(ValueError, match="v5e:2x2 has 4 devices, and 5 are wanted"):
        mw.aot.devices("v5e:2x2", 5)
    with pytest.raises(ValueError, match="8 devices, and 16 are wanted; name a larger"):
        mw.aot.devices("h100:8", 16)
    with pytest.raises(ValueError, match="0 are wanted; give a number from 1 on"):
        mw.aot.devices("v5e:2x2", 0)


def test_the_first_of_a_number_of_gpus():
    assert names.parse_target("h100:8", 4) == names.parse_target("h100", 8)


@pytest.mark.parametrize("target", ["v5e:2x2", "h100:8"])
def test_what_is_not_installed_has_a_line_of_pip(target, monkeypatch):
    monkeypatch.setattr(plugins.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(plugins, "_version", lambda name: None)
    plugins._described.cache_clear()
    with pytest.raises(RuntimeError, match=r'pip install "jax\[(tpu|cuda13)\]=='):
        mw.aot.devices(target)


def test_a_plugin_of_another_release(monkeypatch):
    monkeypatch.setattr(plugins, "_version", lambda name: "0.1.2")
    plugins._described.cache_clear()
    with pytest.raises(RuntimeError, match="plugin 0.1.2 is not for jax"):
        mw.aot.devices("a100", 8)


@pytest.mark.parametrize(
    "platforms, says",
    [
        (None, "it: absent; JAX starts it without a GPU if JAX_PLATFORMS=cpu is set"),
        ("cpu", r'it: absent; pip install "jax\[cuda13\]==.* belongs to this jax'),
    ],
)
def test_a_plugin_that_did_not_start(platforms, says, monkeypatch):
    def describe(*arguments):
        raise NotImplementedError("absent.")

    monkeypatch.setattr(plugins, "_version", lambda name: jax.__version__)
    monkeypatch.setattr(plugins.described, "describe_gpus", describe)
    config = types.SimpleNamespace(jax_platforms=platforms)
    pretended = types.SimpleNamespace(
        config=config, errors=jax.errors, __version__=jax.__version__
    )
    monkeypatch.setattr(plugins, "jax", pretended)
    plugins._described.cache_clear()
    with pytest.raises(RuntimeError, match=says):
        mw.aot.devices("h200", 8)


@pytest.mark.parametrize(
    "line, version",
    [
        ('libtpu==0.0.42.*; extra == "tpu"', "0.0.42"),
        ("libtpu==0.0.50.1", "0.0.50.1"),
        ("numpy>=2", None),
    ],
)
def test_the_library_of_tpus_that_belongs_to_jax(line, version):
    assert plugins.wanted_libtpu(["ml_dtypes>=0.5", line]) == version


def test_the_description_of_a_gpu():
    for name in names.gpu_names():
        text = gpus.target_text(names.device_figures()[name]["xla"])
        assert text.count("{") == text.count("}") == 3
        assert "core_count: " in text and "kind" not in text
    assert "major: 10\n  minor: 0" in text


def _slice(*shape):
    sizes = [*shape, *(1,) * (3 - len(shape))]
    return [
        types.SimpleNamespace(coords=list(at), core_on_chip=core)
        for at in itertools.product(*map(range, sizes))
        for core in (1, 0)
    ]


@pytest.mark.parametrize("shape", [(2, 2, 4), (4, 2, 2), (4, 4, 4), (4, 8), (8, 4)])
def test_equal_parts_of_a_slice_are_boxes(shape):
    order = plugins.torus_order(_slice(*shape), shape)
    assert [device.core_on_chip for device in order[:2]] == [0, 1]
    chips = [tuple(device.coords) for device in order[::2]]
    assert sorted(chips) == sorted({tuple(d.coords) for d in _slice(*shape)})
    size = 4
    while size < len(chips):
        for start in range(0, len(chips), size):
            part = chips[start : start + size]
            spans = [max(axis) - min(axis) + 1 for axis in zip(*part, strict=True)]
            assert spans[0] * spans[1] * spans[2] == size
        size *= 2


def test_stages_are_cut_off_along_the_longest_dimension():
    order = plugins.torus_order(_slice(4, 2, 2), (4, 2, 2))
    # Two hosts, of 2 by 2 chips, each.
    first, second = order[:16], order[16:]
    assert {device.coords[0] for device in first} == {0, 1}
    assert [d.coords[1:] for d in first] == [d.coords[1:] for d in second]
