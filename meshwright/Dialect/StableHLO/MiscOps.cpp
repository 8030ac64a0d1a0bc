//===- MiscOps.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/StablehloDialect.h"

using namespace mlir;
using namespace mlir::stablehlo;

#define GET_OP_CLASSES
#include "meshwright/Dialect/StableHLO/MiscOps.cpp.inc"

void StablehloDialect::registerMiscOps() {
  addOperations<
#define GET_OP_LIST
#include "meshwright/Dialect/StableHLO/MiscOps.cpp.inc"
      >();
}
