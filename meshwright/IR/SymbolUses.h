//===- SymbolUses.h - Which symbols ops refer to ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IR_SYMBOLUSES_H
#define MESHWRIGHT_IR_SYMBOLUSES_H

#include "mlir/IR/SymbolTable.h"

namespace meshwright {

/// What `SymbolTable::getSymbolUses` finds. That makes and walks a dictionary of the
/// attributes of each op; this looks at each distinct attribute once.
std::optional<mlir::SymbolTable::UseRange> findSymbolUses(mlir::Region &region);

} // namespace meshwright

#endif
