//===- MeshSetTest.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The laws of mesh sets, over all sets of a small universe: every ordered
// selection of three meshes and the wildcard, with labels, and the set that is
// not specified.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Import/MeshSets/MeshSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
class MeshSetTest : public testing::Test {
protected:
  MeshSetTest() { context.loadDialect<MpmdDialect>(); }

  MeshWithOriginsAttr entry(StringRef mesh, ArrayRef<StringRef> labels = {}) {
    SmallVector<OriginAttr> origins;
    for (StringRef label : labels)
      origins.push_back(
          OriginAttr::get(&context, StringAttr::get(&context, label)));
    return MeshWithOriginsAttr::get(&context, mesh, origins);
  }

  MeshSet set(ArrayRef<MeshWithOriginsAttr> entries) {
    return MeshSet(MeshesWithOriginsAttr::get(&context, entries));
  }

  /// The unspecified set and all ordered selections of the entries below.
  SmallVector<MeshSet> universe() {
    SmallVector<MeshWithOriginsAttr> entries = {entry("m1", {"a"}),
                                                entry("m10", {"b", "c"}),
                                                entry("m2"), entry("*", {"w"})};
    SmallVector<MeshSet> sets = {MeshSet()};
    SmallVector<MeshWithOriginsAttr> chosen;
    auto extend = [&](auto &self) -> void {
      sets.push_back(set(chosen));
      for (MeshWithOriginsAttr next : entries) {
        if (llvm::is_contained(chosen, next))
          continue;
        chosen.push_back(next);
        self(self);
        chosen.pop_back();
      }
    };
    extend(extend);
    return sets;
  }

  static std::string text(MeshSet set) {
    std::string result = "unspecified";
    if (!set.isSpecified())
      return result;
    result.clear();
    llvm::raw_string_ostream os(result);
    os << set.getAttr();
    return result;
  }

  static llvm::StringSet<> names(MeshSet set) {
    llvm::StringSet<> result;
    for (MeshWithOriginsAttr mesh : set.getMeshes())
      result.insert(mesh.getMeshName());
    return result;
  }

  MLIRContext context;
};
} // namespace

#define EXPECT_SAME(a, b) EXPECT_EQ(text(a), text(b))

TEST_F(MeshSetTest, ReadingMergesRepeatedMeshesAndMovesTheWildcardBack) {
  EXPECT_SAME(set({entry("*", {"w"}), entry("m2", {"a"}), entry("m1"),
                   entry("m2", {"b", "a"})}),
              set({entry("m2", {"a", "b"}), entry("m1"), entry("*", {"w"})}));
}

TEST_F(MeshSetTest, UnionHasUnspecifiedAsNeutralElement) {
  for (MeshSet a : universe()) {
    SCOPED_TRACE(text(a));
    EXPECT_SAME(unite(a, MeshSet()), a);
    if (!a.getWildcard())
      EXPECT_SAME(unite(MeshSet(), a), a);
    else
      EXPECT_FALSE(unite(MeshSet(), a).getWildcard());
  }
}

TEST_F(MeshSetTest, UnionOfManyIsThatOfOneAfterTheOther) {
  EXPECT_SAME(uniteAll({}), MeshSet());
  SmallVector<MeshSet> all = universe();
  for (MeshSet a : all)
    for (MeshSet b : all)
      for (MeshSet c : all)
        EXPECT_TRUE(uniteAll({a, b, c}) ==
                    unite(unite(unite(MeshSet(), a), b), c))
            << text(a) << ", " << text(b) << " and " << text(c);
}

TEST_F(MeshSetTest, IntersectionHasUnspecifiedAsNeutralElement) {
  for (MeshSet a : universe()) {
    SCOPED_TRACE(text(a));
    EXPECT_SAME(intersect(a, MeshSet()), a);
    EXPECT_SAME(intersect(MeshSet(), a), a);
  }
}

TEST_F(MeshSetTest, BothOperationsAreIdempotent) {
  for (MeshSet a : universe()) {
    SCOPED_TRACE(text(a));
    EXPECT_SAME(unite(a, a), a);
    EXPECT_SAME(intersect(a, a), a);
  }
}

TEST_F(MeshSetTest, BothOperationsCommuteUpToOrderAndLabels) {
  for (MeshSet a : universe())
    for (MeshSet b : universe()) {
      if (!a.isSpecified() || !b.isSpecified())
        continue;
      SCOPED_TRACE(text(a) + " and " + text(b));
      EXPECT_TRUE(haveSameMeshes(unite(a, b), unite(b, a)));
      EXPECT_TRUE(haveSameMeshes(intersect(a, b), intersect(b, a)));
    }
}

