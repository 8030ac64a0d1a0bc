//===- ChloDialect.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/CHLO/ChloDialect.h"

using namespace mlir;
using namespace mlir::chlo;

#include "meshwright/Dialect/CHLO/ChloDialect.cpp.inc"

void ChloDialect::initialize() {}
