//===- SdyDialect.cpp - Registration --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mlir::sdy;

#include "meshwright/Dialect/Sdy/SdyDialect.cpp.inc"

#define GET_OP_CLASSES
#include "meshwright/Dialect/Sdy/SdyOps.cpp.inc"

void SdyDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "meshwright/Dialect/Sdy/SdyOps.cpp.inc"
      >();
}
