//===- ShardingProjection.cpp - Shardings seen by factors -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Factors/ShardingProjection.h"

#include "meshwright/Dialect/Sdy/AxisAlgebra.h"
#include <numeric>

using namespace mlir;
using namespace mlir::sdy;

//===----------------------------------------------------------------------===//
// From dimensions to factors
//===----------------------------------------------------------------------===//

namespace {

/// The axes of a dimension that no factor has taken yet.
class RemainingAxes {
public:
  RemainingAxes(ArrayRef<AxisRefAttr> axes, MeshAttr mesh)
      : rest(axes), mesh(mesh) {
    advance();
  }

  /// Takes what divides a factor of some size, with the axes of size 1 around
  /// it; what cannot be taken because it does not divide the rest of the factor
  /// overflows.
  void takeForMajorFactor(int64_t size, FactorSharding &factor) {
    while (next) {
      int64_t axisSize = next.getSize(mesh);
      int64_t common = std::gcd(size, axisSize);
      if (common == 1 && axisSize != 1)
        break;
      size /= common;
      if (common == axisSize) {
        factor.axes.push_back(next);
        advance();
        continue;
      }
      auto part = AxisRefAttr::get(next.getContext(), next.getName(),
                                   next.getPreSize(), common);
      factor.axes.push_back(part);
      next = getSuffixAfter(next, part, mesh);
    }
    if (size > 1)
      takeAll(factor.overflowAxes);
  }

  template <typename Axes> void takeAll(Axes &axes) {
    for (; next; advance())
      axes.push_back(next);
  }

private:
  void advance() {
    next = rest.empty() ? AxisRefAttr() : rest.front();
    rest = rest.drop_front(rest.empty() ? 0 : 1);
  }

  AxisRefAttr next;
  ArrayRef<AxisRefAttr> rest;
  MeshAttr mesh;
};

} // namespace

static void projectDim(DimensionShardingAttr dim, DimMappingAttr mapping,
                       OpShardingRuleAttr rule, MeshAttr mesh,
                       ProjectedTensor &tensor) {
  RemainingAxes remaining(dim ? dim.getAxes() : ArrayRef<AxisRefAttr>(), mesh);
  bool isBehindOverflow = false;
  for (int64_t index : mapping.getFactorIndices()) {
    FactorSharding &factor = tensor.factors[index];
    factor.isPresent = true;
    factor.isMinorMost = mapping.isMinorMost(index);
    factor.isClosed = isBehindOverflow || (dim && dim.getIsClosed());
    if (factor.isMinorMost)
      remaining.takeAll(factor.axes);
    else
      remaining.takeForMajorFactor(rule.getFactorSize(index), factor);
    if (isBehindOverflow)
      break;
    isBehindOverflow = !factor.overflowAxes.empty();
  }
}

ProjectedTensor sdy::projectSharding(TensorShardingAttr sharding,
                                     TensorMappingAttr mapping,
                                     OpShardingRuleAttr rule, MeshAttr mesh) {
  ProjectedTensor tensor;
  tensor.factors.resize(rule.getNumFactors());
  for (auto [dim, dimMapping] : llvm::enumerate(mapping.getDimMappings()))
    projectDim(sharding ? sharding.getDimShardings()[dim]
                        : DimensionShardingAttr(),
               dimMapping, rule, mesh, tensor);
  if (sharding) {
    llvm::append_range(tensor.excludedAxes, sharding.getReplicatedAxes());
    llvm::append_range(tensor.excludedAxes, sharding.getUnreducedAxes());
  }
  return tensor;
}

//===----------------------------------------------------------------------===//
// From factors to dimensions
//===----------------------------------------------------------------------===//

/// Axes after a factor that is not split completely would split it further, so
/// they end there.
static SmallVector<AxisRefAttr> composeAxes(const ProjectedTensor &tensor,
                                            DimMappingAttr mapping,
                                            OpShardingRuleAttr rule,
                                            MeshAttr mesh) {
  SmallVector<AxisRefAttr> axes;
  for (int64_t index : mapping.getFactorIndices()) {
    const FactorSharding &factor = tensor.factors[index];
    for (AxisRefAttr axis : factor.axes)
      appendOrMerge(axes, axis, mesh);
    for (AxisRefAttr axis : factor.overflowAxes)
      appendOrMerge(axes, axis, mesh);
    if (!factor.overflowAxes.empty() ||
        getTotalSize(factor.axes, mesh) < rule.getFactorSize(index))
      break;
  }
  return axes;
}

TensorShardingAttr sdy::composeSharding(const ProjectedTensor &tensor,
                                        TensorMappingAttr mapping,
                                        OpShardingRuleAttr rule,
                                        TensorShardingAttr before,
                                        Attribute meshOrRef, MeshAttr mesh) {
  MLIRContext *context = mesh.getContext();
  SmallVector<DimensionShardingAttr> dims;
  for (auto [dim, dimMapping] : llvm::enumerate(mapping.getDimMappings()))
    dims.push_back(DimensionShardingAttr::get(
        context, composeAxes(tensor, dimMapping, rule, mesh),
        before && before.getDimShardings()[dim].getIsClosed()));
  if (!before)
    return TensorShardingAttr::get(context, meshOrRef, dims,
                                   /*replicated_axes=*/{},
                                   /*unreduced_axes=*/{}, ReductionKind::Sum);
  return TensorShardingAttr::get(
      context, meshOrRef, dims, before.getReplicatedAxes(),
      before.getUnreducedAxes(), before.getReductionKind());
}

bool sdy::isStrictExtension(ArrayRef<AxisRefAttr> shorter,
                            ArrayRef<AxisRefAttr> longer) {
  if (shorter.size() > longer.size() || shorter == longer)
    return false;
  if (shorter.empty())
    return true;
  size_t last = shorter.size() - 1;
  return shorter.drop_back() == longer.take_front(last) &&
         isPrefixOf(shorter[last], longer[last]);
}
