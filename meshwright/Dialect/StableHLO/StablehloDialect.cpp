//===- StablehloDialect.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/StablehloDialect.h"

using namespace mlir;
using namespace mlir::stablehlo;

#include "meshwright/Dialect/StableHLO/StablehloDialect.cpp.inc"

void StablehloDialect::initialize() {}
