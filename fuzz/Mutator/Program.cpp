//===- Program.cpp - Changes of ops and symbols ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "../Support/Context.h"
#include "Mutator.h"
#include "Values.h"
#include "meshwright/Files/TextLimits.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::fuzz;

namespace {
class ProgramMutator {
public:
  ProgramMutator(Operation *root, Chance &chance) : root(root), chance(chance) {
    collect();
  }

  void changeOnce();

private:
  void collect() {
    ops.clear();
    values.clear();
    root->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op != root)
        ops.push_back(op);
      llvm::append_range(values, op->getResults());
      for (Region &region : op->getRegions())
        for (Block &block : region)
          llvm::append_range(values, block.getArguments());
    });
  }

  Operation *choose() { return chance.of(ops); }
  Value chooseValue(Type type);
  void drop(Operation *op);
  void repeat(Operation *op);
  void move(Operation *op);
  void changeOperands(Operation *op);
  void changeResult(Operation *op);
  void changeAttribute(Operation *op);
  void changeSymbol(Operation *op);
  void changeKind(Operation *op);
  void nest(Operation *op);
  void changeSignature();

  Operation *root;
  Chance &chance;
  std::vector<Operation *> ops;
  std::vector<Value> values;
};
} // namespace

/// Mostly one of the type.
Value ProgramMutator::chooseValue(Type type) {
  if (values.empty())
    return {};
  if (chance.oneIn(6))
    return chance.of(values);
  for (int attempt = 0; attempt < 30; ++attempt)
    if (Value value = chance.of(values); value.getType() == type)
      return value;
  return {};
}

/// Values of its regions may be read elsewhere by now, also by the op itself.
static bool isReadElsewhere(Operation *op) {
  auto isOutside = [&](Operation *user) { return !op->isProperAncestor(user); };
  bool isRead = false;
  for (Region &region : op->getRegions())
    region.walk([&](Block *block) {
      for (BlockArgument argument : block->getArguments())
        isRead |= llvm::any_of(argument.getUsers(), isOutside);
      for (Operation &inner : *block)
        isRead |= llvm::any_of(inner.getUsers(), isOutside);
    });
  return isRead;
}

void ProgramMutator::drop(Operation *op) {
  if (isReadElsewhere(op))
    return;
  for (Value result : op->getResults()) {
    Value other = chooseValue(result.getType());
    if (!other || other.getDefiningOp() == op)
      return;
    for (Operation *user = other.getDefiningOp(); user;
         user = user->getParentOp())
      if (user == op)
        return;
    if (auto argument = dyn_cast<BlockArgument>(other))
      if (op->isAncestor(argument.getOwner()->getParentOp()))
        return;
    result.replaceAllUsesWith(other);
  }
  for (Region &region : op->getRegions())
    region.dropAllReferences();
  op->erase();
}

void ProgramMutator::repeat(Operation *op) {
  Operation *copy = op->clone();
  Operation *place = chance.oneIn(2) ? op : choose();
  if (place->hasTrait<OpTrait::IsTerminator>() || chance.oneIn(2))
    place->getBlock()->getOperations().insert(place->getIterator(), copy);
  else
    place->getBlock()->getOperations().insertAfter(place->getIterator(), copy);
  if (chance.oneIn(2))
    for (auto [old, own] : llvm::zip(op->getResults(), copy->getResults()))
      for (OpOperand &use : llvm::make_early_inc_range(old.getUses()))
        if (chance.oneIn(2) && !copy->isAncestor(use.getOwner()))
          use.set(own);
}

void ProgramMutator::move(Operation *op) {
  Operation *place = choose();
  if (op->isAncestor(place) ||
      (place->getBlock() != op->getBlock() && !chance.oneIn(4)))
    return;
  if (chance.oneIn(2))
    op->moveBefore(place);
  else
    op->moveAfter(place);
}

