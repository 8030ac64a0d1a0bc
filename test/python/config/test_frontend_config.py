"""Topologies, configs and their checks."""

import dataclasses
import logging

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from meshwright.types import PIPELINE_SCHEDULE_NAMES

import meshwright as mw


def mesh(start, size=2, axis="x"):
    return Mesh(jax.devices()[start : start + size], axis)


@pytest.fixture(scope="module")
def topology():
    return {"m0": mesh(0), "m1": mesh(2), "host/cpu": mesh(4)}


def test_config_keeps_what_it_is_given(topology):
    config = mw.make_config(
        topology,
        {"enc": "m0", "dec": "m1#pinned_host"},
        name_to_stage_assignment={"enc": 0, "other": 3},
        input_mesh_assignment=("m0", {"a": None, "b": "m1#device"}),
        output_mesh_assignment="m1",
        partitioning_options={"mpmd_infer_transfers": True},
    )
    assert config.topology is topology
    assert config.name_to_mesh_assignment == {"enc": "m0", "dec": "m1#pinned_host"}
    assert config.name_to_stage_assignment == {"enc": 0, "other": 3}
    assert config.input_mesh_assignment == ("m0", {"a": None, "b": "m1#device"})
    assert config.output_mesh_assignment == "m1"
    assert config.partitioning_options == {"mpmd_infer_transfers": True}
    assert not config.read_input_output_mesh_from_shardings
    assert config.pipeline_schedule is None


def test_config_defaults(topology):
    config = mw.make_config(topology, {})
    assert config.name_to_stage_assignment == {}
    assert config.input_mesh_assignment == config.output_mesh_assignment == ()
    assert config.partitioning_options is None


def test_config_is_frozen(topology):
    with pytest.raises(dataclasses.FrozenInstanceError):
        mw.make_config(topology, {}).topology = {}


def test_sharding_mesh_is_the_first_mesh_without_devices(topology):
    abstract = mw.make_config(topology, {}).sharding_mesh
    assert isinstance(abstract, jax.sharding.AbstractMesh)
    assert dict(abstract.shape) == {"x": 2}


def test_mesh_and_stage_assignment_drops_stages_without_mesh(topology):
    config = mw.make_config(
        topology,
        {"enc": "m0", "mid": "m1"},
        name_to_stage_assignment={"enc": 0, "lost": 1},
    )
    assert config.mesh_and_stage_assignment == {"enc": ("m0", 0), "mid": "m1"}


@pytest.mark.parametrize(
    ("meshes", "message"),
    [
        ([], "at least one mesh"),
        (["m@0"], "must not contain '@'"),
        (["m0#pinned_host"], "must not end with the memory kind '#pinned_host'"),
        (["m0#device"], "must not end with the memory kind '#device'"),
    ],
)
def test_unusable_topologies_are_rejected(meshes, message):
    with pytest.raises(ValueError, match=message):
        mw.make_config({name: mesh(0) for name in meshes}, {})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"mpmd_infer_transfer": True},
            r"'mpmd_infer_transfer', did you mean 'mpmd_infer_transfers'\? \(known are",
        ),
        ({"mpmd_fail_on_backward_deps": True}, "mpmd_fail_on_backward_deps"),
        ({"mpmd_infer_transfers": 1}, "must be a bool, got 1 of type int"),
        ({"mpmd_infer_transfers": "True"}, "must be a bool"),
        ({"mpmd_pipeline_schedule": "gpipe"}, "did you mean 'GPipe'"),
        ({"mpmd_pipeline_schedule": True}, "mpmd_pipeline_schedule"),
    ],
)
def test_bad_options_are_rejected(topology, options, message):
    with pytest.raises(ValueError, match=message):
        mw.make_config(topology, {}, partitioning_options=options)


@pytest.mark.parametrize("name", PIPELINE_SCHEDULE_NAMES)
def test_schedule_names_are_accepted(topology, name):
    options = {"mpmd_pipeline_schedule": name}
    config = mw.make_config(topology, {}, partitioning_options=options)
    assert config.partitioning_options == options


@pytest.mark.parametrize(
    "arguments",
    [
        {"name_to_mesh_assignment": {"enc": "m7"}},
        {"input_mesh_assignment": ("m0", ["m7"])},
        {"output_mesh_assignment": {"a": "m7#device"}},
    ],
)
def test_unknown_meshes_are_rejected(topology, arguments):
    arguments.setdefault("name_to_mesh_assignment", {})
    with pytest.raises(ValueError, match="m7.*known are m0, m1, host/cpu"):
        mw.make_config(topology, **arguments)


