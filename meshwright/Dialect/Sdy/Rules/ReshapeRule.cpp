//===- ReshapeRule.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Walks the dimensions of both sides from major to minor and cuts them where
// they can be cut alike. Each side knows how many elements the dimensions that
// it has opened count together (total), and how many of them have factors
// (covered); total is a multiple of covered. As long as both sides have covered
// the same number, the next factor may be shared.
//
//   12x8 -> 3x32     ([ij, k])->([i, jk]) {i=3, j=4, k=8}
//   4x1 -> 4         ([i, j])->([i]) {i=4, j=1} need_replication={j}
//
// Where a dimension of each side begins at the same place and they have no
// divisor in common, the pieces of the operand's are those of the result's as
// far as they go; neighbours exchange the rest:
//
//   3x5 -> 5x3       ([i, j])->([i, k]) {i=3, j=5, k=3}
//                    need_replication={j, k} permutation={i}
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Rules/RuleFamilies.h"
#include "meshwright/Dialect/Sdy/Rules/ShardingRuleBuilder.h"
#include "meshwright/Dialect/StableHLO/ShapeArithmetic.h"

#include <numeric>

using namespace mlir;
using namespace mlir::sdy;
using namespace mlir::stablehlo;

namespace {
/// One of the two shapes, and how far it is cut.
struct Side {
  ArrayRef<int64_t> shape;
  int64_t dim = 0;
  int64_t total = 1, covered = 1;

  bool isDone() const { return dim == static_cast<int64_t>(shape.size()); }
  bool isBetweenDims() const { return total == covered; }
  bool isAtSizeOne() const {
    return !isDone() && isBetweenDims() && shape[dim] == 1;
  }
  /// What the open dimension still lacks.
  int64_t rest() const { return total / covered; }
  void openDim() {
    if (!isDone() && isBetweenDims())
      total *= shape[dim];
  }
  void closeDim() {
    if (!isDone() && isBetweenDims())
      ++dim;
  }
};
} // namespace

/// The size of a factor of the side that has covered less than the other: up to
/// where that one is, or else up to a common part, or else all.
static int64_t sizeOfPrivateFactor(const Side &side, int64_t otherCovered,
                                   int64_t common) {
  int64_t rest = side.rest();
  if (otherCovered % side.covered == 0 &&
      rest % (otherCovered / side.covered) == 0)
    return otherCovered / side.covered;
  return rest > common ? rest / common : rest;
}

OpShardingRuleAttr mlir::sdy::getRule(ReshapeOp op) {
  auto operandType = cast<ShapedType>(op.getOperand().getType());
  auto resultType = cast<ShapedType>(op->getResult(0).getType());
  // Products of parts of a shape must fit, too.
  if (stablehlo::countElements(operandType).value_or(0) == 0)
    return {};
  ShardingRuleBuilder rule(op);
  Side in{operandType.getShape()}, out{resultType.getShape()};
  auto addIn = [&](int64_t size) {
    rule.add(size, FactorKind::NeedReplication).operand(0, in.dim);
    in.covered *= size;
  };
  auto addOut = [&](int64_t size) {
    rule.add(size, FactorKind::NeedReplication).result(0, out.dim);
    out.covered *= size;
  };
  auto addShared = [&](int64_t inSize, int64_t outSize, FactorKind kind) {
    rule.add(inSize, kind).operand(0, in.dim).result(0, out.dim);
    in.covered *= inSize;
    out.covered *= outSize;
  };
  while (!in.isDone() || !out.isDone()) {
    if (in.isAtSizeOne()) {
      addIn(1);
      ++in.dim;
      continue;
    }
    if (out.isAtSizeOne()) {
      addOut(1);
      ++out.dim;
      continue;
    }
    in.openDim();
    out.openDim();
    int64_t inRest = in.rest(), outRest = out.rest();
    int64_t common = std::gcd(inRest, outRest);
    if (in.covered == out.covered) {
      if (common > 1)
        addShared(common, common, FactorKind::PassThrough);
      else
        addShared(inRest, outRest, FactorKind::Permutation);
    } else if (in.covered < out.covered) {
      addIn(sizeOfPrivateFactor(in, out.covered, common));
    } else {
      addOut(sizeOfPrivateFactor(out, in.covered, common));
    }
    in.closeDim();
    out.closeDim();
  }
  return rule.build();
}
