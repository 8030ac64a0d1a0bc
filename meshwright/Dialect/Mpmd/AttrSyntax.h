//===- AttrSyntax.h - Pieces of syntax that ops and attributes share ------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_MPMD_ATTRSYNTAX_H
#define MESHWRIGHT_DIALECT_MPMD_ATTRSYNTAX_H

#include "meshwright/Dialect/Mpmd/MpmdAttrs.h"

namespace mlir::mpmd {

/// `(2)`, or nothing for 0.
ParseResult parseTransposeCount(AsmParser &parser, int64_t &count);

/// COMPAT(raw-names): A name in quotes, as it is and not escaped as strings
/// are.
///
/// DEPARTURE(raw-names): Quotes, backslashes and control characters, with which
/// it could not be read back, are escaped all the same.
void printName(AsmPrinter &printer, StringRef name);

/// A user origin without its brackets: `"f"` or `"f"(2)`. Fragments print the
/// name as `printName` does, other ops escaped.
ParseResult parseShortOrigin(AsmParser &parser, UserOriginAttr &origin);
void printShortOrigin(AsmPrinter &printer, UserOriginAttr origin, bool escaped);

/// `mesh="m1", origin=["f", "g"(2)]`.
ParseResult parseMeshAndOrigin(AsmParser &parser, StringAttr &meshName,
                               ArrayAttr &origin);
void printMeshAndOrigin(AsmPrinter &printer, StringRef meshName,
                        ArrayAttr origin);

} // namespace mlir::mpmd

#endif
