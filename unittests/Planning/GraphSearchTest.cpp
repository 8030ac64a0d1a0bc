//===- GraphSearchTest.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Planning/GraphSearch.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace meshwright;

namespace {
/// A vision tower and a language model of more work, whose layers read it as given.
PlanInputs makeInputs(llvm::StringRef vision, llvm::StringRef text) {
  std::string layers = (R"({"batch": 32, "layers": [
        {"name": "v", "repeat": 6, "flops": 1e12, "parameter_bytes": 1e8,
         "activation_bytes": 1e6)" +
                        vision + R"(},
        {"name": "t", "repeat": 12, "flops": 2e12, "parameter_bytes": 2e8,
         "activation_bytes": 1e6)" +
                        text + "}]}")
                           .str();
  PlanInputs inputs;
  inputs.layers = llvm::cantFail(parseLayers(layers));
  inputs.device = llvm::cantFail(findDevice("h100"));
  inputs.deviceText = "h100";
  inputs.devices = 8;
  inputs.memory = 80e9;
  return inputs;
}

PlanInputs makeTowers(llvm::StringRef reads = R"(, "reads": ["vision"])") {
  return makeInputs(R"(, "tower": "vision")",
                    (R"(, "tower": "text")" + reads).str());
}

std::string getError(const PlanInputs &inputs) {
  llvm::Expected<PlanResult> result = findLayout(inputs);
  return result ? "no error" : llvm::toString(result.takeError());
}

std::string getLayersError(llvm::StringRef layers) {
  llvm::Expected<Layers> read =
      parseLayers((R"({"layers": [)" + layers + "]}").str());
  return read ? "no error" : llvm::toString(read.takeError());
}
} // namespace

TEST(GraphSearchTest, EachTowerGetsItsMeshes) {
  PlanInputs inputs = makeTowers();
  inputs.microbatches = {8};
  PlanResult result = llvm::cantFail(findLayout(inputs));
  for (const Layout &layout : {result.best, result.others.front()}) {
    const StageGraph &graph = layout.graph;
    ASSERT_EQ(graph.towers.size(), 2u);
    EXPECT_EQ(graph.countStages(), layout.meshes);
    EXPECT_EQ(layout.ends.size(), size_t(layout.meshes));
    // Stages do not reach from one tower into the other.
    EXPECT_EQ(layout.ends[graph.towers[0].count - 1], 6u);
    EXPECT_EQ(layout.ends.back(), 18u);
    // Every layer of text reads vision, so every stage of it does.
    EXPECT_EQ(graph.feeds.size(), size_t(graph.towers[1].count));
    EXPECT_LE(layout.peakBytes, inputs.memory);
    EXPECT_LE(result.best.seconds, layout.seconds);
  }
  // Four times the work.
  inputs.devices = 5;
  const StageGraph graph = llvm::cantFail(findLayout(inputs)).best.graph;
  EXPECT_LT(graph.towers[0].count, graph.towers[1].count);
}

/// Two towers that do not wait for each other are a shorter pipeline than one after
/// the other.
TEST(GraphSearchTest, TowersAreShorterThanALine) {
  // One device for each stage, so that only the order differs.
  PlanInputs towers =
      makeInputs(R"(, "tower": "vision")",
                 R"(, "tower": "text"}, {"name": "head", "flops": 1e10,
          "activation_bytes": 1e6, "tower": "loss",
          "reads": ["vision", "text"])");
  PlanInputs line = makeInputs("", R"(}, {"name": "head", "flops": 1e10,
          "activation_bytes": 1e6)");
  for (PlanInputs *inputs : {&towers, &line}) {
    inputs->devices = 19;
    inputs->microbatches = {4};
    inputs->schedules = {findSchedule("1F1B")};
  }
  double ours = llvm::cantFail(findLayout(towers)).best.seconds;
  EXPECT_LT(ours, llvm::cantFail(findLayout(line)).best.seconds);
}

TEST(GraphSearchTest, ASearchedOrderIsNoLonger) {
  PlanInputs inputs = makeTowers();
  inputs.devices = 4;
  inputs.microbatches = {8};
  double fixed = llvm::cantFail(findLayout(inputs)).best.seconds;
  inputs.schedules = {findSchedule("1F1B"), findSchedule("GPipe"),
                      findSchedule("ZeroBubbleH1"), findSchedule("auto")};
  PlanResult searched = llvm::cantFail(findLayout(inputs));
  EXPECT_LE(searched.best.seconds, fixed);
  inputs.schedules = {findSchedule("auto")};
  PlanResult alone = llvm::cantFail(findLayout(inputs));
  EXPECT_EQ(alone.best.schedule->name, "auto");
  ASSERT_TRUE(alone.best.measured);
  EXPECT_EQ(alone.best.measured->graph, alone.best.graph);
}

TEST(GraphSearchTest, SaysWhatDoesNotFit) {
  EXPECT_EQ(
      getError(makeTowers("")),
      "no path leads from tower vision to the loss; say in \"reads\" which "
      "layers read it");
  PlanInputs small = makeTowers();
  small.memory = 1e8;
  EXPECT_EQ(getError(small).find("no plan fits into 100.0 MB on each of 8"),
            0u);
  PlanInputs few = makeTowers();
  few.devices = 1;
  EXPECT_EQ(getError(few).find("there is no way to lay 2 towers out on 1"), 0u);
  PlanInputs inference = makeTowers(R"(, "reads": ["vision"],
                                    "backward_flops": 0)");
  EXPECT_EQ(getError(inference),
            "towers are planned for training, but layer t0 has no backward "
            "pass; leave \"tower\" out");
}

TEST(GraphSearchTest, SaysWhatIsWrongWithTowers) {
  auto layer = [](llvm::StringRef name, llvm::StringRef more) {
    return (R"({"name": ")" + name + R"(", "flops": 1, "activation_bytes": 1)" +
            more + "}")
        .str();
  };
  EXPECT_EQ(
      getLayersError(layer("a", R"(, "tower": "x y")")),
      "expected a name of letters, digits and underscores, in every layer "
      "or in none at layers.layers[0].tower");
  EXPECT_EQ(
      getLayersError(layer("a", R"(, "tower": "x")") + "," + layer("b", "")),
      "expected a name of letters, digits and underscores, in every layer "
      "or in none at layers.layers[1].tower");
  EXPECT_EQ(
      getLayersError(layer("a", R"(, "tower": "x")") + "," +
                     layer("b", R"(, "tower": "y")") + "," +
                     layer("c", R"(, "tower": "x")")),
      "expected the layers of a tower together at layers.layers[2].tower");
  EXPECT_EQ(getLayersError(layer("a", R"(, "tower": "x", "reads": ["y"])")),
            "expected towers whose layers come before at "
            "layers.layers[0].reads");
  EXPECT_EQ(getLayersError(layer("a", R"(, "tower": "x", "reads": "y")")),
            "expected a list of towers at layers.layers[0].reads");
}
