//===- ShardingProjectionTest.cpp - Laws of projection --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/AxisAlgebra.h"
#include "meshwright/Dialect/Sdy/Factors/FactorPropagation.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <random>

using namespace mlir;
using namespace mlir::sdy;

namespace {

/// Random shardings of ops that share factors of 12, 8 and 6 in several ways.
class ShardingProjectionTest : public testing::Test {
protected:
  ShardingProjectionTest() {
    context.loadDialect<SdyDialect>();
    mesh = MeshAttr::get(&context, {MeshAxisAttr::get(&context, "x", 4),
                                    MeshAxisAttr::get(&context, "y", 6),
                                    MeshAxisAttr::get(&context, "z", 2)});
    for (ArrayRef<SmallVector<int64_t>> dims : getLayouts())
      mappings.push_back(TensorMappingAttr::get(
          &context, llvm::map_to_vector(dims, [&](ArrayRef<int64_t> factors) {
            return DimMappingAttr::get(&context, factors);
          })));
    rule = OpShardingRuleAttr::get(
        &context, /*factor_sizes=*/{12, 8, 6}, ArrayRef(mappings).drop_back(),
        mappings.back(),
        /*reduction_factors=*/{}, /*need_replication_factors=*/{},
        /*permutation_factors=*/{}, /*blocked_propagation_factors=*/{},
        /*is_custom_rule=*/false);
  }

  static std::vector<std::vector<SmallVector<int64_t>>> getLayouts() {
    return {{{0}, {1}, {2}}, {{0, 1}, {2}}, {{2, 0, 1}}, {{1}}, {{2}, {1, 0}}};
  }

  /// Cuts axes into parts at random and deals them out to the dimensions.
  TensorShardingAttr makeSharding(size_t rank) {
    SmallVector<AxisRefAttr> parts = {axis("x"), axis("z")};
    if (random() % 2)
      parts[0] = AxisRefAttr::get(&context, "x", 1, 2);
    int64_t cut = random() % 2 ? 2 : 3;
    parts.push_back(AxisRefAttr::get(&context, "y", 1, cut));
    parts.push_back(AxisRefAttr::get(&context, "y", cut, 6 / cut));
    std::shuffle(parts.begin(), parts.end(), random);
    SmallVector<SmallVector<AxisRefAttr>> axes(rank);
    for (AxisRefAttr part : parts)
      if (size_t dim = random() % (rank + 1); dim < rank)
        appendOrMerge(axes[dim], part, mesh);
    auto dims = llvm::map_to_vector(axes, [&](ArrayRef<AxisRefAttr> list) {
      return DimensionShardingAttr::get(&context, list, random() % 3 == 0);
    });
    return TensorShardingAttr::get(&context, "mesh", dims);
  }

  AxisRefAttr axis(StringRef name) { return AxisRefAttr::get(&context, name); }

  TensorShardingAttr compose(const ProjectedTensor &tensor, size_t position,
                             TensorShardingAttr before) {
    return composeSharding(tensor, mappings[position], rule, before,
                           FlatSymbolRefAttr::get(&context, "mesh"), mesh);
  }

  /// Projects a random sharding, or none, for each tensor.
  ShardingProjection makeProjection(SmallVector<TensorShardingAttr> &state) {
    ShardingProjection projection;
    for (TensorMappingAttr mapping : mappings) {
      state.push_back(random() % 3 ? makeSharding(mapping.getRank())
                                   : TensorShardingAttr());
      SmallVectorImpl<ProjectedTensor> *side = &projection.operands;
      if (state.size() == mappings.size())
        side = &projection.results;
      side->push_back(projectSharding(state.back(), mapping, rule, mesh));
    }
    return projection;
  }

