//===- Drawing.h - What a drawing of a run shows ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Bars on meshes, with times, and what each of them waited for; the same for a
// simulated program, a plan and a recorded run. Whatever is read becomes a
// Drawing, and whatever is written is made of one.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DRAW_DRAWING_H
#define MESHWRIGHT_DRAW_DRAWING_H

#include "meshwright/Simulator/Workload.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace meshwright {

inline constexpr unsigned kNumItemKinds = 8;

/// How a kind is marked: by a colour, and without colours by a letter and a
/// pattern of the page.
struct BarStyle {
  llvm::StringLiteral text;   ///< For people.
  llvm::StringLiteral letter; ///< In bars and in text.
  llvm::StringLiteral colour; ///< Black letters on it can be read.
  llvm::StringLiteral later;  ///< Of a mesh's second, fourth … stage.
  int terminal;               ///< The nearest of a terminal's 256 colours.
};
const BarStyle &getStyle(ItemKind kind);
/// By the name that simulations have in JSON.
std::optional<ItemKind> parseItemKind(llvm::StringRef name);

/// Texts by number, each once.
class NameTable {
public:
  uint32_t add(llvm::StringRef text) {
    auto [entry, isNew] = ids.try_emplace(text, texts.size());
    if (isNew)
      texts.push_back(text.str());
    return entry->second;
  }
  const std::string &get(uint32_t id) const { return texts[id]; }
  llvm::ArrayRef<std::string> getAll() const { return texts; }

private:
  llvm::StringMap<uint32_t> ids;
  std::vector<std::string> texts;
};

struct Drawing {
  static constexpr uint32_t kNone = ~uint32_t(0);
  /// What is drawn takes no time or at least this: with it, and figures up to
  /// kLargestNumber, one can reckon without an infinity.
  static constexpr double kLeastTime = 1e-18;

  struct Bar {
    ItemKind kind = ItemKind::Other;
    uint32_t mesh = 0;   ///< Of a transfer, where the value goes.
    uint32_t source = 0; ///< Of a transfer, where it comes from.
    uint32_t name = 0;
    uint32_t origins = 0; ///< In `names`: separated by ", ".
    int32_t stage = -1;
    int32_t microbatch = -1;
    double start = 0, stop = 0;
    double bytes = 0;
    double slack = 0;

    bool isTransfer() const {
      return kind == ItemKind::Transfer || kind == ItemKind::Collective;
    }
    double getTime() const { return stop - start; }
  };

  struct Share {
    std::string what;
    double bytes;
  };
  struct Level {
    double time;
    double amount;
  };
  struct Mesh {
    std::string name;
    std::string tower; ///< Of its stages, if they are no chain; else empty.
    double busy = 0;
    double bubble = 0;
    double peak = 0;
    std::vector<Share> shares; ///< What makes up the peak.
    std::vector<Level> levels; ///< From each time on; may be empty.

    std::string getLabel() const {
      return tower.empty() ? name : tower + " " + name;
    }
  };

  struct Edge {
    uint32_t source, target;
    double bytes = 0;
    int64_t transfers = 0;
    double busy = 0;
    double slack = 0;
  };

  /// A fragment whose runs took another time than was simulated, or that only
  /// one of the two has.
  struct Difference {
    uint32_t name, mesh;
    ItemKind kind;
    int64_t simulatedRuns = 0, recordedRuns = 0;
    double simulated = 0, recorded = 0; ///< All runs together.
  };

  std::string title;
  /// Seconds, or units of a plan.
  bool inSeconds = true;
  /// What `Mesh::peak` counts: bytes on each device, or live microbatches.
  bool inBytes = true;
  double makespan = 0;
  double bubble = 0;
  std::optional<double> utilization;
  NameTable names;
  std::vector<Mesh> meshes;
  std::vector<Edge> edges;
  std::vector<Bar> bars;
  /// What bar i waited for: `waits[firstWait[i]]` to before `firstWait[i + 1]`.
  std::vector<uint32_t> firstWait = {0};
  std::vector<uint32_t> waits;
  std::vector<uint32_t> criticalPath;

  // A run that was recorded, if there is one:
  std::vector<Bar> recorded;
  /// For each recorded bar the simulated one, or kNone.
  std::vector<uint32_t> partners;
  std::vector<Difference> differences; ///< The largest first.
  double recordedMakespan = 0;

  llvm::ArrayRef<uint32_t> getWaits(uint32_t bar) const {
    return llvm::ArrayRef(waits).slice(firstWait[bar],
                                       firstWait[bar + 1] - firstWait[bar]);
  }
  /// Adds to what the next bar waited for, unless it is there.
  void addWait(uint32_t bar) {
    if (!llvm::is_contained(llvm::ArrayRef(waits).drop_front(firstWait.back()),
                            bar))
      waits.push_back(bar);
  }
  /// Ends the list of what a bar waited for.
  void endWaits() { firstWait.push_back(waits.size()); }

  /// `0.25 s`, `12 µs`, or units as they are.
  std::string printTime(double time) const;
  /// `1.5 GiB`, or a count.
  std::string printAmount(double amount) const;
  /// `F3`; where meshes have several stages `5F3`.
  std::string getLabel(const Bar &bar) const;
  bool hasSeveralStages() const;

  // For what was not simulated; both need times, `makespan` and `waits`.
  /// By how much each bar could be later: the least of those that wait for it.
  /// What comes from another mesh comes `transfer` later.
  void findSlack(double transfer);
  /// Reads off the origins of bars, `vision_stage0(1)`, whose towers are where.
  void findTowers();
  /// From the last bar to end backwards, each time to what ended last of what
  /// a bar waited for.
  void findCriticalPath();

  /// `makespan 0.25 s, bubble 12.5%, recorded 0.27 s`.
  std::string summarize() const;
};

/// `1.5 GiB`.
std::string printBytes(double bytes);

} // namespace meshwright

#endif
