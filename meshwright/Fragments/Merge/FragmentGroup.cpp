//===- FragmentGroup.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The one operation that all passes that merge fragments use. Merging two is a
// group of two; a driver that merges one fragment with thousands of others
// builds it once, when nothing is left to append.
//
// What two groups share is looked up from the smaller one in the larger one,
// which then takes in the smaller one, at its front or back. A member thus
// moves to a group that is at least twice as large, and only so often.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/Merge/FragmentGroup.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

static Block &getBody(FragmentOp op) { return op.getRegion().front(); }

/// The number of operands that have a block argument, which control operands
/// lack.
static unsigned getNumDataOperands(FragmentOp op) {
  return getBody(op).getNumArguments();
}

FragmentGroup::FragmentGroup(FragmentOp fragment)
    : numResults(fragment->getNumResults()),
      numSlots(getNumDataOperands(fragment)) {
  members.push_back({fragment, fragment.getLoc(), 0});
  memberSet.insert(fragment);
  for (auto [value, argument] :
       llvm::zip(fragment->getOperands(), getBody(fragment).getArguments()))
    slots.push_back({value, argument, {}});
  for (OpOperand &operand : fragment->getOpOperands().drop_front(slots.size()))
    controlOperands.push_back(&operand);
}

SmallVector<FragmentOp> FragmentGroup::getMembers() const {
  return llvm::map_to_vector(members,
                             [](const Member &member) { return member.op; });
}

SmallVector<Location> FragmentGroup::getLocs() const {
  return llvm::map_to_vector(members,
                             [](const Member &member) { return member.loc; });
}