  static constexpr int kRuns = 500;
  MLIRContext context;
  MeshAttr mesh;
  SmallVector<TensorMappingAttr> mappings;
  OpShardingRuleAttr rule;
  std::mt19937 random{7};
};

static std::string toString(Attribute attr) {
  std::string text;
  llvm::raw_string_ostream(text) << attr;
  return text;
}

TEST_F(ShardingProjectionTest, ComposingUndoesProjecting) {
  for (int run = 0; run < kRuns; ++run)
    for (auto [position, mapping] : llvm::enumerate(mappings)) {
      TensorShardingAttr sharding = makeSharding(mapping.getRank());
      SCOPED_TRACE(toString(sharding) + " for " + toString(mapping));
      auto tensor = projectSharding(sharding, mapping, rule, mesh);
      TensorShardingAttr composed = compose(tensor, position, sharding);
      for (auto [before, after] :
           llvm::zip(sharding.getDimShardings(), composed.getDimShardings()))
        EXPECT_EQ(toString(before), toString(after));
    }
}

TEST_F(ShardingProjectionTest, MissingShardingIsOpenAndHasNoAxes) {
  for (auto [position, mapping] : llvm::enumerate(mappings)) {
    auto tensor = projectSharding({}, mapping, rule, mesh);
    for (auto [index, factor] : llvm::enumerate(tensor.factors)) {
      EXPECT_EQ(factor.isPresent, mapping.containsFactor(index));
      EXPECT_TRUE(factor.axes.empty() && factor.overflowAxes.empty());
      EXPECT_FALSE(factor.isClosed);
    }
    TensorShardingAttr composed = compose(tensor, position, {});
    EXPECT_TRUE(composed.emptyAxes());
    for (DimensionShardingAttr dim : composed.getDimShardings())
      EXPECT_TRUE(dim.isOpen());
  }
}

TEST_F(ShardingProjectionTest, MajorFactorsAreDividedByTheirAxes) {
  for (int run = 0; run < kRuns; ++run)
    for (TensorMappingAttr mapping : mappings) {
      auto tensor =
          projectSharding(makeSharding(mapping.getRank()), mapping, rule, mesh);
      for (auto [index, factor] : llvm::enumerate(tensor.factors))
        if (factor.isPresent && !factor.isMinorMost)
          EXPECT_EQ(rule.getFactorSize(index) % getTotalSize(factor.axes, mesh),
                    0);
    }
}

TEST_F(ShardingProjectionTest, PropagationOnlyAddsAxes) {
  SmallVector<PropagationDirection> both(3, PropagationDirection::BOTH);
  for (auto strategy : {FactorStrategy::Basic, FactorStrategy::Aggressive})
    for (int run = 0; run < kRuns; ++run) {
      SmallVector<TensorShardingAttr> state;
      ShardingProjection before = makeProjection(state), after = before;
      propagateAxes(after, {rule, both}, mesh, strategy);
      auto check = [&](const auto &old, const auto &current) {
        for (auto [a, b] : llvm::zip(old, current))
          for (auto [x, y] : llvm::zip(a.factors, b.factors))
            EXPECT_TRUE(ArrayRef(x.axes) == ArrayRef(y.axes) ||
                        isStrictExtension(x.axes, y.axes));
      };
      check(before.operands, after.operands);
      check(before.results, after.results);
    }
}

TEST_F(ShardingProjectionTest, PropagationUsesNoAxisTwice) {
  SmallVector<PropagationDirection> both(3, PropagationDirection::BOTH);
  for (int run = 0; run < kRuns; ++run) {
    SmallVector<TensorShardingAttr> state;
    ShardingProjection projection = makeProjection(state);
    propagateAxes(projection, {rule, both}, mesh, FactorStrategy::Aggressive);
    for (auto [position, tensor] : llvm::enumerate(projection.operands)) {
      SmallVector<AxisRefAttr> used;
      compose(tensor, position, state[position])
          .forEachAxisRef([&](AxisRefAttr part) {
            for (AxisRefAttr other : used)
              EXPECT_FALSE(overlaps(part, other))
                  << part.toString() << " and " << other.toString();
            used.push_back(part);
          });
    }
  }
}

TEST_F(ShardingProjectionTest, NoDirectionPropagatesNothing) {
  SmallVector<PropagationDirection> none(3, PropagationDirection::NONE);
  for (int run = 0; run < kRuns; ++run) {
    SmallVector<TensorShardingAttr> state;
    ShardingProjection projection = makeProjection(state);
    propagateAxes(projection, {rule, none}, mesh, FactorStrategy::Aggressive);
    for (const auto &tensor : projection.operands)
      EXPECT_FALSE(tensor.isExtended);
  }
}

TEST_F(ShardingProjectionTest, CompatibleAxesDoNotDependOnWhoHasNone) {
  for (int run = 0; run < kRuns; ++run) {
    SmallVector<TensorShardingAttr> state;
    ShardingProjection projection = makeProjection(state);
    for (int64_t factor = 0; factor < 3; ++factor) {
      auto axes =
          getCompatibleAxes(projection, factor, PropagationDirection::BOTH);
      ShardingProjection more = projection;
      more.operands.push_back(projectSharding({}, mappings[0], rule, mesh));
      EXPECT_EQ(axes,
                getCompatibleAxes(more, factor, PropagationDirection::BOTH));
    }
  }
}

} // namespace
