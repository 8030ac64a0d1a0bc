//===- PipelineTest.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The pipeline in text form cannot name a directory for dumps.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Sharding/Pipeline.h"
#include "meshwright/InitAll.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
class ShardingPipelineTest : public ::testing::Test {
protected:
  ShardingPipelineTest() : context(getDialects()) {
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("meshwright", directory));
  }
  ~ShardingPipelineTest() override {
    llvm::sys::fs::remove_directories(directory);
  }

  static DialectRegistry getDialects() {
    DialectRegistry registry;
    meshwright::registerAllDialects(registry);
    return registry;
  }

  /// Runs the pipeline on a function with one sharded argument.
  LogicalResult run(StringRef dumpDirectory) {
    auto module = parseSourceString<ModuleOp>(R"(
      sdy.mesh @g = <["x"=2]>
      func.func @main(%a: !mpmd.mesh_tensor<"m", tensor<4xf32>>
                          {sdy.sharding = #sdy.sharding<@g, [{"x", ?}]>})
          attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
        return
      })",
                                              ParserConfig(&context));
    ShardingPropagationOptions options;
    options.dumpDirectory = dumpDirectory;
    PassManager passes(&context);
    addShardingPropagationPipeline(passes, options);
    return passes.run(*module);
  }

  std::string path(StringRef name) {
    SmallString<128> path(directory);
    llvm::sys::path::append(path, name);
    return std::string(path);
  }

  MLIRContext context;
  SmallString<128> directory;
};
} // namespace

TEST_F(ShardingPipelineTest, WritesModuleBeforeAndAfterPropagation) {
  ASSERT_TRUE(succeeded(run(path("new"))));
  auto read = [&](StringRef name) {
    auto file = llvm::MemoryBuffer::getFile(path(name));
    return file ? (*file)->getBuffer().str() : std::string();
  };
  EXPECT_NE(read("new/before_propagation.mlir").find(R"([{"x", ?}])"),
            std::string::npos);
  EXPECT_NE(read("new/after_propagation.mlir").find(R"([{"x"}])"),
            std::string::npos);
}

TEST_F(ShardingPipelineTest, ReportsDirectoryThatCannotBeMade) {
  std::string message;
  ScopedDiagnosticHandler handler(
      &context, [&](Diagnostic &diagnostic) { message = diagnostic.str(); });
  std::error_code error;
  llvm::raw_fd_ostream(path("file"), error) << "no directory";
  ASSERT_FALSE(error);
  EXPECT_TRUE(failed(run(path("file"))));
  EXPECT_NE(message.find("cannot write the module to"), std::string::npos);
}
