//===- FragmentCostTest.cpp -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/FragmentCost.h"
#include "meshwright/InitDialects.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace meshwright;

namespace {
class FragmentCostTest : public ::testing::Test {
protected:
  FragmentCostTest() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
  }

  /// The cost of `@f` in the text.
  FragmentCost estimate(const std::string &text, CustomCosts customs = {},
                        llvm::StringRef device = "h100") {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    CostModel model(*module, llvm::cantFail(findDevice(device)),
                    std::move(customs));
    FailureOr<FragmentCost> cost =
        model.estimate(module->lookupSymbol<func::FuncOp>("f"));
    EXPECT_TRUE(succeeded(cost));
    return *cost;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};
} // namespace

static const Collective *find(const FragmentCost &cost, CollectiveKind kind) {
  for (const Collective &collective : cost.collectives)
    if (collective.kind == kind)
      return &collective;
  return nullptr;
}

TEST_F(FragmentCostTest, FusesAnEpilogueIntoItsProduct) {
  FragmentCost cost = estimate(R"(
    func.func @f(%x: tensor<64x128xbf16>, %w: tensor<128x256xbf16>)
        -> tensor<64x256xbf16> attributes {mesh_shape = #sdy.mesh<["x"=1]>} {
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
         : (tensor<64x128xbf16>, tensor<128x256xbf16>) -> tensor<64x256xbf16>
      %1 = stablehlo.add %0, %0 : tensor<64x256xbf16>
      %2 = stablehlo.tanh %1 : tensor<64x256xbf16>
      return %2 : tensor<64x256xbf16>
    })");
  EXPECT_EQ(cost.matrixFlops, 2. * 64 * 128 * 256);
  EXPECT_EQ(cost.vectorFlops, 64. * 256);
  EXPECT_EQ(cost.transcendentals, 64. * 256);
  EXPECT_EQ(cost.kernels, 1);
  EXPECT_EQ(cost.bytes, 2. * (64 * 128 + 128 * 256 + 64 * 256));
  EXPECT_DOUBLE_EQ(cost.computeSeconds, cost.bytes / (3.35e12 * 0.85) + 4e-6);
  // The sums in float32 of four parts of the product.
  EXPECT_EQ(cost.temporaryBytes, 4. * 4 * 64 * 256);
}

// What two products read by another shape is there between them once.
TEST_F(FragmentCostTest, StoresWhatIsReadByAnotherShape) {
  const char *text = R"(
    func.func @f(%x: tensor<64x64xf32>) -> tensor<64x64xf32>
        attributes {mesh_shape = #sdy.mesh<["x"=1]>} {
      %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]
         : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %1 = stablehlo.reshape %0 : (tensor<64x64xf32>) -> tensor<4096xf32>
      %2 = stablehlo.reshape %1 : (tensor<4096xf32>) -> tensor<64x64xf32>
      %3 = stablehlo.dot_general %2, %x, contracting_dims = [1] x [0]
         : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %4 = stablehlo.dot_general %2, %3, contracting_dims = [1] x [0]
         : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %5 = stablehlo.reshape %x : (tensor<64x64xf32>) -> tensor<4096xf32>
      %6 = stablehlo.reshape %5 : (tensor<4096xf32>) -> tensor<64x64xf32>
      %7 = stablehlo.dot_general %4, %6, contracting_dims = [1] x [0]
         : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      return %7 : tensor<64x64xf32>
    })";
  // The first product is where the result will be.
  EXPECT_EQ(estimate(text).temporaryBytes, 2. * 4 * 64 * 64);
  // This one has room for it beside its memory.
  EXPECT_EQ(estimate(text, {}, "tpu-v5e").temporaryBytes, 0);
}

// One value is left for another product, with places of 16 KiB for it and for the
// tables of two arguments and a result; what is lost in places counts twice.
TEST_F(FragmentCostTest, CountsPlacesOfTpusAsTheirCompilerDoes) {
  FragmentCost cost = estimate(R"(
    func.func @f(%x: tensor<64x128xf32>, %w: tensor<128x128xf32>) -> tensor<64xf32>
        attributes {mesh_shape = #sdy.mesh<["x"=1]>} {
      %c = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
         : (tensor<64x128xf32>, tensor<128x128xf32>) -> tensor<64x128xf32>
      %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0]
         : (tensor<64x128xf32>, tensor<128x128xf32>) -> tensor<64x128xf32>
      %2 = stablehlo.reduce(%1 init: %c) applies stablehlo.add across dimensions = [1]
         : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
      return %2 : tensor<64xf32>
    })",
                               {}, "tpu-v5p");
  double value = 4. * 64 * 128, places = value + 3 * 16384;
  EXPECT_EQ(cost.temporaryBytes, 2 * places - value);
}

