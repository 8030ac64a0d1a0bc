//===- SymbolUsesTest.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/IR/SymbolUses.h"
#include "meshwright/InitDialects.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <map>

using namespace mlir;
using namespace meshwright;

using Counts = std::map<std::pair<Operation *, void *>, unsigned>;

/// How often each op refers to each symbol.
static Counts count(const SymbolTable::UseRange &uses) {
  Counts counts;
  for (const SymbolTable::SymbolUse &use : uses)
    ++counts[{use.getUser(),
              const_cast<void *>(use.getSymbolRef().getAsOpaquePointer())}];
  return counts;
}

/// Compares with what MLIR finds; returns how many uses there are, -1 if unknown.
static int compare(StringRef text) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  context.allowUnregisteredDialects();
  ParserConfig config(&context, /*verifyAfterParse=*/false);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, config);
  EXPECT_TRUE(module) << text.str();
  if (!module)
    return -2;
  Region &body = module->getBodyRegion();
  std::optional<SymbolTable::UseRange> expected =
      SymbolTable::getSymbolUses(&body);
  std::optional<SymbolTable::UseRange> found = findSymbolUses(body);
  EXPECT_EQ(expected.has_value(), found.has_value()) << text.str();
  if (!expected || !found)
    return -1;
  EXPECT_EQ(count(*expected), count(*found)) << text.str();
  return std::distance(found->begin(), found->end());
}

TEST(SymbolUsesTest, FindsCallsAndAttributesOfAllKinds) {
  EXPECT_EQ(compare(R"(
    sdy.mesh @mesh = <["x"=2]>
    func.func private @g(tensor<4xf32>) -> tensor<4xf32>
    func.func @f(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
        -> tensor<4xf32> attributes {seen = [@g, {at = @outer::@inner}]} {
      %0 = func.call @g(%a) : (tensor<4xf32>) -> tensor<4xf32>
      %1 = func.call @g(%0) {also = @g} : (tensor<4xf32>) -> tensor<4xf32>
      %2 = stablehlo.custom_call @target(%1) {called_computations = [@g]}
          : (tensor<4xf32>) -> tensor<4xf32>
      %3 = "stablehlo.all_gather"(%2) <{all_gather_dim = 0 : i64,
          replica_groups = dense<0> : tensor<1x1xi64>}>
          : (tensor<4xf32>) -> tensor<4xf32>
      "unknown.op"() {at = @g} : () -> ()
      return %3 : tensor<4xf32>
    })"),
            7);
}

TEST(SymbolUsesTest, FindsMeshesInTypesOfSignatures) {
  EXPECT_EQ(compare(R"(
    sdy.mesh @mesh = <["x"=2]>
    func.func private @f(!mpmd.mesh_tensor<"m", tensor<4xf32>,
        sharding=<@mesh, [{"x"}]>>))"),
            1);
}

TEST(SymbolUsesTest, DoesNotEnterOtherSymbolTables) {
  EXPECT_EQ(compare(R"(
    module attributes {at = @f} {
      func.func private @f()
      func.func @g() {
        func.call @f() : () -> ()
        return
      }
    })"),
            1);
}

TEST(SymbolUsesTest, KnowsNothingOfUnknownTables) {
  EXPECT_EQ(compare(R"("unknown.table"() ({
    }) : () -> ())"),
            -1);
}
