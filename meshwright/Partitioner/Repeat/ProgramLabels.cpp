//===- ProgramLabels.cpp - Which microbatch an item is of -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/Repeat/ProgramLabels.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/Fragments/AlikeUnits.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::mpmd;
using namespace meshwright;

using Item = ExportedProgram::Item;

//===----------------------------------------------------------------------===//
// Computations that represent others
//===----------------------------------------------------------------------===//

static bool isSubstituteCall(const Item &item) {
  return item->fragment && item->originNames.size() == 1 &&
         StringRef(item->originNames.front()).starts_with(kSubstitutePrefix);
}

/// Its function is one call, of which the operands and results are, for each queue, those
/// of the microbatches that are left out.
bool ProgramLabels::addSubstitute(unsigned index) {
  const Item &item = program.items[index];
  func::FuncOp function = program.fragments[*item->fragment].function;
  auto calls = function.front().getOps<stablehlo::CustomCallOp>();
  if (function.front().getOperations().size() != 2 || calls.empty())
    return false;
  stablehlo::CustomCallOp call = *calls.begin();
  int64_t added = counts.countAdded();
  if (call->getNumOperands() % added || call->getNumResults() % added)
    return false;
  for (unsigned at = 0; at < call->getNumOperands(); at += added) {
    // Before and after a transfer.
    Column column, sent;
    for (Value operand : call->getOperands().slice(at, added)) {
      auto argument = dyn_cast<BlockArgument>(operand);
      if (!argument)
        return false;
      column.push_back(item.operands[argument.getArgNumber()]);
      auto maker = makers[column.back()];
      if (maker && !program.items[maker->first]->fragment) {
        sent.push_back(program.items[maker->first].operands.front());
        isSubstitute[maker->first] = true;
      }
    }
    if (!sent.empty() && sent.size() != column.size())
      return false;
    taken.push_back(sent.empty() ? std::move(column) : std::move(sent));
  }
  Operation *returned = function.front().getTerminator();
  for (OpOperand &operand : returned->getOpOperands()) {
    auto result = dyn_cast<OpResult>(operand.get());
    if (!result || result.getOwner() != call)
      return false;
    unsigned value = item.results[operand.getOperandNumber()];
    unsigned number = result.getResultNumber();
    given[value] = {unsigned(numGiven + number / added),
                    counts.few + number % added};
  }
  numGiven += call->getNumResults() / added;
  // What is sent on is another column on another mesh.
  std::map<std::pair<unsigned, unsigned>, unsigned> sentOn;
  for (unsigned value : item.results)
    for (unsigned reader : readers[value]) {
      const Item &transfer = program.items[reader];
      auto found = given.find(value);
      if (transfer->fragment || found == given.end())
        continue;
      auto [number, microbatch] = found->second;
      auto [known, isNew] =
          sentOn.try_emplace({number, transfer->toMesh}, numGiven);
      numGiven += isNew;
      given[transfer.results.front()] = {known->second, microbatch};
      isSubstitute[reader] = true;
    }
  return true;
}

bool ProgramLabels::findSubstitutes() {
  isSubstitute.resize(program.items.size());
  makers.resize(program.values.size());
  readers.resize(program.values.size());
  for (auto [index, item] : llvm::enumerate(program.items)) {
    for (auto [result, value] : llvm::enumerate(item.results))
      makers[value] = {unsigned(index), unsigned(result)};
    for (unsigned operand : item.operands)
      readers[operand].push_back(index);
  }
  for (auto [index, item] : llvm::enumerate(program.items))
    if (isSubstituteCall(item)) {
      isSubstitute[index] = true;
      if (!addSubstitute(index))
        return false;
    }
  return true;
}

//===----------------------------------------------------------------------===//
// Labels
//===----------------------------------------------------------------------===//

