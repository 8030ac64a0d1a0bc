//===- MemoryKinds.h - Memory kinds that attributes state -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_MPMD_MEMORYKINDS_H
#define MESHWRIGHT_DIALECT_MPMD_MEMORYKINDS_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"

namespace mlir::mpmd {

inline constexpr llvm::StringLiteral kMemoryKindAttr = "mhlo.memory_kind";

/// The memory kind of a value according to attributes, not to its type: of a
/// function argument, of the transfer that made it, or of its entry in the
/// `res_attrs` of the fragment, call or loop that made it. Null if none.
StringAttr getAttributeMemoryKind(Value value);

/// Whether attributes of an argument or result put it into host memory. They
/// may be null.
bool isOnHost(DictionaryAttr attrs);

/// Whether a mesh is made of hosts: its name ends in `/cpu`.
bool isCpuMesh(llvm::StringRef meshName);

} // namespace mlir::mpmd

#endif
