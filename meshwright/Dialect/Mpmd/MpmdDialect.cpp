//===- MpmdDialect.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"

using namespace mlir;
using namespace mlir::mpmd;

#include "meshwright/Dialect/Mpmd/MpmdDialect.cpp.inc"

void MpmdDialect::initialize() {}
