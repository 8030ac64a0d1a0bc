//===- RegionSyntax.h - Syntax of ops with one printed-inline block -------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_MPMD_SYNTAX_REGIONSYNTAX_H
#define MESHWRIGHT_DIALECT_MPMD_SYNTAX_REGIONSYNTAX_H

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

/// Reports `arg_attrs`, `res_attrs` and `mpmd.inferred_by` in the dictionary of
/// attributes that are not lists of what they should be.
LogicalResult verifyLists(Operation *op);

} // namespace mlir::mpmd

#endif
