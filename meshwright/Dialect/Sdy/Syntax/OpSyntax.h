//===- OpSyntax.h - Text of sdy ops -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_SYNTAX_OPSYNTAX_H
#define MESHWRIGHT_DIALECT_SDY_SYNTAX_OPSYNTAX_H

#include "meshwright/Dialect/Sdy/SdyDialect.h"

namespace mlir::sdy {

/// `(%arg: tensor<4xf32>) { … }`, where names may shadow those outside.
ParseResult parseRegionWithArgs(OpAsmParser &parser, Region &region);
void printRegionWithArgs(OpAsmPrinter &printer, Operation *op, Region &region);

} // namespace mlir::sdy

#endif