bool FragmentGroup::allOperands(function_ref<bool(Value)> visit) const {
  return llvm::all_of(slots,
                      [&](const Slot &slot) {
                        return !slot.argument || visit(slot.value);
                      }) &&
         llvm::all_of(controlOperands, [&](OpOperand *operand) {
           return visit(operand->get());
         });
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

void FragmentGroup::indexSlots() {
  if (isIndexed)
    return;
  isIndexed = true;
  for (auto [index, slot] : llvm::enumerate(slots))
    if (slot.argument)
      hasRepeats |=
          !numberOf.try_emplace(slot.value, firstNumber + index).second;
}

void FragmentGroup::dropSlot(int64_t number) {
  slot(number) = Slot();
  --numSlots;
}

/// Lets a slot be read by the arguments of one that it replaces.
void FragmentGroup::addArguments(Slot &slot, Slot &replaced) {
  if (slot.others.size() < replaced.others.size())
    std::swap(slot.others, replaced.others);
  llvm::append_range(slot.others, replaced.others);
  slot.others.push_back(replaced.argument);
}

/// Makes one slot of those that have the same value.
void FragmentGroup::uniqueSlots() {
  indexSlots();
  if (!std::exchange(hasRepeats, false))
    return;
  for (size_t index = 0; index < slots.size(); ++index) {
    if (!slots[index].argument)
      continue;
    int64_t first = numberOf.at(slots[index].value);
    int64_t number = firstNumber + index;
    if (first == number)
      continue;
    addArguments(slot(first), slots[index]);
    dropSlot(number);
  }
}

/// The result of the merged fragment, if it has exactly one.
Value FragmentGroup::getOnlyResult() const {
  Value only;
  for (const Member &member : llvm::reverse(members))
    for (Value result : member.op->getResults()) {
      if (member.op != members.back().op &&
          llvm::all_of(result.getUsers(),
                       [&](Operation *user) { return contains(user); }))
        continue;
      if (only)
        return nullptr;
      only = result;
    }
  return only;
}

/// Whether the group does nothing but compute one operand of the consumer from
/// one of its own. If so, that operand. The consumer then keeps its operands.
Value FragmentGroup::findOnlyOperand(const FragmentGroup &consumer) const {
  if (numSlots != 1)
    return nullptr;
  Value result = getOnlyResult();
  if (!result)
    return nullptr;
  unsigned numReads = 0;
  for (OpOperand &use : result.getUses()) {
    if (contains(use.getOwner()))
      continue;
    if (!consumer.contains(use.getOwner()) ||
        use.getOperandNumber() >=
            getNumDataOperands(cast<FragmentOp>(use.getOwner())))
      return nullptr;
    ++numReads;
  }
  // What several members read may be one operand by now.
  if (numReads > 1)
    numReads = llvm::count_if(consumer.slots, [&](const Slot &slot) {
      return slot.argument && slot.value == result;
    });
  return numReads == 1 ? result : nullptr;
}

void FragmentGroup::takeSlots(FragmentGroup &other) {
  slots = std::move(other.slots);
  firstNumber = other.firstNumber;
  numSlots = other.numSlots;
  numberOf = std::move(other.numberOf);
  isIndexed = other.isIndexed;
  hasRepeats = other.hasRepeats;
}

void FragmentGroup::appendInPlace(FragmentGroup &consumer, Value result) {
  consumer.indexSlots();
  auto it = consumer.numberOf.find(result);
  int64_t number = it->second;
  consumer.numberOf.erase(it);
  auto own = llvm::find_if(
      slots, [](const Slot &slot) { return static_cast<bool>(slot.argument); });
  auto [first, isNew] = consumer.numberOf.try_emplace(own->value, number);
  consumer.hasRepeats |= !isNew;
  first->second = std::min(first->second, number);
  consumer.slot(number) = std::move(*own);
  takeSlots(consumer);
}

void FragmentGroup::appendSmallConsumer(FragmentGroup &consumer) {
  uniqueSlots();
  for (Slot &added : consumer.slots) {
    if (!added.argument || contains(added.value.getDefiningOp()))
      continue;
    int64_t number = firstNumber + slots.size();
    auto [it, isNew] = numberOf.try_emplace(added.value, number);
    if (isNew) {
      slots.push_back(std::move(added));
      ++numSlots;
      continue;
    }
    addArguments(slot(it->second), added);
  }
}

void FragmentGroup::prependSmallProducer(FragmentGroup &consumer) {
  uniqueSlots();
  consumer.uniqueSlots();
  for (const Member &member : members)
    for (Value result : member.op->getResults()) {
      auto it = consumer.numberOf.find(result);
      if (it == consumer.numberOf.end())
        continue;
      consumer.dropSlot(it->second);
      consumer.numberOf.erase(it);
    }
  for (Slot &added : llvm::reverse(slots)) {
    if (!added.argument)
      continue;
    int64_t number = consumer.firstNumber - 1;
    auto [it, isNew] = consumer.numberOf.try_emplace(added.value, number);
    if (!isNew) {
      addArguments(added, consumer.slot(it->second));
      consumer.dropSlot(it->second);
      it->second = number;
    }
    consumer.slots.push_front(std::move(added));
    consumer.firstNumber = number;
    ++consumer.numSlots;
  }
  takeSlots(consumer);
}

void FragmentGroup::appendControlOperands(FragmentGroup &consumer) {
  llvm::erase_if(controlOperands, [&](OpOperand *operand) {
    return consumer.contains(operand->get().getDefiningOp());
  });
  for (OpOperand *operand : consumer.controlOperands)
    if (!contains(operand->get().getDefiningOp()))
      controlOperands.push_back(operand);
}

void FragmentGroup::appendMembers(FragmentGroup &consumer) {
  bool isSmaller = members.size() < consumer.members.size();
  FragmentGroup &small = isSmaller ? *this : consumer;
  FragmentGroup &large = isSmaller ? consumer : *this;
  int64_t difference = small.numMerges - large.numMerges;
  for (Member &member : small.members)
    member.mergesLess += difference;
  if (isSmaller) {
    large.members.insert(large.members.begin(), small.members.begin(),
                         small.members.end());
    std::swap(members, consumer.members);
    std::swap(memberSet, consumer.memberSet);
    std::swap(numMerges, consumer.numMerges);
  } else {
    members.insert(members.end(), consumer.members.begin(),
                   consumer.members.end());
  }
  memberSet.insert_range(consumer.memberSet);
  ++numMerges;
  numResults += consumer.numResults;
}

void FragmentGroup::append(FragmentGroup &consumer) {
  if (Value result = findOnlyOperand(consumer))
    appendInPlace(consumer, result);
  else if (consumer.numSlots <= numSlots + numResults)
    appendSmallConsumer(consumer);
  else
    prependSmallProducer(consumer);
  appendControlOperands(consumer);
  appendMembers(consumer);
}

//===----------------------------------------------------------------------===//
// The merged fragment
//===----------------------------------------------------------------------===//

/// Those that something outside uses, and all of the last member.
SmallVector<OpResult> FragmentGroup::getResults() const {
  SmallVector<OpResult> results;
  for (const Member &member : members)
    for (OpResult result : member.op->getResults())
      if (member.op == members.back().op ||
          llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !contains(user); }))
        results.push_back(result);
  return results;
}

