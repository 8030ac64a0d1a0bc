//===- RepeatProgram.cpp - A program of more microbatches -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/Repeat/RepeatProgram.h"
#include "meshwright/Partitioner/Repeat/ProgramLabels.h"
#include "meshwright/Partitioner/Repeat/ReservedMemory.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace meshwright;

using Item = ExportedProgram::Item;
using ItemKind = ExportedProgram::ItemKind;

namespace {
/// Makes the whole program.
class Repeater {
public:
  Repeater(const ExportedProgram &few, const ProgramLabels &labels,
           const RepeatCounts &counts)
      : few(few), labels(labels), counts(counts) {}

  std::optional<ExportedProgram> repeat(const OrderMaker &makeOrder,
                                        const OrderCheck &isInOrder,
                                        std::string &whyNot);

private:
  bool addItems(llvm::ArrayRef<RepeatedEntry> order);
  void addItem(RepeatedEntry entry, unsigned like);
  unsigned addKind(unsigned value);
  unsigned addFragment(unsigned fragment);
  std::shared_ptr<const ItemKind> addItemKind(unsigned like);
  bool connect(Item &item, RepeatedEntry entry, unsigned like);
  std::optional<unsigned> findValue(const ValueSource &source,
                                    int64_t microbatch) const;
  std::vector<RepeatedCalls> listCalls(llvm::ArrayRef<RepeatedEntry> order,
                                       bool isWhole) const;
  bool isGivenUpAlike() const;
  bool renameFunctions(llvm::ArrayRef<RepeatedEntry> order);

  const ExportedProgram &few;
  const ProgramLabels &labels;
  const RepeatCounts &counts;
  ExportedProgram many;
  std::vector<unsigned> likes; ///< By new item: one of the few.
  /// By kind and microbatch: the first result. What is there once has one.
  std::vector<std::vector<std::optional<unsigned>>> firstResults;
  std::vector<std::optional<unsigned>> newKinds, newFragments;
  /// By item of the few.
  std::vector<std::shared_ptr<const ItemKind>> newItemKinds;
};
} // namespace

/// The new kind of a value. Kinds come in the order of the first values.
unsigned Repeater::addKind(unsigned value) {
  unsigned kind = few.values.getKindOfEach()[value];
  if (!newKinds[kind])
    newKinds[kind] = many.values.addKind(few.values.getKinds()[kind]);
  return *newKinds[kind];
}

/// The new fragment of a fragment. They come in the order of their first calls.
unsigned Repeater::addFragment(unsigned fragment) {
  std::optional<unsigned> &known = newFragments[fragment];
  if (!known) {
    known = many.fragments.size();
    many.fragments.push_back(few.fragments[fragment]);
    many.fragments.back().calls = 0;
  }
  return *known;
}

/// The kind of those that are like an item.
std::shared_ptr<const ItemKind> Repeater::addItemKind(unsigned like) {
  std::shared_ptr<const ItemKind> &known = newItemKinds[like];
  if (!known) {
    auto kind = std::make_shared<ItemKind>(*few.items[like].kind);
    if (kind->fragment)
      kind->fragment = addFragment(*kind->fragment);
    known = std::move(kind);
  }
  return known;
}

void Repeater::addItem(RepeatedEntry entry, unsigned like) {
  const Item &old = few.items[like];
  Item item;
  item.kind = addItemKind(like);
  item.operands.reserve(old.operands.size());
  item.results = {static_cast<unsigned>(many.values.size()), old.results.count};
  for (unsigned result : old.results)
    many.values.add(addKind(result));
  if (!item.results.empty()) {
    bool isOnce = entry.microbatch == RepeatedEntry::kOnce;
    auto &ofKind = firstResults[entry.kind];
    ofKind.resize(isOnce ? 1 : counts.many);
    ofKind[isOnce ? 0 : entry.microbatch] = item.results.front();
  }
  if (item->fragment)
    ++many.fragments[*item->fragment].calls;
  many.addItem(std::move(item));
}

/// The value that a source is for an item of a microbatch.
std::optional<unsigned> Repeater::findValue(const ValueSource &source,
                                            int64_t microbatch) const {
  if (source.form == ValueSource::Input)
    return source.result;
  int64_t place = source.microbatch;
  if (source.form == ValueSource::Relative)
    place += microbatch;
  const auto &ofKind = firstResults[source.kind];
  if (place < 0 || place >= static_cast<int64_t>(ofKind.size()) ||
      !ofKind[place])
    return std::nullopt;
  return *ofKind[place] + source.result;
}

/// Finds the operands of an item, all of which are there before it.
bool Repeater::connect(Item &item, RepeatedEntry entry, unsigned like) {
  unsigned end = item.results.empty() ? many.values.size() : item.results[0];
  for (unsigned operand :
       llvm::seq<unsigned>(few.items[like].operands.size())) {
    std::optional<unsigned> value = findValue(
        labels.getSource(like, operand, entry.microbatch), entry.microbatch);
    if (!value || *value >= end)
      return false;
    item.operands.push_back(*value);
  }
  return true;
}