void ProgramMutator::changeOperands(Operation *op) {
  if (op->getNumOperands() == 0)
    return;
  unsigned index = chance.below(op->getNumOperands());
  Value other = chooseValue(op->getOperand(index).getType());
  switch (chance.below(8)) {
  case 0:
    op->eraseOperand(index);
    break;
  case 1:
    op->insertOperands(index, op->getOperand(index));
    break;
  case 2:
    op->setOperand(index, op->getOperand(chance.below(op->getNumOperands())));
    break;
  default:
    if (other)
      op->setOperand(index, other);
  }
}

void ProgramMutator::changeResult(Operation *op) {
  if (op->getNumResults() == 0)
    return;
  OpResult result = chance.of(op->getResults());
  Type type = makeType(chance, result.getType());
  result.setType(type);
  if (Attribute value = op->getAttr("value"))
    op->setAttr("value", retype(value, type));
  if (op->getNumOperands() == 1 && chance.oneIn(2))
    op->getOperand(0).setType(type);
}

void ProgramMutator::changeAttribute(Operation *op) {
  DictionaryAttr attrs = op->getAttrDictionary();
  for (int attempt = 0; attrs.empty() && attempt < 20; ++attempt) {
    op = choose();
    attrs = op->getAttrDictionary();
  }
  if (attrs.empty())
    return;
  NamedAttribute entry = attrs.getValue()[chance.below(attrs.size())];
  if (chance.oneIn(8)) {
    op->removeAttr(entry.getName());
    return;
  }
  if (chance.oneIn(6)) { // What another op has there.
    Operation *other = choose();
    if (Attribute value = other->getAttr(entry.getName()))
      op->setAttr(entry.getName(), value);
    else
      other->setAttr(entry.getName(), entry.getValue());
    return;
  }
  op->setAttr(entry.getName(), makeAttribute(chance, entry.getValue()));
}

/// Symbols that are the same, absent, or refer to each other in a circle.
void ProgramMutator::changeSymbol(Operation *op) {
  std::vector<StringAttr> names;
  std::vector<Operation *> symbols;
  for (Operation *other : ops)
    if (auto name = other->getAttrOfType<StringAttr>("sym_name")) {
      names.push_back(name);
      symbols.push_back(other);
    }
  if (names.empty())
    return;
  StringAttr name = chance.of(names);
  if (chance.oneIn(3)) {
    chance.of(symbols)->setAttr("sym_name", name);
    return;
  }
  std::vector<std::pair<Operation *, NamedAttribute>> references;
  for (Operation *user : ops)
    for (NamedAttribute entry : user->getAttrDictionary())
      if (isa<SymbolRefAttr>(entry.getValue()))
        references.push_back({user, entry});
  if (references.empty())
    return;
  auto [user, entry] = chance.of(references);
  user->setAttr(entry.getName(), FlatSymbolRefAttr::get(name));
}

/// The same operands and results, by another op of the dialect.
void ProgramMutator::changeKind(Operation *op) {
  if (isReadElsewhere(op))
    return;
  std::vector<RegisteredOperationName> kinds;
  for (RegisteredOperationName kind :
       op->getContext()->getRegisteredOperationsByDialect(
           op->getName().getDialectNamespace()))
    kinds.push_back(kind);
  if (kinds.empty())
    return;
  llvm::sort(kinds, [](auto a, auto b) {
    return a.getStringRef() < b.getStringRef();
  });
  OperationState state(op->getLoc(), chance.of(kinds).getStringRef(),
                       op->getOperands(), op->getResultTypes(),
                       op->getAttrDictionary().getValue(), op->getSuccessors());
  IRMapping mapping;
  for (Region &region : op->getRegions())
    region.cloneInto(state.addRegion(), mapping);
  // What reads a value of a region that was copied later on.
  for (std::unique_ptr<Region> &region : state.regions)
    region->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        operand.set(mapping.lookupOrDefault(operand.get()));
    });
  OpBuilder builder(op);
  ScopedDiagnosticHandler quiet(op->getContext(),
                                [](Diagnostic &) { return success(); });
  Operation *other = builder.create(state);
  // Types that were to be inferred, and could not be.
  for (auto [own, old] : llvm::zip(other->getResults(), op->getResults()))
    if (!own.getType())
      own.setType(old.getType());
  op->replaceAllUsesWith(other);
  op->dropAllReferences(); // One region may read what another one has.
  op->erase();
}

