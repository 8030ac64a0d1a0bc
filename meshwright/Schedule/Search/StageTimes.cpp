//===- StageTimes.cpp - The stages of a pipeline, from a file -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Search/StageTimes.h"
#include "meshwright/Text/PlainJson.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace meshwright;
namespace json = llvm::json;

/// Longer times could overflow when they are added up.
static constexpr int64_t kLongest = int64_t(1) << 32;

namespace {
/// One stage as it is written.
struct StageEntry {
  ActionCosts costs;
  bool split = true;
  std::optional<int64_t> mesh;
};
} // namespace

static bool readTime(const json::Object &object, llvm::StringRef key,
                     int64_t least, int64_t &time, json::Path path) {
  const json::Value *value = object.get(key);
  if (!value)
    return true;
  std::optional<int64_t> number = value->getAsInteger();
  if (number && *number >= least && *number <= kLongest) {
    time = *number;
    return true;
  }
  if (least == 0)
    return failAt(path.field(key), "expected an integer from 0 to 2^32");
  return failAt(path.field(key), "expected a time, an integer from 1 to 2^32");
}

static bool readStage(const json::Value &value, StageEntry &stage,
                      json::Path path) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return failAt(path, "expected an object with the times of a stage");
  if (!checkKeys(*object,
                 {"forward", "input", "weight", "backward", "split", "mesh"},
                 path))
    return false;
  if (const json::Value *split = object->get("split")) {
    if (!split->getAsBoolean())
      return failAt(path.field("split"), "expected true or false");
    stage.split = *split->getAsBoolean();
  }
  auto needs = [&](llvm::StringRef key) {
    if (object->get(key))
      return true;
    return failAt(path, "expected \"forward\", and \"input\" and \"weight\" "
                        "or, for a stage that is not split, \"backward\"");
  };
  if (!needs("forward") || (stage.split || !object->get("backward")
                                ? !needs("input") || !needs("weight")
                                : false))
    return false;
  ActionCosts &costs = stage.costs;
  if (!readTime(*object, "forward", 1, costs.forward, path) ||
      !readTime(*object, "input", 1, costs.input, path) ||
      !readTime(*object, "weight", 1, costs.weight, path))
    return false;
  costs.backward = costs.input + costs.weight;
  if (!readTime(*object, "backward", 1, costs.backward, path))
    return false;
  int64_t mesh = -1;
  if (!readTime(*object, "mesh", 0, mesh, path))
    return false;
  if (mesh >= 0)
    stage.mesh = mesh;
  return true;
}

static bool readTimes(const json::Value &value, StageTimes &times,
                      json::Path path) {
  const json::Object *object = value.getAsObject();
  const json::Array *stages = object ? object->getArray("stages") : nullptr;
  if (!stages || stages->empty())
    return failAt(path, "expected an object with a list of \"stages\"");
  if (!checkKeys(*object, {"stages", "transfer"}, path) ||
      !readTime(*object, "transfer", 0, times.costs.transfer, path))
    return false;
  // A path refers to the one that it goes on from.
  json::Path list = path.field("stages");
  for (auto [index, item] : llvm::enumerate(*stages)) {
    StageEntry stage;
    if (!readStage(item, stage, list.index(index)))
      return false;
    times.costs.stages.push_back(stage.costs);
    times.splits.push_back(stage.split);
    if (stage.mesh)
      times.placement.push_back(*stage.mesh);
  }
  if (!times.placement.empty() && times.placement.size() != stages->size())
    return failAt(list, "expected \"mesh\" in all stages or in none");
  for (auto [index, mesh] : llvm::enumerate(times.placement))
    if (mesh >= static_cast<int64_t>(stages->size())) {
      json::Path stage = list.index(index);
      return failAt(stage.field("mesh"), "expected less than there are stages");
    }
  return true;
}

llvm::Error StageTimes::scaleMicrobatches(llvm::ArrayRef<int64_t> factors,
                                          int64_t microbatches) {
  auto count = static_cast<int64_t>(factors.size());
  if (count != microbatches)
    return llvm::createStringError(llvm::formatv(
        "--scales has {0} factors for {1} microbatches; give one for each",
        count, microbatches));
  int64_t longest = costs.usual.getLongest();
  for (const ActionCosts &stage : costs.stages)
    longest = std::max(longest, stage.getLongest());
  for (int64_t factor : factors)
    if (factor < 1 || factor > kLongest / longest)
      return llvm::createStringError(
          llvm::formatv("--scales: expected factors of 1 to {0}, which make "
                        "actions take 2^32 at most, got {1}",
                        kLongest / longest, factor));
  costs.scaleMicrobatches(factors);
  return llvm::Error::success();
}

llvm::Expected<StageTimes> meshwright::parseStageTimes(llvm::StringRef text) {
  return readPlainJson(text, "times", readTimes);
}

llvm::Expected<StageTimes> meshwright::readStageTimes(llvm::StringRef path) {
  return parseFile(path, parseStageTimes);
}
