//===- PipelineTest.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Options of the import pipeline that only a program can set.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Import/Pipeline.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/InitAll.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
class ImportPipelineTest : public testing::Test {
protected:
  ImportPipelineTest() : context(getDialects()) {}

  static DialectRegistry getDialects() {
    DialectRegistry registry;
    meshwright::registerAllDialects(registry);
    return registry;
  }

  /// Imports a step that computes a new state on m2 from the state, which only
  /// m1 reads besides.
  func::FuncOp import(const ImportOptions &options) {
    module = parseSourceString<ModuleOp>(R"(
      !t = tensor<4xf32>
      func.func @step(%state: !t) -> (!t, !t) attributes {topology =
          #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>} {
        %0 = mpmd.named_computation<"enc"> (%state) (%a: !t) {
          %2 = stablehlo.sine %a : !t
          mpmd.return %2 : !t
        } : (!t) -> !t
        %1 = mpmd.named_computation<"dec"> (%0) (%a: !t) {
          %2 = stablehlo.cosine %a : !t
          mpmd.return %2 : !t
        } : (!t) -> !t
        return %0, %1 : !t, !t
      })",
                                         &context);
    PassManager passes(&context);
    addImportPasses(passes, options);
    EXPECT_TRUE(succeeded(passes.run(*module)));
    return *module->getOps<func::FuncOp>().begin();
  }

  static ImportOptions getOptions() {
    ImportOptions options;
    options.nameAssignment.entries["enc"] = {"m1", std::nullopt};
    options.nameAssignment.entries["dec"] = {"m2", std::nullopt};
    return options;
  }

  static StringRef getMesh(Type type) {
    return cast<MeshTensorType>(type).getMeshName();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};
} // namespace

static unsigned countTransfers(func::FuncOp func) {
  return llvm::range_size(func.getOps<TransferOp>());
}

TEST_F(ImportPipelineTest, LeavesInputsAndOutputsWhereTheyAreUsed) {
  func::FuncOp func = import(getOptions());
  EXPECT_EQ(getMesh(func.getArgumentTypes()[0]), "m1");
  EXPECT_EQ(getMesh(func.getResultTypes()[0]), "m1");
  EXPECT_EQ(getMesh(func.getResultTypes()[1]), "m2");
  EXPECT_EQ(countTransfers(func), 1u);
}

// No mesh suits both, so the output is sent back at the end.
TEST_F(ImportPipelineTest, PlacesConstrainedInputsAndOutputsAlike) {
  ImportOptions options = getOptions();
  options.constraints = {{0, 1}};
  func::FuncOp func = import(options);
  EXPECT_EQ(func.getArgumentTypes()[0], func.getResultTypes()[1]);
  EXPECT_EQ(getMesh(func.getArgumentTypes()[0]), "m1");
  EXPECT_EQ(countTransfers(func), 2u);
}

/// The passes that the options represent.
static std::string printPasses(MLIRContext *context,
                               const ImportOptions &options) {
  auto passes = PassManager::on<ModuleOp>(context);
  addImportPasses(passes, options);
  std::string text;
  llvm::raw_string_ostream os(text);
  passes.printAsTextualPipeline(os);
  return text;
}

/// The same of the options as `mpmd-import-pipeline` reads what they print.
static std::string printReread(MLIRContext *context,
                               const ImportOptions &options) {
  std::string pipeline;
  llvm::raw_string_ostream(pipeline)
      << "builtin.module(mpmd-import-pipeline" << options << ")";
  FailureOr<OpPassManager> passes = parsePassPipeline(pipeline);
  if (failed(passes))
    return "cannot be read: " + pipeline;
  std::string text;
  llvm::raw_string_ostream os(text);
  passes->printAsTextualPipeline(os);
  return text;
}

TEST_F(ImportPipelineTest, OptionsAreReadAsTheyWerePrinted) {
  static const bool registered = (meshwright::registerAllPasses(), true);
  ASSERT_TRUE(registered);
  std::vector<std::string> names = {
      "a@b", "3",   "1/2",  "say \"hi\"", "it's",   "{x",
      "x}",  "a,b", "f(",   ")",          "p['w']", " x ",
      "a:b", "a=b", "\\22", "h\xC3\xA9",  "->"};
  ImportOptions all;
  for (auto [index, name] : llvm::enumerate(names)) {
    for (const std::string &mesh : names) {
      ImportOptions options;
      options.nameAssignment.entries[name] = {mesh, std::nullopt};
      options.inputAssignment.entries[index] = mesh;
      EXPECT_EQ(printReread(&context, options), printPasses(&context, options))
          << name << " on " << mesh;
    }
    all.nameAssignment.entries[name] = {"m1", int64_t(index)};
    all.outputAssignment.entries[index] = name;
    all.constraints.push_back({int64_t(index), 0});
  }
  all.inferTransfers = true;
  EXPECT_EQ(printReread(&context, all), printPasses(&context, all));
}
