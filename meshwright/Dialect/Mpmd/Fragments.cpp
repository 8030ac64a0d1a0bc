//===- Fragments.cpp - What attributes say about fragments ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/BufferAttributes.h"
#include "meshwright/Dialect/Mpmd/Effects.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

static auto getTransposeCounts(FragmentOp fragment) {
  return llvm::map_range(
      fragment.getOrigin().getAsRange<UserOriginAttr>(),
      [](UserOriginAttr origin) { return origin.getTransposeCount(); });
}

bool mpmd::isUserFragment(FragmentOp fragment) {
  return !fragment.getOrigin().empty();
}

bool mpmd::isInferredFragment(FragmentOp fragment) {
  return fragment.getOrigin().empty();
}

bool mpmd::isForwardFragment(FragmentOp fragment) {
  return getSingleTransposeCount(fragment) == 0;
}

bool mpmd::isBackwardFragment(FragmentOp fragment) {
  return getSingleTransposeCount(fragment) == 1;
}

bool mpmd::isSchedulingUnit(FragmentOp fragment) {
  return isUserFragment(fragment) && getCallCounter(fragment) &&
         (isForwardFragment(fragment) || isBackwardFragment(fragment));
}

std::optional<int64_t> mpmd::getSingleTransposeCount(FragmentOp fragment) {
  auto counts = getTransposeCounts(fragment);
  if (counts.empty() || !llvm::all_equal(counts))
    return std::nullopt;
  return *counts.begin();
}

std::optional<int64_t> mpmd::getMaxTransposeCount(FragmentOp fragment) {
  std::optional<int64_t> most;
  for (int64_t count : getTransposeCounts(fragment))
    most = std::max(most.value_or(count), count);
  return most;
}

std::optional<int64_t> mpmd::getStageTransposeCount(FragmentOp fragment) {
  if (std::optional<int64_t> single = getSingleTransposeCount(fragment))
    return single;
  return fragment->hasAttr(kRematAttr) ? getMaxTransposeCount(fragment)
                                       : std::nullopt;
}

std::optional<uint32_t> mpmd::getCallCounter(Operation *op) {
  auto counter = op->getAttrOfType<IntegerAttr>(kCallCounterAttr);
  if (!counter || !counter.getType().isUnsignedInteger(32))
    return std::nullopt;
  return static_cast<uint32_t>(counter.getUInt());
}

void mpmd::setCallCounter(Operation *op, uint32_t counter) {
  auto type = IntegerType::get(op->getContext(), 32, IntegerType::Unsigned);
  op->setAttr(kCallCounterAttr, IntegerAttr::get(type, counter));
}

bool mpmd::hasConsistentStages(FragmentOp a, FragmentOp b) {
  IntegerAttr stageA = a.getStageIdAttr(), stageB = b.getStageIdAttr();
  return !stageA || !stageB || stageA == stageB;
}

bool mpmd::isExecutedImmediatelyAfter(FragmentOp first, FragmentOp second) {
  for (Operation *op = first->getNextNode(); op; op = op->getNextNode())
    if (auto next = dyn_cast<FragmentOp>(op);
        next && next.getMeshName() == first.getMeshName())
      return next == second;
  return false;
}

bool mpmd::isNegligibleOp(Operation *op) {
  // DEPARTURE(effects-once): The reference asks for the shape alone, so that
  // what draws or acts on the world is repeated too. Meaning goes before that.
  // The decomposition of a composite may do so until it is expanded.
  return op->getNumOperands() == 0 && op->getNumResults() == 1 &&
         !hasEffects(op) && !isa<stablehlo::CompositeOp>(op);
}

void mpmd::setInferredBy(Operation *op, ArrayRef<StringRef> passes) {
  op->setAttr(kInferredByAttr,
              Builder(op->getContext()).getStrArrayAttr(passes));
}

