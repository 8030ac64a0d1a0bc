//===- TextSessionTest.cpp - One program, step by step --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/TextPartitioner.h"
#include "gtest/gtest.h"

using namespace meshwright;

namespace {
/// Two computations that do not depend on each other.
const char kProgram[] = R"(
func.func public @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = mpmd.named_computation<"f"> (%x) (%a: tensor<4xf32>) {
    %1 = stablehlo.sine %a : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %2 = mpmd.named_computation<"g"> (%x) (%a: tensor<4xf32>) {
    %3 = stablehlo.cosine %a : tensor<4xf32>
    mpmd.return %3 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %2 : tensor<4xf32>, tensor<4xf32>
})";
const char kConfig[] = R"({"topology": {"m": {"x": 1}},
  "assignment": {"f": ["m", 0], "g": ["m", 1], "h": "m"},
  "allow_unknown_names": true})";
/// The second one first.
const char kRule[] = "FragmentScheduleRule(ordered_fragments=["
                     "FragmentInfo(origins=[\"g\"],stage=1,mesh_name=\"m\")->"
                     "FragmentInfo(origins=[\"f\"],stage=0,mesh_name=\"m\")])";

TextRequest makeRequest(std::string_view config = kConfig) {
  TextRequest request;
  request.program = kProgram;
  request.config = config;
  return request;
}

const TextDiagnostic &expectOne(const std::vector<TextDiagnostic> &all) {
  EXPECT_EQ(all.size(), 1u);
  static const TextDiagnostic none;
  return all.empty() ? none : all.front();
}
} // namespace

TEST(TextSessionTest, RulesAreMadeBetweenTheStepsOfOneCompile) {
  TextSession session(kProgram);
  ASSERT_TRUE(session.read());
  EXPECT_EQ(session.listNames(), std::vector<std::string>({"f", "g"}));
  ASSERT_TRUE(session.import(makeRequest()));
  ASSERT_EQ(session.getFragmentInfos().size(), 2u);
  EXPECT_EQ(session.getFragmentInfos()[1].origins.front().first, "g");
  TextResult result = session.finish({}, {kRule});
  ASSERT_TRUE(result.succeeded) << describeErrors(result.diagnostics);
  EXPECT_LT(result.program.find("\"origins\":[\"g\"]"),
            result.program.find("\"origins\":[\"f\"]"));

  // As if the rules had been known before.
  TextRequest request = makeRequest();
  request.scheduleRules = {kRule};
  TextResult known = partitionText(request);
  EXPECT_EQ(result.module, known.module);
  EXPECT_EQ(result.program, known.program);
}

TEST(TextSessionTest, WithoutRulesItIsAPartitioning) {
  TextResult result = partitionText(makeRequest());
  ASSERT_TRUE(result.succeeded) << describeErrors(result.diagnostics);
  EXPECT_EQ(result.fragmentInfos.size(), 2u);
}

TEST(TextSessionTest, PhasesGoOnFromBytecodeAsFromText) {
  TextRequest request = makeRequest();
  request.phases = kTextImport;
  request.givesBytecode = true;
  TextResult imported = partitionText(request);
  ASSERT_EQ(imported.module.substr(0, 2), "ML");
  std::vector<TextDiagnostic> diagnostics;
  std::optional<std::string> text = printBytecode(imported.module, diagnostics);
  ASSERT_TRUE(text.has_value());
  TextResult found[2];
  for (auto [index, module] :
       {std::pair(0, std::string_view(imported.module)), {1, *text}}) {
    request = makeRequest();
    request.program = module;
    request.phases = kTextOptimize | kTextPartition;
    found[index] = partitionText(request);
    ASSERT_TRUE(found[index].succeeded);
  }
  EXPECT_EQ(found[0].module, found[1].module);
  EXPECT_EQ(found[0].program, found[1].program);
  EXPECT_NE(found[0].module.find("loc("), std::string::npos);
}

TEST(TextSessionTest, NamesThatDoNotOccurAreMistakesUnlessAllowed) {
  TextResult result = partitionText(makeRequest(
      R"({"topology": {"m": {}}, "assignment": {"f": "m", "h": "m"}})"));
  EXPECT_FALSE(result.succeeded);
  EXPECT_NE(expectOne(result.diagnostics).text.find("is named \"h\""),
            std::string::npos);
}

TEST(TextSessionTest, DiagnosticsHaveIdsAndArguments) {
  TextResult result = partitionText(
      makeRequest(R"({"topology": {"m": {}}, "assignment": {"f": "m"}})"));
  EXPECT_FALSE(result.succeeded);
  const TextDiagnostic &found = expectOne(result.diagnostics);
  EXPECT_EQ(found.id, "unassigned");
  using Arguments = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(found.arguments, Arguments({{"name", "g"}}));
}

TEST(TextSessionTest, AStepThatFailedIsTheLast) {
  TextSession session("no module");
  EXPECT_FALSE(session.read());
  EXPECT_FALSE(session.import(makeRequest()));
  TextResult result = session.finish({}, {});
  EXPECT_FALSE(result.succeeded);
  EXPECT_FALSE(result.diagnostics.empty());
}

TEST(TextSessionTest, WrongRulesAreSaidAtTheEnd) {
  TextSession session(kProgram);
  ASSERT_TRUE(session.read() && session.import(makeRequest()));
  TextResult result = session.finish({"no rule"}, {});
  EXPECT_FALSE(result.succeeded);
  EXPECT_NE(expectOne(result.diagnostics).text.find("rule no rule"),
            std::string::npos);
}