def test_an_unknown_memory_kind_is_kept_and_named(topology, caplog):
    config = mw.make_config(topology, {"enc": "m0#anything"})
    assert config.name_to_mesh_assignment == {"enc": "m0#anything"}
    assert "memory kind: unknown 'anything'" in caplog.text


def test_negative_stages_are_rejected_and_zero_is_fine(topology):
    stages = {"enc": 0}
    made = mw.make_config(topology, {"enc": "m0"}, name_to_stage_assignment=stages)
    assert made.name_to_stage_assignment == stages
    with pytest.raises(ValueError, match="'enc' must not be negative, got -1"):
        mw.make_config(topology, {"enc": "m0"}, name_to_stage_assignment={"enc": -1})


def test_stages_may_be_numbers_of_numpy(topology):
    stages = dict(zip(["enc", "dec"], np.arange(2), strict=True))
    names = {"enc": "m0", "dec": "m1"}
    config = mw.make_config(
        topology,
        names,
        name_to_stage_assignment=stages,
        partitioning_options={"mpmd_infer_transfers": True},
    )
    enc, dec = (mw.named_computation(jax.numpy.sin, name=name) for name in names)
    assert mw.jit(lambda x: dec(enc(x)), config).lower(1.0)


@pytest.mark.parametrize(
    "given", [{"input_mesh_assignment": "m0"}, {"output_mesh_assignment": ("m0",)}]
)
def test_meshes_come_from_one_place(topology, given):
    with pytest.raises(ValueError, match="read_input_output_mesh_from_shardings"):
        mw.make_config(
            topology, {}, read_input_output_mesh_from_shardings=True, **given
        )


def test_at_sign_is_found_before_memory_kinds(topology):
    mesh = next(iter(topology.values()))
    with pytest.raises(ValueError, match="'b@'"):
        mw.make_config({"a#device": mesh, "b@": mesh}, {})


def test_topology_is_checked_before_options():
    with pytest.raises(ValueError, match="at least one mesh"):
        mw.make_config({}, {}, partitioning_options={"unknown": True})


def test_meshes_may_share_devices_as_far_as_the_config_is_concerned():
    made = mw.make_config({"m0": mesh(0), "m1": mesh(0)}, {})
    assert list(made.topology) == ["m0", "m1"]


REQUIRED = mw.PipelineSchedule(
    required_mpmd_options={
        "mpmd_pipeline_schedule": "ZeroBubbleH1",
        "mpmd_split_bwd_fragments": True,
    }
)


def test_required_options_are_added_and_named(topology, caplog):
    with caplog.at_level(logging.INFO, "meshwright"):
        config = mw.make_config(
            topology,
            {},
            partitioning_options={
                "mpmd_infer_transfers": True,
                "mpmd_split_bwd_fragments": True,
            },
            pipeline_schedule=REQUIRED,
        )
    assert config.partitioning_options == {
        "mpmd_infer_transfers": True,
        "mpmd_split_bwd_fragments": True,
        "mpmd_pipeline_schedule": "ZeroBubbleH1",
    }
    assert "ZeroBubbleH1" in caplog.text
    assert "mpmd_split_bwd_fragments" not in caplog.text


def test_conflicts_with_required_options_are_listed(topology):
    options = {"mpmd_pipeline_schedule": "1F1B", "mpmd_split_bwd_fragments": False}
    with pytest.raises(ValueError) as error:
        mw.make_config(
            topology, {}, partitioning_options=options, pipeline_schedule=REQUIRED
        )
    assert "mpmd_pipeline_schedule is '1F1B'" in str(error.value)
    assert "mpmd_split_bwd_fragments is False" in str(error.value)


def test_mesh_names_of_everything_that_has_a_mesh(topology):
    sharding = NamedSharding(topology["m1"], PartitionSpec("x"))
    tree = {
        "sharding": sharding,
        "array": jax.device_put(jax.numpy.ones(2), sharding),
        "struct": jax.ShapeDtypeStruct((2,), "float32", sharding=sharding),
        "mesh": topology["m0"],
        "none": None,
        "unsharded": jax.ShapeDtypeStruct((2,), "float32"),
        "abstract": topology["m0"].abstract_mesh,
    }
    assert mw.mesh_names(tree, topology) == {
        "sharding": "m1",
        "array": "m1",
        "struct": "m1",
        "mesh": "m0",
        "none": None,
        "unsharded": None,
        "abstract": None,
    }


def test_mesh_names_rejects_foreign_meshes_and_other_leaves(topology):
    with pytest.raises(ValueError, match="not in the topology"):
        mw.mesh_names([mesh(6)], topology)
    with pytest.raises(ValueError, match="cannot tell the mesh of 3.0"):
        mw.mesh_names([3.0], topology)
