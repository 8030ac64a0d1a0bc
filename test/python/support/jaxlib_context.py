"""A context of jaxlib that knows all dialects that programs may have."""

import functools

from support import numerics


@functools.cache
def context_with_quantized_types():
    """jaxlib registers the quant dialect only as what a pass depends on."""
    from jaxlib.mlir import ir, passmanager
    from jaxlib.mlir.dialects import stablehlo

    stablehlo.register_stablehlo_passes()
    context = numerics.make_context()
    context.enable_multithreading(False)
    with context:
        loader = passmanager.PassManager.parse(
            "builtin.module(vhlo-legalize-to-stablehlo)"
        )
        loader.run(ir.Module.parse("module {}").operation)
    return context
