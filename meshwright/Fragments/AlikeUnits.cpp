//===- AlikeUnits.cpp - What computes the same per microbatch -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/AlikeUnits.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

AlikeUnits::AlikeUnits(Block &block) {
  for (FragmentOp fragment : block.getOps<FragmentOp>())
    if (isSchedulingUnit(fragment))
      units[getKind(fragment)].push_back(fragment);
}

AlikeUnits::Kind AlikeUnits::getKind(FragmentOp fragment) {
  return {{fragment.getMeshNameAttr(), fragment.getOriginAttr()},
          {fragment->getAttr(kSplitKeepTransferredAttr),
           fragment->getAttr(kSplitDropTransferredAttr)}};
}

bool mpmd::isSubstitute(FragmentOp fragment) {
  auto origins = fragment.getOrigin().getAsRange<UserOriginAttr>();
  return llvm::any_of(origins, [](UserOriginAttr origin) {
    return origin.getUserName().getValue().starts_with(kSubstitutePrefix);
  });
}

bool AlikeUnits::hasOthers(FragmentOp fragment) const {
  if (isSubstitute(fragment))
    return true;
  if (!isSchedulingUnit(fragment))
    return false;
  auto it = units.find(getKind(fragment));
  return it != units.end() && it->second.size() > 1;
}

SmallVector<ArrayRef<FragmentOp>> AlikeUnits::getKinds() const {
  SmallVector<ArrayRef<FragmentOp>> kinds;
  for (const auto &[kind, members] : units)
    kinds.push_back(members);
  return kinds;
}