/// A product of f32 with this many elements that are summed.
static std::string makeProduct(int64_t rows, int64_t summed, int64_t columns,
                               bool isTransposed = false) {
  auto type = [](int64_t first, int64_t second) {
    return "tensor<" + std::to_string(first) + "x" + std::to_string(second) +
           "xf32>";
  };
  std::string x = type(rows, summed), w = type(summed, columns),
              y = type(rows, columns), z = type(columns, rows);
  std::string result = isTransposed ? z : y;
  return "func.func @f(%x: " + x + ", %w: " + w + ") -> " + result +
         " attributes {mesh_shape = #sdy.mesh<[\"x\"=1]>} {\n"
         "%0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (" +
         x + ", " + w + ") -> " + y + "\n" +
         (isTransposed ? "%1 = stablehlo.transpose %0, dims = [1, 0] : (" + y +
                             ") -> " + z + "\nreturn %1 : "
                       : "%1 = stablehlo.tanh %0 : " + y + "\nreturn %1 : ") +
         result + "\n}";
}

// Sums of parts are in a place of their own, and then the product in that of the
// result, which `tanh` writes where it reads.
TEST_F(FragmentCostTest, SplitsProductsOfGpusThatAreSmall) {
  struct {
    int64_t rows, summed, columns;
    double parts;
  } products[] = {
      {128, 256, 128, 8},   {128, 1024, 128, 16},  {256, 256, 256, 4},
      {256, 1024, 256, 8},  {512, 512, 512, 4},    {512, 2048, 512, 8},
      {1024, 2048, 256, 8}, {1024, 2048, 1024, 2}, {32, 256, 64, 8},
  };
  for (auto [rows, summed, columns, parts] : products) {
    SCOPED_TRACE(summed);
    std::string text = makeProduct(rows, summed, columns);
    EXPECT_EQ(estimate(text).temporaryBytes, parts * 4 * rows * columns);
    EXPECT_EQ(estimate(text, {}, "cpu").temporaryBytes, 0);
  }
  int64_t whole[][3] = {
      {2048, 2048, 2048}, {32, 128, 64}, {64, 256, 8192}, {1024, 1024, 1024}};
  for (auto [rows, summed, columns] : whole)
    EXPECT_EQ(estimate(makeProduct(rows, summed, columns)).temporaryBytes, 0);
}

// A part of 98 elements is no multiple of 16 bytes.
TEST_F(FragmentCostTest, PadsOperandsOfUnevenParts) {
  EXPECT_EQ(estimate(makeProduct(64, 784, 256)).temporaryBytes,
            4. * (8 * 64 * 256 + (64 + 256) * 800));
}

TEST_F(FragmentCostTest, ComputesTransposedProductsInTheirOrder) {
  EXPECT_EQ(estimate(makeProduct(64, 64, 64, true)).temporaryBytes, 0);
}

// Of a GPU a product is one kernel, and what is added to it another.
TEST_F(FragmentCostTest, KeepsProductsOfGpusForOthers) {
  std::string text = R"(
    func.func @f(%x: tensor<64x64xf32>) -> tensor<64xf32>
        attributes {mesh_shape = #sdy.mesh<["x"=1]>} {
      %c = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]
         : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [1]
         : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
      return %1 : tensor<64xf32>
    })";
  EXPECT_EQ(estimate(text).temporaryBytes, 4. * 64 * 64);
  EXPECT_EQ(estimate(text, {}, "cpu").temporaryBytes, 0);
}

// Both sums read the product as it is.
TEST_F(FragmentCostTest, ConvertsProductsOfGpusWhereTheyAreRead) {
  std::string text = R"(
    func.func @f(%x: tensor<64x64xbf16>) -> (tensor<64xf32>, tensor<64xf32>)
        attributes {mesh_shape = #sdy.mesh<["x"=1]>} {
      %c = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]
         : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
      %1 = stablehlo.convert %0 : (tensor<64x64xbf16>) -> tensor<64x64xf32>
      %2 = stablehlo.reduce(%1 init: %c) applies stablehlo.add across dimensions = [1]
         : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
      %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
      %4 = stablehlo.subtract %1, %3 : tensor<64x64xf32>
      %5 = stablehlo.reduce(%4 init: %c) applies stablehlo.add across dimensions = [1]
         : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
      return %2, %5 : tensor<64xf32>, tensor<64xf32>
    })";
  EXPECT_EQ(estimate(text).temporaryBytes, 2. * 64 * 64);
  EXPECT_EQ(estimate(text, {}, "cpu").temporaryBytes, 4. * 64 * 64);
}

