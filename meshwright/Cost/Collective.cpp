//===- Collective.cpp - Time that data takes between devices --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Rings, as libraries of collectives build them. With n devices, V bytes and a
// speed of b in one direction, an all-gather or reduce-scatter takes
// V (n - 1) / (n b), an all-reduce both after each other. A ring of a torus
// goes both ways at once. docs/cost-model.md has all formulas.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/Collective.h"
#include "meshwright/Cost/TensorBytes.h"
#include "llvm/Support/ErrorHandling.h"
#include <algorithm>

using namespace meshwright;

llvm::StringRef meshwright::getName(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllReduce:
    return "all_reduce";
  case CollectiveKind::AllGather:
    return "all_gather";
  case CollectiveKind::ReduceScatter:
    return "reduce_scatter";
  case CollectiveKind::AllToAll:
    return "all_to_all";
  case CollectiveKind::Permute:
    return "collective_permute";
  }
  llvm_unreachable("not a kind of collective");
}

Route meshwright::getRoute(DeviceRange from, DeviceRange to,
                           const Device &device) {
  auto domain = std::max<int64_t>(1, roundCount(device.domain));
  int64_t first = std::min(from.first, to.first);
  int64_t end = std::max(from.first + from.count, to.first + to.count);
  return first / domain == (end - 1) / domain ? Route::Domain : Route::Network;
}

double meshwright::getSpeed(Route route, const Device &device) {
  double speed = device.link;
  if (device.fabric == Fabric::Switch)
    speed *= device.links;
  if (route == Route::Network)
    speed = device.nic.value_or(speed);
  if (route == Route::Host)
    speed = device.hostBandwidth.value_or(device.memoryBandwidth);
  return speed * device.bandwidthEfficiency;
}

double meshwright::estimateSeconds(const Collective &collective,
                                   const Device &device) {
  double n = collective.participants;
  if (n <= 1)
    return 0;
  bool isFar = n > device.domain && device.fabric != Fabric::Shared;
  bool isRing = device.fabric == Fabric::Torus && !isFar;
  double speed = getSpeed(isFar ? Route::Network : Route::Domain, device);
  double ring = collective.bytes * (n - 1) / (n * speed * (isRing ? 2 : 1));
  double latency = device.latency * (isRing ? n - 1 : 1);
  switch (collective.kind) {
  case CollectiveKind::AllReduce:
    return 2 * (ring + latency);
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
    return ring + latency;
  case CollectiveKind::AllToAll:
    if (isRing)
      return collective.bytes / (8 * speed) + latency;
    return collective.bytes * (n - 1) / (n * n * speed) + latency;
  case CollectiveKind::Permute:
    return collective.bytes / speed + device.latency;
  }
  llvm_unreachable("not a kind of collective");
}

double meshwright::getTransferTime(double deviceBytes, const Device &device,
                                   Route route) {
  if (route == Route::SameDevices)
    return 0;
  return device.latency + deviceBytes / getSpeed(route, device);
}

double meshwright::countTransferBytes(double shardBytes, int64_t senders,
                                      int64_t receivers) {
  double turns = senders > 0 ? double(receivers) / double(senders) : 1;
  return shardBytes * std::max(1.0, turns);
}
