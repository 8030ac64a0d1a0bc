//===- Workload.h - What meshes have to do ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Items (runs of fragments, and transfers) that read values and make values, a
// queue for each mesh, and what runs and transfers cost. Whatever items have in
// common is in their activity, so that an item is eight bytes, and a value
// sixteen: a pipeline of 512 meshes and 4,096 microbatches has eight and ten million
// of them.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SIMULATOR_WORKLOAD_H
#define MESHWRIGHT_SIMULATOR_WORKLOAD_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace meshwright {

/// Picoseconds, or any unit of one's choice: sums and maxima stay exact.
using Ticks = int64_t;
inline constexpr double kTicksPerSecond = 1e12;

inline constexpr uint32_t kNoItem = std::numeric_limits<uint32_t>::max();

enum class ItemKind : uint8_t {
  Forward,
  Backward, ///< As a whole, or the half that another stage waits for.
  Weight,   ///< The other half.
  Optimizer,
  Transfer,
  Collective, ///< Resharding within a mesh.
  Other,
  Overlapped, ///< A forward and a backward as one program.
};

/// Whether a transfer leaves the memory of its mesh's devices for that of their host, or
/// comes back. A device has a link for each of the two.
enum class HostWay : uint8_t { None, There, Back };

/// `forward`, `backward`, and so on.
llvm::StringRef getName(ItemKind kind);

struct Workload {
  struct Mesh {
    std::string name;
    /// The thread that issues its items: one for each process.
    uint32_t issuer = 0;
    int64_t devices = 1;
    int64_t codeBytes = 0; ///< On each device, of its fragments; 0 if unknown.
  };

  /// What items have in common.
  struct Activity {
    ItemKind kind = ItemKind::Other;
    HostWay hostWay = HostWay::None;
    /// The mesh that runs it; of a transfer, where the value goes.
    uint32_t mesh = 0;
    uint32_t source = 0; ///< Of a transfer; the same as `mesh` for others.
    int32_t stage = -1;  ///< -1 if none.
    std::string name;    ///< Of the fragment; of a transfer `m1 -> m2`.
    std::vector<std::string> origins;
    /// How long the mesh is busy; of a transfer, the links.
    Ticks duration = 0;
    Ticks exchanging = 0; ///< Of a run: what of that its collectives take.
    /// Of a transfer: from the moment the last byte leaves until it is there.
    Ticks latency = 0;
    int64_t bytes = 0; ///< Of a transfer, all devices together.
    /// On each device, while it runs, beside operands and results.
    int64_t temporaryBytes = 0;
    /// Of all devices, without what is done again to save memory.
    double flops = 0;

    bool isTransfer() const {
      return kind == ItemKind::Transfer || kind == ItemKind::Collective;
    }
  };

  struct Item {
    uint32_t activity;
    int32_t microbatch; ///< -1 if none.
  };

  struct Value {
    int64_t bytes;      ///< On each device of its mesh; on the host, none.
    uint32_t producer;  ///< An item; none for what is there from the start.
    uint32_t mesh : 31; ///< That holds it.
    bool isKept : 1;    ///< To the end: outputs, and inputs not given up.
  };

  /// What becomes of an operand's buffer, if it is read for the last time.
  static constexpr uint32_t kRead = kNoItem; ///< Goes when the item ends.
  static constexpr uint32_t kGivenUp = kNoItem - 1; ///< Goes when it starts.
  // Any other number: the value that takes the buffer over.

  /// Collectives inside the fragments of a mesh, all runs together.
  struct Traffic {
    uint32_t mesh;
    std::string axes; ///< `x`, or `x, y`; `listed` where the program lists
                      ///< devices.
    std::string kind; ///< `all_reduce` and so on.
    double count = 0;
    double bytes = 0; ///< Of the arrays that the participants hold together.
    double seconds = 0;
  };

  std::vector<Mesh> meshes;
  std::vector<Activity> activities;
  std::vector<Item> items;
  std::vector<Value> values;
  /// Operands of item i: `operands[firstOperand[i]]` to before
  /// `operands[firstOperand[i + 1]]`.
  std::vector<uint32_t> firstOperand = {0};
  std::vector<uint32_t> operands;
  /// For each operand; empty if all are only read.
  std::vector<uint32_t> fates;
  /// For each item, the one that has to end before it starts, beside those that make what
  /// it reads and the one before it in its queue; kNoItem if none. Empty if none has one.
  /// The thread waits for that of a run, and issues nothing meanwhile.
  std::vector<uint32_t> after;
  /// What each mesh runs, in order; transfers are in none.
  std::vector<std::vector<uint32_t>> queues;
  /// All items in the order of issue, which keeps that of the queues. Empty if
  /// issuing takes no time and queues take whatever comes.
  std::vector<uint32_t> issueOrder;

  std::vector<Traffic> traffic; ///< By mesh, axes and kind.

  // How items are issued, and what the devices can do.
  uint32_t depth = 32;  ///< Runs that a mesh takes before the next one waits.
  Ticks issueCost = 0;  ///< Of an item, of its thread.
  double peakFlops = 0; ///< Of a device, per second; 0 if unknown.
  bool linksContend = true; ///< Else each transfer has links of its own.

  const Activity &getActivity(uint32_t item) const {
    return activities[items[item].activity];
  }
  llvm::ArrayRef<uint32_t> getOperands(uint32_t item) const {
    return llvm::ArrayRef(operands).slice(
        firstOperand[item], firstOperand[item + 1] - firstOperand[item]);
  }
  uint32_t getAfter(uint32_t item) const {
    return after.empty() ? kNoItem : after[item];
  }
  uint32_t getFate(uint32_t operand) const {
    return fates.empty() ? kRead : fates[operand];
  }

  /// Adds an item that reads `reads`; the order of a queue is that of the
  /// calls.
  uint32_t addItem(uint32_t activity, int32_t microbatch,
                   llvm::ArrayRef<uint32_t> reads);
  uint32_t addValue(uint32_t mesh, uint32_t producer, int64_t bytes,
                    bool isKept = false);
};

} // namespace meshwright

#endif