/// Items of a kind and microbatch that are there several times are distinguished by which
/// of them comes first.
RepeatedEntry ProgramLabels::addEntry(const std::string &kind,
                                      int64_t microbatch) {
  for (unsigned time = 0;; ++time) {
    std::string name = kind + "#" + std::to_string(time);
    auto [found, isNew] = kindIds.try_emplace(name, numKinds);
    if (isNew) {
      ++numKinds;
      items.emplace_back();
    }
    if (!items[found->second].count(microbatch))
      return {found->second, microbatch};
  }
}

/// What is there once has a kind of its own.
RepeatedEntry ProgramLabels::labelCall(unsigned index) {
  const Item &item = program.items[index];
  if (!item.counter)
    return addEntry("once" + std::to_string(index), RepeatedEntry::kOnce);
  std::string kind =
      "call " + std::to_string(*item->fragment) + " " + item->location;
  for (const std::string &origin : item->origins)
    kind += " " + origin;
  return addEntry(kind, *item.counter);
}

/// The microbatch of all calls that read what a transfer sends; none if they differ.
std::optional<int64_t> ProgramLabels::findReader(unsigned index) const {
  std::optional<int64_t> found;
  for (unsigned value : program.items[index].results)
    for (unsigned reader : readers[value]) {
      const Item &item = program.items[reader];
      if (!item.counter || (found && *found != *item.counter))
        return std::nullopt;
      found = *item.counter;
    }
  return found;
}

RepeatedEntry ProgramLabels::labelTransfer(unsigned index) {
  const Item &item = program.items[index];
  unsigned operand = item.operands.front();
  auto maker = makers[operand];
  RepeatedEntry made = {0, RepeatedEntry::kOnce};
  if (maker)
    made = entries[maker->first];
  std::string kind =
      " to " + std::to_string(item->toMesh) + " " + item->location;
  if (made.microbatch != RepeatedEntry::kOnce)
    return addEntry("send " + std::to_string(made.kind) + "." +
                        std::to_string(maker->second) + kind,
                    made.microbatch);
  // What all microbatches read is sent once, and a part of a column for its own.
  std::optional<int64_t> reader = findReader(index);
  bool isOfColumn = llvm::any_of(taken, [&](const Column &column) {
    return program.values.getKindOfEach()[column.front()] ==
           program.values.getKindOfEach()[operand];
  });
  if (!reader || !isOfColumn)
    return addEntry("once" + std::to_string(index), RepeatedEntry::kOnce);
  kind += " of " + std::to_string(program.values.getKindOfEach()[operand]);
  for (unsigned value : item.results)
    for (unsigned reader : readers[value])
      kind += " for " + std::to_string(*program.items[reader]->fragment);
  return addEntry("deal" + kind, *reader);
}

