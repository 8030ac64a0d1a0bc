//===- StagePlaces.cpp - Cuts of a line of layers, with meshes ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Planning/StagePlaces.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace meshwright;

/// How far a cut goes in one move, in layers.
static constexpr size_t kLongestMove = 4;

bool meshwright::normalize(StagePlaces &places, int64_t meshes,
                           int64_t mostPerMesh) {
  StagePlaces joined;
  llvm::SmallVector<int64_t> counts(meshes);
  size_t begin = 0;
  for (auto [end, mesh] : llvm::zip_equal(places.ends, places.placement)) {
    if (end <= begin)
      return false;
    begin = end;
    if (!joined.placement.empty() && joined.placement.back() == mesh) {
      joined.ends.back() = end;
      continue;
    }
    joined.ends.push_back(end);
    joined.placement.push_back(mesh);
    ++counts[mesh];
  }
  places = std::move(joined);
  return llvm::all_of(counts, [&](int64_t count) {
    return count >= 1 && count <= mostPerMesh;
  });
}

namespace {
class Neighbours {
public:
  Neighbours(const StagePlaces &from, int64_t meshes, int64_t mostPerMesh)
      : from(from), meshes(meshes), mostPerMesh(mostPerMesh) {}

  std::vector<StagePlaces> list() {
    moveCuts();
    place();
    swap();
    join();
    divide();
    return std::move(found);
  }

private:
  void add(StagePlaces places) {
    if (normalize(places, meshes, mostPerMesh) && !(places == from))
      found.push_back(std::move(places));
  }
  size_t countStages() const { return from.ends.size(); }

  /// A range of cuts that goes up gives a layer of the stage after it to the one
  /// before, and those between keep their number of layers.
  void moveCuts() {
    for (size_t length = 1; length < countStages(); ++length)
      for (size_t first = 0; first + length < countStages(); ++first)
        for (size_t by = 1; by <= (length == 1 ? kLongestMove : 1); ++by)
          for (bool isUp : {false, true}) {
            StagePlaces places = from;
            // Below zero, an unsigned end is beyond all others, and is refused.
            for (size_t &end :
                 llvm::MutableArrayRef(places.ends).slice(first, length))
              end = isUp ? end + by : end - by;
            if (places.ends[first + length - 1] < from.ends.back())
              add(std::move(places));
          }
  }
  void place() {
    for (size_t stage = 0; stage < countStages(); ++stage)
      for (int64_t mesh = 0; mesh < meshes; ++mesh) {
        StagePlaces places = from;
        places.placement[stage] = mesh;
        add(std::move(places));
      }
  }
  void swap() {
    for (size_t one = 0; one < countStages(); ++one)
      for (size_t other = one + 1; other < countStages(); ++other) {
        StagePlaces places = from;
        std::swap(places.placement[one], places.placement[other]);
        add(std::move(places));
      }
  }
  void join() {
    for (size_t stage = 0; stage + 1 < countStages(); ++stage)
      for (size_t kept : {stage, stage + 1}) {
        StagePlaces places = from;
        places.placement[stage] = places.placement[stage + 1] =
            from.placement[kept];
        add(std::move(places));
      }
  }
  void divide() {
    for (size_t stage = 0; stage < countStages(); ++stage) {
      size_t begin = from.getBegin(stage), end = from.ends[stage];
      // At one layer from either side, or in the middle.
      llvm::SmallVector<size_t, 3> cuts{begin + 1, begin + (end - begin) / 2,
                                        end - 1};
      cuts.erase(llvm::unique(cuts), cuts.end());
      for (size_t cut : cuts)
        for (int64_t mesh = 0; mesh < meshes && cut > begin && cut < end;
             ++mesh)
          for (bool isFirst : {true, false}) {
            StagePlaces places = from;
            places.ends.insert(places.ends.begin() + stage, cut);
            places.placement.insert(
                places.placement.begin() + stage + (isFirst ? 0 : 1), mesh);
            add(std::move(places));
          }
    }
  }

  const StagePlaces &from;
  int64_t meshes, mostPerMesh;
  std::vector<StagePlaces> found;
};
} // namespace

std::vector<StagePlaces> meshwright::listNeighbours(const StagePlaces &from,
                                                    int64_t meshes,
                                                    int64_t mostPerMesh) {
  return Neighbours(from, meshes, mostPerMesh).list();
}
