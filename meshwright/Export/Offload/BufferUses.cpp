//===- BufferUses.cpp - How long values keep their memory -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Export/Offload/BufferUses.h"
#include "meshwright/Dialect/Mpmd/BufferAttributes.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

bool mpmd::isKept(Value value, func::FuncOp func) {
  auto isReturn = [](Operation *user) {
    return user->hasTrait<OpTrait::IsTerminator>();
  };
  if (llvm::any_of(value.getUsers(), isReturn))
    return true;
  auto arg = dyn_cast<BlockArgument>(value);
  if (!arg)
    return false;
  auto donor =
      func.getArgAttrOfType<BoolAttr>(arg.getArgNumber(), kBufferDonorAttr);
  return !(donor && donor.getValue()) &&
         !func.getArgAttr(arg.getArgNumber(), kAliasingOutputAttr);
}

bool mpmd::isGivenUp(OpOperand &use) {
  DictionaryAttr attrs = getArgAttrs(use.getOwner(), use.getOperandNumber());
  return attrs &&
         (attrs.get(kBufferDonorAttr) || attrs.get(kAliasingOutputAttr));
}
