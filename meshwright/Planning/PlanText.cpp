//===- PlanText.cpp - Plans for people and for partition ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Planning/PlanSearch.h"
#include "meshwright/Text/TextTable.h"
#include "meshwright/Text/Utf8.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <cmath>
#include <tuple>

using namespace meshwright;
using llvm::formatv;
using llvm::json::OStream;

static std::string getSeconds(double seconds) {
  if (seconds >= 1)
    return formatv("{0:F3} s", seconds);
  if (seconds >= 1e-3)
    return formatv("{0:F3} ms", seconds * 1e3);
  return formatv("{0:F3} us", seconds * 1e6);
}

static std::string getMesh(int64_t mesh) {
  return "mesh" + std::to_string(mesh);
}

/// With the schedule of each tower, where there are any.
static std::string nameSchedule(const Layout &layout) {
  std::string name = layout.schedule->name.str();
  if (layout.graph.isChain())
    return name;
  name += " of";
  for (const Tower &tower : layout.graph.towers)
    name += formatv(" {0} ({1} mesh{2}{3})", tower.name, tower.count,
                    tower.count == 1 ? "" : "es",
                    layout.measured ? "" : ", " + tower.schedule)
                .str();
  return name;
}

std::string meshwright::describe(const Layout &layout) {
  std::string text =
      formatv("{0} mesh{1} of {2} (data) x {3} (tensor), {4}, {5} "
              "microbatch{6}",
              layout.meshes, layout.meshes == 1 ? "" : "es", layout.split.data,
              layout.split.tensor, nameSchedule(layout), layout.microbatches,
              layout.microbatches == 1 ? "" : "es");
  if (layout.recomputes)
    text += ", recomputation";
  return text;
}

std::string meshwright::compare(const Layout &loser, const Layout &winner) {
  struct Part {
    llvm::StringLiteral name;
    double difference;
  };
  Part parts[] = {
      {"computing", loser.compute - winner.compute},
      {"sums of tensor-parallel layers", loser.reduces - winner.reduces},
      {"waiting of the busiest mesh", loser.idle - winner.idle},
      {"sum of gradients and optimizer", loser.stepEnd - winner.stepEnd}};
  llvm::sort(parts, [](const Part &a, const Part &b) {
    double first = std::fabs(a.difference), other = std::fabs(b.difference);
    return std::tie(other, a.name) < std::tie(first, b.name);
  });
  std::string text;
  for (const Part &part : parts) {
    if (std::fabs(part.difference) < winner.seconds * 1e-4)
      continue;
    text += text.empty() ? "" : ", ";
    text += formatv("{0} {1} for {2}", getSeconds(std::fabs(part.difference)),
                    part.difference > 0 ? "more" : "less",
                    llvm::StringRef(part.name));
  }
  if (text.empty())
    text = "it is as good";
  return text;
}

static void printLayout(const PlanInputs &inputs, const Layout &best,
                        llvm::raw_ostream &os) {
  os << describe(best) << "\n";
  os << formatv("step {0}: computing {1}, sums of tensor-parallel layers {2}, "
                "waiting {3}, gradients and optimizer {4}\n",
                getSeconds(best.seconds), getSeconds(best.compute),
                getSeconds(best.reduces), getSeconds(best.idle),
                getSeconds(best.stepEnd));
  os << formatv("memory {0} of {1} on the fullest device, of {2}\n",
                toScaled(best.peakBytes, "B"), toScaled(inputs.memory, "B"),
                getMesh(best.fullestMesh));
  size_t begin = 0;
  for (auto [stage, end] : llvm::enumerate(best.ends)) {
    const auto &layers = inputs.layers.layers;
    os << formatv("{0} on {1}: {2}", nameStage(best.graph, stage),
                  getMesh(best.placement[stage]), toLine(layers[begin].name));
    if (end > begin + 1)
      os << " to " << toLine(layers[end - 1].name);
    os << "\n";
    begin = end;
  }
}

static void printUncounted(const PlanInputs &inputs, llvm::raw_ostream &os) {
  for (const std::string &name : inputs.layers.uncounted)
    os << "not counted: custom call " << toLine(name) << "; say --cost '"
       << toLine(name) << "=flops:...'\n";
}

void meshwright::printResult(const PlanInputs &inputs, const PlanResult &result,
                             llvm::raw_ostream &os) {
  const Layout &best = result.best;
  printLayout(inputs, best, os);
  if (!result.others.empty()) {
    const Layout &next = result.others.front();
    os << formatv("next best: {0}; step {1}, {2:F1} % longer: {3}\n",
                  describe(next), getSeconds(next.seconds),
                  (next.seconds / best.seconds - 1) * 100, compare(next, best));
  }
  printUncounted(inputs, os);
}

