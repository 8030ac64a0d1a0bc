"""Shardings propagate through random programs as Shardy's in jaxlib do.

The two run the same passes, up to propagation and to the end; what they print
must be equal.
"""

import re

import pytest
from support import numerics, random_shardings
from support.isolated import Aborted, Isolated
from support.jaxlib_releases import without_empty_shardings

SEEDS = range(40)

PREPARE = "sdy-import-pipeline,sdy-apply-sharding-constraints,sdy-sharding-group-import"
PROPAGATE = (
    f"{PREPARE},"
    "sdy-user-priority-propagate{propagation-strategy=basic-then-aggressive}"
)
# The beginnings of passes with options.
SINGLE = [
    "sdy-basic-propagate{",
    "sdy-aggressive-propagate{",
    "sdy-op-priority-propagate{",
    "sdy-user-priority-propagate{",
    "sdy-aggressive-propagate{propagation-strategy=basic-then-aggressive",
    "sdy-op-priority-propagate{run-op-priority-propagation=false",
    "sdy-user-priority-propagate{run-op-priority-propagation=false",
]
CLOSE = (
    "func.func(sdy-constant-or-scalar-merger,sdy-sink-data-flow-edges),"
    "sdy-update-non-divisible-input-output-shardings,"
    "sdy-remove-sub-axes-in-input-output-shardings,sdy-close-shardings"
)


def run_by_jaxlib(text: str, pipeline: str) -> str:
    """What jaxlib's passes, which its partitioner registers, make of a module."""
    from jaxlib.mlir import ir, passmanager
    from support import peer

    peer.load()
    with numerics.shared_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        passmanager.PassManager.parse(pipeline).run(module.operation)
        return str(module)


def renumber_groups(text: str) -> str:
    """Ids in the order of the text: jaxlib's depend on where groups start."""
    numbers: dict[str, int] = {}
    return re.sub(
        r"group_id=(\d+)",
        lambda match: f"group_id={numbers.setdefault(match[1], len(numbers))}",
        text,
    )


@pytest.fixture(scope="module")
def jaxlib():
    isolated = Isolated(__name__)
    yield isolated
    isolated.close()


def agrees(tools, jaxlib, text: str, passes: str) -> bool:
    """Compares; False if jaxlib's process ends on the program."""
    pipeline = f"builtin.module({passes})"
    text = without_empty_shardings(text)
    ours = tools.opt(text, f"--pass-pipeline={pipeline}")
    try:
        expected = jaxlib.call(run_by_jaxlib, text, pipeline)
    except Aborted:
        return False
    ours = renumber_groups(numerics.print_module(ours))
    assert ours == renumber_groups(expected)
    return True


@pytest.mark.parametrize(
    "passes", [PROPAGATE, f"{PROPAGATE},{CLOSE}"], ids=["open", "closed"]
)
@pytest.mark.parametrize("kind", [random_shardings.plain, random_shardings.partitioned])
@pytest.mark.parametrize("seed", SEEDS)
def test_shardings_are_as_jaxlibs(tools, jaxlib, kind, seed, passes):
    if not agrees(tools, jaxlib, kind(seed), passes):
        pytest.skip("jaxlib cannot run this program")


@pytest.mark.parametrize("conservative", ["false", "true"])
@pytest.mark.parametrize("kind", [random_shardings.plain, random_shardings.partitioned])
@pytest.mark.parametrize("propagate", SINGLE)
def test_each_propagation_is_as_jaxlibs(tools, jaxlib, kind, propagate, conservative):
    for seed in range(5):
        option = f"conservative-propagation={conservative}"
        passes = f"{PREPARE},{propagate} {option}}}"
        assert agrees(tools, jaxlib, kind(seed), passes)


@pytest.mark.parametrize("propagate", SINGLE)
def test_edges_of_functions_are_followed_as_by_jaxlib(tools, jaxlib, propagate):
    texts = [random_shardings.calls(seed) for seed in range(20)]
    assert sum(agrees(tools, jaxlib, text, f"{propagate}}}") for text in texts) > 15


@pytest.mark.parametrize("propagate", SINGLE[:4])
@pytest.mark.parametrize("seed", range(5))
def test_axes_of_size_1_pass_reshapes_as_jaxlibs(tools, jaxlib, propagate, seed):
    assert agrees(tools, jaxlib, random_shardings.reshapes(seed), f"{propagate}}}")


def without(text: str, *, ops: bool) -> str:
    """What jaxlib has no debug information for ends its process: groups, and as
    origins annotations of ops."""
    text = "".join(
        line for line in text.splitlines(True) if "sdy.sharding_group" not in line
    )
    if not ops:
        return text
    return re.sub(r" \{sdy\.sharding = #sdy\.sharding_per_value<.*?>\]>\}", "", text)


@pytest.mark.parametrize("kind", [random_shardings.plain, random_shardings.partitioned])
@pytest.mark.parametrize("propagate", SINGLE[:4])
def test_edges_are_as_jaxlibs(tools, jaxlib, kind, propagate):
    for seed in range(5):
        passes = f"{PREPARE},{propagate} debug-propagation-edge-sharding=true}}"
        assert agrees(tools, jaxlib, without(kind(seed), ops=False), passes)


AXES = ['"a"', '"a":(1)2', '"a":(1)4', '"a":(2)2', '"a":(2)4', '"b"', '"b", "a"']
AXES += ['"b", "a":(1)2', '"a":(1)2, "b"', '"a":(1)2, "b":(1)2', '"c"']


@pytest.mark.parametrize("debug", ["propagation-edge-sharding", "sharding-origins"])
@pytest.mark.parametrize("first", AXES)
def test_where_parts_of_axes_come_from_is_as_jaxlibs(tools, jaxlib, first, debug):
    for second in AXES:
        shardings = [f"#sdy.sharding<@m, [{{{axes}, ?}}]>" for axes in (first, second)]
        arguments = ", ".join(
            f"%{name}: tensor<8xf32> {{sdy.sharding = {sharding}}}"
            for name, sharding in zip("xy", shardings, strict=True)
        )
        text = f"""
sdy.mesh @m = <["a"=8, "b"=4, "c"=2]>
func.func @main({arguments}) -> tensor<8xf32> {{
  %0 = stablehlo.add %x, %y : tensor<8xf32>
  return %0 : tensor<8xf32>
}}"""
        assert agrees(tools, jaxlib, text, f"sdy-basic-propagate{{debug-{debug}=true}}")


@pytest.mark.parametrize("kind", [random_shardings.plain, random_shardings.partitioned])
@pytest.mark.parametrize("propagate", SINGLE[:4])
def test_origins_are_as_jaxlibs(tools, jaxlib, kind, propagate):
    texts = [without(kind(seed), ops=True) for seed in range(5)]
    passes = f"{PREPARE},{propagate} debug-sharding-origins=true}}"
    assert sum(agrees(tools, jaxlib, text, passes) for text in texts) > 2
