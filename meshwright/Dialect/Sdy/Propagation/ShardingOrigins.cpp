//===- ShardingOrigins.cpp - Annotations, by name -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Propagation/ShardingOrigins.h"

#include "meshwright/Dialect/Sdy/AxisAlgebra.h"
#include "meshwright/Dialect/Sdy/Propagation/DebugAttributes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::sdy;

//===----------------------------------------------------------------------===//
// Collecting
//===----------------------------------------------------------------------===//

ShardingOrigins::ShardingOrigins(ModuleOp module, func::FuncOp main,
                                 const ShardingTable &table)
    : table(table), main(main) {
  if (auto terminator =
          main.isDeclaration()
              ? func::ReturnOp()
              : dyn_cast<func::ReturnOp>(main.front().getTerminator()))
    for (OpOperand &operand : terminator->getOpOperands())
      if (unsigned slot = table.getSlot(operand.get());
          slot != ShardingTable::kNoSlot)
        returnedBy.try_emplace(
            table.getResultSlot(main, operand.getOperandNumber()), slot);
  unsigned numConstraints = 0, numManual = 0, numOthers = 0;
  // An op of a shared body is one in each of its instances.
  auto isShared = [&](Operation *op) {
    return table.getOp(table.getIndex(op)) != op;
  };
  // A module within this one knows other meshes.
  auto isOwn = [&](Operation *op) {
    return op->getParentOfType<ModuleOp>() == module;
  };
  module.walk([&](ShardingConstraintOp op) {
    if (!isOwn(op) || isShared(op))
      return;
    unsigned slot = table.getSlot(op.getResult());
    std::string name = ("constraint_" + Twine(numConstraints++)).str();
    names.emplace_back(table.getIndex(op), name);
    add(slot, table.get(slot), slot, name);
    // What a constraint is applied to has its sharding from it.
    if (unsigned input = table.getSlot(op.getInput());
        input != ShardingTable::kNoSlot)
      add(input, table.get(input), slot, name);
  });
  module.walk([&](ManualComputationOp op) {
    if (isOwn(op))
      addManual(op, "mc_" + Twine(numManual++));
  });
  for (BlockArgument argument : main.getArguments())
    addOwn(table.getSlot(argument), "input: " + Twine(argument.getArgNumber()));
  for (unsigned result = 0; result < main.getNumResults(); ++result)
    addOwn(table.getResultSlot(main, result), "output: " + Twine(result));
  module.walk([&](Operation *op) {
    std::string name = ("op_" + Twine(numOthers)).str();
    if (op != main && isOwn(op) && !isShared(op) && addOther(op, name)) {
      names.emplace_back(table.getIndex(op), name);
      ++numOthers;
    }
  });
}

unsigned ShardingOrigins::getKey(unsigned slot) const {
  auto it = returnedBy.find(slot);
  return it == returnedBy.end() ? slot : it->second;
}

bool ShardingOrigins::add(unsigned slot, TensorShardingAttr sharding,
                          unsigned originSlot, const Twine &name) {
  std::optional<unsigned> origin;
  if (!sharding)
    return false;
  AxisOrigins &known = axesOf[getKey(slot)];
  for (DimensionShardingAttr dim : sharding.getDimShardings())
    for (AxisRefAttr axis : dim.getAxes()) {
      if (llvm::is_contained(llvm::make_first_range(known), axis))
        continue;
      if (!origin) {
        origin = origins.size();
        origins.push_back({name.str(), originSlot});
      }
      known.emplace_back(axis, *origin);
    }
  return origin.has_value();
}

bool ShardingOrigins::addOwn(unsigned slot, const Twine &name) {
  return slot != ShardingTable::kNoSlot &&
         add(slot, table.get(slot), slot, name);
}

/// The shardings of edges do not show manual axes here, those of the op do.
void ShardingOrigins::addManual(ManualComputationOp op, const Twine &name) {
  names.emplace_back(table.getIndex(op), name.str());
  // No value may have one sharding.
  auto inShardings =
      op.getInShardings().getShardings().take_front(op.getNumOperands());
  auto outShardings =
      op.getOutShardings().getShardings().take_front(op.getNumResults());
  for (auto [i, sharding] : llvm::enumerate(inShardings)) {
    std::string input = (name + "_input: " + Twine(i)).str();
    unsigned slot = table.getSlot(op.getBody().getArgument(i));
    add(slot, sharding, slot, input);
    if (unsigned operand = table.getSlot(op->getOperand(i));
        operand != ShardingTable::kNoSlot)
      add(operand, table.get(operand), slot, input);
  }
  for (auto [i, sharding] : llvm::enumerate(outShardings)) {
    unsigned slot = table.getSlot(op->getResult(i));
    add(slot, sharding, slot, name + "_output: " + Twine(i));
  }
}

bool ShardingOrigins::addOwners(ValueRange owners, const Twine &name) {
  bool isAny = false;
  for (auto [i, owner] : llvm::enumerate(owners))
    isAny |= addOwn(table.getSlot(owner), name + Twine(i));
  return isAny;
}