TEST_F(FragmentCostTest, CountsWhatIsGatheredAsTemporary) {
  FragmentCost cost = estimate(R"(
    sdy.mesh @mesh = <["x"=2]>
    func.func @f(%x: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                 %w: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
        -> (tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
        attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
         : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
      return %0 : tensor<8x64xf32>
    })");
  ASSERT_TRUE(find(cost, CollectiveKind::AllGather));
  EXPECT_EQ(cost.temporaryBytes, 4. * 64 * 64);
}

TEST_F(FragmentCostTest, StoresWhatAReductionGivesToOthers) {
  FragmentCost cost = estimate(R"(
    func.func @f(%x: tensor<64x128xf32>) -> tensor<64x128xf32>
        attributes {mesh_shape = #sdy.mesh<["x"=1]>} {
      %c = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1]
         : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
      %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
      %2 = stablehlo.subtract %x, %1 : tensor<64x128xf32>
      return %2 : tensor<64x128xf32>
    })");
  EXPECT_EQ(cost.kernels, 2);
  EXPECT_EQ(cost.bytes, 4. * (64 * 128 + 64) + 4. * (2 * 64 * 128 + 64));
  EXPECT_EQ(cost.temporaryBytes, 64 * 4);
  EXPECT_EQ(cost.vectorFlops, 64. * 127 + 64 * 128);
}

TEST_F(FragmentCostTest, ComputesScalarsInOtherShapesWhereTheyAreRead) {
  FragmentCost cost = estimate(R"(
    func.func @f(%x: tensor<64x128xf32>, %s: tensor<f32>) -> tensor<64x128xf32>
        attributes {mesh_shape = #sdy.mesh<["x"=1]>} {
      %c = stablehlo.constant dense<0.0> : tensor<f32>
      %scalars = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<64x128xf32>
      %numbers = stablehlo.iota dim = 1 : tensor<64x128xf32>
      %0 = stablehlo.multiply %x, %scalars : tensor<64x128xf32>
      %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [1]
         : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
      %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
      %3 = stablehlo.subtract %numbers, %2 : tensor<64x128xf32>
      %4 = stablehlo.multiply %3, %scalars : tensor<64x128xf32>
      return %4 : tensor<64x128xf32>
    })");
  EXPECT_EQ(cost.kernels, 2);
  EXPECT_EQ(cost.bytes, 4. * (64 * 128 + 1 + 64) + 4. * (64 + 1 + 64 * 128));
  EXPECT_EQ(cost.temporaryBytes, 4. * 64);
}

// But what is returned, or read by a call, is in memory.
TEST_F(FragmentCostTest, StoresScalarsInOtherShapesForOthers) {
  FragmentCost cost = estimate(R"(
    func.func @f(%s: tensor<f32>) -> (tensor<64xf32>, tensor<64xf32>)
        attributes {mesh_shape = #sdy.mesh<["x"=1]>} {
      %0 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<64xf32>
      %1 = stablehlo.add %0, %0 : tensor<64xf32>
      %2 = stablehlo.custom_call @unknown(%0) : (tensor<64xf32>) -> tensor<64xf32>
      return %1, %2 : tensor<64xf32>, tensor<64xf32>
    })");
  // The scalars, their sum, and the call.
  EXPECT_EQ(cost.kernels, 3);
  EXPECT_EQ(cost.bytes, 4. * (1 + 64) + 4. * (1 + 64) + 4. * (64 + 64));
}

TEST_F(FragmentCostTest, ConnectsNoKernelsByConstants) {
  FragmentCost cost = estimate(R"(
    func.func @f(%x: tensor<64xf32>, %y: tensor<32xf32>) -> (tensor<64xf32>, tensor<32xf32>)
        attributes {mesh_shape = #sdy.mesh<["x"=1]>} {
      %c = stablehlo.constant dense<2.0> : tensor<f32>
      %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<64xf32>
      %1 = stablehlo.multiply %x, %0 : tensor<64xf32>
      %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<32xf32>
      %3 = stablehlo.multiply %y, %2 : tensor<32xf32>
      return %1, %3 : tensor<64xf32>, tensor<32xf32>
    })");
  EXPECT_EQ(cost.kernels, 2);
  EXPECT_EQ(cost.bytes, 4. * 2 * (64 + 32));
}

