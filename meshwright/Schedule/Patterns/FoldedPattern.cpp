//===- FoldedPattern.cpp - One pattern on a folded pipeline ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Patterns/FoldedPattern.h"
#include "llvm/ADT/STLExtras.h"
#include <array>

using namespace meshwright;

/// Forward, gradient of the input and of the weights, of two stages.
static constexpr int64_t kPeriod = 6;

namespace {
/// When the passes of the first microbatch reach a mesh.
struct Passes {
  int64_t forwardDown, forwardUp, gradientDown, gradientUp;

  std::array<int64_t, 4> list() const {
    return {forwardDown, forwardUp, gradientDown, gradientUp};
  }
};

/// When each pass begins, the first one at 0.
struct Beginning {
  int64_t forwardUp, gradientDown, gradientUp;
};

class Pattern {
public:
  Pattern(int64_t meshes, const FoldedLatencies &latencies)
      : meshes(meshes), latencies(latencies), beginning(findBeginning()) {}

  ActionList list(int64_t mesh, int64_t microbatches) const;

private:
  Passes getPasses(int64_t mesh, const Beginning &beginning) const {
    int64_t back = meshes - 1 - mesh;
    return {latencies.forwardDown * mesh,
            beginning.forwardUp + latencies.forwardUp * back,
            beginning.gradientDown + latencies.gradientDown * mesh,
            beginning.gradientUp + latencies.gradientUp * back};
  }
  bool isFree(const Beginning &beginning) const;
  Beginning findBeginning() const;

  int64_t meshes;
  FoldedLatencies latencies;
  Beginning beginning;
};
} // namespace

/// Whether no two passes fall together on a mesh, whatever the microbatch.
bool Pattern::isFree(const Beginning &beginning) const {
  // What a mesh sees depends on its number modulo the period.
  for (int64_t mesh = 0; mesh < std::min(meshes, kPeriod); ++mesh) {
    std::array<int64_t, 4> passes = getPasses(mesh, beginning).list();
    for (size_t i = 0; i < passes.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if ((passes[i] - passes[j]) % kPeriod == 0)
          return false;
  }
  return true;
}

/// The earliest: each pass begins after the one before, with less than a
/// period between.
Beginning Pattern::findBeginning() const {
  int64_t last = meshes - 1;
  Beginning earliest{};
  int64_t best = -1;
  for (int64_t waits = 0; waits < kPeriod * kPeriod * kPeriod; ++waits) {
    Beginning at;
    at.forwardUp = latencies.forwardDown * last + 1 + waits % kPeriod;
    at.gradientDown = at.forwardUp + latencies.forwardUp * last + 1 +
                      waits / kPeriod % kPeriod;
    at.gradientUp = at.gradientDown + latencies.gradientDown * last + 1 +
                    waits / kPeriod / kPeriod;
    if ((best < 0 || at.gradientUp < best) && isFree(at)) {
      best = at.gradientUp;
      earliest = at;
    }
  }
  return earliest;
}

/// The first time after `after` that falls into `slot`.
static int64_t findNext(int64_t after, int64_t slot) {
  return after + 1 + ((slot - after - 1) % kPeriod + kPeriod) % kPeriod;
}

ActionList Pattern::list(int64_t mesh, int64_t microbatches) const {
  Passes passes = getPasses(mesh, beginning);
  std::array<bool, kPeriod> taken{};
  for (int64_t pass : passes.list())
    taken[pass % kPeriod] = true;
  // The gradients of weights have the two slots that are left, either way.
  llvm::SmallVector<int64_t, 2> slots;
  for (int64_t slot = 0; slot < kPeriod; ++slot)
    if (!taken[slot])
      slots.push_back(slot);
  int64_t down = mesh, up = 2 * meshes - 1 - mesh;
  int64_t straight = findNext(passes.gradientUp, slots[0]) +
                     findNext(passes.gradientDown, slots[1]);
  int64_t crossed = findNext(passes.gradientUp, slots[1]) +
                    findNext(passes.gradientDown, slots[0]);
  if (crossed < straight)
    std::swap(slots[0], slots[1]);
  struct Slot {
    int64_t time;
    int64_t stage;
    ActionKind kind;
  };
  const Slot pattern[] = {
      {passes.forwardDown, down, ActionKind::Forward},
      {passes.forwardUp, up, ActionKind::Forward},
      {passes.gradientDown, up, ActionKind::Input},
      {passes.gradientUp, down, ActionKind::Input},
      {findNext(passes.gradientUp, slots[0]), down, ActionKind::Weight},
      {findNext(passes.gradientDown, slots[1]), up, ActionKind::Weight}};
  std::vector<std::pair<int64_t, Action>> timed;
  for (int64_t microbatch = 0; microbatch < microbatches; ++microbatch)
    for (const Slot &slot : pattern)
      timed.push_back({microbatch * kPeriod + slot.time,
                       {slot.stage, slot.kind, microbatch}});
  llvm::sort(timed,
             [](const auto &a, const auto &b) { return a.first < b.first; });
  ActionList list;
  for (const auto &[time, action] : timed)
    list.push_back(action);
  return list;
}

Plan meshwright::repeatFoldedPattern(const PlanShape &shape,
                                     const FoldedLatencies &latencies) {
  Pattern pattern(shape.meshes, latencies);
  Plan plan;
  for (int64_t mesh = 0; mesh < shape.meshes; ++mesh)
    plan.meshes.push_back(pattern.list(mesh, shape.microbatches));
  return plan;
}
