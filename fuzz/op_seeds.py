"""Modules of one op each, for every op of StableHLO and CHLO and element type.

The op tables say which operands, attributes, results and regions an op has. Where
they do not say enough, as about shapes that have to fit, a module is rejected by a
verifier, which is what is tried then; mutations find their way from there.
"""

import itertools
import json
import pathlib
import subprocess
from collections.abc import Iterator

LLVM = pathlib.Path("/usr/lib/llvm-22")
ELEMENTS = [
    "i1",
    "i2",
    "i4",
    "i8",
    "i16",
    "i32",
    "i64",
    "ui2",
    "ui4",
    "ui8",
    "ui16",
    "ui32",
    "ui64",
    "f16",
    "bf16",
    "f32",
    "f64",
    "f4E2M1FN",
    "f6E2M3FN",
    "f6E3M2FN",
    "f8E3M4",
    "f8E4M3",
    "f8E4M3FN",
    "f8E4M3FNUZ",
    "f8E4M3B11FNUZ",
    "f8E5M2",
    "f8E5M2FNUZ",
    "f8E8M0FNU",
    "complex<f32>",
    "complex<f64>",
    "!quant.uniform<i8:f32,0.5:3>",
]
SHAPES = ["", "4x", "2x3x", "0x3x", "1x1x2x2x", "2x2x?x"]
# By the class of an attribute; what is not here is left out.
ATTRIBUTES = {
    "I64Attr": "1 : i64",
    "I32Attr": "1 : i32",
    "F32Attr": "1.0 : f32",
    "BoolAttr": "true",
    "UnitAttr": "unit",
    "StrAttr": '"name"',
    "Stablehlo_DimensionAttr": "0 : i64",
    "Stablehlo_PositiveAttr": "1 : i64",
    "Stablehlo_OptionalFalse": "false",
    "Stablehlo_ReplicaGroupsAttr": "dense<[[0, 1]]> : tensor<1x2xi64>",
    "Stablehlo_ChannelHandleAttr": "#stablehlo.channel_handle<handle = 1, type = 1>",
    "Chlo_ComparisonDirectionAttr": "#chlo<comparison_direction LT>",
    "Stablehlo_ComparisonDirectionAttr": "#stablehlo<comparison_direction LT>",
    "Stablehlo_FftTypeAttr": "#stablehlo<fft_type FFT>",
    "Stablehlo_TransposeAttr": "#stablehlo<transpose NO_TRANSPOSE>",
    "Stablehlo_RngAlgorithmAttr": "#stablehlo<rng_algorithm THREE_FRY>",
    "Stablehlo_RngDistributionAttr": "#stablehlo<rng_distribution UNIFORM>",
    "Stablehlo_DotDimensionNumbersAttr": (
        "#stablehlo.dot<lhs_contracting_dimensions = [1], "
        "rhs_contracting_dimensions = [0]>"
    ),
    "Stablehlo_GatherDimensionNumbersAttr": (
        "#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], "
        "start_index_map = [0], index_vector_dim = 1>"
    ),
    "Stablehlo_ScatterDimensionNumbersAttr": (
        "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
        "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>"
    ),
    "Stablehlo_ConvDimensionNumbersAttr": (
        "#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>"
    ),
    "Chlo_RaggedDotDimensionNumbersAttr": (
        "#chlo.ragged_dot<lhs_contracting_dimensions = [1], "
        "rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [0]>"
    ),
    "FlatSymbolRefAttr": "@other",
}


def tables(root: pathlib.Path) -> Iterator[dict]:
    for path in sorted((root / "meshwright/Dialect").rglob("*Ops.td")):
        if "StableHLO" not in path.parts and "CHLO" not in path.parts:
            continue
        done = subprocess.run(
            [
                LLVM / "bin/llvm-tblgen",
                "--dump-json",
                f"-I{LLVM / 'include'}",
                f"-I{root}",
                path,
            ],
            capture_output=True,
            check=True,
        )
        yield json.loads(done.stdout)