bool ShardingOrigins::addOther(Operation *op, const Twine &name) {
  if (auto func = dyn_cast<func::FuncOp>(op)) {
    if (func.isDeclaration()) // No value has its shardings.
      return false;
    bool isAny = addOwners(llvm::to_vector_of<Value>(func.getArguments()),
                           name + "_input: ");
    for (unsigned result = 0; result < func.getNumResults(); ++result)
      isAny |= addOwn(table.getResultSlot(func, result),
                      name + "_output: " + Twine(result));
    return isAny;
  }
  auto flow = dyn_cast<DataFlowOpInterface>(op);
  bool hasInputs =
      flow &&
      addOwners(llvm::to_vector_of<Value>(flow.getBlockArgumentEdgeOwners()),
                name + "_input: ");
  // An edge op bears what its data-flow op is annotated with.
  bool hasOutputs = !isa<DataFlowEdgeOp>(op) &&
                    addOwners(op->getResults(), name + "_output: ");
  return hasInputs || hasOutputs;
}

//===----------------------------------------------------------------------===//
// Following
//===----------------------------------------------------------------------===//

const ShardingOrigin *ShardingOrigins::get(unsigned slot,
                                           AxisRefAttr axis) const {
  auto it = axesOf.find(getKey(slot));
  if (it == axesOf.end())
    return nullptr;
  for (bool isExact : {true, false})
    for (auto [known, origin] : it->second)
      if (isExact ? known == axis : overlaps(known, axis))
        return &origins[origin];
  return nullptr;
}

void ShardingOrigins::follow(const PropagationLog &log) {
  for (const PropagationStep &step : log.steps)
    for (const PropagationEdge &edge : step.edges) {
      const ShardingOrigin *origin = get(step.slots[edge.source], edge.axis);
      if (!origin)
        continue;
      for (unsigned target : edge.targets) {
        unsigned slot = step.slots[target];
        if (slot == ShardingTable::kNoSlot)
          continue;
        AxisOrigins &known = axesOf[getKey(slot)];
        if (!llvm::is_contained(llvm::make_first_range(known), edge.axis))
          known.emplace_back(edge.axis, origin - origins.data());
      }
    }
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Null if nothing is known of a value.
DictionaryAttr ShardingOrigins::getEntry(MLIRContext *context,
                                         unsigned slot) const {
  auto it = axesOf.find(getKey(slot));
  if (it == axesOf.end() || it->second.empty())
    return {};
  NamedAttrList entries;
  for (auto [axis, number] : it->second) {
    const ShardingOrigin &origin = origins[number];
    if (axis.getName().empty()) // No dictionary that is read has such a key.
      continue;
    std::string name = axis.getName().str();
    if (axis.isSubAxis())
      name += llvm::formatv(":({0}){1}", axis.getPreSize(),
                            axis.getSubAxisInfo().getSize());
    entries.set(name, StringAttr::get(context, origin.slot == slot
                                                   ? StringRef("self")
                                                   : StringRef(origin.name)));
  }
  return entries.getDictionary(context);
}

void ShardingOrigins::write(ModuleOp module) const {
  MLIRContext *context = module.getContext();
  for (auto [index, name] : names)
    if (Operation *op = table.getOp(index))
      op->setDiscardableAttr(kShardingOriginNameAttr,
                             StringAttr::get(context, name));
  for (unsigned index = 0; index < table.getNumOps(); ++index) {
    Operation *op = table.getOp(index);
    if (!op || table.getInstance(index))
      continue;
    if (auto func = dyn_cast<func::FuncOp>(op)) {
      if (func.isDeclaration())
        continue;
      for (unsigned arg = 0; arg < func.getNumArguments(); ++arg)
        if (auto entry =
                getEntry(context, table.getSlot(func.getArgument(arg))))
          func.setArgAttr(arg, kShardingOriginsAttr, entry);
      for (unsigned result = 0; result < func.getNumResults(); ++result)
        if (auto entry = getEntry(context, table.getResultSlot(func, result)))
          func.setResultAttr(result, kShardingOriginsAttr, entry);
      continue;
    }
    // Edges of a data-flow op have ops of their own, or are those of a frame.
    if (op->getNumResults() == 0 || table.isOfFrame(index) ||
        table.getKind(index) == OpKind::DataFlow)
      continue;
    auto entries = llvm::map_to_vector(op->getResults(), [&](Value result) {
      return getEntry(context, table.getSlot(result));
    });
    if (llvm::none_of(entries, [](DictionaryAttr entry) { return !!entry; }))
      continue;
    if (isa<ShardingConstraintOp, ReshardOp, DataFlowEdgeOp>(op)) {
      op->setDiscardableAttr(kShardingOriginsAttr, entries.front());
      continue;
    }
    auto all = llvm::map_to_vector(entries, [&](DictionaryAttr entry) {
      return Attribute(entry ? entry : DictionaryAttr::get(context));
    });
    op->setDiscardableAttr(kShardingOriginsAttr, ArrayAttr::get(context, all));
  }
}