// Propagation makes constants of Shardy of them.
TEST_F(FragmentCostTest, ReadsNoConstantsOfSplitFragments) {
  FragmentCost cost = estimate(R"(
    sdy.mesh @m = <["d"=4]>
    func.func @f(%x: tensor<64x128xf32> {sdy.sharding = #sdy.sharding<@m, [{"d"}, {}]>})
        -> (tensor<64x128xf32> {sdy.sharding = #sdy.sharding<@m, [{"d"}, {}]>})
        attributes {mesh_shape = #sdy.mesh<["d"=4]>} {
      %c = stablehlo.constant dense<2.0> : tensor<64x128xf32>
      %0 = stablehlo.multiply %x, %c : tensor<64x128xf32>
      return %0 : tensor<64x128xf32>
    })");
  EXPECT_EQ(cost.kernels, 1);
  EXPECT_EQ(cost.bytes, 4. * 2 * 16 * 128);
}

TEST_F(FragmentCostTest, MovesWordsInVectorUnitsOfTpus) {
  auto estimateOf = [&](const std::string &element, llvm::StringRef device) {
    std::string type = "tensor<1024x4096x" + element + ">";
    return estimate("func.func @f(%x: " + type + ") -> " + type +
                        " attributes {mesh_shape = #sdy.mesh<[\"x\"=1]>} {\n"
                        "%0 = stablehlo.add %x, %x : " +
                        type + "\nreturn %0 : " + type + "\n}",
                    {}, device);
  };
  FragmentCost half = estimateOf("bf16", "tpu-v5e");
  FragmentCost whole = estimateOf("f32", "tpu-v5e");
  EXPECT_EQ(half.bytes, 2. * 2 * 1024 * 4096);
  EXPECT_EQ(whole.bytes, 2 * half.bytes);
  EXPECT_DOUBLE_EQ(half.computeSeconds, whole.computeSeconds);
  EXPECT_DOUBLE_EQ(half.computeSeconds, whole.bytes / (819e9 * 0.9) + 2e-6);
  EXPECT_DOUBLE_EQ(estimateOf("bf16", "h100").computeSeconds,
                   half.bytes / (3.35e12 * 0.85) + 4e-6);
}

TEST_F(FragmentCostTest, StoresTranscendentalsForSeveralResultsOnTpus) {
  auto estimateWith = [&](const std::string &rest, llvm::StringRef device) {
    return estimate(R"(
      func.func @f(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>)
          -> (tensor<64x64xf32>, tensor<64x64xf32>)
          attributes {mesh_shape = #sdy.mesh<["x"=1]>} {
        %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
           : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
        %1 = stablehlo.tanh %0 : tensor<64x64xf32>
        %2 = stablehlo.add %1, %0 : tensor<64x64xf32>
        %3 = stablehlo.multiply %1, %1 : tensor<64x64xf32>
        )" + rest + "}",
                    {}, device);
  };
  std::string several =
      "return %2, %3 : tensor<64x64xf32>, tensor<64x64xf32>\n";
  std::string one = "%4 = stablehlo.add %2, %3 : tensor<64x64xf32>\n"
                    "return %4, %4 : tensor<64x64xf32>, tensor<64x64xf32>\n";
  FragmentCost cost = estimateWith(several, "tpu-v5e");
  EXPECT_EQ(cost.kernels, 2);
  // Two operands and two results of either kernel.
  EXPECT_EQ(cost.bytes, 8. * 4 * 64 * 64);
  EXPECT_EQ(estimateWith(one, "tpu-v5e").kernels, 1);
  EXPECT_EQ(estimateWith(several, "h100").kernels, 1);
}

// Megatron's pair of products: columns, then rows, then one sum.
TEST_F(FragmentCostTest, TakesWindowsOfUnknownSizeForOneElement) {
  FragmentCost cost = estimate(R"(
    sdy.mesh @m = <["x"=2]>
    func.func @f(%x: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
        -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
        attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
      %c = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: -9223372036854775808>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>}
         : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
      return %0 : tensor<64xf32>
    })");
  EXPECT_EQ(cost.vectorFlops, 0);
  const Collective *halo = find(cost, CollectiveKind::Permute);
  ASSERT_TRUE(halo);
  EXPECT_EQ(halo->bytes, 0);
}

TEST_F(FragmentCostTest, AddsUpWhatIsContractedAlongAnAxis) {
  FragmentCost cost = estimate(R"(
    sdy.mesh @m = <["d"=2, "t"=4]>
    func.func @f(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"d"}, {}]>},
                 %v: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"t"}]>},
                 %w: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"t"}, {}]>})
        -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"d"}, {}]>})
        attributes {mesh_shape = #sdy.mesh<["d"=2, "t"=4]>} {
      %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0]
         : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
      %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0]
         : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
      return %1 : tensor<8x16xf32>
    })");
  EXPECT_EQ(cost.total.flops, 2. * 2 * 8 * 16 * 32);
  EXPECT_EQ(cost.matrixFlops, cost.total.flops / 8);
  ASSERT_EQ(cost.collectives.size(), 1u);
  const Collective &sum = cost.collectives.front();
  EXPECT_EQ(sum.kind, CollectiveKind::AllReduce);
  EXPECT_EQ(sum.participants, 4);
  EXPECT_EQ(sum.axes, std::vector<std::string>{"t"});
  EXPECT_EQ(sum.bytes, 4. * 16 * 4);
  EXPECT_DOUBLE_EQ(cost.collectiveSeconds,
                   2 * (sum.bytes * 3 / (4 * 25e9 * 18 * 0.85) + 5e-6));
}

