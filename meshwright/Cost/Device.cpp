//===- Device.cpp - What a device can do ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/Device.h"
#include "meshwright/Text/NearestName.h"
#include "meshwright/Text/NumberLimits.h"
#include "meshwright/Text/PlainJson.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

using namespace meshwright;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kShipped =
#include "meshwright/Cost/Devices.inc"
    ;

/// Units of a TPU that are not its matrix unit, as a part of that one's speed.
static constexpr double kVectorPart = 0.03;
/// Products of bf16 that make one of f32 where there is no unit for it.
static constexpr double kPassesHigh = 3, kPassesHighest = 6;

double Device::getMatrixSpeed(mlir::Type element,
                              MatrixPrecision precision) const {
  bool isFloat = mlir::isa<mlir::FloatType>(element);
  unsigned bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
  double speed = f32.value_or(bf16.value_or(0));
  if (bits <= 8)
    speed = (isFloat ? fp8 : int8).value_or(bf16.value_or(speed));
  else if (isFloat && bits <= 16)
    speed = bf16.value_or(speed);
  else if (!element.isF32())
    speed = f32.value_or(bf16.value_or(0) / kPassesHighest);
  else if (precision == MatrixPrecision::Default)
    speed = tf32.value_or(speed);
  else if (!f32 && bf16)
    speed = *bf16 /
            (precision == MatrixPrecision::High ? kPassesHigh : kPassesHighest);
  return speed * flopsEfficiency;
}

double Device::getVectorSpeed() const {
  return f32.value_or(bf16.value_or(0) * kVectorPart) * flopsEfficiency;
}

double Device::getMemorySpeed() const {
  return memoryBandwidth * bandwidthEfficiency;
}

/// Beyond these a figure is an error, and times might be no numbers.
static constexpr double kLeast = 1e-9, kMost = kMaxNumber;
/// Of a tile, so that no size of an array is beyond what can be counted.
static constexpr int64_t kMostOfTile = 1 << 16;
static constexpr llvm::StringLiteral kRange =
    "expected a number that a device has, from 1e-9 to 1e30";

namespace {
/// Reads the keys of one device. Keys that were not asked for are unknown.
class DeviceReader {
public:
  DeviceReader(const json::Object &object, json::Path path)
      : object(object), path(path) {}

  /// A positive number; `least` is 0 where nothing is a number as well.
  bool read(llvm::StringRef key, double &number, bool mayBeNothing = false) {
    known.push_back(key);
    const json::Value *value = object.get(key);
    std::optional<double> found =
        value ? value->getAsNumber() : std::optional<double>();
    if (!found || *found < 0)
      return fail(key, "expected a number");
    if (*found == 0 && !mayBeNothing)
      return fail(key, "expected a number above 0");
    if (*found > kMost || (!mayBeNothing && *found < kLeast))
      return fail(key, kRange);
    number = *found;
    return true;
  }

  bool readOptional(llvm::StringRef key, std::optional<double> &number) {
    known.push_back(key);
    const json::Value *value = object.get(key);
    if (!value || value->getAsNull())
      return true;
    number = value->getAsNumber();
    if (!number || *number <= 0)
      return fail(key, "expected a number above 0, or null");
    if (*number > kMost || *number < kLeast)
      return fail(key, kRange);
    return true;
  }

  bool readPart(llvm::StringRef key, double &number) {
    return read(key, number) &&
           (number <= 1 || fail(key, "expected a part of what is possible, a "
                                     "number above 0 and up to 1"));
  }

  bool readFabric(llvm::StringRef key, Fabric &fabric) {
    known.push_back(key);
    auto text = object.getString(key);
    std::optional<Fabric> found =
        llvm::StringSwitch<std::optional<Fabric>>(text.value_or(""))
            .Case("switch", Fabric::Switch)
            .Cases({"torus2d", "torus3d"}, Fabric::Torus)
            .Case("shared", Fabric::Shared)
            .Default(std::nullopt);
    if (!found)
      return fail(key, "expected \"switch\", \"torus2d\", \"torus3d\" or "
                       "\"shared\"");
    fabric = *found;
    return true;
  }

  bool readTiling(llvm::StringRef key, std::optional<Tiling> &tiling) {
    known.push_back(key);
    const json::Value *value = object.get(key);
    if (!value || value->getAsNull())
      return true;
    const json::Object *found = value->getAsObject();
    if (!found)
      return fail(key,
                  "expected an object with the rows, columns and word_bits "
                  "of a tile, or null");
    DeviceReader reader(*found, path.field(key));
    tiling.emplace();
    return reader.readPower("rows", tiling->rows) &&
           reader.readPower("columns", tiling->columns) &&
           reader.readPower("word_bits", tiling->wordBits) && reader.finish();
  }

  bool readPower(llvm::StringRef key, int64_t &number) {
    known.push_back(key);
    std::optional<int64_t> found = object.getInteger(key);
    if (!found || *found > kMostOfTile || !llvm::isPowerOf2_64(*found))
      return fail(key, "expected a power of two up to 65536");
    number = *found;
    return true;
  }