/// Lets arguments that repeat another one read that, and arguments that are
/// for the result of a member read what the member returns.
void FragmentGroup::connectArguments(RewriterBase &rewriter) {
  for (const Slot &slot : slots)
    for (BlockArgument other : slot.others)
      rewriter.replaceAllUsesWith(other, slot.argument);
  for (const Member &member : members)
    for (auto [operand, argument] :
         llvm::zip(member.op->getOperands(), getBody(member.op).getArguments()))
      if (auto result = dyn_cast<OpResult>(operand);
          result && contains(result.getOwner())) {
        Operation *terminator =
            getBody(cast<FragmentOp>(result.getOwner())).getTerminator();
        rewriter.replaceAllUsesWith(
            argument, terminator->getOperand(result.getResultNumber()));
      }
}

/// Compares sizes in the time that the smaller block takes.
static bool isSmaller(Block &block, Block &other) {
  auto it = block.begin(), otherIt = other.begin();
  while (it != block.end() && otherIt != other.end())
    ++it, ++otherIt;
  return it == block.end() && otherIt != other.end();
}

/// The member with the largest body; the last of them if there are several.
size_t FragmentGroup::findLargest() const {
  size_t largest = members.size() - 1;
  for (size_t index = largest; index-- > 0;)
    if (isSmaller(getBody(members[largest].op), getBody(members[index].op)))
      largest = index;
  return largest;
}

/// Makes the arguments of `host` those given. Leading ones that are already
/// right stay.
static void setArguments(Block &host, ArrayRef<BlockArgument> arguments,
                         RewriterBase &rewriter) {
  unsigned numOld = host.getNumArguments();
  unsigned numKept = 0;
  while (numKept < numOld && numKept < arguments.size() &&
         host.getArgument(numKept) == arguments[numKept])
    ++numKept;
  for (BlockArgument argument : arguments.drop_front(numKept)) {
    BlockArgument added =
        host.addArgument(argument.getType(), argument.getLoc());
    rewriter.replaceAllUsesWith(argument, added);
  }
  host.eraseArguments(numKept, numOld - numKept);
}

/// Makes one block of all bodies and returns it. The largest takes in the
/// others, so that a fragment which grows merge by merge is not moved each
/// time.
Block &FragmentGroup::mergeBodies(ArrayRef<OpResult> results,
                                  RewriterBase &rewriter) {
  connectArguments(rewriter);
  size_t largest = findLargest();
  Block &host = getBody(members[largest].op);
  SmallVector<BlockArgument> arguments;
  for (const Slot &slot : slots)
    if (slot.argument)
      arguments.push_back(slot.argument);
  setArguments(host, arguments, rewriter);

  auto returned = llvm::map_to_vector(results, [](OpResult result) -> Value {
    Block &body = getBody(cast<FragmentOp>(result.getOwner()));
    return body.getTerminator()->getOperand(result.getResultNumber());
  });
  Operation *terminator = getBody(members.back().op).getTerminator();
  for (const Member &member : members)
    if (Operation *other = getBody(member.op).getTerminator();
        other != terminator)
      rewriter.eraseOp(other);
  rewriter.modifyOpInPlace(terminator,
                           [&] { terminator->setOperands(returned); });

  Block::iterator front = host.begin();
  for (size_t index = 0; index < members.size(); ++index) {
    if (index == largest)
      continue;
    Block &guest = getBody(members[index].op);
    guest.eraseArguments(0, guest.getNumArguments());
    rewriter.inlineBlockBefore(&guest, &host,
                               index < largest ? front : host.end());
  }
  return host;
}

