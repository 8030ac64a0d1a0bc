//===- InitDialects.h - What a program can consist of -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_INITDIALECTS_H
#define MESHWRIGHT_INITDIALECTS_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright {

void registerAllDialects(mlir::DialectRegistry &registry);

} // namespace meshwright

#endif
