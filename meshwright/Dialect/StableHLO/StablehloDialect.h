//===- StablehloDialect.h ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_DIALECT_H
#define MESHWRIGHT_DIALECT_STABLEHLO_DIALECT_H

#include "meshwright/Dialect/StableHLO/ElementKinds.h"
#include "meshwright/Dialect/StableHLO/Traits.h"
#include "meshwright/Dialect/StableHLO/TypeCompatibility.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "meshwright/Dialect/StableHLO/StablehloDialect.h.inc"

#include "meshwright/Dialect/StableHLO/StablehloEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "meshwright/Dialect/StableHLO/StablehloTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "meshwright/Dialect/StableHLO/StablehloAttrs.h.inc"

namespace mlir::stablehlo {

/// What transfers read and write: each kind is ordered with its like only.
struct InfeedResource : SideEffects::Resource::Base<InfeedResource> {
  StringRef getName() final { return "Infeed"; }
};
struct OutfeedResource : SideEffects::Resource::Base<OutfeedResource> {
  StringRef getName() final { return "Outfeed"; }
};
struct SendResource : SideEffects::Resource::Base<SendResource> {
  StringRef getName() final { return "Send"; }
};
struct RecvResource : SideEffects::Resource::Base<RecvResource> {
  StringRef getName() final { return "Recv"; }
};

} // namespace mlir::stablehlo

#define GET_OP_CLASSES
#include "meshwright/Dialect/StableHLO/Elementwise/ElementwiseOps.h.inc"

#define GET_OP_CLASSES
#include "meshwright/Dialect/StableHLO/Shape/ShapeOps.h.inc"

#define GET_OP_CLASSES
#include "meshwright/Dialect/StableHLO/Misc/MiscOps.h.inc"

#define GET_OP_CLASSES
#include "meshwright/Dialect/StableHLO/Contraction/ContractionOps.h.inc"

#define GET_OP_CLASSES
#include "meshwright/Dialect/StableHLO/GatherScatter/GatherScatterOps.h.inc"

#define GET_OP_CLASSES
#include "meshwright/Dialect/StableHLO/Region/RegionOps.h.inc"

#define GET_OP_CLASSES
#include "meshwright/Dialect/StableHLO/Collective/CollectiveOps.h.inc"

#endif
