//===- StateClasses.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Import/MeshSets/StateClasses.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/IR/OutsideReads.h"

using namespace mlir;
using namespace mlir::mpmd;

/// Whether a value is worth a mesh of its own choice. A counter or a key, which is of
/// unsigned integers, is sent to wherever it is read.
static bool isState(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() > 0 &&
         (!type.getElementType().isUnsignedInteger() ||
          getTensorBytes(value) > kSmallBytes);
}

static void addVote(MeshBits &bits, const MeshBits &other) {
  if (bits.empty())
    bits = other;
  else
    bits &= other;
}

StateClasses::StateClasses(func::FuncOp func, const ValueMeshes &meshes)
    : meshes(meshes) {
  for (BlockArgument arg : func.getArguments())
    // What several meshes read is placed by its update alone.
    vote(arg, meshes.get(arg), votes);
  for (Operation &op : func.front())
    visitOp(&op);
  joinVotes(votes);
  joinVotes(votesOfReaders);
  for (auto &[member, bits] : ofNumbers)
    if (auto leader = classes.findLeader(member.getAsOpaquePointer());
        leader != classes.member_end()) {
      MeshBits &known = votesOfNumbers[*leader];
      known.resize(bits.size());
      known |= bits;
    }
  for (Operation &op : llvm::reverse(func.front()))
    handOn(&op);
}

/// Votes of members become those of their class.
void StateClasses::joinVotes(Votes &votes) const {
  Votes ofClass;
  for (auto &[member, bits] : votes)
    addVote(ofClass[classes.getLeaderValue(member)], bits);
  votes = std::move(ofClass);
}

/// Arguments that fragments of one mesh read take part in votes, but are no link
/// between others: each is a class of its own. What is made of constants and scalars
/// may be read by all.
bool StateClasses::isMember(Value value) const {
  return isState(value) && !common.contains(value) &&
         (isOpen(value) || isa<BlockArgument>(value));
}

/// Whether it is open on which mesh a value is: it can be anywhere, or on any of
/// several meshes, such as a weight that these share, and its gradient.
bool StateClasses::isOpen(Value value) const {
  return meshes.isFree(value) || meshes.get(value).count() > 1;
}

void StateClasses::vote(Value value, const MeshBits &bits, Votes &votes) {
  if (bits.empty() || !isMember(value))
    return;
  classes.insert(value.getAsOpaquePointer());
  addVote(votes[value.getAsOpaquePointer()], bits);
}

/// Whether values of the shape of the result are combined element by element, or
/// one of them chosen or handed on.
static bool isElementwise(Operation *op) {
  return isCheapToRepeat(op) || isa<stablehlo::IfOp, stablehlo::CaseOp,
                                    stablehlo::OptimizationBarrierOp>(op);
}

static bool haveSameSize(Value a, Value b) {
  auto aType = dyn_cast<RankedTensorType>(a.getType());
  auto bType = dyn_cast<RankedTensorType>(b.getType());
  return aType && bType && aType.hasStaticShape() && bType.hasStaticShape() &&
         aType.getNumElements() == bType.getNumElements();
}

void StateClasses::visitOp(Operation *op) {
  for (Value result : op->getResults())
    for (OpOperand &use : result.getUses())
      if (isa<AssignOp, CallOp>(use.getOwner()))
        vote(result, meshes.getReaders(use), votes);
  if (!isMeshlessOp(op))
    return;
  if (llvm::all_of(getOutsideReads(op), [&](Value input) {
        return !isState(input) || common.contains(input);
      }))
    common.insert_range(op->getResults());
  bool combines = isElementwise(op);
  for (Value result : op->getResults()) {
    MeshBits bits = meshes.isFree(result) ? MeshBits() : meshes.get(result);
    if (meshes.isFree(result) && isMember(result) &&
        !meshes.get(result).empty())
      ofNumbers[result] = meshes.get(result);
    for (Value input : getOutsideReads(op)) {
      if (!combines || !haveSameSize(input, result)) {
        vote(input, bits, votesOfReaders);
        continue;
      }
      vote(input, bits, votes);
      if (isOpen(input) && isMember(input) && isMember(result))
        classes.unionSets(input.getAsOpaquePointer(),
                          result.getAsOpaquePointer());
    }
  }
}

/// The votes of a class, or those of its readers; null if it has none.
const MeshBits *StateClasses::findVotes(const void *leader) const {
  for (const Votes *found : {&votes, &votesOfReaders})
    if (auto bits = found->find(leader); bits != found->end())
      return &bits->second;
  return nullptr;
}

/// What has no votes belongs where what is made of it does, such as the factors of a
/// product that is added to a weight.
void StateClasses::handOn(Operation *op) {
  if (!isMeshlessOp(op))
    return;
  for (Value result : op->getResults()) {
    auto from = classes.findLeader(result.getAsOpaquePointer());
    const MeshBits *wanted =
        from == classes.member_end() ? nullptr : findVotes(*from);
    if (!wanted)
      continue;
    MeshBits bits = *wanted;
    for (Value input : getOutsideReads(op)) {
      if (!isMember(input) || !meshes.isFree(input))
        continue;
      classes.insert(input.getAsOpaquePointer());
      const void *leader = classes.getLeaderValue(input.getAsOpaquePointer());
      if (!findVotes(leader))
        votesOfReaders[leader] = bits;
    }
  }
}

static bool isReturned(Value value) {
  return llvm::any_of(value.getUsers(), llvm::IsaPred<func::ReturnOp>);
}

std::optional<unsigned> StateClasses::getMesh(Value value) const {
  auto leader = classes.findLeader(value.getAsOpaquePointer());
  if (leader == classes.member_end())
    return std::nullopt;
  auto found = votes.find(*leader);
  if (found == votes.end()) {
    // Where nothing meets, inference brings what is only read to its readers, and
    // these to where their results are wanted.
    found = votesOfReaders.find(*leader);
    if (found == votesOfReaders.end()) {
      found = votesOfNumbers.find(*leader);
      if (found == votesOfNumbers.end())
        return std::nullopt;
    } else if (!meshes.hasConflicts() && !isReturned(value)) {
      return std::nullopt;
    }
  }
  if (found->second.none())
    return std::nullopt;
  return found->second.find_first();
}
