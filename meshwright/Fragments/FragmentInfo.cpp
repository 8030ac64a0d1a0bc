//===- FragmentInfo.cpp - The description rules go by ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/FragmentInfo.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Text/QuotedText.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include <tuple>

using namespace mlir;
using namespace mlir::mpmd;

static auto getKey(const FragmentOrigin &origin) {
  return std::tie(origin.name, origin.transposeCount);
}

static auto getKey(const FragmentInfo &info) {
  return std::tie(info.origins, info.stageId, info.callCounter, info.splitType,
                  info.meshName);
}

bool FragmentOrigin::operator==(const FragmentOrigin &other) const {
  return getKey(*this) == getKey(other);
}

bool FragmentOrigin::operator<(const FragmentOrigin &other) const {
  return getKey(*this) < getKey(other);
}

bool FragmentInfo::operator==(const FragmentInfo &other) const {
  return getKey(*this) == getKey(other);
}

bool FragmentInfo::operator<(const FragmentInfo &other) const {
  return getKey(*this) < getKey(other);
}

llvm::raw_ostream &mpmd::operator<<(llvm::raw_ostream &os,
                                    const FragmentOrigin &origin) {
  meshwright::printQuoted(origin.name, os);
  if (origin.transposeCount > 0)
    os << '(' << origin.transposeCount << ')';
  return os;
}

llvm::raw_ostream &mpmd::operator<<(llvm::raw_ostream &os,
                                    const FragmentInfo &info) {
  os << "FragmentInfo(origins=[";
  llvm::interleave(info.origins, os, ",");
  os << ']';
  if (info.stageId)
    os << ",stage=" << *info.stageId;
  if (info.callCounter)
    os << ",call_counter=" << *info.callCounter;
  if (info.splitType)
    os << ",split_type="
       << (*info.splitType == SplitFragmentType::kKeepTransferred
               ? "kKeepTransferred"
               : "kDropTransferred");
  os << ",mesh_name=";
  meshwright::printQuoted(info.meshName, os);
  return os << ')';
}

FragmentInfo mpmd::getFragmentInfo(FragmentOp fragment) {
  FragmentInfo info;
  for (auto origin : fragment.getOrigin().getAsRange<UserOriginAttr>())
    info.origins.push_back(
        {origin.getUserName().str(), origin.getTransposeCount()});
  llvm::sort(info.origins);
  if (IntegerAttr stage = fragment.getStageIdAttr())
    info.stageId = stage.getInt();
  if (std::optional<uint32_t> counter = getCallCounter(fragment))
    info.callCounter = *counter;
  if (fragment->hasAttr(kSplitKeepTransferredAttr))
    info.splitType = SplitFragmentType::kKeepTransferred;
  else if (fragment->hasAttr(kSplitDropTransferredAttr))
    info.splitType = SplitFragmentType::kDropTransferred;
  info.meshName = fragment.getMeshName().str();
  return info;
}

static void setMark(Operation *op, StringRef name, bool isSet) {
  if (isSet)
    op->setAttr(name, UnitAttr::get(op->getContext()));
  else
    op->removeAttr(name);
}

void mpmd::setFragmentInfo(FragmentOp fragment, const FragmentInfo &info) {
  Builder builder(fragment.getContext());
  auto origins = llvm::map_to_vector(
      info.origins, [&](const FragmentOrigin &origin) -> Attribute {
        return UserOriginAttr::get(builder.getContext(), origin.name,
                                   origin.transposeCount);
      });
  fragment.setOriginAttr(builder.getArrayAttr(origins));
  fragment.setStageIdAttr(
      info.stageId ? builder.getI64IntegerAttr(*info.stageId) : IntegerAttr());
  if (info.callCounter)
    setCallCounter(fragment, *info.callCounter);
  else
    fragment->removeAttr(kCallCounterAttr);
  setMark(fragment, kSplitKeepTransferredAttr,
          info.splitType == SplitFragmentType::kKeepTransferred);
  setMark(fragment, kSplitDropTransferredAttr,
          info.splitType == SplitFragmentType::kDropTransferred);
  fragment.setMeshNameAttr(builder.getStringAttr(info.meshName));
}
