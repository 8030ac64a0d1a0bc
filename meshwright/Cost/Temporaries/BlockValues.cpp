//===- BlockValues.cpp - What a device keeps of a block -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/Temporaries/BlockValues.h"
#include "meshwright/Cost/Device.h"
#include "meshwright/Cost/ShardedOp.h"
#include "meshwright/Cost/Temporaries/OpOrder.h"
#include "meshwright/Dialect/Mpmd/BufferAttributes.h"
#include "meshwright/Dialect/Sdy/Rules/ShardingRules.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace meshwright;

bool meshwright::isFree(Operation *op) {
  return isa<stablehlo::ReshapeOp, stablehlo::ConstantOp,
             stablehlo::BitcastConvertOp, stablehlo::OptimizationBarrierOp,
             stablehlo::TupleOp, stablehlo::GetTupleElementOp,
             stablehlo::PartitionIdOp, stablehlo::ReplicaIdOp>(op) ||
         isa_and_nonnull<sdy::SdyDialect>(op->getDialect());
}

/// Whether an op only gives another name to what it reads. A product that is only
/// transposed is computed in that order; and the kernels of a GPU that read one in
/// another precision convert it themselves.
static bool isRenaming(Operation *op, const Device &device) {
  if (isFree(op))
    return true;
  if (op->getNumOperands() != 1)
    return false;
  Value operand = op->getOperand(0);
  Operation *source = operand.getDefiningOp();
  return source && isProduct(source) &&
         (isa<stablehlo::TransposeOp>(op)
              ? operand.hasOneUse()
              : device.cores && isa<stablehlo::ConvertOp>(op));
}

/// What a value is another name of.
static Value getRenamed(OpResult result, const Device &device) {
  Operation *op = result.getOwner();
  unsigned number = result.getResultNumber();
  return isRenaming(op, device) && number < op->getNumOperands()
             ? op->getOperand(number)
             : Value();
}

/// A value by its first name.
static Value getRoot(Value value, const Device &device) {
  while (auto name = dyn_cast<OpResult>(value))
    if (Value next = getRenamed(name, device))
      value = next;
    else
      break;
  return value;
}

/// Whether a body returns a value, by this name or another one.
static bool isReturned(Value value, const Device &device) {
  SmallVector<Value> names = {value};
  llvm::SmallDenseSet<Value, 8> seen;
  while (!names.empty())
    for (Operation *user : names.pop_back_val().getUsers()) {
      if (user->hasTrait<OpTrait::IsTerminator>())
        return true;
      // Of a barrier, only the results of operands that are names already.
      for (OpResult name : user->getResults())
        if (Value of = getRenamed(name, device);
            of && (of == value || seen.contains(of)) &&
            seen.insert(name).second)
          names.push_back(name);
    }
  return false;
}

BlockValues::BlockValues(Block &block, const Kernels &kernels,
                         sdy::MeshAttr mesh, const Device &device)
    : block(block), kernels(kernels), mesh(mesh), device(device),
      numbers(numberOps(block, device)) {}

void BlockValues::add(OpResult result) {
  Operation *op = result.getOwner();
  Value of = getRenamed(result, device);
  if (auto known = slots.find(of); of && known != slots.end()) {
    unsigned slot = known->second;
    slots[result] = slot;
    extend(values[slot], result);
    return;
  }
  // Other names of arguments and constants take no place.
  Value root = of ? getRoot(of, device) : of;
  if (of ? !isa<OpResult>(root) || isConstant(root) : isFree(op))
    return;
  // Kernels of a GPU that multiply do nothing else.
  bool isStored = kernels.isStored(result) || (device.cores && isProduct(op));
  if (!isStored || isReturned(result, device))
    return;
  slots[result] = values.size();
  unsigned number = numbers.lookup(op);
  values.push_back({countHeldBytes(result, mesh, device), number, number});
  extend(values.back(), result);
}

void BlockValues::addWithin(Operation *op, double bytes) {
  if (bytes > 0)
    values.push_back({bytes, numbers.lookup(op), numbers.lookup(op)});
}

void BlockValues::addNested(Operation *op, double bytes) {
  if (bytes > 0)
    nested.push_back({bytes, numbers.lookup(op), numbers.lookup(op)});
}

void BlockValues::extend(KeptValue &kept, Value name) const {
  for (Operation *user : name.getUsers()) {
    Operation *op = block.findAncestorOpInBlock(*user);
    if (auto found = numbers.find(op);
        found != numbers.end() && found->second >= kept.to) {
      kept.to = found->second;
      kept.reader = kernels.get(op);
    }
  }
}

std::vector<ResultPlace> BlockValues::findResults(func::FuncOp fragment) const {
  // What is no result of the fragment is an error elsewhere.
  std::vector<unsigned> taken(block.getTerminator()->getNumOperands());
  for (BlockArgument argument : block.getArguments())
    if (auto result = fragment.getArgAttrOfType<IntegerAttr>(
            argument.getArgNumber(), mpmd::kAliasingOutputAttr);
        result && result.getValue().ult(taken.size()))
      for (Operation *user : argument.getUsers()) {
        auto number = numbers.find(block.findAncestorOpInBlock(*user));
        bool isKnown = number != numbers.end() && !isFree(user);
        unsigned &end = taken[result.getValue().getZExtValue()];
        end = std::max<unsigned>(end,
                                 isKnown ? number->second + 1 : numbers.size());
      }
  std::vector<ResultPlace> places;
  for (auto [number, value] :
       llvm::enumerate(block.getTerminator()->getOperands())) {
    Operation *op = getRoot(value, device).getDefiningOp();
    if (!op)
      continue;
    // Elementwise kernels of a GPU may write where they read.
    places.push_back({countHeldBytes(value, mesh, device), numbers.lookup(op),
                      taken[number], kernels.get(op),
                      device.cores && sdy::isElementwiseForSharding(op)});
  }
  return places;
}

double BlockValues::count() const {
  return countKeptBytes(values, {}, nested, device).places;
}

double BlockValues::countTemporaries(func::FuncOp fragment) const {
  KeptBytes kept =
      countKeptBytes(values, findResults(fragment), nested, device);
  if (!device.tables || kept.bytes == 0)
    return kept.places;
  double tables = *device.tables * device.alignment.value_or(0) *
                  (fragment.getNumArguments() + fragment.getNumResults());
  return 2 * (kept.places + tables) - kept.bytes;
}
