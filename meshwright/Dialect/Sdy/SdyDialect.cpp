//===- SdyDialect.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/SdyDialect.h"

using namespace mlir;
using namespace mlir::sdy;

#include "meshwright/Dialect/Sdy/SdyDialect.cpp.inc"

void SdyDialect::initialize() {}