TEST_F(FragmentCostTest, GathersParametersThatDataParallelDevicesSplit) {
  FragmentCost cost = estimate(R"(
    sdy.mesh @m = <["d"=4]>
    func.func @f(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"d"}, {}]>},
                 %w: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"d"}]>})
        -> (tensor<8x32xf32> {sdy.sharding = #sdy.sharding<@m, [{"d"}, {}]>})
        attributes {mesh_shape = #sdy.mesh<["d"=4]>} {
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
         : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
      return %0 : tensor<8x32xf32>
    })");
  EXPECT_EQ(cost.matrixFlops, cost.total.flops / 4);
  const Collective *gather = find(cost, CollectiveKind::AllGather);
  ASSERT_TRUE(gather);
  EXPECT_EQ(gather->bytes, 16. * 32 * 4);
  EXPECT_EQ(gather->participants, 4);
}

TEST_F(FragmentCostTest, GathersOnceForSeveralReaders) {
  FragmentCost cost = estimate(R"(
    sdy.mesh @m = <["d"=4]>
    func.func @f(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"d"}, {}]>},
                 %y: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"d"}, {}]>},
                 %w: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"d"}]>})
        -> (tensor<8x32xf32> {sdy.sharding = #sdy.sharding<@m, [{"d"}, {}]>},
            tensor<8x32xf32> {sdy.sharding = #sdy.sharding<@m, [{"d"}, {}]>})
        attributes {mesh_shape = #sdy.mesh<["d"=4]>} {
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
         : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
      %1 = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0]
         : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
      return %0, %1 : tensor<8x32xf32>, tensor<8x32xf32>
    })");
  EXPECT_EQ(cost.collectives.size(), 1u);
  EXPECT_EQ(cost.matrixFlops, cost.total.flops / 4);
}

TEST_F(FragmentCostTest, ExchangesWhatMovesToAnotherDimension) {
  FragmentCost cost = estimate(R"(
    sdy.mesh @m = <["d"=4]>
    func.func @f(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"d"}, {}]>})
        -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"d"}]>})
        attributes {mesh_shape = #sdy.mesh<["d"=4]>} {
      %0 = stablehlo.negate %x : tensor<8x16xf32>
      return %0 : tensor<8x16xf32>
    })");
  ASSERT_EQ(cost.collectives.size(), 1u);
  EXPECT_EQ(cost.collectives.front().kind, CollectiveKind::AllToAll);
  EXPECT_EQ(cost.collectives.front().bytes, 8. * 16 * 4);
}

TEST_F(FragmentCostTest, RepeatsWhatIsInALoop) {
  FragmentCost cost = estimate(R"(
    func.func @f(%x: tensor<64x64xf32>) -> tensor<64x64xf32>
        attributes {mesh_shape = #sdy.mesh<["x"=1]>} {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %0:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<64x64xf32>
      cond {
        %n = stablehlo.constant dense<12> : tensor<i32>
        %l = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %l : tensor<i1>
      } do {
        %one = stablehlo.constant dense<1> : tensor<i32>
        %j = stablehlo.add %i, %one : tensor<i32>
        %b = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0]
           : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
        stablehlo.return %j, %b : tensor<i32>, tensor<64x64xf32>
      }
      return %0#1 : tensor<64x64xf32>
    })");
  EXPECT_EQ(cost.matrixFlops, 12. * 2 * 64 * 64 * 64);
  EXPECT_EQ(cost.unknownLoops, 0u);
}

/// Propagation puts edges and other constants into the loop; the sum is one of
/// each trip.
TEST_F(FragmentCostTest, RepeatsWhatIsInALoopOnSeveralDevices) {
  FragmentCost cost = estimate(R"(
    sdy.mesh @m = <["x"=2]>
    func.func @f(%x: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>},
                 %w: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
        -> tensor<64x64xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %n = stablehlo.constant dense<12> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %0:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<64x64xf32>
      cond {
        %l = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %l : tensor<i1>
      } do {
        %j = stablehlo.add %i, %one : tensor<i32>
        %b = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0]
           : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
        stablehlo.return %j, %b : tensor<i32>, tensor<64x64xf32>
      }
      return %0#1 : tensor<64x64xf32>
    })");
  EXPECT_EQ(cost.unknownLoops, 0u);
  EXPECT_EQ(cost.matrixFlops, 12. * 2 * 64 * 64 * 64 / 2);
  ASSERT_FALSE(cost.collectives.empty());
  EXPECT_EQ(cost.collectives.front().count, 12);
}