  bool finish() {
    // What XLA's compiler asks of a GPU is for Python (aot/gpus.py), but the cores.
    known.append({"source", "xla"});
    for (const auto &[key, value] : object)
      if (!llvm::is_contained(known, llvm::StringRef(key)))
        return fail(key, "unknown key");
    return true;
  }

  bool fail(llvm::StringRef key, llvm::StringLiteral message) {
    return failAt(path.field(key), message);
  }

private:
  const json::Object &object;
  json::Path path;
  llvm::SmallVector<llvm::StringRef> known;
};
} // namespace

static bool readDevice(const json::Value &value, Device &device,
                       json::Path path) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return failAt(path, "expected an object with the figures of a device");
  DeviceReader reader(*object, path);
  bool ok = reader.readOptional("bf16", device.bf16) &&
            reader.readOptional("f32_matmul_tf32", device.tf32) &&
            reader.readOptional("f32", device.f32) &&
            reader.readOptional("int8", device.int8) &&
            reader.readOptional("fp8", device.fp8) &&
            reader.read("hbm", device.memory) &&
            reader.read("hbm_bw", device.memoryBandwidth) &&
            reader.read("link", device.link) &&
            reader.read("links", device.links) &&
            reader.readFabric("topology", device.fabric) &&
            reader.read("domain", device.domain) &&
            reader.readOptional("nic", device.nic) &&
            reader.readOptional("host_bw", device.hostBandwidth) &&
            reader.read("latency_s", device.latency, true) &&
            reader.read("launch_s", device.launch, true) &&
            reader.readPart("eff_flops", device.flopsEfficiency) &&
            reader.readPart("eff_bw", device.bandwidthEfficiency) &&
            reader.readTiling("tiles", device.tiling) &&
            reader.readOptional("on_chip", device.onChip) &&
            reader.readOptional("alignment", device.alignment) &&
            reader.readOptional("tables", device.tables) &&
            reader.readOptional("splits", device.splits) && reader.finish();
  if (ok && !device.bf16 && !device.f32)
    return reader.fail("f32", "expected a number here or for \"bf16\"");
  device.source = object->getString("source").value_or("").str();
  if (const json::Object *xla = object->getObject("xla"))
    if (std::optional<double> cores = xla->getNumber("core_count");
        cores && *cores >= 1)
      device.cores = cores;
  return ok;
}

static bool readDevices(const json::Value &value, std::vector<Device> &devices,
                        json::Path path) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return failAt(path, "expected an object, from names to devices");
  for (const auto &[key, entry] : *object) {
    if (llvm::StringRef(key).starts_with("_"))
      continue;
    Device &device = devices.emplace_back();
    device.name = key.str();
    if (!readDevice(entry, device, path.field(key)))
      return false;
  }
  return true;
}

llvm::Expected<std::vector<Device>>
meshwright::parseDevices(llvm::StringRef text) {
  auto devices = readPlainJson(text, "devices", readDevices);
  if (!devices)
    return devices;
  if (devices->empty())
    return llvm::createStringError(
        "there is no device in it; expected one at least");
  // An object of LLVM's has lost the order of the file.
  llvm::sort(*devices, [&](const Device &a, const Device &b) {
    return text.find("\"" + a.name + "\"") < text.find("\"" + b.name + "\"");
  });
  return devices;
}

llvm::StringRef meshwright::getDevicesText() { return kShipped; }

const std::vector<Device> &meshwright::getDevices() {
  static const std::vector<Device> devices =
      llvm::cantFail(parseDevices(kShipped));
  return devices;
}

/// The one of that name; of a single one also without a name.
static llvm::Expected<Device> choose(const std::vector<Device> &devices,
                                     llvm::StringRef name,
                                     const llvm::Twine &where) {
  if (name.empty() && devices.size() == 1)
    return devices.front();
  std::vector<llvm::StringRef> known;
  for (const Device &device : devices) {
    if (device.name == name)
      return device;
    known.push_back(device.name);
  }
  if (name.empty())
    return llvm::createStringError(where + ": which of its devices? Write " +
                                   "FILE.json#NAME; " + listKnown(name, known));
  return llvm::createStringError(where + "unknown device \"" + name + "\", " +
                                 listKnown(name, known));
}

llvm::Expected<Device> meshwright::findDevice(llvm::StringRef nameOrFile) {
  auto [path, name] = nameOrFile.rsplit('#');
  if (!path.ends_with(".json")) {
    llvm::Expected<Device> found = choose(getDevices(), nameOrFile, "");
    if (found)
      return found;
    return llvm::createStringError(
        llvm::toString(found.takeError()) +
        "; figures of others go into a file, --device FILE.json");
  }
  llvm::Expected<std::vector<Device>> devices = parseFile(path, parseDevices);
  if (!devices)
    return devices.takeError();
  return choose(*devices, name, name.empty() ? path : path + ": ");
}
