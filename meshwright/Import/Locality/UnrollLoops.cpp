//===- UnrollLoops.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A loop outside of names is one op to mesh inference, so everything that it carries
// is brought to one mesh. A loop over the memory of an optimizer (L-BFGS) carries the
// gradients of all stages, and combines them leaf by leaf and by numbers alone:
//
//   %d:2 = while (%a = %d1, %b = %d2)       %d1 on m1, %d2 on m2
//     %s = dot(%a, %a) + dot(%b, %b)        a number
//     %x, %y = %a - %s * …, %b - %s * …
//
// Its trips in line are ops that each have a mesh, and the numbers travel. Whether only
// numbers would is found by equivalence classes (union-find) of the larger values of
// the body: those that an op combines, and what a loop carries from trip to trip. Where
// a class meets two meshes, or the number of trips is not known or large, the loop
// stays as it is.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/Flops.h"
#include "meshwright/IR/OutsideReads.h"
#include "meshwright/Import/Conditionals/InLine.h"
#include "meshwright/Import/MeshSets/ValueMeshes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SmallVectorExtras.h"

#define GEN_PASS_DEF_UNROLLLOOPSPASS
#include "meshwright/Import/Locality/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// Whether an op only broadcasts numbers, which each mesh can do for itself.
static bool isOfNumbers(Operation *op, function_ref<bool(Value)> isLarge) {
  return op->hasTrait<OpTrait::ConstantLike>() ||
         (isCheapToRepeat(op) && llvm::none_of(op->getOperands(), isLarge));
}

/// What is made of constants and small values outside of loops, on each mesh for
/// itself: it is no link between those that are combined with it.
static DenseSet<Value> collectOfNumbers(func::FuncOp func) {
  DenseSet<Value> found; // Membership only.
  auto isLarge = [&](Value value) {
    return getTensorBytes(value) > kSmallBytes && !found.contains(value);
  };
  for (Operation &op : func.front())
    if (isOfNumbers(&op, isLarge))
      found.insert_range(op.getResults());
  return found;
}

/// Whether the larger values of a loop are in several groups, each on one mesh, that
/// only exchange small ones.
static bool isLeafByLeaf(stablehlo::WhileOp loop, const ValueMeshes &meshes,
                         const DenseSet<Value> &ofNumbersOutside) {
  llvm::EquivalenceClasses<const void *> groups;
  DenseSet<Value> ofNumbers; // Membership only.
  for (Value input : getOutsideReads(loop))
    if (ofNumbersOutside.contains(input))
      ofNumbers.insert(input);
  auto isLarge = [&](Value value) {
    return getTensorBytes(value) > kSmallBytes && !ofNumbers.contains(value);
  };
  auto join = [&](Value a, Value b) {
    if (isLarge(a) && isLarge(b))
      groups.unionSets(a.getAsOpaquePointer(), b.getAsOpaquePointer());
  };
  loop->walk([&](Operation *op) {
    if (op == loop)
      return;
    if (isOfNumbers(op, isLarge))
      ofNumbers.insert_range(op->getResults());
    Value first;
    auto joinAll = [&](auto values) {
      for (Value value : values)
        if (isLarge(value)) {
          if (first)
            join(first, value);
          first = value;
        }
    };
    if (op->getParentOp() == loop && op->hasTrait<OpTrait::IsTerminator>())
      return;
    joinAll(op->getOperands());
    joinAll(op->getResults());
    // What is nested is one op.
    for (Region &region : op->getRegions())
      for (Block &block : region)
        joinAll(block.getArguments());
  });
  Block &body = loop.getBody().front();
  for (auto [init, arg, next] :
       llvm::zip_equal(loop->getOperands(), body.getArguments(),
                       body.getTerminator()->getOperands())) {
    join(init, arg);
    join(arg, next);
  }
  DenseMap<const void *, MeshBits> found;
  MeshBits common;
  for (Value input : getOutsideReads(loop)) {
    MeshBits bits = meshes.get(input);
    if (meshes.isFree(input) || !isLarge(input))
      continue;
    const void *leader =
        groups.getOrInsertLeaderValue(input.getAsOpaquePointer());
    auto [known, isNew] = found.try_emplace(leader, bits);
    if (!isNew && (known->second &= bits).none())
      return false;
    if (common.empty())
      common = bits;
    else
      common &= bits;
  }
  return common.none() && !found.empty();
}

/// Replaces a loop by its trips in line.
static void unroll(stablehlo::WhileOp loop, unsigned trips) {
  OpBuilder builder(loop);
  Block &body = loop.getBody().front();
  SmallVector<Value> carried(loop->getOperands());
  for (unsigned trip = 0; trip != trips; ++trip) {
    IRMapping mapping;
    mapping.map(body.getArguments(), carried);
    for (Operation &op : body.without_terminator())
      builder.clone(op, mapping);
    carried =
        llvm::map_to_vector(body.getTerminator()->getOperands(), [&](Value v) {
          return mapping.lookupOrDefault(v);
        });
  }
  loop->replaceAllUsesWith(carried);
  loop->erase();
}

namespace {
struct UnrollLoopsPass : mpmd::impl::UnrollLoopsPassBase<UnrollLoopsPass> {
  using Base::Base;

  void runOnOperation() override {
    // A loop in a loop is in line after that.
    while (unrollSome()) {
    }
  }

  /// The loops with few trips, of entry functions, in line or in branches.
  SmallVector<stablehlo::WhileOp> collect() {
    SmallVector<stablehlo::WhileOp> loops;
    for (func::FuncOp func : getEntryPoints(getOperation()))
      func.front().walk<WalkOrder::PreOrder>([&](Operation *op) {
        if (auto loop = dyn_cast<stablehlo::WhileOp>(op)) {
          std::optional<double> trips = meshwright::readTripCount(loop);
          if (trips && *trips <= maxTrips)
            loops.push_back(loop);
        }
        return isConditional(op) || !op->getNumRegions() ? WalkResult::advance()
                                                         : WalkResult::skip();
      });
    return loops;
  }

  /// Of `loops` those that are to be unrolled. Where one in a branch belongs is read from
  /// a copy of the program that has branches in line.
  SmallVector<stablehlo::WhileOp> choose(ArrayRef<stablehlo::WhileOp> loops) {
    IRMapping mapping;
    OwningOpRef<ModuleOp> copy = cast<ModuleOp>(getOperation()->clone(mapping));
    for (Operation *conditional : collectConditionals(*copy))
      inlineBranches(conditional);
    MeshDataFlow flow(*copy);
    ValueMeshes::Callees callees = ValueMeshes::analyzeCallees(*copy, flow);
    SmallVector<stablehlo::WhileOp> chosen;
    for (func::FuncOp func : getEntryPoints(*copy)) {
      ValueMeshes meshes(func, flow, callees);
      DenseSet<Value> ofNumbers = collectOfNumbers(func);
      for (stablehlo::WhileOp loop : loops) {
        Operation *inLine = mapping.lookup(loop.getOperation());
        if (inLine->getParentOp() == func && meshes.getChoice(inLine) &&
            isLeafByLeaf(cast<stablehlo::WhileOp>(inLine), meshes, ofNumbers))
          chosen.push_back(loop);
      }
    }
    return chosen;
  }

  bool unrollSome() {
    SmallVector<stablehlo::WhileOp> loops = collect();
    if (loops.empty())
      return false;
    loops = choose(loops);
    for (stablehlo::WhileOp loop : loops)
      unroll(loop, static_cast<unsigned>(*meshwright::readTripCount(loop)));
    numUnrolled += loops.size();
    return !loops.empty();
  }
};
} // namespace
