//===- MergedAttributes.cpp -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/Merge/MergedAttributes.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Fragments/Overlap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::mpmd;

/// The origins of the first fragment, then what is new in each of the others:
/// one that has an origin twice keeps it twice.
static ArrayAttr mergeOrigins(ArrayRef<FragmentOp> fragments) {
  SmallVector<Attribute> origins;
  llvm::SmallPtrSet<Attribute, 4> known;
  for (FragmentOp fragment : fragments) {
    size_t numKnown = origins.size();
    llvm::copy_if(fragment.getOrigin(), std::back_inserter(origins),
                  [&](Attribute origin) { return !known.contains(origin); });
    known.insert_range(ArrayRef(origins).drop_front(numKnown));
  }
  return ArrayAttr::get(FragmentOp(fragments.front()).getContext(), origins);
}

static IntegerAttr mergeStages(ArrayRef<FragmentOp> fragments) {
  for (FragmentOp fragment : fragments)
    if (IntegerAttr stage = fragment.getStageIdAttr())
      return stage;
  return {};
}

static Attribute mergeCallCounters(FragmentOp first, FragmentOp second) {
  Attribute ofFirst = first->getAttr(kCallCounterAttr);
  Attribute ofSecond = second->getAttr(kCallCounterAttr);
  if (!ofFirst || !ofSecond)
    return ofFirst ? ofFirst : ofSecond;
  if (ofFirst == ofSecond)
    return ofFirst;
  if (isUserFragment(first) == isUserFragment(second))
    return {};
  return isUserFragment(first) ? ofFirst : ofSecond;
}

/// What is merged into a unit that a schedule overlaps is a part of it.
static Attribute mergeOverlaps(FragmentOp first, FragmentOp second) {
  if (isUserFragment(first) == isUserFragment(second))
    return {};
  return (isUserFragment(first) ? first : second)->getAttr(kOverlapAttr);
}

/// Null if none has the attribute.
static ArrayAttr uniteInferredBy(FragmentOp first,
                                 ArrayRef<FragmentOp> others) {
  SetVector<Attribute> entries;
  bool isPresent = false;
  auto add = [&](FragmentOp fragment) {
    if (auto list = fragment->getAttrOfType<ArrayAttr>(kInferredByAttr)) {
      isPresent = true;
      entries.insert_range(list);
    }
  };
  add(first);
  llvm::for_each(others, add);
  return isPresent ? ArrayAttr::get(first.getContext(), entries.getArrayRef())
                   : nullptr;
}

MergedAttributes MergedAttributes::ofNone(ArrayRef<FragmentOp> members) {
  MLIRContext *context = FragmentOp(members.front()).getContext();
  return {mergeOrigins(members), mergeStages(members),
          DictionaryAttr::get(context)};
}

MergedAttributes MergedAttributes::ofBoth(FragmentOp first, FragmentOp second) {
  MergedAttributes result = ofNone({first, second});
  NamedAttrList kept;
  if (Attribute counter = mergeCallCounters(first, second))
    kept.set(kCallCounterAttr, counter);
  if (Attribute overlap = mergeOverlaps(first, second))
    kept.set(kOverlapAttr, overlap);
  if (isInferredFragment(first) && isInferredFragment(second))
    if (ArrayAttr inferredBy = uniteInferredBy(first, second))
      kept.set(kInferredByAttr, inferredBy);
  result.others = kept.getDictionary(first.getContext());
  return result;
}

MergedAttributes MergedAttributes::ofRoot(ArrayRef<FragmentOp> members,
                                          FragmentOp root,
                                          ArrayRef<FragmentOp> absorbed) {
  MergedAttributes result = ofNone(members);
  NamedAttrList kept(root->getDiscardableAttrDictionary());
  kept.erase(kControlOperandStartIdxAttr);
  kept.erase(kArgAttrsAttr);
  kept.erase(kResAttrsAttr);
  result.keepsEntries = true;
  if (isInferredFragment(root) &&
      llvm::any_of(absorbed, [](FragmentOp fragment) {
        return fragment->hasAttr(kInferredByAttr);
      }))
    kept.set(kInferredByAttr, uniteInferredBy(root, absorbed));
  result.others = kept.getDictionary(root.getContext());
  return result;
}

MergedAttributes MergedAttributes::of(FragmentOp fragment) {
  return {fragment.getOriginAttr(), fragment.getStageIdAttr(),
          fragment->getDiscardableAttrDictionary()};
}

void MergedAttributes::setOn(FragmentOp fragment) const {
  fragment.setOriginAttr(origin);
  fragment.setStageIdAttr(stage);
  fragment->setDiscardableAttrs(others);
}