void ProgramLabels::labelItems() {
  for (auto [index, item] : llvm::enumerate(program.items)) {
    if (isSubstitute[index]) {
      entries.push_back({0, RepeatedEntry::kOnce});
      continue;
    }
    RepeatedEntry entry =
        item->fragment ? labelCall(index) : labelTransfer(index);
    items[entry.kind][entry.microbatch] = index;
    entries.push_back(entry);
    order.push_back(entry);
  }
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Where a value of this program comes from; of a microbatch as it is here.
ValueSource ProgramLabels::describe(unsigned value) const {
  auto maker = makers[value];
  if (!maker)
    return {ValueSource::Input, 0, value, 0};
  RepeatedEntry entry = entries[maker->first];
  bool isOnce = entry.microbatch == RepeatedEntry::kOnce;
  return {isOnce ? ValueSource::Once : ValueSource::Absolute, entry.kind,
          maker->second, isOnce ? 0 : entry.microbatch};
}

/// Whether two items of a kind differ in nothing but what they read.
bool ProgramLabels::isTheSame(unsigned index, unsigned otherIndex) const {
  const Item &item = program.items[index], &other = program.items[otherIndex];
  auto haveSameKinds = [&](const auto &values, const auto &others) {
    ArrayRef<unsigned> kinds = program.values.getKindOfEach();
    return values.size() == others.size() &&
           llvm::all_of(llvm::zip(values, others), [&](auto pair) {
             return kinds[std::get<0>(pair)] == kinds[std::get<1>(pair)];
           });
  };
  return item->fragment == other->fragment &&
         item->fromMesh == other->fromMesh && item->toMesh == other->toMesh &&
         item->isRemat == other->isRemat &&
         item->isDelayed == other->isDelayed && item->beside == other->beside &&
         item->isAwaited == other->isAwaited &&
         item->origins == other->origins && item->location == other->location &&
         item->parts.empty() && other->parts.empty() &&
         haveSameKinds(item.operands, other.operands) &&
         haveSameKinds(item.results, other.results);
}

/// The column that an operand of a kind's items is of, which are in the order of their
/// microbatches: their values are as far apart each time, and go on so in what a substitute
/// takes.
std::optional<unsigned> ProgramLabels::findColumn(ArrayRef<unsigned> items,
                                                  unsigned operand) {
  int64_t first = entries[items.front()].microbatch;
  auto getValue = [&](unsigned item) -> int64_t {
    return program.items[item].operands[operand];
  };
  if (items.size() < 3)
    return std::nullopt;
  int64_t value = getValue(items.front()), step = getValue(items[1]) - value;
  auto isNext = [&](int64_t found, int64_t microbatch) {
    return found == value + step * (microbatch - first);
  };
  for (unsigned item : items)
    if (!isNext(getValue(item), entries[item].microbatch))
      return std::nullopt;
  llvm::ArrayRef<unsigned> kinds = program.values.getKindOfEach();
  for (auto [number, column] : llvm::enumerate(taken))
    if (llvm::all_of(llvm::enumerate(column), [&](auto entry) {
          return isNext(entry.value(), counts.few + int64_t(entry.index())) &&
                 kinds[entry.value()] == kinds[value];
        }))
      return number;
  return std::nullopt;
}

/// Says of operands from outside of the loop that differ of which column they are, of
/// others where they come from.
bool ProgramLabels::findColumns() {
  sources.resize(program.items.size());
  for (RepeatedEntry entry : order) {
    unsigned index = items[entry.kind][entry.microbatch];
    for (unsigned operand : program.items[index].operands) {
      ValueSource source = describe(operand);
      if (source.form == ValueSource::Absolute &&
          entry.microbatch != RepeatedEntry::kOnce) {
        source.form = ValueSource::Relative;
        source.microbatch -= entry.microbatch;
      }
      sources[index].push_back(source);
    }
  }
  for (unsigned kind : llvm::seq(numKinds)) {
    std::vector<unsigned> all;
    for (auto [microbatch, item] : items[kind])
      all.push_back(item);
    if (all.size() < 2 || items[kind].begin()->first == RepeatedEntry::kOnce)
      continue;
    for (unsigned operand :
         llvm::seq<unsigned>(program.items[all.front()].operands.size())) {
      bool isOutside = true, isEqual = true;
      for (unsigned item : all) {
        if (operand >= sources[item].size())
          return false;
        const ValueSource &source = sources[item][operand];
        isOutside &= source.form == ValueSource::Input ||
                     source.form == ValueSource::Once;
        isEqual &= source == sources[all.front()][operand];
      }
      if (!isOutside || isEqual)
        continue;
      std::optional<unsigned> found = findColumn(all, operand);
      if (!found)
        continue; // It is the steady state that must have none.
      Column &column = columns[{kind, operand}];
      int64_t value = program.items[all.front()].operands[operand],
              step = program.items[all[1]].operands[operand] - value;
      for (int64_t microbatch : llvm::seq(counts.many))
        column.push_back(value +
                         step * (microbatch - entries[all.front()].microbatch));
    }
  }
  return addToColumns();
}

/// What reads a value of a column elsewhere, such as a function of the last microbatch
/// only, must read that of its own microbatch.
bool ProgramLabels::addToColumns() {
  llvm::DenseMap<unsigned, std::pair<const Column *, int64_t>> places;
  for (auto &[reader, column] : columns)
    for (auto [microbatch, value] : llvm::enumerate(column))
      places[value] = {&column, microbatch};
  std::map<std::pair<unsigned, unsigned>, Column> added;
  for (RepeatedEntry entry : order) {
    if (entry.microbatch == RepeatedEntry::kOnce)
      continue;
    unsigned index = items[entry.kind][entry.microbatch];
    for (auto [operand, value] :
         llvm::enumerate(program.items[index].operands)) {
      std::pair<unsigned, unsigned> key = {entry.kind, operand};
      auto found = places.find(value);
      if (columns.count(key) || found == places.end())
        continue;
      auto [column, microbatch] = found->second;
      if (microbatch != entry.microbatch ||
          added.try_emplace(key, *column).first->second != *column)
        return false;
    }
  }
  // Either all items of a kind read it, or none.
  for (auto &[key, column] : added)
    for (auto [microbatch, item] : items[key.first])
      if (program.items[item].operands[key.second] != column[microbatch])
        return false;
  columns.merge(added);
  hasColumns.resize(numKinds);
  for (auto &[key, column] : columns)
    hasColumns[key.first] = true;
  return true;
}

/// Finds from where on all microbatches are the same as a period later.
bool ProgramLabels::findSteadyState() {
  std::vector<bool> isSame(counts.few - counts.period, true);
  for (int64_t microbatch : llvm::seq(counts.few - counts.period))
    for (unsigned kind : llvm::seq(numKinds)) {
      auto item = items[kind].find(microbatch),
           other = items[kind].find(microbatch + counts.period);
      if ((item == items[kind].end()) != (other == items[kind].end()))
        isSame[microbatch] = false;
      if (item == items[kind].end() || other == items[kind].end())
        continue;
      if (!isTheSame(item->second, other->second)) {
        isSame[microbatch] = false;
        continue;
      }
      for (unsigned operand : llvm::seq<unsigned>(sources[item->second].size()))
        if (!columns.count({kind, operand}) &&
            sources[item->second][operand] != sources[other->second][operand])
          isSame[microbatch] = false;
    }
  // What an item reads is of about its own microbatch.
  int64_t few = 2 * counts.period + 1;
  for (const std::vector<ValueSource> &ofItem : sources)
    for (const ValueSource &source : ofItem)
      if (source.form == ValueSource::Relative &&
          std::abs(source.microbatch) > few)
        return false;
  auto first = llvm::find(isSame, true);
  auto last = std::find(first, isSame.end(), false);
  begin = first - isSame.begin();
  // Few are different at the beginning and the end.
  return begin <= few && isSame.end() - last <= few &&
         last - first >= 3 * counts.period;
}

/// Says of what is collected of a queue where it comes from. The places of what a
/// substitute gives of it are as far apart from each other, and those of the microbatches
/// that are computed are before them. The last ones may be of another function, such as
/// one that frees a weight.
bool ProgramLabels::findQueue(const std::map<int64_t, unsigned> &others,
                              ArrayRef<unsigned> values,
                              MutableArrayRef<ValueSource> sources,
                              llvm::BitVector &isOfQueue) const {
  int64_t added = counts.countAdded();
  if (static_cast<int64_t>(others.size()) != added || added < 2)
    return false;
  int64_t next = others.begin()->second,
          step = std::next(others.begin())->second - next;
  auto getPlace = [&](int64_t microbatch) {
    return next + step * (microbatch - counts.few);
  };
  ArrayRef<unsigned> kinds = program.values.getKindOfEach();
  for (auto [microbatch, at] : others)
    if (getPlace(microbatch) != at || kinds[values[at]] != kinds[values[next]])
      return false;
  // Sums begin with the first two, in any order.
  std::vector<ValueSource> computed(counts.few);
  int64_t first = counts.few;
  for (; first > 0; --first) {
    int64_t at = getPlace(first - 1);
    if (at < 0 || at >= static_cast<int64_t>(values.size()) ||
        isOfQueue.test(at) || sources[at].form != ValueSource::Absolute ||
        sources[at].microbatch != first - 1 ||
        kinds[values[at]] != kinds[values[next]])
      break;
    computed[first - 1] = sources[at];
  }
  if (first > counts.period + 1)
    return false;
  // Between the beginning and the end each is of the kind of that a period later.
  int64_t begin = std::max(this->begin, first),
          end = std::max(this->begin + counts.period, begin);
  auto isAlike = [&](int64_t microbatch, int64_t other) {
    return computed[microbatch].kind == computed[other].kind &&
           computed[microbatch].result == computed[other].result;
  };
  for (int64_t microbatch :
       llvm::seq(begin, counts.few - 3 * counts.period - 1))
    if (!isAlike(microbatch, microbatch + counts.period))
      return false;
  for (int64_t microbatch : llvm::seq(first, counts.many)) {
    int64_t like = microbatch;
    if (microbatch >= end + added)
      like -= added;
    else if (microbatch >= begin)
      like = begin + (microbatch - begin) % counts.period;
    ValueSource &source = sources[getPlace(microbatch)];
    source = computed[like];
    source.microbatch = microbatch;
    isOfQueue.set(getPlace(microbatch));
  }
  return true;
}

/// Says of what is collected of all microbatches where it comes from: each of a queue, or
/// of the first or last microbatches.
bool ProgramLabels::findCollected(ArrayRef<unsigned> values,
                                  MutableArrayRef<ValueSource> sources) const {
  // Where each is, by what a substitute gives.
  std::map<unsigned, std::map<int64_t, unsigned>> others;
  for (auto [at, value] : llvm::enumerate(values)) {
    auto found = given.find(value);
    if (found == given.end())
      continue;
    auto [number, microbatch] = found->second;
    if (!others[number].try_emplace(microbatch, at).second)
      return false;
  }
  llvm::BitVector isOfQueue(values.size());
  for (auto &[number, places] : others)
    if (!findQueue(places, values, sources, isOfQueue))
      return false;
  for (auto [at, source] : llvm::enumerate(sources)) {
    if (source.form != ValueSource::Absolute || isOfQueue.test(at))
      continue;
    if (source.microbatch > counts.period &&
        source.microbatch < counts.few - counts.period)
      return false;
    source.microbatch = counts.move(source.microbatch);
  }
  return true;
}

/// Whether an item reads nothing that is made for substitutes, such as a transfer of a
/// value that both read, but what they give.
bool ProgramLabels::readsNoSubstitute(unsigned item) const {
  return llvm::all_of(program.items[item].operands, [&](unsigned value) {
    return !makers[value] || !isSubstitute[makers[value]->first] ||
           given.contains(value);
  });
}

bool ProgramLabels::connect(std::string &whyNot) {
  whyNot = "its microbatches are not computed alike";
  if (!findColumns() || !findSteadyState())
    return false;
  whyNot = "a microbatch reads what is computed for another one";
  if (!llvm::all_of(order, [&](RepeatedEntry entry) {
        return readsNoSubstitute(items[entry.kind][entry.microbatch]);
      }))
    return false;
  whyNot = "results of all microbatches are combined in an order that does not "
           "repeat";
  for (RepeatedEntry entry : order) {
    unsigned index = items[entry.kind][entry.microbatch];
    if (entry.microbatch == RepeatedEntry::kOnce) {
      if (!findCollected(program.items[index].operands, sources[index]))
        return false;
    } else if (llvm::any_of(program.items[index].operands, [&](unsigned value) {
                 return given.contains(value);
               })) {
      return false;
    }
  }
  std::vector<unsigned> outputs;
  for (const ExportedProgram::Boundary &output : program.outputs) {
    outputs.push_back(output.value);
    outputSources.push_back(describe(output.value));
  }
  return findCollected(outputs, outputSources);
}

std::optional<ProgramLabels> ProgramLabels::find(const ExportedProgram &program,
                                                 const RepeatCounts &counts,
                                                 std::string &whyNot) {
  ProgramLabels labels(program, counts);
  whyNot = "a pass changed the values that represent other microbatches";
  if (!labels.findSubstitutes())
    return std::nullopt;
  labels.labelItems();
  if (!labels.connect(whyNot))
    return std::nullopt;
  labels.findNumbers();
  return labels;
}

int64_t ProgramLabels::findLikeMicrobatch(int64_t microbatch) const {
  int64_t first = begin + counts.period, added = counts.countAdded();
  if (microbatch >= first + added)
    return microbatch - added;
  if (microbatch >= first)
    return begin + (microbatch - begin) % counts.period;
  return microbatch;
}

std::optional<unsigned> ProgramLabels::findLike(RepeatedEntry entry) const {
  auto found = items[entry.kind].find(findLikeMicrobatch(entry.microbatch));
  if (found == items[entry.kind].end())
    return std::nullopt;
  return found->second;
}

ValueSource ProgramLabels::getSource(unsigned item, unsigned operand,
                                     int64_t microbatch) const {
  unsigned kind = entries[item].kind;
  if (hasColumns[kind])
    if (auto column = columns.find({kind, operand}); column != columns.end())
      return describe(column->second[microbatch]);
  return sources[item][operand];
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// The number that the name of a function begins with, which is taken off.
static std::optional<unsigned> consumeNumber(StringRef &name) {
  unsigned number;
  if (!name.consume_front("p") || name.consumeInteger(10, number))
    return std::nullopt;
  return number;
}

void ProgramLabels::findNumbers() {
  callRanges.resize(program.fragments.size());
  substituteNumbers.emplace();
  for (const Item &item : program.items) {
    if (item->fragment && item.counter)
      callRanges[*item->fragment].add(*item.counter);
    if (!isSubstituteCall(item))
      continue;
    func::FuncOp function = program.fragments[*item->fragment].function;
    StringRef name = function.getSymName();
    std::optional<unsigned> number = consumeNumber(name);
    if (!number) {
      substituteNumbers.reset();
      return;
    }
    substituteNumbers->push_back(*number);
  }
  llvm::sort(*substituteNumbers);
}

/// What a name says of the calls.
static std::string makeSuffix(const CallRange &calls) {
  if (calls.count == 1)
    return "_call" + std::to_string(calls.first);
  return "_calls" + std::to_string(calls.first) +
         (calls.rises ? "to" : "from") + std::to_string(calls.last);
}

/// A name says which of all functions it is, and of which microbatches its calls are:
/// `p3_f_fwd_calls0to7.step` (Export/Lowering/FragmentNames.h).
std::optional<std::string>
ProgramLabels::getNewName(unsigned fragment, const CallRange &calls) const {
  const ExportedProgram::Fragment &found = program.fragments[fragment];
  func::FuncOp function = found.function;
  StringRef stem = function.getSymName(), module = program.name;
  module.consume_front("jit_");
  if (!substituteNumbers || !stem.consume_back(("." + module).str()))
    return std::nullopt;
  std::optional<unsigned> number = consumeNumber(stem);
  if (!number || stem.contains("<...>"))
    return std::nullopt;
  unsigned others = llvm::lower_bound(*substituteNumbers, *number) -
                    substituteNumbers->begin();
  std::string newSuffix;
  const CallRange &known = callRanges[fragment];
  if (known.count == found.calls && known.count > 0) {
    if (known.isNamed() != calls.isNamed())
      return std::nullopt;
    if (known.isNamed() && stem.consume_back(makeSuffix(known)))
      newSuffix = makeSuffix(calls);
  }
  return "p" + std::to_string(*number - others) + stem.str() + newSuffix + "." +
         module.str();
}