static DictionaryAttr getEntry(Operation *op, StringRef list, unsigned index) {
  // Discardable: no need to compare the names of all properties first.
  auto entries = dyn_cast_or_null<ArrayAttr>(op->getDiscardableAttr(list));
  return entries && index < entries.size()
             ? dyn_cast<DictionaryAttr>(entries[index])
             : DictionaryAttr();
}

static void setEntry(Operation *op, StringRef list, unsigned index,
                     unsigned size, StringRef name, Attribute value) {
  MLIRContext *context = op->getContext();
  SmallVector<Attribute> entries;
  if (auto known = op->getAttrOfType<ArrayAttr>(list))
    entries.assign(known.begin(), known.end());
  entries.resize(std::max<size_t>(size, entries.size()),
                 DictionaryAttr::get(context));
  NamedAttrList attrs(dyn_cast<DictionaryAttr>(entries[index]));
  if (value)
    attrs.set(name, value);
  else
    attrs.erase(name);
  entries[index] = attrs.getDictionary(context);
  op->setAttr(list, ArrayAttr::get(context, entries));
}

DictionaryAttr mpmd::getArgAttrs(Operation *op, unsigned index) {
  return getEntry(op, kArgAttrsAttr, index);
}

DictionaryAttr mpmd::getResAttrs(Operation *op, unsigned index) {
  return getEntry(op, kResAttrsAttr, index);
}

void mpmd::setArgAttr(Operation *op, unsigned index, unsigned size,
                      StringRef name, Attribute value) {
  setEntry(op, kArgAttrsAttr, index, size, name, value);
}

void mpmd::setResAttr(Operation *op, unsigned index, unsigned size,
                      StringRef name, Attribute value) {
  setEntry(op, kResAttrsAttr, index, size, name, value);
}

static void dropEntries(Operation *op, StringRef list,
                        const BitVector &dropped) {
  auto known = dyn_cast_or_null<ArrayAttr>(op->getDiscardableAttr(list));
  if (!known)
    return;
  SmallVector<Attribute> kept;
  for (auto [index, entry] :
       llvm::enumerate(known.getValue().take_front(dropped.size())))
    if (!dropped[index])
      kept.push_back(entry);
  op->setDiscardableAttr(list, ArrayAttr::get(op->getContext(), kept));
}

void mpmd::dropArgAttrs(Operation *op, const BitVector &dropped) {
  dropEntries(op, kArgAttrsAttr, dropped);
}

void mpmd::dropResAttrs(Operation *op, const BitVector &dropped) {
  dropEntries(op, kResAttrsAttr, dropped);
  auto args =
      dyn_cast_or_null<ArrayAttr>(op->getDiscardableAttr(kArgAttrsAttr));
  if (!args)
    return;
  auto getNewNumber = [&](uint64_t result) -> std::optional<unsigned> {
    if (result >= dropped.size() || dropped[result])
      return std::nullopt;
    return result - llvm::count_if(dropped.set_bits(), [&](unsigned other) {
             return other < result;
           });
  };
  op->setDiscardableAttr(
      kArgAttrsAttr,
      ArrayAttr::get(
          op->getContext(), llvm::map_to_vector(args, [&](Attribute entry) {
            return Attribute(
                renumberAlias(cast<DictionaryAttr>(entry), getNewNumber));
          })));
}

DictionaryAttr mpmd::renumberAlias(
    DictionaryAttr entry,
    function_ref<std::optional<unsigned>(uint64_t)> getNewNumber) {
  auto alias = entry.getAs<IntegerAttr>(kAliasingOutputAttr);
  if (!alias)
    return entry;
  std::optional<int64_t> old = alias.getValue().trySExtValue();
  std::optional<unsigned> number =
      old && *old >= 0 ? getNewNumber(*old) : std::nullopt;
  NamedAttrList attrs(entry);
  if (number)
    attrs.set(kAliasingOutputAttr,
              Builder(entry.getContext()).getI32IntegerAttr(*number));
  else
    attrs.erase(kAliasingOutputAttr);
  return attrs.getDictionary(entry.getContext());
}
