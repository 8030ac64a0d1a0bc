//===- StateClasses.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Import/Locality/StateClasses.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/IR/OutsideReads.h"

using namespace mlir;
using namespace mlir::mpmd;

/// What is less than this and no tensor of real or complex numbers is a counter
/// or a key, which is sent to wherever it is read.
static constexpr double kSmallBytes = 64;

/// Whether a value is worth a mesh of its own choice.
static bool isState(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() > 0 &&
         (isa<FloatType, ComplexType>(type.getElementType()) ||
          getTensorBytes(value) > kSmallBytes);
}

static void addVote(MeshBits &bits, const MeshBits &other) {
  if (bits.empty())
    bits = other;
  else
    bits &= other;
}

/// Where all operands of a reduction across meshes are.
static MeshBits getCommonMeshes(ReduceOp reduce, const ValueMeshes &meshes) {
  MeshBits common;
  for (Value operand : reduce->getOperands())
    if (MeshBits bits = meshes.get(operand); !bits.empty())
      addVote(common, bits);
  return common.any() ? common : MeshBits();
}

StateClasses::StateClasses(func::FuncOp func, const ValueMeshes &meshes)
    : meshes(meshes) {
  for (BlockArgument arg : func.getArguments())
    // What several meshes read is placed by its update alone.
    vote(arg, meshes.get(arg));
  for (Operation &op : func.front())
    visitOp(&op);
  // Votes of members become those of their class.
  DenseMap<const void *, MeshBits> ofClass;
  for (auto &[member, bits] : votes)
    addVote(ofClass[classes.getLeaderValue(member)], bits);
  votes = std::move(ofClass);
}

/// Arguments that fragments read take part in votes, but are no link between
/// others: each is a class of its own. Equal constants are one value for all.
bool StateClasses::isMember(Value value) const {
  return isState(value) && !constants.contains(value) &&
         (meshes.get(value).empty() || isa<BlockArgument>(value));
}

void StateClasses::vote(Value value, const MeshBits &bits) {
  if (bits.empty() || !isMember(value))
    return;
  classes.insert(value.getAsOpaquePointer());
  addVote(votes[value.getAsOpaquePointer()], bits);
}

/// Whether values of the shape of the result are combined element by element, or
/// one of them chosen.
static bool isElementwise(Operation *op) {
  return isCheapToRepeat(op) || isa<stablehlo::IfOp, stablehlo::CaseOp>(op);
}

void StateClasses::visitOp(Operation *op) {
  for (Value result : op->getResults())
    for (OpOperand &use : result.getUses())
      if (isa<AssignOp, CallOp>(use.getOwner()))
        vote(result, meshes.getReaders(use));
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return vote(reduce, getCommonMeshes(reduce, meshes));
  if (!isMeshlessOp(op))
    return;
  if (llvm::all_of(getOutsideReads(op),
                   [&](Value input) { return constants.contains(input); }))
    constants.insert_range(op->getResults());
  if (!isElementwise(op))
    return;
  for (Value result : op->getResults()) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type || !type.hasStaticShape())
      continue;
    MeshBits bits = meshes.get(result);
    for (Value input : getOutsideReads(op)) {
      auto inputType = dyn_cast<RankedTensorType>(input.getType());
      if (!inputType || !inputType.hasStaticShape() ||
          inputType.getNumElements() != type.getNumElements() ||
          !isMember(input))
        continue;
      vote(input, bits);
      if (meshes.get(input).empty() && isMember(result))
        classes.unionSets(input.getAsOpaquePointer(),
                          result.getAsOpaquePointer());
    }
  }
}

std::optional<unsigned> StateClasses::getMesh(Value value) const {
  auto leader = classes.findLeader(value.getAsOpaquePointer());
  if (leader == classes.member_end())
    return std::nullopt;
  auto found = votes.find(*leader);
  if (found == votes.end() || found->second.none())
    return std::nullopt;
  return found->second.find_first();
}
