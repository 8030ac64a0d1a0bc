//===- RegionSyntax.h - Syntax of ops with one printed-inline block -------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_MPMD_REGIONSYNTAX_H
#define MESHWRIGHT_DIALECT_MPMD_REGIONSYNTAX_H

#include "mlir/IR/OpImplementation.h"

namespace mlir::mpmd {

/// The operands as text, to be resolved once their types are known.
using UnresolvedOperands = SmallVector<OpAsmParser::UnresolvedOperand>;

/// `(%p, %q) {attrs} (%a: T, %b: U) { body }`.
ParseResult parseOperandsAndBody(OpAsmParser &parser, OperationState &result,
                                 UnresolvedOperands &operands);
void printOperandsAndBody(OpAsmPrinter &printer, Operation *op,
                          ArrayRef<NamedAttribute> attrs,
                          ArrayRef<StringRef> elided);

/// `: (T, U) -> V`, then resolves the operands.
ParseResult parseFunctionalTypes(OpAsmParser &parser, OperationState &result,
                                 const UnresolvedOperands &operands,
                                 SMLoc operandsLoc);

} // namespace mlir::mpmd

#endif
