//===- ShapeOps.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/StablehloDialect.h"

using namespace mlir;
using namespace mlir::stablehlo;

#define GET_OP_CLASSES
#include "meshwright/Dialect/StableHLO/ShapeOps.cpp.inc"

void StablehloDialect::registerShapeOps() {
  addOperations<
#define GET_OP_LIST
#include "meshwright/Dialect/StableHLO/ShapeOps.cpp.inc"
      >();
}
