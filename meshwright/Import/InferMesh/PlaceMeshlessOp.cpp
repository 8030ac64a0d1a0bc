//===- PlaceMeshlessOp.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Import/InferMesh/PlaceMeshlessOp.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/IR/OutsideReads.h"
#include "meshwright/Import/InferMesh/InferMeshDiagnostics.h"
#include "meshwright/Import/MeshSets/MeshSetAttributes.h"
#include "meshwright/Import/Place/InferredFragment.h"
#include "meshwright/Import/Place/MeshOrder.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::mpmd;

void PlacedEffects::visit(Operation *op) {
  ++current;
  if (auto fragment = dyn_cast<FragmentOp>(op)) {
    addFragment(fragment);
    if (hasEffects(fragment))
      addEffect(fragment);
  } else if (isa<CallOp, ForOp>(op) && hasEffects(op)) {
    firstOnAny = current;
  }
}

bool PlacedEffects::mayMoveInto(FragmentOp fragment) const {
  unsigned first = firstOnMesh.lookup(fragment.getMeshNameAttr());
  return std::max(first, firstOnAny) <= numbers.lookup(fragment);
}

void PlacedEffects::addEffect(FragmentOp fragment) {
  unsigned &first = firstOnMesh[fragment.getMeshNameAttr()];
  first = std::max(first, numbers.lookup(fragment));
}

namespace {
/// The readers of the results of an op.
struct Readers {
  /// Fragments that read an assign of a result.
  SetVector<Operation *> fragments;
  /// The meshes of the assigns, in use order.
  llvm::SmallSetVector<StringRef, 4> meshes;
  /// Whether an assign is read by anything but fragments.
  bool hasOthers = false;
  /// Whether a token is read by anything but the only one of `fragments`.
  bool hasTokenReaders = false;
};
} // namespace

static void addAssignReaders(AssignOp assign, Readers &readers) {
  readers.meshes.insert(assign.getType().getMeshName());
  for (Operation *reader : assign->getUsers()) {
    if (isa<FragmentOp>(reader))
      readers.fragments.insert(reader);
    else
      readers.hasOthers = true;
  }
}

static FailureOr<Readers> getReaders(Operation *op) {
  Readers readers;
  for (Value result : op->getResults()) {
    if (!isTensor(result))
      continue;
    for (Operation *user : result.getUsers()) {
      auto assign = dyn_cast<AssignOp>(user);
      if (!assign)
        return op->emitError()
               << "needs a mesh, but its result is read by a \""
               << user->getName() << "\" that has none" << kRunFromStart;
      addAssignReaders(assign, readers);
    }
  }
  if (readers.meshes.empty() && !op->use_empty()) // Only tokens are read.
    readers.meshes.insert(prioritize(getMeshSet(op, kSrcSetAttr))
                              .value_or(getFirstMesh(getTopology(
                                  op->getParentOfType<func::FuncOp>()))));
  if (readers.meshes.empty())
    return op->emitError()
           << "needs a mesh, but no result of it is assigned to one"
           << kRunFromStart;
  for (Value result : op->getResults())
    if (!isTensor(result))
      for (Operation *user : result.getUsers())
        readers.hasTokenReaders |=
            readers.fragments.size() != 1 || user != readers.fragments.front();
  return readers;
}

/// Lets the body of `fragment` read the results of `inner` where it had an
/// argument for an assign of the results of `op`, and drops the argument.
static void forwardResults(Operation *op, Operation *inner,
                           FragmentOp fragment) {
  SmallVector<unsigned> replaced;
  for (auto [outerResult, result] :
       llvm::zip_equal(op->getResults(), inner->getResults())) {
    auto forward = [&, result = result](Value value) {
      for (OpOperand &use : value.getUses()) {
        if (use.getOwner() != fragment)
          continue;
        unsigned index = use.getOperandNumber();
        fragment.getRegion().getArgument(index).replaceAllUsesWith(result);
        replaced.push_back(index);
      }
    };
    if (!isTensor(outerResult))
      forward(outerResult);
    else
      for (Operation *user : outerResult.getUsers())
        if (isa<AssignOp>(user))
          forward(user->getResult(0));
  }
  llvm::sort(replaced, std::greater<>());
  for (unsigned index : replaced) {
    fragment->eraseOperand(index);
    fragment.getRegion().eraseArgument(index);
  }
}