/// Moves an op into a region of another one, or out of its own.
void ProgramMutator::nest(Operation *op) {
  if (chance.oneIn(4)) {
    Operation *parent = op->getParentOp();
    if (parent && parent != root)
      op->moveBefore(parent);
    return;
  }
  for (int attempt = 0; attempt < 20; ++attempt) {
    Operation *outer = choose();
    if (op->isAncestor(outer) || outer->getNumRegions() == 0)
      continue;
    Region &region = chance.of(outer->getRegions());
    if (region.empty())
      continue;
    Block &block = region.front();
    Operation *inner = chance.oneIn(2) ? op->clone() : nullptr;
    if (inner)
      block.push_front(inner);
    else
      op->moveBefore(&block, block.begin());
    return;
  }
}

void ProgramMutator::changeSignature() {
  std::vector<Block *> blocks;
  root->walk([&](Block *block) {
    if (block->getNumArguments())
      blocks.push_back(block);
  });
  if (blocks.empty())
    return;
  Block *block = chance.of(blocks);
  BlockArgument argument = chance.of(block->getArguments());
  if (chance.oneIn(3))
    block->addArgument(argument.getType(), argument.getLoc());
  else if (chance.oneIn(2) && argument.use_empty())
    block->eraseArgument(argument.getArgNumber());
  else
    argument.setType(makeType(chance, argument.getType()));
}

void ProgramMutator::changeOnce() {
  collect();
  if (ops.empty())
    return;
  switch (chance.below(20)) {
  case 0:
  case 1:
    return drop(choose());
  case 2:
  case 3:
    return repeat(choose());
  case 4:
    return move(choose());
  case 5:
  case 6:
  case 7:
    return changeOperands(choose());
  case 8:
  case 9:
    return changeResult(choose());
  case 10:
  case 11:
    return changeSymbol(choose());
  case 12:
  case 13:
    return changeKind(choose());
  case 14:
  case 15:
    return nest(choose());
  case 16:
    return changeSignature();
  default:
    return changeAttribute(choose());
  }
}

/// The comments before the first op, which may say what is done with it.
static StringRef takeHeader(StringRef text) {
  size_t end = 0;
  while (text.substr(end).starts_with("//")) {
    size_t newline = text.find('\n', end);
    if (newline == StringRef::npos)
      return text;
    end = newline + 1;
  }
  return text.take_front(end);
}

std::string fuzz::mutateProgram(StringRef text, uint64_t seed) {
  Chance chance(seed);
  StringRef header = takeHeader(text);
  StringRef body = text.drop_front(header.size());
  if (chance.oneIn(4))
    return header.str() + mutateText(body, chance.below(~0ull));
  MLIRContext *context = getContext();
  ScopedDiagnosticHandler quiet(context,
                                [](Diagnostic &) { return success(); });
  Block block;
  ParserConfig config(context, /*verifyAfterParse=*/false);
  std::string program = body.str(); // The lexer goes on to a zero after it.
  if (failed(verifyTextLimits(program, "seed", context)) ||
      failed(parseSourceString(program, &block, config)))
    return header.str() + mutateText(body, chance.below(~0ull));
  OwningOpRef<ModuleOp> holder = ModuleOp::create(UnknownLoc::get(context));
  holder->getBody()->getOperations().splice(holder->getBody()->end(),
                                            block.getOperations());
  ProgramMutator mutator(*holder, chance);
  for (uint64_t count = 1 + chance.below(4); count--;)
    mutator.changeOnce();
  std::string result;
  llvm::raw_string_ostream os(result);
  os << header;
  for (Operation &op : *holder->getBody()) {
    op.print(os, OpPrintingFlags().printGenericOpForm().useLocalScope());
    os << "\n";
  }
  // Uses that dominate nothing may go in circles.
  holder->walk([](Operation *op) { op->dropAllReferences(); });
  std::string changed = result.substr(header.size());
  if (chance.oneIn(4))
    changed = mutateText(changed, chance.below(~0ull));
  return header.str() + changed;
}
