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

#define GET_OP_CLASSES
#include "meshwright/Dialect/StableHLO/ElementwiseOps.h.inc"

#define GET_OP_CLASSES
#include "meshwright/Dialect/StableHLO/ShapeOps.h.inc"

#define GET_OP_CLASSES
#include "meshwright/Dialect/StableHLO/MiscOps.h.inc"

#define GET_OP_CLASSES
#include "meshwright/Dialect/StableHLO/ContractionOps.h.inc"

#define GET_OP_CLASSES
#include "meshwright/Dialect/StableHLO/GatherScatterOps.h.inc"

#define GET_OP_CLASSES
#include "meshwright/Dialect/StableHLO/RegionOps.h.inc"

#define GET_OP_CLASSES
#include "meshwright/Dialect/StableHLO/CollectiveOps.h.inc"

#endif