/// Puts `op`, or a clone of it, at the start of the body of `fragment`, which
/// reads what the op reads instead of its results.
static void absorb(Operation *op, FragmentOp fragment, bool clone,
                   RewriterBase &rewriter) {
  Block &body = fragment.getRegion().front();
  SetVector<Value> inputs = getCaptures(op);
  inputs.insert_range(op->getOperands());
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body.addArgument(input.getType(), input.getLoc()));

  OpBuilder::InsertionGuard guard(rewriter);
  Operation *inner = op;
  if (clone) {
    rewriter.setInsertionPointToStart(&body);
    inner = rewriter.clone(*op, mapping);
  } else {
    rewriter.moveOpBefore(op, &body, body.begin());
    op->walk([&](Operation *nested) {
      for (OpOperand &operand : nested->getOpOperands())
        operand.set(mapping.lookupOrDefault(operand.get()));
    });
  }
  forwardResults(op, inner, fragment);

  rewriter.setInsertionPoint(fragment);
  SmallVector<Value> operands;
  for (Value input : inputs) {
    if (isTensor(input))
      input = AssignOp::create(rewriter, op->getLoc(), input,
                               fragment.getMeshName(), StringAttr());
    operands.push_back(input);
  }
  fragment->insertOperands(fragment->getNumOperands(), operands);
}

static void eraseAssigns(Operation *op, RewriterBase &rewriter) {
  for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
    if (isa<AssignOp>(user))
      rewriter.eraseOp(user);
}

static constexpr StringLiteral kInferredBy = "infer_mesh_wrap_meshless_ops";

static void wrapPerMesh(Operation *op, ArrayRef<StringRef> meshesInUseOrder,
                        PlacedEffects &effects, RewriterBase &rewriter) {
  SmallVector<StringRef> meshes(meshesInUseOrder);
  llvm::stable_sort(meshes, meshBefore);
  for (StringRef mesh : meshes)
    effects.addFragment(wrapInInferredFragment(
        op, mesh, kInferredBy, rewriter, [&](OpOperand &use) {
          auto assign = dyn_cast<AssignOp>(use.getOwner());
          return !assign || assign.getType().getMeshName() == mesh;
        }));
}

/// Places an op that must run exactly once, and in its turn.
static void placeEffect(Operation *op, const Readers &readers,
                        StringRef oneMesh, PlacedEffects &effects,
                        RewriterBase &rewriter) {
  auto reader = readers.fragments.size() == 1
                    ? cast<FragmentOp>(readers.fragments.front())
                    : FragmentOp();
  if (reader && readers.meshes.size() == 1 && !readers.hasOthers &&
      !readers.hasTokenReaders && effects.mayMoveInto(reader)) {
    absorb(op, reader, /*clone=*/false, rewriter);
    effects.addEffect(reader);
    eraseAssigns(op, rewriter);
    return;
  }
  FragmentOp fragment = wrapInInferredFragment(
      op, oneMesh, kInferredBy, rewriter, [](OpOperand &) { return true; });
  effects.addFragment(fragment);
  effects.addEffect(fragment);
  rewriter.eraseOp(op);
}

/// Whether to repeat an op costs nearly nothing and changes no effect.
static bool isTrivial(Operation *op) {
  return op->getNumOperands() <= 1 && op->getNumResults() == 1 &&
         op->getNumRegions() == 0 && isPure(op);
}

LogicalResult mpmd::placeMeshlessOp(Operation *op, int maxClones,
                                    PlacedEffects &effects,
                                    RewriterBase &rewriter) {
  for (Value captured : getCaptures(op))
    if (isa<MeshTensorType>(captured.getType()))
      return op->emitError()
             << "becomes part of a fragment, and something in it reads a value "
                "of type "
             << captured.getType()
             << "; expected tensors; move what is on a mesh out of it";
  FailureOr<Readers> readers = getReaders(op);
  if (failed(readers))
    return failure();
  // Of the meshes that need the results, one that has the operands.
  SmallVector<StringRef> preferred(readers->meshes.getArrayRef());
  llvm::stable_sort(preferred, meshBefore);
  MeshSet sources = getMeshSet(op, kSrcSetAttr);
  auto *withOperands = llvm::find_if(
      preferred, [&](StringRef mesh) { return sources.contains(mesh); });
  StringRef oneMesh =
      withOperands == preferred.end() ? preferred.front() : *withOperands;
  setMeshSet(op, kUseSetAttr, {});
  setMeshSet(op, kSrcSetAttr, {});
  if (effects.hasEffects(op)) {
    placeEffect(op, *readers, oneMesh, effects, rewriter);
    return success();
  }

  int numFragments = readers->fragments.size();
  bool mustWrap =
      numFragments == 0 || readers->hasOthers || readers->hasTokenReaders;
  if (!mustWrap && numFragments == 1) {
    absorb(op, cast<FragmentOp>(readers->fragments.front()), /*clone=*/false,
           rewriter);
    eraseAssigns(op, rewriter);
    return success();
  }
  if (mustWrap ||
      (numFragments > maxClones && op->getNumOperands() != 0 && !isTrivial(op)))
    wrapPerMesh(op, readers->meshes.getArrayRef(), effects, rewriter);
  else
    for (Operation *fragment : readers->fragments)
      absorb(op, cast<FragmentOp>(fragment), /*clone=*/true, rewriter);
  eraseAssigns(op, rewriter);
  rewriter.eraseOp(op);
  return success();
}
