//===- ShortenLoop.cpp - A loop over fewer microbatches -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/Repeat/ShortenLoop.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/Fragments/AlikeUnits.h"
#include "meshwright/Partitioner/Repeat/RegularQueue.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace mlir::mpmd;
using namespace meshwright;

/// The values that wait from `first` on in a queue of all microbatches: each becomes the
/// one before it, and the last one is new, or the first one again.
bool MicrobatchLoop::isQueue(unsigned first) const {
  unsigned length = loop.getIterations();
  Block &body = *loop.getBody();
  OperandRange next = body.getTerminator()->getOperands();
  if (first + length > next.size())
    return false;
  for (unsigned at = first; at + 1 < first + length; ++at)
    if (next[at] != body.getArgument(at + 1) ||
        loop->getOperand(at).getType() != loop->getOperand(first).getType())
      return false;
  return true;
}

/// Tells queues from what stays and from sums.
bool MicrobatchLoop::findQueues() {
  unsigned length = loop.getIterations();
  Block &body = *loop.getBody();
  OperandRange next = body.getTerminator()->getOperands();
  auto isReadByCall = [&](BlockArgument argument) {
    return llvm::is_contained(call->getOperands(), argument);
  };
  for (unsigned at = 0; at < next.size(); ++at) {
    BlockArgument argument = body.getArgument(at);
    if (next[at] == argument)
      continue;
    if (next[at].getDefiningOp() == call && isReadByCall(argument))
      continue; // A sum.
    if (!isQueue(at))
      return false;
    Value last = next[at + length - 1];
    bool isInput = last == argument;
    if (!isInput && last.getDefiningOp() != call)
      return false;
    for (unsigned other = at; other < at + length; ++other) {
      // Only the first one is taken, and an input has no results.
      bool isTaken = isReadByCall(body.getArgument(other));
      if (isTaken != (isInput && other == at) ||
          (isInput && !loop->getResult(other).use_empty()))
        return false;
    }
    (isInput ? inputs : results).push_back(at);
    at += length - 1;
  }
  return true;
}

/// What is known of the mesh of a computation, new if there was nothing; null if none is
/// assigned.
MicrobatchLoop::Traffic *
MicrobatchLoop::findMesh(Operation *computation,
                         const PartitionConfig &config) {
  auto named = dyn_cast_if_present<NamedComputationOp>(computation);
  if (!named)
    return nullptr;
  auto assigned = llvm::find_if(config.assignment,
                                [&](const PartitionConfig::Assignment &entry) {
                                  return entry.name == named.getName();
                                });
  if (assigned == config.assignment.end())
    return nullptr;
  auto known = llvm::find_if(traffics, [&](const Traffic &traffic) {
    return traffic.mesh == assigned->mesh;
  });
  if (known != traffics.end())
    return &*known;
  return &traffics.emplace_back(Traffic{assigned->mesh, {}, {}});
}

bool MicrobatchLoop::findTraffic(const PartitionConfig &config,
                                 std::string &whyNot) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getCalleeAttr());
  if (!callee || !callee.getBody().hasOneBlock())
    return false;
  Block &body = *loop.getBody();
  for (unsigned queue : inputs)
    for (OpOperand &operand : call->getOpOperands()) {
      if (operand.get() != body.getArgument(queue))
        continue;
      for (Operation *user :
           callee.getArgument(operand.getOperandNumber()).getUsers()) {
        Traffic *traffic = findMesh(user, config);
        if (!traffic) {
          whyNot = "a microbatch is read outside of all computations with an "
                   "assigned name";
          return false;
        }
        if (!llvm::is_contained(traffic->taken, queue))
          traffic->taken.push_back(queue);
      }
    }
  Operation *returned = callee.front().getTerminator();
  for (unsigned queue : results) {
    auto last = cast<OpResult>(
        body.getTerminator()->getOperand(queue + countMicrobatches() - 1));
    Value made = returned->getOperand(last.getResultNumber());
    Traffic *traffic = findMesh(made.getDefiningOp(), config);
    if (!traffic) {
      whyNot = "a result of each microbatch is made outside of all "
               "computations with an assigned name";
      return false;
    }
    traffic->given.push_back(queue);
  }
  return true;
}

std::optional<MicrobatchLoop>
MicrobatchLoop::find(func::FuncOp function, const PartitionConfig &config,
                     std::string &whyNot) {
  whyNot = "its microbatches are not a loop over one call";
  if (!function.getBody().hasOneBlock())
    return std::nullopt;
  auto loops = function.front().getOps<ForOp>();
  if (loops.empty() || !llvm::hasSingleElement(loops))
    return std::nullopt;
  MicrobatchLoop found(*loops.begin());
  ForOp loop = found.loop;
  auto calls = loop.getBody()->getOps<CallOp>();
  if (loop.getUnrollFactor() != loop.getIterations() ||
      loop.getBody()->getOperations().size() != 2 || calls.empty() ||
      !loop.getIndexArg().use_empty())
    return std::nullopt;
  found.call = *calls.begin();
  // All iterations together must be as few as they may be.
  uint64_t perIteration = 0;
  loop->walk([&](Operation *) { ++perIteration; });
  if (perIteration * loop.getIterations() >
      uint64_t(config.options.importing.maxInlinedOps))
    return std::nullopt;
  if (!found.findQueues() || !found.findTraffic(config, whyNot))
    return std::nullopt;
  whyNot =
      "microbatches are sliced, or their results collected, in different ways";
  unsigned length = loop.getIterations();
  auto isTakenAlike = [&](unsigned queue) {
    return areMadeAlike(loop->getOperands().slice(queue, length));
  };
  auto isCollectedAlike = [&](unsigned queue) {
    return areReadAlike(loop->getResults().slice(queue, length));
  };
  if (!llvm::all_of(found.inputs, isTakenAlike) ||
      !llvm::all_of(found.results, isCollectedAlike))
    return std::nullopt;
  return found;
}

