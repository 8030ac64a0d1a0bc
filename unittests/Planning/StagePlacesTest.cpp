//===- StagePlacesTest.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Planning/StagePlaces.h"
#include "gtest/gtest.h"
#include <deque>
#include <set>

using namespace meshwright;

using Key = std::pair<std::vector<size_t>, std::vector<int64_t>>;

static Key getKey(const StagePlaces &places) {
  return {places.ends, places.placement};
}

TEST(StagePlacesTest, JoinsStagesThatFollowEachOtherOnAMesh) {
  StagePlaces places{{1, 3, 4, 6}, {0, 0, 1, 0}};
  ASSERT_TRUE(normalize(places, 2, 2));
  EXPECT_EQ(getKey(places), Key({3, 4, 6}, {0, 1, 0}));
}

TEST(StagePlacesTest, RefusesEmptyStagesAndMeshes) {
  StagePlaces emptyStage{{1, 1, 3}, {0, 1, 0}};
  EXPECT_FALSE(normalize(emptyStage, 2, 2));
  StagePlaces emptyMesh{{1, 3}, {0, 1}};
  EXPECT_FALSE(normalize(emptyMesh, 3, 2));
  StagePlaces tooMany{{1, 2, 3}, {0, 1, 0}};
  EXPECT_FALSE(normalize(tooMany, 2, 1));
}

/// All cuts and places of this many layers.
static std::set<Key> listAll(size_t layers, int64_t meshes,
                             int64_t mostPerMesh) {
  std::set<Key> all;
  for (size_t cuts = 0; cuts < size_t(1) << (layers - 1); ++cuts) {
    std::vector<size_t> ends;
    for (size_t end = 1; end <= layers; ++end)
      if (end == layers || (cuts >> (end - 1) & 1))
        ends.push_back(end);
    std::vector<int64_t> placement(ends.size());
    while (true) {
      StagePlaces places{ends, placement};
      if (normalize(places, meshes, mostPerMesh))
        all.insert(getKey(places));
      size_t digit = 0;
      while (digit < placement.size() && ++placement[digit] == meshes)
        placement[digit++] = 0;
      if (digit == placement.size())
        break;
    }
  }
  return all;
}

TEST(StagePlacesTest, MovesReachEverythingThereIs) {
  for (auto [layers, meshes, most] :
       {std::tuple<size_t, int64_t, int64_t>(6, 2, 3), {5, 3, 2}, {6, 3, 4}}) {
    std::set<Key> reached;
    std::deque<StagePlaces> open;
    StagePlaces first;
    for (int64_t mesh = 0; mesh < meshes; ++mesh) {
      first.ends.push_back(mesh + 1 == meshes ? layers : mesh + 1);
      first.placement.push_back(mesh);
    }
    reached.insert(getKey(first));
    open.push_back(first);
    std::set<Key> all = listAll(layers, meshes, most);
    while (!open.empty()) {
      StagePlaces places = open.front();
      open.pop_front();
      for (StagePlaces &next : listNeighbours(places, meshes, most)) {
        EXPECT_NE(getKey(next), getKey(places));
        // No neighbour is anything else.
        EXPECT_TRUE(all.count(getKey(next)));
        if (reached.insert(getKey(next)).second)
          open.push_back(std::move(next));
      }
    }
    EXPECT_EQ(reached, all);
  }
}
