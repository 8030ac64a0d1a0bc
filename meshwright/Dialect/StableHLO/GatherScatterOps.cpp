//===- GatherScatterOps.cpp -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/StablehloDialect.h"

using namespace mlir;
using namespace mlir::stablehlo;

#define GET_OP_CLASSES
#include "meshwright/Dialect/StableHLO/GatherScatterOps.cpp.inc"

void StablehloDialect::registerGatherScatterOps() {
  addOperations<
#define GET_OP_LIST
#include "meshwright/Dialect/StableHLO/GatherScatterOps.cpp.inc"
      >();
}
