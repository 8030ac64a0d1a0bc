//===- TextSimulator.h - Programs as texts, simulated -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// For those who do not link MLIR: Python. Only the standard library is in this
// interface.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SIMULATOR_TEXTSIMULATOR_H
#define MESHWRIGHT_SIMULATOR_TEXTSIMULATOR_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace meshwright {

struct SimulationRequest {
  std::string_view program; ///< A partitioned module, as text or bytecode.
  std::string device;       ///< A name or a file.
  std::string profile;      ///< JSON; empty if there is none.
  std::vector<std::string> costs;
  unsigned processes = 1;
  std::string compiled = {}; ///< JSON (Cost/CompiledMetrics.h), or empty.
  /// Else overlapped pairs are simulated as their two parts, one after the other.
  bool overlaps = true;
};

struct SimulationResult {
  bool succeeded = false;
  std::string json;  ///< With items and memory over time.
  std::string table; ///< For people.
  std::vector<std::string> notes;
  std::string error;
};

SimulationResult simulateText(const SimulationRequest &request);

struct TextRequest;

/// The same of a program that is partitioned first, whose text is not made: of a large one,
/// few microbatches are, as its request allows for (Partitioner/TextPartitioner.h). The
/// other request has no program.
SimulationResult simulatePartitioning(const SimulationRequest &request,
                                      TextRequest partitioning);

/// The short form of a recording, both as JSON (Cost/Profile.h); none, and an error,
/// if the text is no recording.
std::optional<std::string> makeProfile(const std::string &recording,
                                       std::string &error);

/// The devices that come with Meshwright: Cost/devices.json.
std::string getDevicesAsJson();

/// Bytes of its memory in which a device keeps an array with elements of a number of
/// bits, in an order of dimensions from major to minor, if there is one; none, and an
/// error, for an unknown device.
std::optional<int64_t> countArrayBytes(const std::string &device, int64_t bits,
                                       const std::vector<int64_t> &shape,
                                       const std::vector<int64_t> &order,
                                       std::string &error);

} // namespace meshwright

#endif
