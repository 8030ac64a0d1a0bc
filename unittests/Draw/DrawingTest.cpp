//===- DrawingTest.cpp - Lanes, slack and graphs of drawings --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Draw/DrawingFormat.h"
#include "meshwright/Draw/FragmentGraph.h"
#include "meshwright/Draw/Lanes.h"
#include "meshwright/Draw/ReadDrawing.h"
#include "meshwright/Schedule/Schedule.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <random>

using namespace meshwright;

namespace {
Drawing draw(llvm::StringRef name, const PlanShape &shape, int64_t transfer) {
  Plan plan = llvm::cantFail(findSchedule(name)->makePlan(shape));
  PipelineCosts costs;
  costs.transfer = transfer;
  return makeDrawing(plan, llvm::cantFail(simulatePlan(plan, costs)));
}

Drawing::Bar makeBar(uint32_t mesh, double start, double stop) {
  Drawing::Bar bar;
  bar.mesh = bar.source = mesh;
  bar.start = start;
  bar.stop = stop;
  return bar;
}
} // namespace

TEST(LanesTest, BarsOfOneSlotDoNotOverlap) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<Drawing::Bar> bars;
    for (int i = 0; i < 40; ++i) {
      double start = random() % 60;
      bars.push_back(makeBar(random() % 3, start, start + 1 + random() % 4));
    }
    Lanes lanes = findLanes(bars, 3);
    for (size_t i = 0; i < bars.size(); ++i) {
      ASSERT_LT(lanes.slot[i], lanes.slots[i]);
      bool isAlone = true;
      for (size_t j = 0; j < bars.size(); ++j) {
        if (i == j || bars[i].mesh != bars[j].mesh ||
            bars[i].start >= bars[j].stop || bars[j].start >= bars[i].stop)
          continue;
        isAlone = false;
        EXPECT_EQ(lanes.slots[i], lanes.slots[j]);
        // The last slot takes what there is no room for.
        if (lanes.slots[i] < 8)
          EXPECT_NE(lanes.slot[i], lanes.slot[j]);
      }
      EXPECT_EQ(lanes.slots[i] == 1, isAlone);
    }
  }
}

TEST(LanesTest, TransfersHaveALaneOfTheirOwn) {
  std::vector<Drawing::Bar> bars = {makeBar(0, 0, 4), makeBar(0, 1, 2)};
  bars[1].kind = ItemKind::Transfer;
  Lanes lanes = findLanes(bars, 1);
  EXPECT_EQ(lanes.slots[0], 1);
  EXPECT_EQ(lanes.slots[1], 1);
}

// Whatever waits for a bar could be as late as the bar's slack lets it.
TEST(PlanDrawingTest, SlackIsWhatOthersLeave) {
  for (llvm::StringRef name : {"GPipe", "1F1B", "ZeroBubbleH1", "DualPipeV"})
    for (int64_t transfer : {0, 2}) {
      PlanShape shape{4, 8, findSchedule(name)->usualChunks};
      Drawing drawing = draw(name, shape, transfer);
      for (uint32_t id = 0; id < drawing.bars.size(); ++id) {
        const Drawing::Bar &bar = drawing.bars[id];
        EXPECT_GE(bar.slack, 0);
        EXPECT_LE(bar.stop + bar.slack, drawing.makespan);
        for (uint32_t wait : drawing.getWaits(id)) {
          const Drawing::Bar &before = drawing.bars[wait];
          double hop = before.mesh == bar.mesh ? 0 : double(transfer);
          EXPECT_LE(before.stop + before.slack + hop, bar.start + bar.slack);
        }
      }
    }
}

TEST(PlanDrawingTest, CriticalPathHasNoSlackAndNoGap) {
  for (llvm::StringRef name :
       {"GPipe", "1F1B", "ZeroBubbleH1", "ZeroBubbleV"}) {
    PlanShape shape{4, 8, findSchedule(name)->usualChunks};
    Drawing drawing = draw(name, shape, 0);
    double end = 0;
    for (uint32_t id : drawing.criticalPath) {
      EXPECT_EQ(drawing.bars[id].start, end);
      EXPECT_EQ(drawing.bars[id].slack, 0);
      end = drawing.bars[id].stop;
    }
    EXPECT_EQ(end, drawing.makespan);
  }
}

TEST(FragmentGraphTest, PipelineIsALineThereAndBack) {
  FragmentGraph graph = makeGraph(draw("1F1B", {3, 6, 1}, 0));
  // A forward and a backward on each mesh; a forward feeds the next one and
  // its own backward, a backward the one before.
  EXPECT_EQ(graph.nodes.size(), 6u);
  EXPECT_EQ(graph.edges.size(), 7u);
  for (const FragmentGraph::Node &node : graph.nodes)
    EXPECT_EQ(node.runs, 6);
  for (const FragmentGraph::Edge &edge : graph.edges) {
    const FragmentGraph::Node &from = graph.nodes[edge.from];
    const FragmentGraph::Node &to = graph.nodes[edge.to];
    EXPECT_EQ(edge.count, 6);
    if (from.kind == ItemKind::Forward && to.kind == ItemKind::Forward)
      EXPECT_EQ(to.mesh, from.mesh + 1);
    else if (from.kind == ItemKind::Forward)
      EXPECT_EQ(to.mesh, from.mesh);
    else
      EXPECT_EQ(to.mesh + 1, from.mesh);
  }
}

TEST(PlanDrawingTest, MeshesAreNamedAfterTowers) {
  PlanShape shape{4, 4};
  shape.graph =
      llvm::cantFail(parseStageGraph("vision:2;text:2@2-3;vision>text.1"));
  Drawing drawing = draw("Towers", shape, 1);
  EXPECT_EQ(drawing.meshes[1].getLabel(), "vision mesh 1");
  EXPECT_EQ(drawing.meshes[3].getLabel(), "text mesh 3");
  EXPECT_EQ(drawing.names.get(drawing.bars.back().name),
            "stage 1 of text, backward");
  // The first stage of text waits for nothing that vision gives.
  auto first =
      std::find_if(drawing.bars.begin(), drawing.bars.end(),
                   [](const Drawing::Bar &bar) { return bar.stage == 2; });
  EXPECT_EQ(first->start, 0);
}

TEST(DrawingFormatTest, RefusesWhatHasTooManyBars) {
  Drawing drawing;
  drawing.bars.resize(7);
  EXPECT_FALSE(bool(checkSize(drawing, "out", 7)));
  EXPECT_EQ(llvm::toString(checkSize(drawing, "out", 6)),
            "out has 7 items, too many to be drawn; at most 6 are: take fewer "
            "microbatches or meshes");
  EXPECT_EQ(kMostBars, 4194304u);
}

TEST(DrawingFormatTest, NamesAndEndingsSayTheFormat) {
  for (const DrawingFormatInfo &info : getDrawingFormats())
    EXPECT_EQ(llvm::cantFail(parseDrawingFormat(info.name)), info.format);
  EXPECT_EQ(llvm::cantFail(findDrawingFormat("a/b.SVG")), DrawingFormat::Svg);
  EXPECT_EQ(llvm::toString(parseDrawingFormat("pgf").takeError()),
            "unknown format \"pgf\", known are html, svg, pdf, perfetto, dot, "
            "text; did you mean \"pdf\"?");
}
