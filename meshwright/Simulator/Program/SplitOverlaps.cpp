//===- SplitOverlaps.cpp - A program without overlapped pairs -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/Program/SplitOverlaps.h"
#include "meshwright/Cost/Flops.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

using namespace mlir;
using namespace meshwright;

using Fragment = ExportedProgram::Fragment;
using Item = ExportedProgram::Item;
using Part = ExportedProgram::Part;

bool meshwright::hasOverlaps(const ExportedProgram &program) {
  return llvm::any_of(program.items,
                      [](const Item &item) { return !item->parts.empty(); });
}

namespace {
/// A part of a fragment: which of its arguments and results it has.
struct PartOfFragment {
  unsigned fragment; ///< Of the split program.
  std::vector<unsigned> arguments;
};

class Splitter {
public:
  explicit Splitter(const ExportedProgram &program);

  SplitProgram split();

private:
  using Range = std::pair<unsigned, unsigned>; ///< Of results.

  const PartOfFragment &getPart(unsigned fragment, Range results);
  func::FuncOp cutOut(func::FuncOp function, Range results,
                      std::vector<unsigned> &arguments);
  void addParts(const Item &item);

  const ExportedProgram &program;
  std::optional<SymbolTable> symbols;
  SplitProgram result;
  std::map<std::pair<unsigned, Range>, PartOfFragment> parts;
};
} // namespace

Splitter::Splitter(const ExportedProgram &program) : program(program) {
  result.program = program;
  result.program.items.clear();
  if (program.fragments.empty())
    return;
  func::FuncOp function = program.fragments.front().function;
  symbols.emplace(function->getParentOfType<ModuleOp>());
}

/// A function of those results, and what they need.
func::FuncOp Splitter::cutOut(func::FuncOp function, Range results,
                              std::vector<unsigned> &arguments) {
  auto part = cast<func::FuncOp>(function->clone());
  Block &body = part.front();
  BitVector dropped(part.getNumResults(), true);
  dropped.reset(results.first, results.second);
  body.getTerminator()->eraseOperands(dropped);
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty())
      op->erase();
  BitVector unread(part.getNumArguments());
  for (BlockArgument argument : body.getArguments()) {
    if (argument.use_empty())
      unread.set(argument.getArgNumber());
    else
      arguments.push_back(argument.getArgNumber());
  }
  (void)part.eraseResults(dropped);
  (void)part.eraseArguments(unread);
  symbols->insert(part);
  return part;
}

const PartOfFragment &Splitter::getPart(unsigned number, Range results) {
  auto [entry, isNew] = parts.try_emplace({number, results});
  PartOfFragment &part = entry->second;
  if (!isNew)
    return part;
  const Fragment &whole = program.fragments[number];
  part.fragment = result.program.fragments.size();
  Fragment fragment;
  fragment.function = cutOut(whole.function, results, part.arguments);
  fragment.mesh = whole.mesh;
  fragment.reservedBytes = whole.reservedBytes;
  for (unsigned argument : part.arguments) {
    ExportedProgram::Slot slot = whole.arguments[argument];
    if (slot.alias && (*slot.alias < results.first ||
                       *slot.alias >= static_cast<int64_t>(results.second)))
      slot.alias.reset();
    if (slot.alias)
      *slot.alias -= results.first;
    fragment.arguments.push_back(std::move(slot));
  }
  for (unsigned i = results.first; i < results.second; ++i)
    fragment.results.push_back(whole.results[i]);
  WorkEstimator works(cast<ModuleOp>(symbols->getOp()));
  fragment.flops = works.estimate(fragment.function.getBody()).flops;
  result.program.fragments.push_back(std::move(fragment));
  return part;
}

void Splitter::addParts(const Item &item) {
  unsigned first = 0;
  for (const Part &part : item->parts) {
    Range results(first, first + part.numResults);
    first = results.second;
    const PartOfFragment &cut = getPart(*item->fragment, results);
    auto kind = std::make_shared<ExportedProgram::ItemKind>();
    static_cast<ExportedProgram::Origins &>(*kind) = part;
    kind->fragment = cut.fragment;
    kind->fromMesh = kind->toMesh = item->toMesh;
    kind->location = item->location;
    Item own;
    own.kind = std::move(kind);
    for (unsigned argument : cut.arguments)
      own.operands.push_back(item.operands[argument]);
    own.results = {item.results[results.first], part.numResults};
    ++result.program.fragments[cut.fragment].calls;
    result.program.items.push_back(std::move(own));
  }
  // What both read is there until the second has read it.
  auto &items = result.program.items;
  Item &before = items[items.size() - 2], &after = items.back();
  Fragment &fragment = result.program.fragments[*before->fragment];
  for (auto [operand, slot] : llvm::zip(before.operands, fragment.arguments))
    if (llvm::is_contained(after.operands, operand)) {
      slot.isDonated = false;
      slot.alias.reset();
    }
}

SplitProgram Splitter::split() {
  for (const Item &item : program.items) {
    result.firstItem.push_back(result.program.items.size());
    if (item->parts.empty())
      result.program.items.push_back(item);
    else
      addParts(item);
  }
  result.firstItem.push_back(result.program.items.size());
  auto renumber = [&](std::vector<unsigned> &list) {
    std::vector<unsigned> renumbered;
    for (unsigned item : list)
      for (unsigned own = result.firstItem[item];
           own < result.firstItem[item + 1]; ++own)
        renumbered.push_back(own);
    list = std::move(renumbered);
  };
  for (ExportedProgram::Mesh &mesh : result.program.meshes)
    renumber(mesh.items);
  renumber(result.program.issueOrder);
  return std::move(result);
}

SplitProgram meshwright::splitOverlaps(const ExportedProgram &program) {
  return Splitter(program).split();
}