def attribute_of(record: dict, records: dict, rank: int) -> str | None:
    """The text of an attribute that a table describes."""
    name = record["!name"]
    if name in ATTRIBUTES:
        return ATTRIBUTES[name]
    numbers = ", ".join(str(i) for i in range(rank))
    if name == "DenseI64ArrayAttr":
        return f"array<i64: {numbers}>" if rank else "array<i64>"
    if name == "DenseBoolArrayAttr":
        return f"array<i1: {', '.join(['false'] * rank)}>" if rank else "array<i1>"
    if name in ("I64ElementsAttr", "ElementsAttr"):
        if not rank:
            return "dense<> : tensor<0xi64>"
        return f"dense<[{numbers}]> : tensor<{rank}xi64>"
    base = record.get("baseAttr")
    return attribute_of(records[base["def"]], records, rank) if base else None


def body(count: int, element: str) -> str:
    """A region over scalars that returns the first one."""
    scalar = f"tensor<{element}>"
    arguments = ", ".join(f"%b{i}: {scalar}" for i in range(count))
    return f'{{\n^bb0({arguments}):\n  "stablehlo.return"(%b0) : ({scalar}) -> ()\n}}'


def module_of(
    op: dict, records: dict, element: str, shape: str, count: int, constant: bool
) -> str | None:
    """One op over `count` operands of one type; None where that cannot be."""
    tensor = f"tensor<{shape}{element}>"
    attributes, names = [], []
    segments = []
    for argument, name in op["arguments"]["args"]:
        record = records[argument["def"]]
        if "Attr" in record["!superclasses"]:
            text = attribute_of(record, records, shape.count("x"))
            if text and name:
                attributes.append(f"{name} = {text}")
            continue
        optional = "Optional" in record["!superclasses"]
        many = "Variadic" in record["!superclasses"]
        segment = count if many else 0 if optional and count % 2 else 1
        segments.append(segment)
        names += [f"%x{len(names) + i}" for i in range(segment)]
    if any("AttrSizedOperandSegments" in str(t.get("def")) for t in op["traits"]):
        sizes = ", ".join(map(str, segments))
        attributes.append(f"operandSegmentSizes = array<i32: {sizes}>")
    regions = [
        body(max(1, 2 * count) if count else 1, element) for _ in op["regions"]["args"]
    ]
    results = [tensor] * len(op["results"]["args"])
    lines = []
    if constant and element[0] in "ifbu" and "?" not in shape:
        value = "1.0" if element[0] in "fb" else "true" if element == "i1" else "1"
        arguments = ""
        lines += [
            f"  {name} = stablehlo.constant dense<{value}> : {tensor}" for name in names
        ]
    else:
        arguments = ", ".join(f"{name}: {tensor}" for name in names)
    dialect = records[op["opDialect"]["def"]]["name"]
    outs = [f"%r{i}" for i in range(len(results))]
    assigned = f"{', '.join(outs)} = " if outs else ""
    attribute_text = f" {{{', '.join(attributes)}}}" if attributes else ""
    region_text = f" ({', '.join(regions)})" if regions else ""
    lines += [
        f'  {assigned}"{dialect}.{op["opName"]}"({", ".join(names)}){region_text}'
        f"{attribute_text} : ({', '.join([tensor] * len(names))}) -> "
        f"({', '.join(results)})",
        f"  return {', '.join(outs)}{' : ' if outs else ''}{', '.join(results)}",
    ]
    signature = f"({', '.join(results)})"
    return (
        f"func.func @main({arguments}) -> {signature} {{\n" + "\n".join(lines) + "\n}\n"
    )


def programs(root: pathlib.Path) -> Iterator[str]:
    """Each op with every element type, in shapes and numbers of operands by turns."""
    turns = itertools.count()
    for records in tables(root):
        for name in records["!instanceof"]["Op"]:
            op = records[name]
            if not name.startswith(("Stablehlo_", "Chlo_")):
                continue
            for element in ELEMENTS:
                turn = next(turns)
                for constant in (False, True):
                    text = module_of(
                        op,
                        records,
                        element,
                        SHAPES[turn % len(SHAPES)],
                        turn % 4,
                        constant,
                    )
                    if text:
                        yield text