/// A loop around a body, up to a constant; others have other numbers.
static std::string makeLoop(const std::string &number, const std::string &limit,
                            const std::string &body) {
  std::string i = "%i" + number, j = "%j" + number, p = "%p" + number;
  return "%r" + number + ":2 = stablehlo.while(" + i + " = %zero, %a" + number +
         " = %x) : tensor<i64>, tensor<4xf32> cond { " + p +
         " = stablehlo.compare LT, " + i + ", " + limit +
         " : (tensor<i64>, tensor<i64>) -> tensor<i1> stablehlo.return " + p +
         " : tensor<i1> } do { " + body + j + " = stablehlo.add " + i +
         ", %one : tensor<i64> stablehlo.return " + j +
         ", %x : tensor<i64>, tensor<4xf32> } ";
}

// Though it would be beyond all numbers once.
TEST_F(FragmentCostTest, WhatIsNeverDoneTakesNoTime) {
  std::string loop;
  for (unsigned depth = 0; depth < 20; ++depth)
    loop = makeLoop(std::to_string(depth), "%most", loop);
  FragmentCost cost = estimate(R"(
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32>
        attributes {mesh_shape = #sdy.mesh<["x"=1]>} {
      %zero = stablehlo.constant dense<0> : tensor<i64>
      %one = stablehlo.constant dense<1> : tensor<i64>
      %most = stablehlo.constant dense<9223372036854775807> : tensor<i64>
    )" + makeLoop("", "%zero", loop) +
                               "return %x : tensor<4xf32> }");
  EXPECT_EQ(cost.computeSeconds, 0);
  EXPECT_EQ(cost.kernels, 0);
}

static const char *const kCustomCall = R"(
    func.func @f(%q: tensor<2x3x5x7xbf16>) -> tensor<2x3x5x7xbf16>
        attributes {mesh_shape = #sdy.mesh<["x"=1]>} {
      %0 = stablehlo.custom_call @flash_attention(%q)
         : (tensor<2x3x5x7xbf16>) -> tensor<2x3x5x7xbf16>
      return %0 : tensor<2x3x5x7xbf16>
    })";

TEST_F(FragmentCostTest, ListsCustomCallsThatNobodyKnows) {
  FragmentCost cost = estimate(kCustomCall);
  EXPECT_EQ(cost.uncounted, std::set<std::string>{"flash_attention"});
  EXPECT_EQ(cost.total.flops, 0);
  EXPECT_EQ(cost.bytes, 2. * 2 * 2 * 3 * 5 * 7);
}

TEST_F(FragmentCostTest, CountsCustomCallsAsTheUserSays) {
  FragmentCost cost = estimate(
      kCustomCall, llvm::cantFail(parseCustomCosts(
                       {"flash_attention=flops:4*b*h*t*t*d,bytes:1000*b"})));
  EXPECT_TRUE(cost.uncounted.empty());
  EXPECT_EQ(cost.matrixFlops, 4. * 2 * 3 * 5 * 5 * 7);
  EXPECT_EQ(cost.bytes, 2000);
}

TEST_F(FragmentCostTest, CountsWhatManualDevicesSend) {
  FragmentCost cost = estimate(R"(
    sdy.mesh @m = <["d"=4]>
    func.func @f(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"d"}, {}]>})
        -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"d"}, {}]>})
        attributes {mesh_shape = #sdy.mesh<["d"=4]>} {
      %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{"d"}, {}]>] out_shardings=[<@m, [{"d"}, {}]>] manual_axes={"d"} (%a: tensor<2x16xf32>) {
        %1 = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
        ^bb0(%l: tensor<f32>, %r: tensor<f32>):
          %s = stablehlo.add %l, %r : tensor<f32>
          stablehlo.return %s : tensor<f32>
        }) : (tensor<2x16xf32>) -> tensor<2x16xf32>
        sdy.return %1 : tensor<2x16xf32>
      } : (tensor<8x16xf32>) -> tensor<8x16xf32>
      return %0 : tensor<8x16xf32>
    })");
  ASSERT_EQ(cost.collectives.size(), 1u);
  EXPECT_EQ(cost.collectives.front().bytes, 2. * 16 * 4);
  EXPECT_EQ(cost.collectives.front().participants, 4);
  EXPECT_EQ(cost.total.flops, 4. * 2 * 16);
  // Nothing but the exchange.
  EXPECT_EQ(cost.kernels, 0);
  EXPECT_EQ(cost.computeSeconds, 0);
}

