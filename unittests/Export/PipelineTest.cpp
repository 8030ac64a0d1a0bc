//===- PipelineTest.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The order of the passes, also with the switches that the pipeline in text
// form does not have.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Export/Pipeline.h"
#include "meshwright/InitDialects.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"
#include <vector>

using namespace mlir;
using namespace mlir::mpmd;

static std::string printPipeline(const ExportOptions &options) {
  MLIRContext context;
  PassManager passes(&context);
  addExportPipeline(passes, options);
  std::string text;
  llvm::raw_string_ostream os(text);
  passes.printAsTextualPipeline(os);
  return text;
}

/// The names of the passes, without nesting and options.
static std::vector<std::string> getPasses(const ExportOptions &options) {
  std::string text = printPipeline(options);
  std::vector<std::string> names;
  SmallVector<StringRef> parts;
  llvm::SplitString(text, parts, "(),{} ");
  for (StringRef part : parts)
    if (part == "cse" || part == "canonicalize" || part.starts_with("mpmd-"))
      names.push_back(part.str());
  return names;
}

TEST(ExportPipelineTest, CleansUpMarksThenLowers) {
  std::vector<std::string> expected = {
      "mpmd-share-bodies",
      "cse",
      "canonicalize",
      "mpmd-share-bodies",
      "mpmd-fragment-dedup",
      "mpmd-fragment-dce",
      "mpmd-uniquify-function-inputs-outputs",
      "mpmd-merge-inferred-fragments",
      "mpmd-mark-offloaded-input-output",
      "mpmd-mark-input-output-with-layouts",
      "mpmd-delay-inferred-fragments",
      "mpmd-delay-transfers-from-cpu",
      "mpmd-sink-create-token-into-fragments",
      "mpmd-fuse-overlapped-pairs",
      "mpmd-mark-aliasing-and-donation",
      "mpmd-mark-fragment-reserved-memory",
      "mpmd-validate-no-param-transfers",
      "mpmd-validate-no-inferred-fragments",
      "mpmd-lower-to-fragment-calls",
      "mpmd-validate-no-reshards",
      "mpmd-validate-no-backward-deps",
  };
  EXPECT_EQ(getPasses({}), expected);
}

TEST(ExportPipelineTest, SwitchesAddPasses) {
  ExportOptions options;
  options.copyConstantsFromProducerToConsumer = true;
  options.applyMergeTransfers = true;
  std::vector<std::string> passes = getPasses(options);
  std::vector<std::string> expected = {
      "mpmd-share-bodies",
      "cse",
      "mpmd-copy-constants",
      "canonicalize",
      "mpmd-share-bodies",
      "mpmd-fragment-dedup",
      "mpmd-merge-transfers",
      "mpmd-fragment-dedup",
      "cse",
      "mpmd-fragment-dce",
  };
  ASSERT_GE(passes.size(), expected.size());
  passes.resize(expected.size());
  EXPECT_EQ(passes, expected);
}

TEST(ExportPipelineTest, ForwardsOptionsToTheirPasses) {
  ExportOptions options;
  options.verboseLogging = true;
  options.failOnReshardOnlyFragments = true;
  options.failOnBackwardDeps = true;
  options.failOnInferredFragments = false;
  options.failOnParamTransfers = true;
  options.paramTransferPattern = "weights";
  std::string text = printPipeline(options);
  auto hasOptions = [&](StringRef pass, ArrayRef<StringRef> expected) {
    StringRef printed =
        StringRef(text).split((pass + "{").str()).second.split('}').first;
    return llvm::all_of(
        expected, [&](StringRef option) { return printed.contains(option); });
  };
  EXPECT_TRUE(
      hasOptions("mpmd-lower-to-fragment-calls", {"verbose-logging=true"}));
  EXPECT_TRUE(hasOptions("mpmd-validate-no-reshards",
                         {"fail-on-reshard-only-fragments=true"}));
  EXPECT_TRUE(hasOptions("mpmd-validate-no-backward-deps",
                         {"fail-on-backward-deps=true"}));
  EXPECT_TRUE(hasOptions("mpmd-validate-no-inferred-fragments",
                         {"fail-on-inferred-fragments=false"}));
  EXPECT_TRUE(
      hasOptions("mpmd-validate-no-param-transfers",
                 {"fail-on-param-transfers=true", "param-pattern=weights"}));
}