TEST_F(MeshSetTest, ResultsContainExactlyTheMeshesTheySay) {
  for (MeshSet a : universe())
    for (MeshSet b : universe()) {
      if (!a.isSpecified() || !b.isSpecified())
        continue;
      SCOPED_TRACE(text(a) + " and " + text(b));
      for (StringRef mesh : {"m1", "m10", "m2"}) {
        EXPECT_EQ(names(unite(a, b)).contains(mesh),
                  names(a).contains(mesh) || names(b).contains(mesh));
        // Meshes that no set lists are not invented, so one side has to list it.
        bool isListed = names(a).contains(mesh) || names(b).contains(mesh);
        EXPECT_EQ(names(intersect(a, b)).contains(mesh),
                  isListed && a.contains(mesh) && b.contains(mesh));
      }
    }
}

TEST_F(MeshSetTest, UnionKeepsTheFirstSetAsPrefix) {
  for (MeshSet a : universe())
    for (MeshSet b : universe()) {
      SCOPED_TRACE(text(a) + " and " + text(b));
      ArrayRef<MeshWithOriginsAttr> all = unite(a, b).getMeshes();
      for (auto [mine, theirs] : llvm::zip(a.getMeshes(), all))
        EXPECT_EQ(mine.getMeshName(), theirs.getMeshName());
    }
}

TEST_F(MeshSetTest, IntersectionKeepsTheOrderOfTheFirstSet) {
  EXPECT_SAME(intersect(set({entry("m2", {"a"}), entry("m1", {"b"})}),
                        set({entry("m1", {"c", "b"}), entry("m2", {"d"})})),
              set({entry("m2", {"a", "d"}), entry("m1", {"b", "c"})}));
}

TEST_F(MeshSetTest, WildcardLetsMeshesOfTheOtherSidePassWithItsLabels) {
  MeshSet any = set({entry("m1", {"a"}), entry("*", {"w"})});
  MeshSet two = set({entry("m2", {"b"}), entry("m1", {"c"})});
  EXPECT_SAME(intersect(two, any),
              set({entry("m2", {"b", "w"}), entry("m1", {"c", "a"})}));
  EXPECT_SAME(intersect(any, two),
              set({entry("m1", {"a", "c"}), entry("m2", {"b", "w"})}));
  EXPECT_TRUE(intersect(any, any).getWildcard());
}

TEST_F(MeshSetTest, UnionAddsLabelsInOrderOfFirstInsertion) {
  EXPECT_SAME(unite(set({entry("m1", {"b", "a"})}),
                    set({entry("m1", {"a", "c", "b"})})),
              set({entry("m1", {"b", "a", "c"})}));
}

TEST_F(MeshSetTest, SameMeshesCountsUnspecifiedAsEmpty) {
  EXPECT_TRUE(haveSameMeshes(MeshSet(), MeshSet::getEmpty(&context)));
  EXPECT_FALSE(haveSameMeshes(MeshSet(), MeshSet::get(&context, "m1")));
}

TEST_F(MeshSetTest, SubsetAgreesWithIntersection) {
  for (MeshSet a : universe())
    for (MeshSet b : universe()) {
      if (!a.isSpecified() || a.getWildcard())
        continue;
      SCOPED_TRACE(text(a) + " in " + text(b));
      EXPECT_EQ(isSubset(a, b), haveSameMeshes(intersect(a, b), a));
    }
}

TEST_F(MeshSetTest, PriorityIsSmallestNameInStringOrder) {
  MeshSet all = set({entry("m2"), entry("m10"), entry("m3")});
  EXPECT_EQ(prioritize(all), "m10");
  EXPECT_EQ(prioritize(all, set({entry("m3"), entry("m2")})), "m2");
  EXPECT_EQ(prioritize(all, set({entry("m4")})), "m10");
  EXPECT_EQ(prioritize(MeshSet::getEmpty(&context), all), std::nullopt);
}

TEST_F(MeshSetTest, PriorityAvoidsMeshesOfBroadcasts) {
  MeshSet all = set({entry("m1", {"broadcast_in"}), entry("m2"), entry("m3")});
  EXPECT_EQ(prioritize(all), "m2");
  EXPECT_EQ(prioritize(all, set({entry("m1"), entry("m3")})), "m3");
  EXPECT_EQ(prioritize(all, set({entry("m1")})), "m1");
}

TEST_F(MeshSetTest, PriorityTakesAnyPreferredMeshFromAWildcard) {
  MeshSet any = set({entry("m1"), entry("*", {"w"})});
  EXPECT_EQ(prioritize(any, set({entry("m9"), entry("m8")})), "m8");
  EXPECT_EQ(prioritize(any), "m1");
}

TEST_F(MeshSetTest, PriorityDoesNotDependOnOrder) {
  for (MeshSet a : universe())
    for (MeshSet b : universe())
      if (a.isSpecified() && haveSameMeshes(a, b))
        EXPECT_EQ(prioritize(a), prioritize(b)) << text(a) << text(b);
}

TEST_F(MeshSetTest, RelabelKeepsMeshesAndOrder) {
  EXPECT_SAME(relabel(set({entry("m2", {"a", "b"}), entry("m1")}), "in"),
              set({entry("m2", {"in"}), entry("m1", {"in"})}));
}
