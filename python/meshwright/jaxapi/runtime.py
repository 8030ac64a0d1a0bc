# SPDX-License-Identifier: Apache-2.0
"""What the runtime takes from JAX beyond its documented interface.

The raw way to run an executable (`execute_sharded`, handlers, copies between
devices) is an order of magnitude cheaper than the public one and is the only one
that lets a module decide its own aliasing. The names are those of the table in
`names`.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from . import layouts
from .differences import make_handler as make_handler
from .names import FOUND as _FOUND

ArrayImpl = _FOUND["ArrayImpl"]
DeviceList = _FOUND["DeviceList"]
copy_arrays = _FOUND["batched_copy_array_to_devices_with_sharding"]
ir = _FOUND["ir"]
sdy = _FOUND["sdy"]
make_ir_context = _FOUND["make_ir_context"]
# Around transfers that the user's program asks for: `jax.transfer_guard` lets them.
explicit_transfers = _FOUND["explicit_device_put_scope"]
same_hlo_sharding = _FOUND["are_hlo_shardings_equal"]

REUSE_INPUT = _FOUND["ArrayCopySemantics"].REUSE_INPUT
ALWAYS_COPY = _FOUND["ArrayCopySemantics"].ALWAYS_COPY


def make_aval(shape: tuple[int, ...], dtype: Any, sharding: Any) -> Any:
    """The abstract value that JAX itself gives an array of this sharding."""
    return _FOUND["update_aval_with_sharding"](
        _FOUND["ShapedArray"](shape, dtype), sharding
    )


def make_array(aval: Any, sharding: Any, shards: list[Any]) -> Any:
    """An array of shards that are known to be right; costs a tenth of checking it."""
    return ArrayImpl(aval, sharding, shards, committed=True, _skip_checks=True)


def hlo_sharding(sharding: Any, rank: int) -> Any:
    """How XLA calls a NamedSharding of an array with this many dimensions."""
    return sharding._to_xla_hlo_sharding(rank)


def compiled_shardings(executable: Any) -> tuple[list[Any], list[Any]] | None:
    """What XLA really did with arguments and results; None if it does not say."""
    sides = executable.get_parameter_shardings(), executable.get_output_shardings()
    if sides[0] is None or sides[1] is None:
        return None
    from_proto = _FOUND["HloSharding"].from_proto
    return [from_proto(p) for p in sides[0]], [from_proto(p) for p in sides[1]]


def parse_sharding(data: bytes) -> Any:
    """What an executable's `get_parameter_shardings` gave, from its serialized form."""
    found = _FOUND["OpSharding"]()
    found.ParseFromString(data)
    return found


def compiled_layouts(executable: Any) -> tuple[list[Any], list[Any]]:
    """Layouts of arguments and results that XLA chose or was given."""
    return executable.get_parameter_layouts(), executable.get_output_layouts()


def shard_pointers(array: Any) -> list[int]:
    """Where the shards of this process are, in the order of their devices.

    JAX finds out by waiting, with the GIL held; a callback that has yet to make the
    array could never run. So this waits first, without it.
    """
    try:
        if not array.is_ready():
            array.block_until_ready()
        return [shard.unsafe_buffer_pointer() for shard in array._arrays]
    except jax.errors.JaxRuntimeError:  # It is in error, and so will be its readers.
        return []


def array_layout(array: Any) -> Any:
    """The layout of an array's shards; None if it cannot say (it is in error)."""
    try:
        return array._pjrt_layout
    except jax.errors.JaxRuntimeError:
        return None


def element_order(layout: Any, rank: int) -> tuple[int, ...]:
    """Dimensions from major to minor; None is the default layout."""
    found = layouts.as_layout(layout)
    return tuple(range(rank)) if found is None else tuple(found.major_to_minor)


