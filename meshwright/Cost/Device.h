//===- Device.h - What a device can do --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The figures of devices.json, which is a part of the library, or of a user's
// file of the same form. docs/cost-model.md has the keys and where the
// figures come from.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_COST_DEVICE_H
#define MESHWRIGHT_COST_DEVICE_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace meshwright {

/// How the devices of a domain are connected.
enum class Fabric {
  Switch, ///< Every pair at full speed.
  Torus,  ///< Neighbours, in two or three dimensions.
  Shared, ///< One memory.
};

/// How exactly a product of f32 is computed: `precision_config` of StableHLO.
enum class MatrixPrecision { Default, High, Highest };

/// How a device pads arrays: the two minor dimensions to tiles of words, of which
/// each has as many elements of a column as fit. Few rows make a smaller tile, of a
/// power of two.
struct Tiling {
  int64_t rows = 1, columns = 1; ///< The most of a tile.
  int64_t wordBits = 8;
};

/// Figures of one device. Speeds are per second, sizes in bytes.
struct Device {
  std::string name;
  std::optional<double> bf16, tf32, f32; ///< Dense operations.
  /// Of elements of 8 bits; where there is no unit for them, as bf16.
  std::optional<double> int8, fp8;
  double memory = 0, memoryBandwidth = 0;
  double link = 0; ///< One link, in one direction.
  double links = 1;
  Fabric fabric = Fabric::Switch;
  double domain = 1; ///< Devices that these links connect.
  std::optional<double> nic, hostBandwidth;
  double latency = 0; ///< Of a transfer, in seconds.
  double launch = 0;  ///< Of a kernel, in seconds.
  double flopsEfficiency = 1, bandwidthEfficiency = 1;
  std::optional<Tiling> tiling; ///< None keeps arrays dense.
  /// Memory of the chip that its compiler keeps values in, in bytes.
  std::optional<double> onChip;
  /// Bytes at multiples of which temporaries begin; none counts them one by one.
  std::optional<double> alignment;
  /// Places of temporaries for each argument and result, for the tables of what is
  /// copied to the chip and back.
  std::optional<double> tables;
  /// Of a GPU, among which its compiler divides a product.
  std::optional<double> cores;
  /// How many parts of a sum that compiler likes (SplitProducts.cpp); none splits no
  /// product.
  std::optional<double> splits;
  std::string source;

  /// Operations per second that a matrix product of such elements reaches.
  double
  getMatrixSpeed(mlir::Type element,
                 MatrixPrecision precision = MatrixPrecision::Default) const;
  /// The same for all that is no matrix product.
  double getVectorSpeed() const;
  /// Bytes per second from and to its own memory.
  double getMemorySpeed() const;
};

/// The devices that come with Meshwright, in the order of the file.
const std::vector<Device> &getDevices();

/// The JSON that they come from, with what is not for the cost model.
llvm::StringRef getDevicesText();

/// Reads a file of devices. The error says where in the text what is wrong.
llvm::Expected<std::vector<Device>> parseDevices(llvm::StringRef text);

/// The device of a name, or of a file: `FILE.json` with a single device in it,
/// or `FILE.json#NAME`. The error lists what is known, and the nearest.
llvm::Expected<Device> findDevice(llvm::StringRef nameOrFile);

} // namespace meshwright

#endif
