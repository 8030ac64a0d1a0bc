//===- CustomCallVerifier.h - Targets of other dialects ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_MISC_CUSTOMCALLVERIFIER_H
#define MESHWRIGHT_DIALECT_STABLEHLO_MISC_CUSTOMCALLVERIFIER_H

#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/IR/DialectInterface.h"

namespace mlir::stablehlo {

/// For a dialect that gives targets of custom calls a meaning of their own. It adds
/// this interface to the StableHLO dialect by an extension (DialectRegistry), so that
/// such calls are verified even where nothing else of that dialect is loaded.
class CustomCallVerifier : public DialectInterface::Base<CustomCallVerifier> {
public:
  CustomCallVerifier(Dialect *dialect) : Base(dialect) {}

  /// Succeeds for all targets of others. Ops are verified by several threads, so
  /// other functions may be read, but not changed.
  virtual LogicalResult verify(CustomCallOp call) const = 0;
};

} // namespace mlir::stablehlo

#endif
