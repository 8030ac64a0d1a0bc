//===- Simulation.h - When everything runs, and what it takes ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A mesh runs its queue in order, each item as soon as it has been issued and
// its operands are there. One thread for each process issues items in their
// order, each for a moment, and waits while a mesh has `depth` runs that have
// not ended. Transfers run beside; each needs the way out of its source and the
// way into its target for itself, first come, first served.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SIMULATOR_SIMULATION_H
#define MESHWRIGHT_SIMULATOR_SIMULATION_H

#include "meshwright/Simulator/Workload.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace meshwright {

struct Simulation {
  /// A part of what a mesh holds, such as the results of one fragment.
  struct Share {
    std::string what;
    int64_t bytes;
  };
  /// From this time on a mesh holds this many bytes on each device.
  struct Level {
    Ticks time;
    int64_t bytes;
  };
  struct Mesh {
    Ticks busy = 0;
    /// The part of the makespan in which it idles.
    double bubble = 0;
    Ticks firstStart = 0, lastStop = 0;
    int64_t peakBytes = 0; ///< On each device.
    Ticks peakTime = 0;
    std::vector<Share> peak;   ///< What it holds then, the largest first.
    std::vector<Level> levels; ///< Empty unless asked for.
  };
  /// All transfers from one mesh to another, or between a mesh and its host.
  struct Edge {
    uint32_t source, target;
    HostWay hostWay = HostWay::None;
    int64_t bytes = 0;
    int64_t transfers = 0;
    Ticks busy = 0;
    /// The smallest slack of them.
    Ticks slack = 0;
  };
  /// An item of the critical path.
  struct PathItem {
    uint32_t item;
    uint32_t activity;
    int32_t microbatch; ///< -1 if none.
    Ticks start, stop;
  };

  // For each item:
  std::vector<Ticks> start, stop;
  /// By how much it could be later, all orders kept, with the same makespan.
  std::vector<Ticks> slack;
  /// The item whose end or place in a queue let it start; none for the first.
  std::vector<uint32_t> waitedFor;

  Ticks makespan = 0;
  std::vector<Mesh> meshes;
  std::vector<Edge> edges; ///< By source, target and host way.
  /// Items, the first one first, each of which could start when the one before
  /// ended (or, where the issuing thread is late, had been issued).
  std::vector<PathItem> criticalPath;
  /// FLOPs, as a part of what all devices could have done in the makespan.
  /// Negative if unknown.
  double utilization = -1;

  /// The idle part of the makespan, all meshes together.
  double getBubble() const;
};

/// The names of the two ends of an edge. That of the memory of a host is `m1#pinned_host`.
std::pair<std::string, std::string> getEndNames(const Workload &workload,
                                                const Simulation::Edge &edge);

/// Runs a workload. Fails if meshes wait for each other, naming meshes and
/// items of the cycle, or if it takes longer than can be counted. Takes O(n log n) time for n items and operands.
llvm::Expected<Simulation> simulate(const Workload &workload,
                                    bool withLevels = false);

/// Writes a simulation as JSON, `items` and `memory` only if asked for:
///
///   {"version": 1, "makespan_s": 0.25, "bubble": 0.1, "utilization": 0.4,
///    "meshes": {"m1": {"busy_s": 0.2, "bubble": 0.2, "peak_bytes": 4096,
///                      "peak_s": 0.11,
///                      "peak": [{"what": "arguments", "bytes": 4096}],
///                      "memory": [[0, 4096]]}},
///    "edges": [{"source": "m1", "target": "m2", "bytes": 64, "transfers": 1,
///               "busy_s": 0.01, "slack_s": 0}],
///    "collectives": [{"mesh": "m1", "axes": "x", "kind": "all_reduce",
///                     "count": 2, "bytes": 128, "busy_s": 0.01}],
///    "critical_path": [{"item": 0, "mesh": "m1", "kind": "forward",
///                       "name": "p0_enc", "microbatch": 0, "start_s": 0,
///                       "end_s": 0.1}],
///    "items": [{"mesh": "m1", "source": "m1", "kind": "forward",
///               "name": "p0_enc", "origins": ["enc"], "stage": 0,
///               "microbatch": 0, "start_s": 0, "end_s": 0.1, "bytes": 0,
///               "slack_s": 0, "waits_for": []}]}
///
/// `kind` is that of ItemKind; `stage`, `microbatch` and `utilization` are null
/// if there is none. `waits_for` are the items whose results it reads and the
/// one before it on its mesh or link; the first of them ended last.
/// `critical_path` and `waits_for` count items from 0. An item of a program
/// has the position that it has in schedule.json.
void writeJson(const Workload &workload, const Simulation &simulation,
               llvm::raw_ostream &os, bool withItems = false);

/// Prints a table of the meshes, the edges, and what would make it shorter.
void printTable(const Workload &workload, const Simulation &simulation,
                llvm::raw_ostream &os);

} // namespace meshwright

#endif
