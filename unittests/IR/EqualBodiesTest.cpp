//===- EqualBodiesTest.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/IR/EqualBodies.h"
#include "meshwright/InitDialects.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::mpmd;

TEST(EqualBodiesTest, HashesOnAllCoresAreThoseOnOne) {
  std::string text;
  for (unsigned i = 0; i < 40; ++i) {
    std::string name = "f" + std::to_string(i);
    std::string op = i % 3 == 0 ? "sine" : i % 3 == 1 ? "cosine" : "negate";
    text += "func.func @" + name +
            "(%x: tensor<4xf32>) -> tensor<4xf32> {\n  %0 = stablehlo." + op +
            " %x : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n";
  }
  DialectRegistry registry;
  meshwright::registerAllDialects(registry);
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  SmallVector<Region *> bodies;
  for (auto func : module->getOps<func::FuncOp>())
    bodies.push_back(&func.getBody());
  SmallVector<llvm::hash_code> hashes = hashBodies(bodies);
  ASSERT_EQ(hashes.size(), 40u);
  for (size_t i = 0; i < bodies.size(); ++i) {
    EXPECT_EQ(size_t(hashes[i]), size_t(hashBody(*bodies[i])));
    EXPECT_EQ(hashes[i] == hashes[0], i % 3 == 0);
  }
  EXPECT_TRUE(hashBodies({}).empty());
}