/// Adds the computation of one mesh that takes what iterations from `count` on would take,
/// which are arguments of a function, and gives what they would give.
static NamedComputationOp addComputation(OpBuilder &builder, Location loc,
                                         StringRef name, TypeRange types,
                                         ValueRange operands) {
  auto origin =
      UserOriginAttr::get(builder.getContext(), builder.getStringAttr(name), 0);
  auto computation =
      NamedComputationOp::create(builder, loc, types, operands, origin);
  Block &body = computation.getRegion().emplaceBlock();
  for (Value operand : operands)
    body.addArgument(operand.getType(), loc);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&body);
  // What has an effect stays, whatever it gives.
  NamedAttribute attributes[] = {
      builder.getNamedAttr("call_target_name", builder.getStringAttr(name)),
      builder.getNamedAttr("has_side_effect", builder.getBoolAttr(true))};
  auto made = stablehlo::CustomCallOp::create(builder, loc, types,
                                              body.getArguments(), attributes);
  ReturnOp::create(builder, loc, made->getResults());
  return computation;
}

/// Adds a call of a function that has such a computation for each mesh, and lets it give
/// what the iterations from `count` on would give.
void MicrobatchLoop::addSubstitute(unsigned count, PartitionConfig &config) {
  unsigned numOthers = countMicrobatches() - count;
  SmallVector<Value> operands;
  llvm::DenseMap<unsigned, unsigned> argumentOf; // The first, by queue.
  for (unsigned queue : inputs) {
    argumentOf[queue] = operands.size();
    llvm::append_range(operands,
                       loop->getOperands().slice(queue + count, numOthers));
  }
  Location loc = call.getLoc();
  OpBuilder builder(loop->getContext());
  auto module = loop->getParentOfType<ModuleOp>();
  builder.setInsertionPointToEnd(module.getBody());
  auto function = func::FuncOp::create(
      builder, loc, kSubstitutePrefix.drop_back(),
      builder.getFunctionType(ValueRange(operands).getTypes(), {}));
  function.setPrivate();
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  SmallVector<Value> results;
  SmallVector<unsigned> queues;
  for (const Traffic &traffic : traffics) {
    SmallVector<Value> taken;
    SmallVector<Type> types;
    for (unsigned queue : traffic.taken)
      llvm::append_range(
          taken, body->getArguments().slice(argumentOf[queue], numOthers));
    for (unsigned queue : traffic.given)
      types.append(numOthers, loop->getResult(queue).getType());
    std::string name = kSubstitutePrefix.str() + traffic.mesh;
    config.assignment.push_back({name, traffic.mesh, std::nullopt});
    llvm::append_range(
        results,
        addComputation(builder, loc, name, types, taken)->getResults());
    llvm::append_range(queues, traffic.given);
  }
  func::ReturnOp::create(builder, loc, results);
  TypeRange types = ValueRange(results).getTypes();
  function.setFunctionType(
      builder.getFunctionType(ValueRange(operands).getTypes(), types));
  SymbolTable(module).insert(function);

  builder.setInsertionPointAfter(loop);
  auto made = CallOp::create(builder, loc, types, operands,
                             FlatSymbolRefAttr::get(function));
  auto given = made->getResults();
  for (unsigned queue : queues) {
    for (auto [at, result] : llvm::enumerate(given.take_front(numOthers)))
      loop->getResult(queue + count + at).replaceAllUsesWith(result);
    given = given.drop_front(numOthers);
  }
}

void MicrobatchLoop::shorten(unsigned count, PartitionConfig &config) {
  unsigned numOthers = countMicrobatches() - count;
  llvm::erase_if(traffics, [](const Traffic &traffic) {
    return traffic.taken.empty() && traffic.given.empty();
  });
  if (!traffics.empty())
    addSubstitute(count, config);
  // After fewer iterations the results are nearer to the end of their queue.
  for (unsigned queue : results)
    for (unsigned at : llvm::reverse(llvm::seq(queue, queue + count)))
      loop->getResult(at).replaceAllUsesWith(loop->getResult(at + numOthers));
  auto attr = Builder(loop->getContext()).getUI32IntegerAttr(count);
  loop.setIterationsAttr(attr);
  loop.setUnrollFactorAttr(attr);
  loop->getParentOfType<func::FuncOp>()->setAttr(
      kKeepsCountersAttr, UnitAttr::get(loop->getContext()));
}
