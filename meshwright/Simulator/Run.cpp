//===- Run.cpp - One run of a workload ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/Run.h"
#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Simulator/Times.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <functional>
#include <limits>

using namespace meshwright;

Run::Run(const Workload &workload, Simulation &result)
    : workload(workload), result(result) {
  size_t numItems = workload.items.size();
  result.start.assign(numItems, 0);
  result.stop.assign(numItems, 0);
  result.waitedFor.assign(numItems, kNoItem);
  hasTimes.assign(numItems, false);
  linkItems();
  prepareIssue();
  if (workload.linksContend) {
    // Those of the hosts are after those of the meshes.
    lastOut.assign(2 * workload.meshes.size(), kNoItem);
    lastIn.assign(2 * workload.meshes.size(), kNoItem);
    beforeOut.assign(numItems, kNoItem);
    beforeIn.assign(numItems, kNoItem);
  }
}

/// Counts what each item waits for, and lists what waits for it.
void Run::linkItems() {
  size_t numItems = workload.items.size();
  pending.assign(numItems, 0);
  firstConsumer.assign(numItems + 1, 0);
  auto forEachEdge = [&](auto visit) {
    for (uint32_t item = 0; item < numItems; ++item) {
      if (uint32_t before = workload.getAfter(item); before != kNoItem)
        visit(before, item);
      for (uint32_t value : workload.getOperands(item))
        if (uint32_t producer = workload.values[value].producer;
            producer != kNoItem)
          visit(producer, item);
    }
  };
  forEachEdge([&](uint32_t producer, uint32_t item) {
    ++firstConsumer[producer + 1];
    ++pending[item];
  });
  for (size_t i = 0; i < numItems; ++i)
    firstConsumer[i + 1] += firstConsumer[i];
  consumers.resize(firstConsumer.back());
  std::vector<uint32_t> next(firstConsumer.begin(), firstConsumer.end() - 1);
  forEachEdge([&](uint32_t producer, uint32_t item) {
    consumers[next[producer]++] = item;
  });
  position.assign(numItems, kNoItem);
  for (const std::vector<uint32_t> &queue : workload.queues)
    for (auto [index, item] : llvm::enumerate(queue)) {
      position[item] = index;
      pending[item] += index > 0;
    }
}

bool Run::areJoined(uint32_t first, uint32_t second) const {
  const Workload::Activity &a = workload.getActivity(first);
  const Workload::Activity &b = workload.getActivity(second);
  return a.hostWay != HostWay::None && a.hostWay == b.hostWay &&
         a.mesh == b.mesh;
}

void Run::prepareIssue() {
  isJoined.assign(workload.items.size(), false);
  for (auto [before, item] :
       llvm::zip(workload.issueOrder,
                 llvm::ArrayRef(workload.issueOrder)
                     .drop_front(workload.issueOrder.empty() ? 0 : 1)))
    isJoined[item] = areJoined(before, item);
  for (const Workload::Mesh &mesh : workload.meshes)
    if (mesh.issuer >= issuers.size())
      issuers.resize(mesh.issuer + 1);
  for (uint32_t item : workload.issueOrder) {
    const Workload::Activity &activity = workload.getActivity(item);
    uint32_t target = workload.meshes[activity.mesh].issuer;
    uint32_t source = workload.meshes[activity.source].issuer;
    issuers[target].items.push_back(item);
    ++pending[item];
    if (source == target)
      continue;
    issuers[source].items.push_back(item);
    ++pending[item];
  }
}

llvm::ArrayRef<uint32_t> Run::getConsumers(uint32_t item) const {
  return llvm::ArrayRef(consumers).slice(
      firstConsumer[item], firstConsumer[item + 1] - firstConsumer[item]);
}

uint32_t Run::getPrevious(uint32_t item) const {
  uint32_t index = position[item];
  if (index == kNoItem || index == 0)
    return kNoItem;
  return workload.queues[workload.getActivity(item).mesh][index - 1];
}

