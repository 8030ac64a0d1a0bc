//===- ProgramLayers.cpp - The layers of a program ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The function with the most named computations is that of a microbatch. What
// its callers pass alike each time are parameters, the rest is data.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Calls/CallOrder.h"
#include "meshwright/Cost/Flops.h"
#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Planning/Layers.h"
#include "meshwright/Text/NumberLimits.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace mlir;
using namespace meshwright;
using mpmd::NamedComputationOp;

static double getBytes(Value value, const Device &device) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? double(countBytes(type, device)) : 0;
}

static func::FuncOp findMicrobatch(ModuleOp module) {
  func::FuncOp found;
  size_t most = 0;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    size_t count =
        llvm::range_size(function.front().getOps<NamedComputationOp>());
    if (count > most) {
      most = count;
      found = function;
    }
  }
  return found;
}

/// How often a call runs: once in each iteration of the loops around it.
static uint64_t countRuns(mpmd::CallOp call) {
  uint64_t runs = 1;
  for (auto loop = call->getParentOfType<mpmd::ForOp>(); loop;
       loop = loop->getParentOfType<mpmd::ForOp>())
    runs = llvm::SaturatingMultiply<uint64_t>(runs, loop.getIterations());
  return runs;
}

/// What a loop passes on unchanged is what went in.
static Value lookThroughLoops(Value value) {
  while (auto loop = value.getDefiningOp<mpmd::ForOp>()) {
    unsigned number = cast<OpResult>(value).getResultNumber();
    Block &body = loop.getRegion().front();
    if (lookThroughLoops(body.getTerminator()->getOperand(number)) !=
        body.getArgument(number))
      break;
    value = loop->getOperand(number);
  }
  return value;
}

/// What a value is outside of the loops around a call, if it is the same in all of
/// their iterations; null otherwise.
static Value findInvariant(Value value, mpmd::CallOp call) {
  for (auto loop = call->getParentOfType<mpmd::ForOp>(); loop;
       loop = loop->getParentOfType<mpmd::ForOp>()) {
    Block &body = loop.getRegion().front();
    if (value.getParentBlock() != &body)
      continue;
    auto argument = dyn_cast<BlockArgument>(value);
    // The last argument counts.
    if (!argument || argument.getArgNumber() >= loop->getNumOperands() ||
        lookThroughLoops(
            body.getTerminator()->getOperand(argument.getArgNumber())) != value)
      return nullptr;
    value = loop->getOperand(argument.getArgNumber());
  }
  return value;
}

/// Of each argument whether all calls pass the same value, in all iterations of loops.
static std::vector<bool> findParameters(func::FuncOp function,
                                        ArrayRef<mpmd::CallOp> calls) {
  std::vector<bool> isParameter;
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    bool isSame = type && isa<FloatType>(type.getElementType());
    // A call may pass less than there is.
    unsigned number = argument.getArgNumber();
    Value first;
    for (mpmd::CallOp call : calls) {
      Value passed = number < call->getNumOperands()
                         ? findInvariant(call->getOperand(number), call)
                         : Value();
      first = first ? first : passed;
      isSame &= passed && passed == first;
    }
    isParameter.push_back(isSame);
  }
  return isParameter;
}

namespace {
/// Sums of one microbatch.
struct Sums {
  Layer layer;
  llvm::SmallSetVector<Value, 8> parameters, sent, kept;
};
} // namespace

/// What a computation of the forward pass is read by: other layers' and
/// backward computations.
static void addReaders(NamedComputationOp op, Sums &sums) {
  for (Value result : op.getResults())
    for (Operation *user : result.getUsers()) {
      auto reader = dyn_cast<NamedComputationOp>(user);
      if (!reader)
        continue;
      if (reader.getTransposeCount() > 0)
        sums.kept.insert(result);
      else if (reader.getName() != op.getName())
        sums.sent.insert(result);
    }
}

namespace {
/// What the named computations of a microbatch come to.
struct LayerSums {
  llvm::MapVector<StringRef, Sums> byName;
  /// Of what the largest forward computation returns.
  Type element;
  double mostFlops = -1;
};
} // namespace

