//===- Collective.h - Time that data takes between devices ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_COST_COLLECTIVE_H
#define MESHWRIGHT_COST_COLLECTIVE_H

#include "meshwright/Cost/Device.h"

namespace meshwright {

enum class CollectiveKind {
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  Permute
};

/// `all_reduce` and so on.
llvm::StringRef getName(CollectiveKind kind);

/// Devices of one mesh that exchange parts of an array.
struct Collective {
  CollectiveKind kind = CollectiveKind::AllReduce;
  /// Names of the mesh axes along which they lie; empty if the program lists
  /// devices instead.
  std::vector<std::string> axes;
  int64_t participants = 1;
  /// Of the array that the participants hold together: an all-gather's result,
  /// an all-reduce's operand; of a permute, what each device sends.
  double bytes = 0;
  /// How often it runs, in loops.
  double count = 1;
};

/// Seconds of one run of a collective.
double estimateSeconds(const Collective &collective, const Device &device);

/// What connects two meshes.
enum class Route {
  SameDevices, ///< Nothing moves.
  Domain,      ///< Links of the device.
  Network,     ///< From domain to domain.
  Host,        ///< From device memory to that of the host, or back.
};

/// Devices of a mesh: all of a program lie in a row, mesh by mesh.
struct DeviceRange {
  int64_t first = 0;
  int64_t count = 1;
};

/// What connects two meshes of such devices.
Route getRoute(DeviceRange from, DeviceRange to, const Device &device);

/// Bytes per second in one direction that a device has on the way.
double getSpeed(Route route, const Device &device);

/// Seconds of a transfer in which no device sends or receives more than
/// `deviceBytes`.
double getTransferTime(double deviceBytes, const Device &device,
                       Route route = Route::Domain);

/// The most that a device sends or receives, if each of the receivers gets a
/// part of `shardBytes` and the senders take turns.
double countTransferBytes(double shardBytes, int64_t senders,
                          int64_t receivers);

} // namespace meshwright

#endif
