//===- MemoryKinds.h - Memory kinds that attributes state -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_MPMD_MEMORYKINDS_H
#define MESHWRIGHT_DIALECT_MPMD_MEMORYKINDS_H

#include "meshwright/Dialect/Mpmd/BufferAttributes.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"

namespace mlir::mpmd {

/// The memory kind of a value according to attributes, not to its type: of a
/// function argument, of the transfer that made it, or of its entry in the
/// `res_attrs` of the fragment, call or loop that made it. Null if none.
StringAttr getAttributeMemoryKind(Value value);

/// Null is none.
bool isPinnedHost(StringAttr kind);

/// Whether attributes have both values, or neither, in host memory, from where no
/// transfer may be. Else one cannot replace the other.
bool isOnHostAs(Value value, Value other);

/// Whether attributes of an argument or result put it into host memory. They
/// may be null.
bool isOnHost(DictionaryAttr attrs);

/// The end of the name of a mesh that is made of hosts. Such a mesh takes no
/// part in schedules; it is no stage.
inline constexpr llvm::StringLiteral kCpuSuffix = "/cpu";

bool isCpuMesh(llvm::StringRef meshName);

} // namespace mlir::mpmd

#endif