static void setList(FragmentOp fragment, StringRef name,
                    ArrayRef<Attribute> entries) {
  auto isEmpty = [](Attribute entry) {
    return cast<DictionaryAttr>(entry).empty();
  };
  if (!llvm::all_of(entries, isEmpty))
    fragment->setDiscardableAttr(
        name, ArrayAttr::get(fragment.getContext(), entries));
}

/// Gives operands and results the entries that they have at the members.
void FragmentGroup::setEntries(FragmentOp merged,
                               ArrayRef<OpResult> results) const {
  auto none = DictionaryAttr::get(merged.getContext());
  SmallVector<Attribute> ofOperands, ofResults;
  for (const Slot &slot : slots) {
    if (!slot.argument)
      continue;
    Operation *member = slot.argument.getOwner()->getParentOp();
    DictionaryAttr entry = getArgAttrs(member, slot.argument.getArgNumber());
    ofOperands.push_back(renumberAlias(
        entry ? entry : none, [&](uint64_t number) -> std::optional<unsigned> {
          auto it = llvm::find_if(results, [&](OpResult result) {
            return result.getOwner() == member &&
                   result.getResultNumber() == number;
          });
          if (it == results.end())
            return std::nullopt;
          return it - results.begin();
        }));
  }
  for (OpResult result : results) {
    DictionaryAttr entry =
        getResAttrs(result.getOwner(), result.getResultNumber());
    ofResults.push_back(entry ? entry : none);
  }
  setList(merged, kArgAttrsAttr, ofOperands);
  setList(merged, kResAttrsAttr, ofResults);
}

/// COMPAT(use-order): Every merge that a result goes through replaces it by a
/// new one, which turns the order of its uses around.
static void reverseUses(Value value) {
  unsigned numUses = llvm::range_size(value.getUses());
  if (numUses < 2)
    return;
  value.shuffleUseList(llvm::map_to_vector(
      llvm::seq(numUses), [&](unsigned index) { return numUses - 1 - index; }));
}

FragmentOp FragmentGroup::build(RewriterBase &rewriter, FragmentOp place,
                                const MergedAttributes &attributes,
                                Location loc) {
  SmallVector<OpResult> results = getResults();
  auto types = llvm::map_to_vector(
      results, [](OpResult result) { return result.getType(); });
  // What the slots say may have been replaced, if another group was built.
  SmallVector<Value> operands;
  for (const Slot &slot : slots)
    if (BlockArgument argument = slot.argument)
      operands.push_back(argument.getOwner()->getParentOp()->getOperand(
          argument.getArgNumber()));
  for (OpOperand *operand : controlOperands)
    operands.push_back(operand->get());

  rewriter.setInsertionPoint(place);
  auto merged =
      FragmentOp::create(rewriter, loc, types, operands, attributes.origin,
                         place.getMeshNameAttr(), attributes.stage,
                         /*in_shardings=*/nullptr,
                         /*out_shardings=*/nullptr);
  merged->setDiscardableAttrs(attributes.others);
  if (attributes.keepsEntries)
    setEntries(merged, results);
  if (!controlOperands.empty())
    merged->setDiscardableAttr(kControlOperandStartIdxAttr,
                               rewriter.getI64IntegerAttr(numSlots));
  Block &body = mergeBodies(results, rewriter);
  rewriter.inlineRegionBefore(*body.getParent(), merged.getRegion(),
                              merged.getRegion().end());

  // From the last member on, as those before are read by those after.
  size_t end = results.size();
  for (const Member &member : llvm::reverse(members)) {
    size_t begin = end;
    while (begin > 0 && results[begin - 1].getOwner() == member.op)
      --begin;
    for (size_t index = begin; index < end; ++index) {
      rewriter.replaceAllUsesWith(results[index], merged->getResult(index));
      if ((member.mergesLess + numMerges) % 2 == 0)
        reverseUses(merged->getResult(index));
    }
    rewriter.eraseOp(member.op);
    end = begin;
  }
  return merged;
}
