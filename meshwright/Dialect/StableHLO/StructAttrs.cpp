//===- StructAttrs.cpp - Structured attributes ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::stablehlo;

//===----------------------------------------------------------------------===//
// Dot algorithm
//===----------------------------------------------------------------------===//

/// Whether hardware is known that multiplies `lhs` by `rhs` into `accumulation`
/// with this many primitive operations.
static bool isKnownAlgorithm(Type lhs, Type rhs, Type accumulation,
                             int64_t primitiveOps, bool imprecise) {
  auto isEightBitFloat = [](Type type) {
    return isa<Float8E3M4Type, Float8E4M3Type, Float8E4M3FNType,
               Float8E4M3FNUZType, Float8E4M3B11FNUZType, Float8E5M2Type,
               Float8E5M2FNUZType>(type);
  };
  if (isEightBitFloat(lhs) && isEightBitFloat(rhs))
    return accumulation.isF32() && primitiveOps == 1;
  if (imprecise || lhs != rhs)
    return false;
  if (lhs.isF16())
    return (accumulation.isF16() || accumulation.isF32()) && primitiveOps == 1;
  if (lhs.isBF16() && accumulation.isBF16())
    return primitiveOps == 1;
  if (lhs.isBF16())
    return accumulation.isF32() &&
           llvm::is_contained({1, 3, 6, 9}, primitiveOps);
  if (lhs.isTF32())
    return accumulation.isF32() && (primitiveOps == 1 || primitiveOps == 3);
  return (lhs.isF32() || lhs.isF64()) && accumulation == lhs &&
         primitiveOps == 1;
}

LogicalResult
DotAlgorithmAttr::verify(function_ref<InFlightDiagnostic()> emitError, Type lhs,
                         Type rhs, Type accumulation, int64_t lhsComponents,
                         int64_t rhsComponents, int64_t primitiveOps,
                         bool imprecise) {
  if (lhsComponents == 1 && rhsComponents == 1 &&
      isKnownAlgorithm(lhs, rhs, accumulation, primitiveOps, imprecise))
    return success();
  return emitError()
         << "dot algorithm not known to be supported on any hardware: lhs "
         << lhs << " in " << lhsComponents << ", rhs " << rhs << " in "
         << rhsComponents << " component(s), " << accumulation
         << " accumulation, " << primitiveOps << " primitive operation(s), "
         << (imprecise ? "imprecise" : "precise") << " accumulation";
}

//===----------------------------------------------------------------------===//
// Meshes and their axes
//===----------------------------------------------------------------------===//

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<MeshAxisAttr> axes;
  DenseIntElementsAttr deviceIds;
  auto parseAxis = [&] {
    return parser.parseCustomAttributeWithFallback(axes.emplace_back());
  };
  if (parser.parseLess() || parser.parseKeyword("axes") ||
      parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis))
    return {};
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("device_ids") || parser.parseEqual() ||
       parser.parseAttribute(deviceIds)))
    return {};
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), axes, deviceIds);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<axes=[";
  llvm::interleaveComma(getAxes(), printer, [&](MeshAxisAttr axis) {
    printer.printStrippedAttrOrType(axis);
  });
  printer << ']';
  if (getDeviceIds())
    printer << ", device_ids=" << getDeviceIds();
  printer << '>';
}

LogicalResult
ReplicaGroupMeshAxesAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 Attribute mesh, ArrayAttr axes) {
  auto meshAttr = dyn_cast<MeshAttr>(mesh);
  if (!meshAttr && !isa<FlatSymbolRefAttr>(mesh))
    return emitError() << "mesh must be a flat symbol reference or a "
                          "#stablehlo.mesh, but is "
                       << mesh;
  if (!meshAttr)
    return success();
  for (Attribute axis : axes) {
    auto axisRef = dyn_cast<AxisRefAttr>(axis);
    if (!axisRef)
      return emitError()
             << "expected a #stablehlo.axis_ref in the list of axes, but got "
             << axis;
    if (llvm::none_of(meshAttr.getAxes(), [&](MeshAxisAttr meshAxis) {
          return meshAxis.getName() == axisRef.getName();
        }))
      return emitError() << "axis \"" << axisRef.getName()
                         << "\" not found in mesh " << meshAttr;
  }
  return success();
}

LogicalResult ReplicaGroupMeshAxesAttr::verifySymbolUses(
    Operation *op, SymbolTableCollection &symbolTable) const {
  auto symbol = dyn_cast<FlatSymbolRefAttr>(getMesh());
  if (!symbol || symbolTable.lookupNearestSymbolFrom(op, symbol))
    return success();
  return op->emitOpError() << "replica_groups: mesh symbol '"
                           << symbol.getValue()
                           << "' not found; expected an op of that name in the "
                              "module, or a #stablehlo.mesh";
}
