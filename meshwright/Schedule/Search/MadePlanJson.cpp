//===- MadePlanJson.cpp - A plan and its times as JSON --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Search/SearchedPlan.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

using namespace meshwright;

static void printMesh(const ActionList &list, llvm::ArrayRef<Interval> times,
                      int64_t busy, llvm::json::OStream &json) {
  LiveCounts live = countPeakLive(list);
  json.attribute("busy", busy);
  json.attribute("peak_live", live.untilWeight);
  json.attribute("peak_live_until_input", live.untilInput);
  json.attributeArray("actions", [&] {
    for (auto [action, interval] : llvm::zip_equal(list, times))
      json.object([&, &action = action, &interval = interval] {
        json.attribute("stage", action.stage);
        json.attribute("kind", std::string(1, getLetter(action.kind)));
        json.attribute("microbatch", action.microbatch);
        if (action.joinsNext)
          json.attribute("overlaps_next", true);
        json.attribute("start", interval.start);
        json.attribute("stop", interval.stop);
      });
  });
}

void meshwright::printJson(const SearchedPlan &made, llvm::raw_ostream &os) {
  llvm::json::OStream json(os, /*IndentSize=*/1);
  json.object([&] {
    json.attribute("version", 1);
    json.attribute("makespan", made.timeline.makespan);
    json.attribute("bubble", made.timeline.getBubble());
    if (made.plan.sequenceChunks > 1)
      json.attribute("sequence_chunks", made.plan.sequenceChunks);
    if (!made.plan.graph.isChain())
      json.attribute("towers", toString(made.plan.graph));
    if (made.lowerBound > 0) {
      json.attribute("lower_bound", made.lowerBound);
      json.attribute("optimal", made.optimal);
    }
    if (!made.builtin.empty())
      json.attribute("order_of", made.builtin);
    json.attributeArray("meshes", [&] {
      for (auto [mesh, list, times, busy] : llvm::enumerate(
               made.plan.meshes, made.timeline.meshes, made.timeline.busy))
        json.object(
            [&, mesh = mesh, &list = list, &times = times, busy = busy] {
              if (made.hosts) {
                auto toMicrobatches = [](int64_t parts) {
                  return static_cast<double>(parts) / kPartsOfMicrobatch;
                };
                json.attribute("peak_on_device",
                               toMicrobatches(made.hosts->onDevices[mesh]));
                json.attribute("sent_to_host",
                               toMicrobatches(made.hosts->numSent[mesh]));
              }
              printMesh(list, times, busy, json);
            });
    });
  });
  os << '\n';
}
