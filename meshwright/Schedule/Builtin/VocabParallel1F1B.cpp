//===- VocabParallel1F1B.cpp - 1F1B with the vocabulary on all meshes -----===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// With a large vocabulary, the head takes as long as several layers, and the last
// mesh of a pipeline is the slowest. Cut over all meshes along the vocabulary, each
// has a part, which is a unit of its own. S computes logits, their maximum and sum; T
// needs those of all parts, and gives the gradients. The embedding is cut alike: E
// gives its part of the vectors, G takes their gradient.
//
//   mesh 0 | F0 F1 F2 S0 T0 F3 S1 T1 B0 ...
//   mesh 1 | .  F0 F1 S0 T0 F2 S1 T1 B0 ...
//
// The order is that of a block, the actions of one microbatch on all meshes, which
// is repeated for each microbatch after the time that a mesh needs for one. In
// that time each mesh has one action of each kind, in the same cyclic order
// F S T B E G from its F on, so that no two blocks meet. Each action begins at its
// first such time after its inputs:
//
//   S  in the time of a microbatch after F of the last mesh
//   T  in the time of a microbatch after the last S, and so B of the last mesh
//
// Invariant: from F to B of a mesh go as many times of a microbatch as in 1F1B and
// one more for each of the two waits, so mesh m of N keeps N - m + 2 microbatches.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Builtin/BuiltinSchedules.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <array>
#include <tuple>

using namespace meshwright;

namespace {
/// What a mesh does for a microbatch, in cyclic order, and for how long. The order
/// of the lists hardly depends on it.
struct Part {
  ActionKind kind;
  int64_t duration;
};

constexpr std::array<Part, 6> kParts = {{{ActionKind::Forward, 4},
                                         {ActionKind::Head, 2},
                                         {ActionKind::HeadBackward, 4},
                                         {ActionKind::Backward, 8},
                                         {ActionKind::Embedding, 1},
                                         {ActionKind::EmbeddingBackward, 1}}};
enum { F, S, T, B, E, G };

/// How long F of a mesh waits for that of the mesh before to be sent. With that, no
/// mesh waits once the pipeline is full, for parts of the head that take from a twelfth
/// of F to twice as long.
constexpr int64_t kHop = 3;

/// When the actions of microbatch 0 begin.
class Block {
public:
  Block(int64_t meshes, bool hasEmbedding);

  int64_t getStart(size_t part, int64_t mesh) const {
    return starts[mesh][part];
  }
  /// After which the next microbatch does the same.
  int64_t getInterval() const { return interval; }

private:
  /// The first time from `ready` on that a mesh has for an action.
  int64_t findFrom(int64_t ready, size_t part, int64_t mesh) const;
  /// Places an action on all meshes; gives the end of the last one.
  int64_t placeOnAll(int64_t ready, size_t part);
  int64_t getEnd(size_t part, int64_t mesh) const {
    return starts[mesh][part] + kParts[part].duration;
  }

  std::vector<std::array<int64_t, kParts.size()>> starts;
  std::array<int64_t, kParts.size()> offsets{}; ///< From F of the mesh.
  int64_t interval = 0;
};
} // namespace

int64_t Block::findFrom(int64_t ready, size_t part, int64_t mesh) const {
  int64_t wanted = starts[mesh][F] + offsets[part];
  // The remainder of what may be negative.
  int64_t wait = ((wanted - ready) % interval + interval) % interval;
  return ready + wait;
}

int64_t Block::placeOnAll(int64_t ready, size_t part) {
  int64_t end = ready;
  for (int64_t mesh = 0; mesh < static_cast<int64_t>(starts.size()); ++mesh) {
    starts[mesh][part] = findFrom(ready, part, mesh);
    end = std::max(end, getEnd(part, mesh));
  }
  return end;
}

Block::Block(int64_t meshes, bool hasEmbedding) : starts(meshes) {
  for (size_t part = F; part <= (hasEmbedding ? G : B); ++part) {
    offsets[part] = interval;
    interval += kParts[part].duration;
  }
  for (int64_t mesh = 0; mesh < meshes; ++mesh)
    starts[mesh][F] = mesh * (kParts[F].duration + kHop);
  int64_t ready = placeOnAll(getEnd(F, meshes - 1), S);
  ready = placeOnAll(ready, T);
  for (int64_t mesh = meshes - 1; mesh >= 0; --mesh) {
    starts[mesh][B] = findFrom(ready, B, mesh);
    ready = getEnd(B, mesh);
  }
  if (!hasEmbedding)
    return;
  placeOnAll(ready, G);
  // The last time at which it ends before the first F begins.
  placeOnAll(starts[0][F] - kParts[E].duration - interval + 1, E);
}

static llvm::Expected<Plan> makeVocabParallel1F1BPlan(const PlanShape &shape) {
  // The chain, then the parts of the head, then those of the embedding.
  constexpr std::array<int64_t, kParts.size()> kChunks = {0, 1, 1, 0, 2, 2};
  Block block(shape.meshes, /*hasEmbedding=*/shape.chunks == 3);
  Plan plan;
  for (int64_t mesh = 0; mesh < shape.meshes; ++mesh) {
    std::vector<std::tuple<int64_t, size_t, Action>> timed;
    for (size_t part = F; part < kParts.size(); ++part)
      for (int64_t m = 0;
           kChunks[part] < shape.chunks && m < shape.microbatches; ++m)
        timed.push_back(
            {block.getStart(part, mesh) + m * block.getInterval(),
             part,
             {kChunks[part] * shape.meshes + mesh, kParts[part].kind, m}});
    llvm::sort(timed, [](const auto &a, const auto &b) {
      return std::tie(std::get<0>(a), std::get<1>(a)) <
             std::tie(std::get<0>(b), std::get<1>(b));
    });
    ActionList &list = plan.meshes.emplace_back();
    for (const auto &[time, part, action] : timed)
      list.push_back(action);
  }
  return plan;
}

const Schedule meshwright::kVocabParallel1F1B =
    Schedule{
        "VocabParallel1F1B", "VOCAB_PARALLEL_1F1B",
        "1F1B with head and embedding cut over all meshes along the vocabulary",
        "Yeung et al., Balancing Pipeline Parallelism with Vocabulary "
        "Parallelism, "
        "arXiv:2411.05288",
        makeVocabParallel1F1BPlan}
        .withChunks(/*usual=*/2, /*fewest=*/2, /*most=*/3);