def default_order(device: Any, dtype: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """How a backend orders the dimensions of arrays without a given layout."""
    return element_order(layouts.default_layout(device, dtype, shape), len(shape))


def compile_options(devices: tuple[Any, ...], overrides: dict[str, Any]) -> Any:
    """Options for compiling for devices in this order, with some of the user's."""
    return _options_for(devices, overrides, np.array([devices]))


def _options_for(devices: tuple, overrides: dict[str, Any], assignment: Any) -> Any:
    return _FOUND["get_compile_options"](
        num_replicas=1,
        num_partitions=len(devices),
        device_assignment=assignment,
        env_options_overrides=overrides or None,
        backend=devices[0].client,
    )


def serialized_options(devices: tuple[Any, ...], overrides: dict[str, Any]) -> bytes:
    """All options of a compilation but for which devices it is for."""
    return _options_for(devices, overrides, None).SerializeAsString()


# Options of XLA that say where to write what, and how many devices a CPU passes for.
FLAGS_WITHOUT_EFFECT = {
    "xla_force_host_platform_device_count": 0,
    "xla_gpu_cuda_data_dir": "",
    "xla_dump_to": "",
    "xla_dump_hlo_module_re": "",
    "xla_dump_hlo_pass_re": "",
    "xla_dump_hlo_pipeline_re": "",
    "xla_dump_hlo_as_text": False,
    "xla_dump_hlo_as_long_text": False,
    "xla_dump_hlo_as_proto": False,
    "xla_dump_hlo_as_dot": False,
    "xla_dump_hlo_as_url": False,
    "xla_dump_hlo_as_html": False,
    "xla_dump_hlo_snapshots": False,
    "xla_dump_fusion_visualization": False,
    "xla_dump_max_hlo_modules": 0,
    "xla_dump_module_metadata": False,
    "xla_dump_compress_protos": False,
    "xla_dump_disable_metadata": False,
}


def lasting_options(devices: tuple[Any, ...], overrides: dict[str, Any]) -> bytes:
    """All options of a compilation that code depends on, but for its devices."""
    options = _options_for(devices, overrides, None)
    found = options.executable_build_options.debug_options
    for name, value in FLAGS_WITHOUT_EFFECT.items():
        if hasattr(found, name):  # Releases of XLA come and go with them.
            setattr(found, name, value)
    return options.SerializeAsString()


def compile_module(
    module: Any,
    devices: tuple[Any, ...],
    overrides: dict[str, Any],
    callbacks: list,
    jax_cache: bool = True,
) -> Any:
    """Compiles a module for devices in this order.

    With JAX's persistent cache, if that is on, unless the caller keeps another one. On
    CPUs never: what comes from there cannot be serialized again, for equal fragments.
    """
    if not jax_cache or devices[0].platform == "cpu":
        options, devices = compile_options(devices, overrides), DeviceList(devices)
        return _FOUND["backend_compile_and_load"](
            devices[0].client, module, devices, options, callbacks
        )
    return _FOUND["compile_or_get_cached"](
        devices[0].client,
        module,
        np.array(devices, dtype=object),
        compile_options(devices, overrides),
        callbacks,
        DeviceList(devices),
    )


def load_copy(
    serialized: bytes,
    devices: tuple[Any, ...],
    overrides: dict[str, Any],
    callbacks: list,
) -> Any:
    """Loads an executable that was compiled for other devices, or by another process.

    The Python functions that it calls are these, by their positions; those that it was
    compiled with are not in it.
    """
    return devices[0].client.deserialize_executable(
        serialized, DeviceList(devices), compile_options(devices, overrides), callbacks
    )


# By device, the token of the last launch that calls Python without side effects.
_pure_tokens: dict[Any, Any] = {}


def keep_token(devices: tuple[Any, ...], token: Any, has_effects: bool) -> None:
    """Lets a launch that calls Python be waited for before Python is gone.

    One with side effects by `jax.effects_barrier()`, too, which raises its error, as
    JAX does at exit. Errors of others are those of their results.
    """
    # Devices of other processes have none here.
    local = (d for d in devices if d.process_index == d.client.process_index())
    for position, device in enumerate(local):
        part = token.get_token(position)
        if has_effects:
            _FOUND["runtime_tokens"].set_output_runtime_token(device, part)
        else:
            _pure_tokens[device] = part


@atexit.register
def _wait_for_pure_calls() -> None:
    for token in list(_pure_tokens.values()):  # Other threads may still launch.
        with contextlib.suppress(jax.errors.JaxRuntimeError):
            token.block_until_ready()
    _pure_tokens.clear()


def copy_first_shard(array: Any) -> Any:
    """A copy of the first device's part on that device; does not wait for it."""
    return copy_shard(array.addressable_data(0))


def copy_shard(shard: Any) -> Any:
    """A copy of an array of one device on that device; does not wait for it."""
    devices = DeviceList(tuple(shard.devices()))
    return copy_arrays([shard], [devices], [shard.sharding], [ALWAYS_COPY])[0]


_EXIT_SECONDS = 5.0


def end_at_exit(thread: threading.Thread, stop: Callable[[], None]) -> None:
    """Ends a thread that waits for JAX before the interpreter goes.

    Python unwinds the threads that are left when they want the GIL back, and C++
    code of JAX that is unwound aborts the process.

    Args:
      stop: lets the thread end soon.
    """

    def end() -> None:
        stop()
        thread.join(_EXIT_SECONDS)

    atexit.register(end)


# Several processes.

backends_started = _FOUND["backends_are_initialized"]
start_transfer_server = _FOUND["start_transfer_server"]


def coordination_client() -> Any | None:
    """The client of JAX's coordination service; None in a process of its own."""
    return _FOUND["global_state"].client


def coordinator_address() -> str | None:
    return _FOUND["global_state"].coordinator_address


def was_refused(error: BaseException) -> bool:
    """Whether an array was pulled as another one than was offered, which is how a
    process tells that there is none (`World.nothing`)."""
    texts = "Async transfer object was deleted", "Invalid slicing of buffer"
    return any(text in str(error) for text in texts)


def forget_topology() -> None:
    """In a process that joins once more, before it starts its devices.

    Process 0 writes down what devices all have, and finds that it is there already.
    """
    client = coordination_client()
    if client is not None and _FOUND["global_state"].process_id == 0:
        for platform in ("cpu", "gpu"):
            client.key_value_delete(f"{platform}:global_topology/")


def cluster_is_present() -> bool:
    """Whether `jax.distributed.initialize` can find out everything by itself."""
    return any(
        kind.is_env_present()
        for kind in _FOUND["ClusterEnv"]._cluster_types
        if not kind.opt_in_only_method
    )


def forget_processes() -> None:
    """In a forked child: what JAX does at exit would be done for the parent."""
    atexit.unregister(_FOUND["clean_up"])
    _pure_tokens.clear()


@contextlib.contextmanager
def external_coordinator(external: bool) -> Iterator[None]:
    """Keeps process 0 from starting a coordinator where another process holds it."""
    if not external:
        yield
        return
    module = _FOUND["_jax"]
    module.get_distributed_runtime_service = lambda *args, **kwargs: None
    try:
        yield
    finally:
        module.get_distributed_runtime_service = _FOUND[
            "get_distributed_runtime_service"
        ]
