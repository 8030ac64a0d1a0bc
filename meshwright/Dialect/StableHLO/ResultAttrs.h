//===- ResultAttrs.h - Attributes that speak of results ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_RESULTATTRS_H
#define MESHWRIGHT_DIALECT_STABLEHLO_RESULTATTRS_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectInterface.h"
#include "llvm/ADT/BitVector.h"

namespace mlir::stablehlo {

/// For dialects that put discardable attributes on the ops of others: what
/// becomes of one that speaks of operands or results when an op loses some of
/// them, or another op takes its place.
class ResultAttrs : public DialectInterface::Base<ResultAttrs> {
public:
  ResultAttrs(Dialect *dialect) : Base(dialect) {}

  /// Returns `attr` without what it says of the results in `dropped`, null if
  /// nothing is left.
  virtual Attribute withoutResults(NamedAttribute attr,
                                   const BitVector &dropped) const = 0;

  /// Whether `attr` speaks of operands: an op of others must not have it.
  virtual bool describesOperands(NamedAttribute attr) const = 0;
};

/// Whether the dialect of a discardable attribute says that it speaks of
/// operands.
inline bool describesOperands(NamedAttribute attr) {
  Dialect *dialect = attr.getNameDialect();
  auto *owner =
      dialect ? dialect->getRegisteredInterface<ResultAttrs>() : nullptr;
  return owner && owner->describesOperands(attr);
}

} // namespace mlir::stablehlo

#endif
