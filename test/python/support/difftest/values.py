"""Which results of two programs are computed in the same way.

Compiling by XLA is what takes the time when programs are compared by their numbers.
Where two programs have the same operations on the same values, their numbers are the
same.
"""

import hashlib
import re


def read_results(text: str) -> list[bytes]:
    """A key for each result of @main: equal keys are equal computations. To be called
    where jaxlib may end the process."""
    from jaxlib.mlir import ir

    from support.jaxlib_context import context_with_quantized_types

    with context_with_quantized_types():
        module = ir.Module.parse(text)
        functions = {
            ir.StringAttr(op.attributes["sym_name"]).value: op.operation
            for op in module.body.operations
            if op.operation.name == "func.func"
        }
        return _Reader(functions).results(functions["main"])


def _digest(*parts: object) -> bytes:
    hashed = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        hashed.update(len(data).to_bytes(4, "little") + data)
    return hashed.digest()


class _Reader:
    def __init__(self, functions: dict):
        self.functions = functions
        self.keys: dict = {}
        self.called: dict = {}

    def results(self, function) -> list[bytes]:
        last = self._block(function.regions[0].blocks[0], b"main")[-1]
        return [self.keys[value] for value in last.operands]

    def _block(self, block, place: bytes) -> list:
        for i, argument in enumerate(block.arguments):
            self.keys[argument] = _digest(place, i, argument.type)
        operations = [op.operation for op in block.operations]
        for op in operations:
            self._operation(op)
        return operations

    def _operation(self, op) -> bytes:
        if op.name == "func.call":
            return self._call(op)
        operands = [self.keys[value] for value in op.operands]
        own = self._own(op)
        regions = []
        for region in op.regions:
            for index, block in enumerate(region.blocks):
                place = _digest(*operands, len(regions), index)
                regions.append(self._region(block, place))
        # What functions that are named do, since names are reused.
        named = [
            _digest(self.functions[name])
            for name in re.findall(r"@([\w.$-]+)", " ".join(own))
            if name in self.functions
        ]
        key = _digest(*own, b"", *operands, b"", *regions, b"", *named)
        for i, value in enumerate(op.results):
            self.keys[value] = _digest(key, i)
        return key

    def _own(self, op) -> list[str]:
        """Its name, types and attributes; what it reads is not known here."""
        if not op.operands:  # Bindings end the process on constants of complex numbers.
            text = op.get_asm(
                print_generic_op_form=True, use_local_scope=True, skip_regions=True
            )
            return [re.sub(r"%\w+(:\d+)?", "%", text)]
        types = [str(value.type) for value in op.results]
        attributes = (op.attributes[i] for i in range(len(op.attributes)))
        return [op.name, *types, *sorted(f"{a.name} = {a.attr}" for a in attributes)]

    def _call(self, op) -> bytes:
        """Its results are what the function computes of the operands."""
        name = str(op.attributes["callee"]).removeprefix("@").strip('"')
        operands = [self.keys[value] for value in op.operands]
        known = (name, *operands)
        if known not in self.called:
            block = self.functions[name].regions[0].blocks[0]
            self.keys.update(zip(block.arguments, operands, strict=True))
            operations = [inner.operation for inner in block.operations]
            for inner in operations:
                self._operation(inner)
            last = operations[-1]
            self.called[known] = [self.keys[value] for value in last.operands]
        found = self.called[known]
        self.keys.update(zip(op.results, found, strict=True))
        return _digest(*found)

    def _region(self, block, place: bytes) -> bytes:
        operations = self._block(block, place)
        *inner, last = operations
        acts = [self._operation(op) for op in inner if not len(op.results)]
        return _digest(*acts, self._operation(last))