uint32_t Run::getAwaited(uint32_t item) const {
  return workload.getActivity(item).isTransfer() ? kNoItem
                                                 : workload.getAfter(item);
}

uint32_t Run::getGate(uint32_t item) const {
  uint32_t index = position[item];
  if (index == kNoItem || index < workload.depth)
    return kNoItem;
  return workload
      .queues[workload.getActivity(item).mesh][index - workload.depth];
}

/// One of the things that `item` waits for is there at `time`.
void Run::dropFrom(uint32_t item, Ticks time, uint32_t cause) {
  if (time > result.start[item]) {
    result.start[item] = time;
    result.waitedFor[item] = cause;
  }
  if (--pending[item] == 0)
    stack.push_back(item);
}

void Run::addToOrder(uint32_t item, uint32_t issuer) {
  order.push_back(item);
  if (!workload.issueOrder.empty())
    orderIssuers.push_back(issuer);
}

/// Issues what can be: the thread stops where it waits for a run that has not
/// got its times yet.
void Run::issue(uint32_t number) {
  Issuer &issuer = issuers[number];
  while (issuer.next < issuer.items.size()) {
    uint32_t item = issuer.items[issuer.next];
    for (uint32_t gate : {getGate(item), getAwaited(item)}) {
      if (gate == kNoItem)
        continue;
      if (!hasTimes[gate])
        return;
      if (result.stop[gate] > issuer.clock) {
        issuer.clock = result.stop[gate];
        issuer.gate = gate;
      }
    }
    ++issuer.next;
    addCount(issuer.clock, getIssueCost(item));
    addToOrder(item, number);
    dropFrom(item, issuer.clock, issuer.gate);
  }
}

/// `item` starts when it can: tells everyone who waits for its end.
void Run::setTimes(uint32_t item) {
  const Workload::Activity &activity = workload.getActivity(item);
  Ticks stop = result.start[item];
  addCount(stop, activity.duration);
  addCount(stop, activity.latency);
  result.stop[item] = stop;
  hasTimes[item] = true;
  addToOrder(item, kNoItem);
  for (uint32_t consumer : getConsumers(item))
    dropFrom(consumer, stop, item);
  if (!activity.isTransfer()) {
    const std::vector<uint32_t> &queue = workload.queues[activity.mesh];
    if (position[item] + 1 < queue.size())
      dropFrom(queue[position[item] + 1], stop, item);
  } else if (activity.hostWay != HostWay::There) {
    return;
  }
  // Its thread may have waited for it.
  if (!workload.issueOrder.empty())
    issue(workload.meshes[activity.mesh].issuer);
}

/// Sets the times of everything that does not depend on a transfer which has not started.
void Run::settle() {
  while (!stack.empty()) {
    uint32_t item = stack.back();
    stack.pop_back();
    if (!workload.linksContend || !workload.getActivity(item).isTransfer()) {
      setTimes(item);
      continue;
    }
    requests.emplace_back(result.start[item], item);
    std::push_heap(requests.begin(), requests.end(), std::greater<>());
  }
}

void Run::takeLinks(uint32_t item) {
  const Workload::Activity &activity = workload.getActivity(item);
  auto queueBehind = [&](uint32_t &last, uint32_t &before) {
    before = last;
    last = item;
    if (before == kNoItem)
      return;
    Ticks free = result.stop[before] - workload.getActivity(before).latency;
    if (free > result.start[item]) {
      result.start[item] = free;
      result.waitedFor[item] = before;
    }
  };
  uint32_t numMeshes = workload.meshes.size();
  switch (activity.hostWay) {
  case HostWay::None:
    queueBehind(lastOut[activity.source], beforeOut[item]);
    queueBehind(lastIn[activity.mesh], beforeIn[item]);
    return;
  case HostWay::There:
    return queueBehind(lastOut[numMeshes + activity.source], beforeOut[item]);
  case HostWay::Back:
    return queueBehind(lastIn[numMeshes + activity.mesh], beforeIn[item]);
  }
}