static void addComputation(NamedComputationOp op, const Work &work,
                           const std::vector<bool> &isParameter,
                           LayerSums &all) {
  Sums &sums = all.byName[op.getName()];
  if (op.getTransposeCount() > 0) {
    sums.layer.backwardFlops += work.flops;
    return;
  }
  sums.layer.flops += work.flops;
  for (Value operand : op->getOperands())
    if (auto argument = dyn_cast<BlockArgument>(operand);
        argument && isParameter[argument.getArgNumber()])
      sums.parameters.insert(operand);
  addReaders(op, sums);
  auto type = op.getNumResults()
                  ? dyn_cast<RankedTensorType>(
                        op->getResult(op.getNumResults() - 1).getType())
                  : RankedTensorType();
  if (type && isa<FloatType>(type.getElementType()) &&
      work.flops > all.mostFlops) {
    all.mostFlops = work.flops;
    all.element = type.getElementType();
  }
}

/// Examples are the first dimension of what goes from layer to layer.
static int64_t countExamples(const LayerSums &all) {
  int64_t examples = 1;
  for (const auto &[name, sums] : all.byName)
    for (Value value : sums.sent)
      if (auto type = dyn_cast<RankedTensorType>(value.getType());
          type && type.getRank() > 1 && !type.isDynamicDim(0))
        examples = std::max<int64_t>(examples, type.getDimSize(0));
  return examples;
}

/// The layer of these sums, for one example.
static Layer makeLayer(StringRef name, const Sums &sums, int64_t examples,
                       const Device &device) {
  Layer layer = sums.layer;
  layer.name = name.str();
  for (Value value : sums.parameters)
    layer.parameterBytes += getBytes(value, device);
  for (Value value : sums.sent)
    layer.activationBytes += getBytes(value, device);
  for (Value value : sums.kept)
    layer.residualBytes += getBytes(value, device);
  for (double *figure : {&layer.flops, &layer.backwardFlops,
                         &layer.activationBytes, &layer.residualBytes})
    *figure = std::min(*figure / double(examples), kMaxNumber);
  return layer;
}

FailureOr<Layers> meshwright::readLayers(ModuleOp module, const Device &device,
                                         const CustomCosts &customs) {
  func::FuncOp function = findMicrobatch(module);
  if (!function)
    return module.emitError()
           << "has no layers: expected computations that are named "
              "(mpmd.named_computation)";
  SmallVector<mpmd::CallOp> calls;
  SymbolTable symbols(module);
  module.walk([&](mpmd::CallOp call) {
    if (getCallee(call, symbols) == function)
      calls.push_back(call);
  });
  std::vector<bool> isParameter = findParameters(function, calls);

  WorkEstimator works(module, customs);
  LayerSums all;
  for (auto op : function.front().getOps<NamedComputationOp>()) {
    if (!llvm::json::isUTF8(op.getName()))
      return op.emitError() << "has a name that is not UTF-8, which no "
                               "configuration can name; choose another one";
    addComputation(op, works.estimate(op.getRegion()), isParameter, all);
  }

  Layers layers;
  uint64_t runs = 0;
  for (mpmd::CallOp call : calls)
    runs = llvm::SaturatingAdd(runs, countRuns(call));
  layers.microbatches = static_cast<int64_t>(
      std::clamp<uint64_t>(runs, 1, std::numeric_limits<int64_t>::max()));
  layers.isNarrow = all.element && all.element.getIntOrFloatBitWidth() <= 16;
  layers.uncounted = works.getUncounted();
  int64_t examples = countExamples(all);
  if (llvm::MulOverflow(examples, *layers.microbatches, layers.batch))
    return function.emitError()
           << "has more examples than can be counted: " << *layers.microbatches
           << " microbatches of " << examples;
  for (const auto &[name, sums] : all.byName)
    layers.layers.push_back(makeLayer(name, sums, examples, device));
  return layers;
}
