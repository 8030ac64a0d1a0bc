//===- PropagationLog.cpp - Which axes went where -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Propagation/PropagationLog.h"

#include "meshwright/Dialect/Sdy/AxisAlgebra.h"
#include "meshwright/Dialect/Sdy/Factors/ShardingProjection.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace mlir::sdy;

void PropagationLog::addGroup(unsigned group, unsigned source,
                              ArrayRef<unsigned> members,
                              TensorShardingAttr sharding) {
  PropagationStep step{PropagationStep::Place::Group, group, {source}, 1, {}};
  SmallVector<unsigned, 2> targets;
  for (unsigned member : members)
    if (member != source) {
      targets.push_back(step.slots.size());
      step.slots.push_back(member);
    }
  for (DimensionShardingAttr dim : sharding.getDimShardings())
    for (AxisRefAttr axis : dim.getAxes())
      step.edges.push_back({axis, /*source=*/0, targets});
  steps.push_back(std::move(step));
}

static TensorMappingAttr getMapping(OpShardingRuleAttr rule,
                                    unsigned position) {
  unsigned numOperands = rule.getOperandMappings().size();
  return position < numOperands
             ? rule.getOperandMappings()[position]
             : rule.getResultMappings()[position - numOperands];
}

/// Into how many parts two lists of axes split alike, from the first on.
static int64_t countCommonParts(ArrayRef<AxisRefAttr> a,
                                ArrayRef<AxisRefAttr> b, MeshAttr mesh) {
  auto [first, second] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  int64_t parts = getTotalSize(a.take_front(first - a.begin()), mesh);
  if (first == a.end() || second == b.end())
    return parts;
  AxisRefAttr prefix = getCommonPrefix(*first, *second);
  return prefix ? parts * prefix.getSize(mesh) : parts;
}

/// The factor of a dimension that an axis splits.
static std::optional<int64_t> findFactor(const ProjectedTensor &tensor,
                                         DimMappingAttr mapping,
                                         AxisRefAttr axis) {
  for (int64_t index : mapping.getFactorIndices())
    if (llvm::any_of(tensor.factors[index].axes,
                     [&](AxisRefAttr other) { return overlaps(axis, other); }))
      return index;
  return std::nullopt;
}

/// The first of the tensors, but for the target, whose factor is split most
/// like that of the target is now.
static unsigned findSource(ArrayRef<ProjectedTensor> tensors, unsigned target,
                           int64_t factor, const ProjectedTensor &after,
                           MeshAttr mesh) {
  auto measure = [&](unsigned position) {
    return countCommonParts(tensors[position].factors[factor].axes,
                            after.factors[factor].axes, mesh);
  };
  std::optional<unsigned> source;
  for (unsigned position : llvm::seq<unsigned>(0, tensors.size()))
    if (position != target && (!source || measure(*source) < measure(position)))
      source = position;
  return *source;
}

SmallVector<PropagationEdge>
sdy::getPropagationEdges(OpShardingRuleAttr rule, MeshAttr mesh,
                         ArrayRef<TensorShardingAttr> before,
                         ArrayRef<ShardingChange> changes) {
  SmallVector<ProjectedTensor, 4> tensors;
  for (auto [position, sharding] : llvm::enumerate(before))
    tensors.push_back(
        projectSharding(sharding, getMapping(rule, position), rule, mesh));
  SmallVector<PropagationEdge> edges;
  auto add = [&](AxisRefAttr axis, unsigned source, unsigned target) {
    PropagationEdge *known =
        llvm::find_if(edges, [&](const PropagationEdge &edge) {
          return edge.axis == axis && edge.source == source;
        });
    if (known == edges.end())
      edges.push_back({axis, source, {target}});
    else
      known->targets.push_back(target);
  };
  for (auto [target, sharding] : changes) {
    TensorMappingAttr mapping = getMapping(rule, target);
    ProjectedTensor after = projectSharding(sharding, mapping, rule, mesh);
    for (auto [dim, dimSharding] :
         llvm::enumerate(sharding.getDimShardings())) {
      ArrayRef<AxisRefAttr> had;
      if (before[target])
        had = before[target].getDimShardings()[dim].getAxes();
      for (AxisRefAttr axis : dimSharding.getAxes()) {
        if (llvm::is_contained(had, axis))
          continue;
        std::optional<int64_t> factor =
            findFactor(after, mapping.getDimMappings()[dim], axis);
        if (!factor)
          continue;
        add(axis, findSource(tensors, target, *factor, after, mesh), target);
      }
    }
  }
  auto getRank = [](const PropagationEdge &edge) {
    AxisRefAttr axis = edge.axis;
    SubAxisInfoAttr part = axis.getSubAxisInfo();
    return std::tuple(axis.getName(), axis.getPreSize(),
                      part ? part.getSize() : 0, edge.source);
  };
  llvm::sort(edges, [&](const PropagationEdge &a, const PropagationEdge &b) {
    return getRank(a) < getRank(b);
  });
  return edges;
}