// The exchange waits for the first of three kernels that take as long as each other.
TEST_F(FragmentCostTest, TellsKernelsThatNoCollectiveWaitsFor) {
  const char *text = R"(
    sdy.mesh @m = <["d"=4]>
    func.func @f(%x: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"d"}, {}]>})
        -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"d"}, {}]>},
            tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"d"}, {}]>})
        attributes {mesh_shape = #sdy.mesh<["d"=4]>} {
      %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{"d"}, {}]>] out_shardings=[<@m, [{"d"}, {}]>] manual_axes={"d"} (%a: tensor<4x16xf32>) {
        %1 = stablehlo.tanh %a : tensor<4x16xf32>
        %2 = "stablehlo.all_to_all"(%1) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x16xf32>) -> tensor<4x16xf32>
        %3 = stablehlo.negate %2 : tensor<4x16xf32>
        sdy.return %3 : tensor<4x16xf32>
      } : (tensor<16x16xf32>) -> tensor<16x16xf32>
      %4 = stablehlo.negate %x : tensor<16x16xf32>
      return %0, %4 : tensor<16x16xf32>, tensor<16x16xf32>
    })";
  FragmentCost cost = estimate(text, {}, "tpu-v5p");
  EXPECT_EQ(cost.kernels, 3);
  EXPECT_DOUBLE_EQ(cost.freeSeconds, cost.computeSeconds * 2 / 3);
  // Where all kernels hide exchanges, it is not needed.
  EXPECT_EQ(estimate(text).freeSeconds, 0);
}

// What brings a result into its sharding waits for it, too, but not for the other result.
TEST_F(FragmentCostTest, TellsResultsThatAreResharded) {
  const char *text = R"(
    sdy.mesh @m = <["d"=4]>
    func.func @f(%x: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"d"}, {}]>})
        -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>},
            tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"d"}, {}]>})
        attributes {mesh_shape = #sdy.mesh<["d"=4]>} {
      %0 = stablehlo.tanh %x {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"d"}, {}]>]>} : tensor<16x16xf32>
      %1 = stablehlo.negate %x {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"d"}, {}]>]>} : tensor<16x16xf32>
      return %0, %1 : tensor<16x16xf32>, tensor<16x16xf32>
    })";
  FragmentCost cost = estimate(text, {}, "tpu-v5p");
  EXPECT_EQ(cost.kernels, 2);
  EXPECT_GT(cost.collectiveSeconds, 0);
  EXPECT_DOUBLE_EQ(cost.freeSeconds, cost.computeSeconds / 2);
}

// An exchange waits for one of the results of a body, but not for the other.
TEST_F(FragmentCostTest, TellsResultsThatCollectivesWaitFor) {
  const char *text = R"(
    sdy.mesh @m = <["d"=4]>
    func.func @f(%x: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"d"}, {}]>})
        -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"d"}, {}]>},
            tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"d"}, {}]>})
        attributes {mesh_shape = #sdy.mesh<["d"=4]>} {
      %0:2 = sdy.manual_computation(%x) in_shardings=[<@m, [{"d"}, {}]>] out_shardings=[<@m, [{"d"}, {}]>, <@m, [{"d"}, {}]>] manual_axes={"d"} (%a: tensor<4x16xf32>) {
        %2 = stablehlo.negate %a : tensor<4x16xf32>
        %3 = stablehlo.abs %a : tensor<4x16xf32>
        sdy.return %2, %3 : tensor<4x16xf32>, tensor<4x16xf32>
      } : (tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>)
      %1 = sdy.manual_computation(%0#0) in_shardings=[<@m, [{"d"}, {}]>] out_shardings=[<@m, [{"d"}, {}]>] manual_axes={"d"} (%a: tensor<4x16xf32>) {
        %2 = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x16xf32>) -> tensor<4x16xf32>
        sdy.return %2 : tensor<4x16xf32>
      } : (tensor<16x16xf32>) -> tensor<16x16xf32>
      return %1, %0#1 : tensor<16x16xf32>, tensor<16x16xf32>
    })";
  FragmentCost cost = estimate(text, {}, "tpu-v5p");
  EXPECT_EQ(cost.kernels, 2);
  EXPECT_DOUBLE_EQ(cost.freeSeconds, cost.computeSeconds / 2);
}