static void writeLayout(OStream &json, const PlanInputs &inputs,
                        const Layout &layout) {
  json.object([&] {
    json.attribute("step_s", layout.seconds);
    json.attribute("meshes", layout.meshes);
    json.attribute("data", layout.split.data);
    json.attribute("tensor", layout.split.tensor);
    json.attribute("schedule", layout.schedule->name);
    json.attribute("microbatches", layout.microbatches);
    json.attribute("recomputation", layout.recomputes);
    json.attributeObject("parts_s", [&] {
      json.attribute("compute", layout.compute);
      json.attribute("tensor_reduces", layout.reduces);
      json.attribute("idle", layout.idle);
      json.attribute("step_end", layout.stepEnd);
    });
    json.attribute("peak_bytes", layout.peakBytes);
    json.attribute("fullest_mesh", getMesh(layout.fullestMesh));
    json.attributeArray("stages", [&] {
      for (size_t stage = 0, begin = 0; stage < layout.ends.size(); ++stage)
        json.object([&] {
          json.attribute("mesh", getMesh(layout.placement[stage]));
          json.attributeArray("layers", [&] {
            for (; begin < layout.ends[stage]; ++begin)
              json.value(inputs.layers.layers[begin].name);
          });
        });
    });
  });
}

static void writeConfig(OStream &json, const PlanInputs &inputs,
                        const Layout &layout) {
  json.object([&] {
    if (!inputs.layers.function.empty())
      json.attribute("function", inputs.layers.function);
    json.attributeObject("topology", [&] {
      for (int64_t mesh = 0; mesh < layout.meshes; ++mesh)
        json.attributeObject(getMesh(mesh), [&] {
          json.attribute("data", layout.split.data);
          if (layout.split.tensor > 1)
            json.attribute("tensor", layout.split.tensor);
        });
    });
    json.attributeObject("assignment", [&] {
      for (size_t stage = 0, begin = 0; stage < layout.ends.size(); ++stage)
        for (; begin < layout.ends[stage]; ++begin)
          json.attributeArray(inputs.layers.layers[begin].name, [&] {
            json.value(getMesh(layout.placement[stage]));
            json.value(static_cast<int64_t>(stage));
          });
    });
    json.attributeObject("options", [&] {
      json.attribute("mpmd_pipeline_schedule",
                     layout.graph.isChain() ? layout.schedule->name.str()
                                            : layout.schedule->name.str() +
                                                  ":" + toString(layout.graph));
      // Orders are searched, and pairs chosen, by these times.
      if (layout.measured || layout.hasPairs) {
        json.attribute("mpmd_schedule_device", toUtf8(inputs.deviceText));
        if (!inputs.customTexts.empty())
          json.attribute("mpmd_custom_costs",
                         toUtf8(llvm::join(inputs.customTexts, ";")));
      }
      if (layout.measured)
        json.attribute("mpmd_schedule_memory",
                       llvm::join(llvm::map_range(layout.mostLive,
                                                  [](int64_t most) {
                                                    return std::to_string(most);
                                                  }),
                                  ","));
      json.attribute("mpmd_complete_schedule", true);
      if (layout.recomputes) {
        json.attribute("mpmd_fragment_remat", true);
        json.attribute("mpmd_merge_remat_fragments", true);
        // Schedule auto takes them in either way.
        if (layout.measured)
          json.attribute("mpmd_split_bwd_fragments", false);
      }
    });
  });
}

/// The best layouts, each with what is printed of it alone.
static void writeCandidates(OStream &json, const PlanInputs &inputs,
                            const PlanResult &result, size_t count) {
  auto write = [&](const Layout &layout) {
    std::string text;
    llvm::raw_string_ostream os(text);
    printLayout(inputs, layout, os);
    json.object([&] {
      json.attribute("layout", describe(layout));
      json.attributeBegin("plan");
      writeLayout(json, inputs, layout);
      json.attributeEnd();
      json.attributeBegin("config");
      writeConfig(json, inputs, layout);
      json.attributeEnd();
      json.attribute("text", toUtf8(text));
    });
  };
  json.attributeArray("candidates", [&] {
    write(result.best);
    for (const Layout &other :
         llvm::ArrayRef(result.others).take_front(count - 1))
      write(other);
  });
}

void meshwright::printConfig(const PlanInputs &inputs, const Layout &layout,
                             llvm::raw_ostream &os) {
  OStream json(os, /*IndentSize=*/1);
  writeConfig(json, inputs, layout);
  os << "\n";
}

void meshwright::printResultJson(const PlanInputs &inputs,
                                 const PlanResult &result, size_t candidates,
                                 llvm::raw_ostream &os) {
  OStream json(os, /*IndentSize=*/1);
  json.object([&] {
    json.attribute("version", 1);
    json.attribute("device", inputs.device.name);
    json.attribute("devices", inputs.devices);
    json.attribute("memory_bytes", inputs.memory);
    json.attribute("layouts", static_cast<int64_t>(result.tried));
    json.attribute("simulated", static_cast<int64_t>(result.fitting));
    json.attributeBegin("plan");
    writeLayout(json, inputs, result.best);
    json.attributeEnd();
    json.attributeBegin("config");
    writeConfig(json, inputs, result.best);
    json.attributeEnd();
    if (!result.others.empty()) {
      const Layout &next = result.others.front();
      json.attributeBegin("runner_up");
      writeLayout(json, inputs, next);
      json.attributeEnd();
      json.attribute("why", compare(next, result.best));
    }
    if (candidates)
      writeCandidates(json, inputs, result, candidates);
    json.attributeArray("uncounted", [&] {
      for (const std::string &name : inputs.layers.uncounted)
        json.value(toUtf8(name));
    });
  });
  os << "\n";
}
