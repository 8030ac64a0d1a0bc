//===- Layers.cpp - What a pipeline is cut from ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Planning/Layers.h"
#include "meshwright/Schedule/StageGraph.h"
#include "meshwright/Text/NumberLimits.h"
#include "meshwright/Text/PlainJson.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace meshwright;
using llvm::StringRef;
namespace json = llvm::json;

/// More than any model has; a larger number is an error.
static constexpr double kMostLayers = 4096, kLargestBatch = 1 << 24;
/// A backward pass has two products for each one of the forward pass.
static constexpr double kBackwardPerForward = 2;

/// A number of at least 0; `byDefault` where it is missing, if that is given.
static bool readNumber(const json::Object &object, StringRef key,
                       double &number, json::Path path,
                       std::optional<double> byDefault = std::nullopt) {
  const json::Value *value = object.get(key);
  if (!value && byDefault) {
    number = *byDefault;
    return true;
  }
  std::optional<double> found =
      value ? value->getAsNumber() : std::optional<double>();
  if (!found || !(*found >= 0))
    return failAt(path.field(key), "expected a number of at least 0");
  if (*found > kMaxNumber)
    return failAt(path.field(key), "expected a number of at most 1e30");
  number = *found;
  return true;
}

static bool readCount(const json::Object &object, StringRef key, double most,
                      int64_t &count, json::Path path, int64_t byDefault) {
  double number = 0;
  if (!readNumber(object, key, number, path, double(byDefault)))
    return false;
  if (number < 1 || number > most || number != std::floor(number))
    return failAt(path.field(key),
                  "expected a whole number, 1 or more, of a size that "
                  "a model has");
  count = static_cast<int64_t>(number);
  return true;
}

static bool readReads(const json::Object &object, Layer &layer,
                      json::Path path) {
  const json::Value *reads = object.get("reads");
  if (!reads)
    return true;
  const json::Array *list = reads->getAsArray();
  if (list && llvm::all_of(*list, [](const json::Value &name) {
        return name.getAsString().has_value();
      })) {
    for (const json::Value &name : *list)
      layer.reads.push_back(name.getAsString()->str());
    return true;
  }
  return failAt(path.field("reads"), "expected a list of towers");
}

/// Adds a layer to the tower that it names.
static bool addToTower(const json::Object &object, Layers &layers, size_t begin,
                       json::Path path) {
  const json::Value *value = object.get("tower");
  std::optional<StringRef> name =
      value ? value->getAsString() : std::optional<StringRef>();
  if (!value && layers.towers.empty() && layers.layers[begin].reads.empty())
    return true;
  auto &towers = layers.towers;
  if (!name || !isTowerName(*name) || (towers.empty() && begin > 0))
    return failAt(
        path.field("tower"),
        "expected a name of letters, digits and underscores, in every layer or "
        "in none");
  for (const std::string &read : layers.layers[begin].reads)
    if (read == *name || llvm::none_of(towers, [&](const LayerTower &tower) {
          return tower.name == read;
        }))
      return failAt(path.field("reads"),
                    "expected towers whose layers come before");
  if (towers.empty() || towers.back().name != *name) {
    if (llvm::any_of(towers, [&](const LayerTower &tower) {
          return tower.name == *name;
        }))
      return failAt(path.field("tower"),
                    "expected the layers of a tower together");
    towers.push_back({name->str(), begin, begin});
  }
  towers.back().end = layers.layers.size();
  return true;
}

static bool readLayer(const json::Value &value, Layers &all, json::Path path) {
  std::vector<Layer> &layers = all.layers;
  size_t begin = layers.size();
  const json::Object *object = value.getAsObject();
  if (!object)
    return failAt(path, "expected an object with the figures of a layer");
  Layer layer;
  std::optional<StringRef> name = object->getString("name");
  if (!name || name->empty())
    return failAt(path.field("name"), "expected the name of the layer");
  int64_t repeat = 1;
  if (!checkKeys(*object,
                 {"name", "repeat", "flops", "backward_flops",
                  "parameter_bytes", "activation_bytes", "residual_bytes",
                  "tensor_reduces", "tower", "reads"},
                 path) ||
      !readReads(*object, layer, path) ||
      !readCount(*object, "repeat", kMostLayers, repeat, path, 1) ||
      !readNumber(*object, "flops", layer.flops, path) ||
      !readNumber(*object, "backward_flops", layer.backwardFlops, path,
                  kBackwardPerForward * layer.flops) ||
      !readNumber(*object, "parameter_bytes", layer.parameterBytes, path, 0) ||
      !readNumber(*object, "activation_bytes", layer.activationBytes, path) ||
      !readNumber(*object, "residual_bytes", layer.residualBytes, path,
                  layer.activationBytes) ||
      !readNumber(*object, "tensor_reduces", layer.tensorReduces, path, 2))
    return false;
  for (int64_t i = 0; i < repeat; ++i) {
    layer.name = name->str();
    if (repeat > 1)
      layer.name += std::to_string(i);
    layers.push_back(layer);
  }
  return addToTower(*object, all, begin, path);
}

static bool readObject(const json::Value &value, Layers &layers,
                       json::Path path) {
  const json::Object *object = value.getAsObject();
  const json::Array *list = object ? object->getArray("layers") : nullptr;
  if (!list || list->empty())
    return failAt(path, "expected an object with a list of \"layers\"");
  int64_t microbatches = 0;
  if (!checkKeys(*object,
                 {"batch", "microbatches", "dtype", "function", "layers"},
                 path) ||
      !readCount(*object, "batch", kLargestBatch, layers.batch, path, 1))
    return false;
  if (object->get("microbatches")) {
    if (!readCount(*object, "microbatches", kLargestBatch, microbatches, path,
                   1))
      return false;
    if (layers.batch % microbatches != 0)
      return failAt(path.field("microbatches"),
                    "expected a divisor of the batch");
    layers.microbatches = microbatches;
  }
  StringRef dtype = object->getString("dtype").value_or("bf16");
  if (dtype != "bf16" && dtype != "f32")
    return failAt(path.field("dtype"), "expected \"bf16\" or \"f32\"");
  layers.isNarrow = dtype == "bf16";
  layers.function = object->getString("function").value_or("").str();
  json::Path at = path.field("layers");
  for (auto [index, entry] : llvm::enumerate(*list))
    if (!readLayer(entry, layers, at.index(index)))
      return false;
  if (layers.layers.size() > kMostLayers)
    return failAt(at, "expected no more layers than a model has");
  std::set<StringRef> names;
  for (const Layer &layer : layers.layers)
    if (!names.insert(layer.name).second)
      return failAt(at, "layer names must be unique; rename this one");
  return true;
}

llvm::Expected<Layers> meshwright::parseLayers(StringRef text) {
  return readPlainJson(text, "layers", readObject);
}
