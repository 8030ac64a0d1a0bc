//===- Run.h - One run of a workload ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What an item waits for is known before it runs, except for links: these are
// first come, first served. So an item gets its times as soon as all it waits for is, and
// of the transfers that could start, the earliest is taken: nothing that is
// timed later asks before it. Only transfers go through a heap.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SIMULATOR_RUN_H
#define MESHWRIGHT_SIMULATOR_RUN_H

#include "meshwright/Simulator/Simulation.h"

namespace meshwright {

class Run {
public:
  Run(const Workload &workload, Simulation &result);

  /// Sets the times of all items. Fails if some wait for each other, or the last one ends
  /// later than can be counted.
  llvm::Error run();
  /// By how much each item could be later. After `run`.
  void findSlack();

private:
  struct Issuer {
    std::vector<uint32_t> items;
    size_t next = 0;
    Ticks clock = 0;
    /// The run whose end the thread last waited for, if any.
    uint32_t gate = kNoItem;
  };
  void linkItems();
  void addToOrder(uint32_t item, uint32_t issuer);
  void forgetLinks();
  void prepareIssue();
  void dropFrom(uint32_t item, Ticks time, uint32_t cause);
  void issue(uint32_t issuer);
  void setTimes(uint32_t item);
  void settle();
  void takeLinks(uint32_t item);
  /// Whether two items are issued as one: copies between a mesh and its host.
  bool areJoined(uint32_t first, uint32_t second) const;
  Ticks getIssueCost(uint32_t item) const {
    return isJoined[item] ? 0 : workload.issueCost;
  }
  /// The run that must have ended before the thread issues `item`, if any.
  uint32_t getGate(uint32_t item) const;
  /// What the thread waits for before it issues a run; kNoItem if nothing.
  uint32_t getAwaited(uint32_t item) const;
  uint32_t getPrevious(uint32_t item) const;
  llvm::ArrayRef<uint32_t> getConsumers(uint32_t item) const;
  /// What an item that never ran waits for.
  uint32_t findMissing(uint32_t item) const;
  std::string describe(uint32_t item) const;
  llvm::Error explainDeadlock() const;

  const Workload &workload;
  Simulation &result;
  std::vector<uint32_t> firstConsumer, consumers;
  std::vector<uint32_t> position; ///< In the queue of its mesh.
  std::vector<uint32_t> pending;  ///< How much an item still waits for.
  std::vector<bool> hasTimes;
  std::vector<uint32_t> stack; ///< Items that wait for nothing any more.
  std::vector<std::pair<Ticks, uint32_t>> requests; ///< A heap.
  std::vector<Issuer> issuers;
  std::vector<bool> isJoined; ///< Issued with the item before it.
  /// Items as they got their times, or were issued by a thread.
  std::vector<uint32_t> order;
  /// For each of these the thread, kNoItem if it is none. Empty if none issues.
  std::vector<uint32_t> orderIssuers;
  /// The last transfer out of each mesh and into it, and to and from its host; and for
  /// each transfer the ones before it.
  std::vector<uint32_t> lastOut, lastIn, beforeOut, beforeIn;
};

/// What each mesh holds when. After the run.
void accountMemory(const Workload &workload, Simulation &simulation,
                   bool withLevels);

} // namespace meshwright

#endif
