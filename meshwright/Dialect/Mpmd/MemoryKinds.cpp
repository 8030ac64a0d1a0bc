//===- MemoryKinds.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/MemoryKinds.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"

using namespace mlir;
using namespace mlir::mpmd;

StringAttr mpmd::getAttributeMemoryKind(Value value) {
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    auto func =
        dyn_cast_if_present<func::FuncOp>(arg.getOwner()->getParentOp());
    return func && arg.getOwner()->isEntryBlock()
               ? func.getArgAttrOfType<StringAttr>(arg.getArgNumber(),
                                                   kMemoryKindAttr)
               : StringAttr();
  }
  auto result = cast<OpResult>(value);
  Operation *op = result.getOwner();
  if (isa<TransferOp>(op))
    return op->getAttrOfType<StringAttr>(kMemoryKindAttr);
  if (!isa<FragmentOp, CallOp, FragmentCallOp, ForOp>(op))
    return {};
  DictionaryAttr attrs = getResAttrs(op, result.getResultNumber());
  return attrs ? attrs.getAs<StringAttr>(kMemoryKindAttr) : StringAttr();
}

bool mpmd::isPinnedHost(StringAttr kind) {
  return kind && kind.getValue() == kMemoryKindPinnedHost;
}

bool mpmd::isOnHostAs(Value value, Value other) {
  return isPinnedHost(getAttributeMemoryKind(value)) ==
         isPinnedHost(getAttributeMemoryKind(other));
}

bool mpmd::isOnHost(DictionaryAttr attrs) {
  return attrs && isPinnedHost(attrs.getAs<StringAttr>(kMemoryKindAttr));
}

bool mpmd::isCpuMesh(StringRef meshName) {
  return meshName.ends_with(kCpuSuffix);
}