/// Names what takes the most of a step that ends later than can be counted.
static llvm::Error explainLength(const Workload &workload) {
  std::string longest = "to issue an item";
  Ticks most = workload.issueCost;
  for (const Workload::Activity &activity : workload.activities) {
    Ticks time = activity.duration;
    addCount(time, activity.latency);
    if (time > most) {
      most = time;
      longest = activity.name;
    }
  }
  constexpr double kMost =
      static_cast<double>(std::numeric_limits<Ticks>::max());
  return llvm::createStringError(
      llvm::formatv("the step takes longer than {0:F0} s, beyond which times "
                    "are not counted; each time, {1} takes {2}",
                    kMost / kTicksPerSecond, longest, toDuration(most)));
}

/// Leaves their memory to what follows: there may be ten million.
void Run::forgetLinks() {
  for (std::vector<uint32_t> *links : {&firstConsumer, &consumers, &pending})
    std::vector<uint32_t>().swap(*links);
}

llvm::Error Run::run() {
  size_t numItems = workload.items.size();
  size_t numSteps = numItems + workload.issueOrder.size();
  order.reserve(numSteps);
  orderIssuers.reserve(workload.issueOrder.empty() ? 0 : numSteps);
  for (uint32_t item = numItems; item-- > 0;)
    if (pending[item] == 0)
      stack.push_back(item);
  if (!workload.issueOrder.empty())
    for (uint32_t number = 0; number < issuers.size(); ++number)
      issue(number);
  settle();
  while (!requests.empty()) {
    std::pop_heap(requests.begin(), requests.end(), std::greater<>());
    uint32_t item = requests.back().second;
    requests.pop_back();
    takeLinks(item);
    setTimes(item);
    settle();
  }
  if (llvm::count(hasTimes, true) != static_cast<ptrdiff_t>(numItems))
    return explainDeadlock();
  forgetLinks();
  for (Ticks stop : result.stop)
    result.makespan = std::max(result.makespan, stop);
  // Dates that reach it have been cut off, so that slack means nothing.
  if (result.makespan == std::numeric_limits<Ticks>::max())
    return explainLength(workload);
  return llvm::Error::success();
}

void Run::findSlack() {
  std::vector<Ticks> lateIssue(issuers.size(),
                               std::numeric_limits<Ticks>::max());
  // Until an item's turn, when it has to end at the latest.
  result.slack.assign(workload.items.size(), result.makespan);
  auto mustEnd = [&](uint32_t item, Ticks time) {
    if (item != kNoItem)
      result.slack[item] = std::min(result.slack[item], time);
  };
  auto mustLeave = [&](uint32_t before, Ticks time) {
    if (before != kNoItem)
      mustEnd(before, time + workload.getActivity(before).latency);
  };
  for (size_t step = order.size(); step-- > 0;) {
    uint32_t item = order[step];
    uint32_t issuer = orderIssuers.empty() ? kNoItem : orderIssuers[step];
    if (issuer != kNoItem) {
      Ticks latest = result.start[item] + result.slack[item];
      Ticks &next = lateIssue[issuer];
      latest = std::min(latest, next) - getIssueCost(item);
      next = latest;
      mustEnd(getGate(item), latest);
      mustEnd(getAwaited(item), latest);
      continue;
    }
    const Workload::Activity &activity = workload.getActivity(item);
    Ticks latest = result.slack[item] - activity.duration - activity.latency;
    result.slack[item] = latest - result.start[item];
    for (uint32_t value : workload.getOperands(item))
      mustEnd(workload.values[value].producer, latest);
    mustEnd(workload.getAfter(item), latest);
    mustEnd(getPrevious(item), latest);
    if (workload.linksContend && activity.isTransfer()) {
      mustLeave(beforeOut[item], latest);
      mustLeave(beforeIn[item], latest);
    }
  }
}