bool Repeater::addItems(llvm::ArrayRef<RepeatedEntry> order) {
  likes.reserve(order.size());
  for (RepeatedEntry entry : order) {
    std::optional<unsigned> like = labels.findLike(entry);
    if (!like)
      return false;
    likes.push_back(*like);
  }
  many.items.reserve(order.size());
  for (auto [entry, like] : llvm::zip_equal(order, likes))
    addItem(entry, like);
  // What an item reads may be of any item before it.
  for (auto [item, entry, like] : llvm::zip_equal(many.items, order, likes))
    if (!connect(item, entry, like))
      return false;
  return true;
}

std::vector<RepeatedCalls>
Repeater::listCalls(llvm::ArrayRef<RepeatedEntry> order, bool isWhole) const {
  std::vector<RepeatedCalls> calls(few.meshes.size());
  for (RepeatedEntry entry : order) {
    std::optional<unsigned> index =
        isWhole ? labels.findLike(entry) : labels.getItem(entry);
    if (index && few.items[*index]->fragment &&
        entry.microbatch != RepeatedEntry::kOnce)
      calls[few.items[*index]->fromMesh].push_back(entry);
  }
  return calls;
}

/// Whether calls read a value for the last time where those do that they are like, whose
/// function may write over it.
bool Repeater::isGivenUpAlike() const {
  auto isLast = [](const Item &item, unsigned operand) {
    return llvm::binary_search(item.lastUses, item.operands[operand]);
  };
  for (auto [item, likeIndex] : llvm::zip_equal(many.items, likes)) {
    if (!item->fragment)
      continue;
    const Item &like = few.items[likeIndex];
    for (unsigned operand : llvm::seq<unsigned>(item.operands.size()))
      if (isLast(item, operand) != isLast(like, operand))
        return false;
  }
  return true;
}

/// Names go by the order in which functions are called first, which must be that of the
/// few.
bool Repeater::renameFunctions(llvm::ArrayRef<RepeatedEntry> order) {
  std::vector<CallRange> calls(many.fragments.size());
  for (auto [item, entry] : llvm::zip_equal(many.items, order))
    if (item->fragment && entry.microbatch != RepeatedEntry::kOnce)
      calls[*item->fragment].add(entry.microbatch);
  llvm::SmallVector<std::string> names;
  llvm::StringSet<> known;
  for (auto [number, found] : llvm::enumerate(newFragments)) {
    if (!found)
      continue;
    if (*found != names.size())
      return false;
    std::optional<std::string> name = labels.getNewName(number, calls[*found]);
    if (!name || !known.insert(*name).second)
      return false;
    names.push_back(std::move(*name));
  }
  for (auto [fragment, name] : llvm::zip_equal(many.fragments, names))
    fragment.function.setSymName(name);
  return true;
}

std::optional<ExportedProgram> Repeater::repeat(const OrderMaker &makeOrder,
                                                const OrderCheck &isInOrder,
                                                std::string &whyNot) {
  whyNot = "the order of its calls and transfers does not repeat";
  std::optional<std::vector<RepeatedEntry>> order = makeOrder(few, labels);
  if (!order)
    return std::nullopt;
  whyNot = "its calls are not in the order of the schedule";
  if (!isInOrder(listCalls(labels.getOrder(), /*isWhole=*/false),
                 listCalls(*order, /*isWhole=*/true)))
    return std::nullopt;

  newKinds.resize(few.values.getKinds().size());
  newFragments.resize(few.fragments.size());
  newItemKinds.resize(few.items.size());
  firstResults.resize(labels.countKinds());
  many.name = few.name;
  many.isInStartOrder = few.isInStartOrder;
  for (const ExportedProgram::Mesh &mesh : few.meshes)
    many.meshes.push_back({mesh.name, mesh.shape, {}});
  for (const ExportedProgram::Boundary &input : few.inputs)
    many.inputs.push_back({many.values.add(addKind(input.value)), input.slot});
  whyNot = "a value is missing for some microbatches";
  if (!addItems(*order))
    return std::nullopt;
  for (auto [index, output] : llvm::enumerate(few.outputs)) {
    std::optional<unsigned> value =
        findValue(labels.getOutputSource(index), RepeatedEntry::kOnce);
    if (!value)
      return std::nullopt;
    many.outputs.push_back({*value, output.slot});
  }
  completeProgram(many);
  whyNot = "its values are read for the last time by other calls";
  if (!isGivenUpAlike())
    return std::nullopt;

  whyNot = "the memory that its fragments reserve does not repeat";
  std::optional<std::vector<int64_t>> before = findReservedBytes(few),
                                      now = findReservedBytes(many);
  if (!before || !now)
    return std::nullopt;
  for (auto [fragment, bytes] : llvm::zip_equal(few.fragments, *before))
    if (fragment.reservedBytes != bytes)
      return std::nullopt;
  for (auto [fragment, bytes] : llvm::zip_equal(many.fragments, *now))
    fragment.reservedBytes = bytes;
  whyNot = "the names of its functions do not repeat";
  if (!renameFunctions(*order))
    return std::nullopt;
  return std::move(many);
}

std::optional<ExportedProgram>
meshwright::repeatProgram(const ExportedProgram &program,
                          const RepeatCounts &counts,
                          const OrderMaker &makeOrder,
                          const OrderCheck &isInOrder, std::string &whyNot) {
  std::optional<ProgramLabels> labels =
      ProgramLabels::find(program, counts, whyNot);
  if (!labels)
    return std::nullopt;
  return Repeater(program, *labels, counts)
      .repeat(makeOrder, isInOrder, whyNot);
}