// Of two fragments with an exchange each.
TEST_F(FragmentCostTest, HidesExchangesOfTpusBesideKernelsThatNoneWaitsFor) {
  Device tpu = llvm::cantFail(findDevice("tpu-v5p"));
  FragmentCost cost;
  cost.collectives = {{CollectiveKind::AllToAll, {"d"}, 4, 1e8, 1},
                      {CollectiveKind::AllReduce, {"d"}, 4, 1e6, 1}};
  double exchange = estimateSeconds(cost.collectives[0], tpu);
  double sum = estimateSeconds(cost.collectives[1], tpu);
  cost.computeSeconds = 3 * exchange;
  cost.collectiveSeconds = exchange + sum;
  cost.steps = {{cost.computeSeconds, false}, {exchange + sum, true}};
  double alone = 4 * exchange + sum;
  EXPECT_DOUBLE_EQ(getOverlappedSeconds(cost, cost, tpu), 2 * alone);
  cost.freeSeconds = exchange / 2;
  EXPECT_DOUBLE_EQ(getOverlappedSeconds(cost, cost, tpu), 2 * alone - exchange);
  cost.freeSeconds = 3 * exchange;
  EXPECT_DOUBLE_EQ(getOverlappedSeconds(cost, cost, tpu),
                   2 * (alone - exchange));
  // By itself only one with the kernels for all of its exchanges hides some.
  EXPECT_DOUBLE_EQ(getHiddenSeconds(cost, tpu), exchange);
  cost.freeSeconds = exchange / 2;
  EXPECT_EQ(getHiddenSeconds(cost, tpu), 0);
  Device gpu = llvm::cantFail(findDevice("h100"));
  EXPECT_EQ(getHiddenSeconds(cost, gpu), 0);
  cost.freeSeconds = 0;
  EXPECT_DOUBLE_EQ(getOverlappedSeconds(cost, cost, gpu),
                   2 * alone - exchange - sum);
}

TEST_F(FragmentCostTest, LooksForManualComputationsInHelpers) {
  auto estimateOn = [&](const std::string &devices) {
    std::string mesh = "<[\"d\"=" + devices + "]>";
    return estimate("sdy.mesh @m = " + mesh + R"(
      func.func @f(%x: tensor<8xf32>) -> tensor<8xf32>
          attributes {mesh_shape = #sdy.mesh)" +
                    mesh + R"(} {
        %0 = func.call @helper(%x) : (tensor<8xf32>) -> tensor<8xf32>
        return %0 : tensor<8xf32>
      }
      func.func private @helper(%x: tensor<8xf32>) -> tensor<8xf32> {
        %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{"d", ?}]>] out_shardings=[<@m, [{"d", ?}]>] manual_axes={} (%a: tensor<8xf32>) {
          sdy.return %a : tensor<8xf32>
        } : (tensor<8xf32>) -> tensor<8xf32>
        return %0 : tensor<8xf32>
      })");
  };
  EXPECT_EQ(estimateOn("2").collectives.size(), 1u);
  EXPECT_EQ(estimateOn("1").collectives.size(), 0u);
}

TEST_F(FragmentCostTest, SplitsProductsOfComplexElements) {
  FragmentCost cost = estimate(R"(
    func.func @f(%x: tensor<128x8192xcomplex<f32>>,
                 %w: tensor<8192x128xcomplex<f32>>) -> tensor<128x128xcomplex<f32>>
        attributes {mesh_shape = #sdy.mesh<["x"=1]>} {
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
         : (tensor<128x8192xcomplex<f32>>, tensor<8192x128xcomplex<f32>>)
           -> tensor<128x128xcomplex<f32>>
      return %0 : tensor<128x128xcomplex<f32>>
    })");
  EXPECT_GT(cost.temporaryBytes, 0);
}

/// Each result of a barrier is a name of its own operand, so that a chain of barriers
/// has as many names as results.
TEST_F(FragmentCostTest, FollowsChainsOfBarriers) {
  std::string text = R"(
    func.func @f(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> tensor<f32>
        attributes {mesh_shape = #sdy.mesh<["x"=1]>} {
      %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
         : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %b0:2 = stablehlo.optimization_barrier %0, %0
         : tensor<64x64xf32>, tensor<64x64xf32>)";
  for (int i = 1; i <= 60; ++i) {
    std::string name = "%b" + std::to_string(i),
                before = "%b" + std::to_string(i - 1);
    text += "\n" + name + ":2 = stablehlo.optimization_barrier " + before +
            "#0, " + before + "#1 : tensor<64x64xf32>, tensor<64x64xf32>";
  }
  text += R"(
      %s = stablehlo.slice %b60#0 [0:1, 0:1]
         : (tensor<64x64xf32>) -> tensor<1x1xf32>
      %r = stablehlo.reshape %s : (tensor<1x1xf32>) -> tensor<f32>
      return %r : tensor<f32>
    })";
  EXPECT_EQ(estimate(text).temporaryBytes, 64 * 64 * 4);
}

TEST_F(FragmentCostTest, SkipsAliasesOfNoResult) {
  FragmentCost cost = estimate(R"(
    func.func @f(%x: tensor<64xf32> {tf.aliasing_output = 9223372036854775807 : i64})
        -> tensor<64xf32> attributes {mesh_shape = #sdy.mesh<["x"=1]>} {
      %0 = stablehlo.add %x, %x : tensor<64xf32>
      return %0 : tensor<64xf32>
    })");
  EXPECT_EQ(cost.temporaryBytes, 0);
}
