//===- DeviceTest.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/Collective.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "gtest/gtest.h"

using namespace meshwright;

static std::string getDeviceError(llvm::StringRef text) {
  auto devices = parseDevices(text);
  return devices ? "" : llvm::toString(devices.takeError());
}

static Device find(llvm::StringRef name) {
  return llvm::cantFail(findDevice(name));
}

TEST(DeviceTest, ShipsDevicesWithTheirSources) {
  EXPECT_GE(getDevices().size(), 9u);
  EXPECT_EQ(getDevices().front().name, "h100");
  for (const Device &device : getDevices())
    EXPECT_FALSE(device.source.empty()) << device.name;
}

TEST(DeviceTest, NamesTheNearest) {
  auto device = findDevice("h10");
  ASSERT_FALSE(device);
  std::string error = llvm::toString(device.takeError());
  EXPECT_NE(error.find("unknown device \"h10\", known are h100, h200, a100"),
            std::string::npos)
      << error;
  EXPECT_NE(error.find("did you mean \"h100\"?"), std::string::npos) << error;
}

TEST(DeviceTest, TellsWhatIsWrongInAFile) {
  EXPECT_NE(getDeviceError("[]").find("expected an object"), std::string::npos);
  EXPECT_NE(getDeviceError("{}").find("no device"), std::string::npos);
  EXPECT_NE(getDeviceError(R"({"a": {"f32": 0}})").find("above 0, or null"),
            std::string::npos);
  constexpr llvm::StringLiteral kRest =
      R"("hbm": 1, "hbm_bw": 1, "link": 1, "links": 1, "domain": 1,
         "latency_s": 0, "launch_s": 0, "eff_bw": 1, )";
  auto wrap = [&](llvm::StringRef more) {
    return getDeviceError(("{\"a\": {" + kRest + more + "}}").str());
  };
  EXPECT_EQ(wrap(R"("f32": 1, "topology": "switch", "eff_flops": 1)"), "");
  EXPECT_NE(wrap(R"("f32": 1, "topology": "ring", "eff_flops": 1)")
                .find("expected \"switch\""),
            std::string::npos);
  EXPECT_NE(
      wrap(R"("f32": 1, "topology": "switch", "eff_flops": 2)").find("up to 1"),
      std::string::npos);
  EXPECT_NE(wrap(R"("topology": "switch", "eff_flops": 1)").find("\"bf16\""),
            std::string::npos);
  EXPECT_NE(wrap(R"("f32": 1, "topology": "switch", "eff_flops": 1, "hmb": 1)")
                .find("unknown key"),
            std::string::npos);
  auto wrapTiles = [&](llvm::StringRef tiles) {
    return wrap(
        (R"("f32": 1, "topology": "switch", "eff_flops": 1, "tiles": )" + tiles)
            .str());
  };
  EXPECT_EQ(wrapTiles("null"), "");
  EXPECT_EQ(wrapTiles(R"({"rows": 8, "columns": 128, "word_bits": 32})"), "");
  EXPECT_NE(wrapTiles("8").find("rows, columns and word_bits"),
            std::string::npos);
  EXPECT_NE(wrapTiles(R"({"rows": 7, "columns": 128, "word_bits": 32})")
                .find("power of two"),
            std::string::npos);
  EXPECT_NE(
      wrapTiles(R"({"rows": 8, "columns": 128, "word_bits": 32, "row": 1})")
          .find("unknown key"),
      std::string::npos);
}

TEST(DeviceTest, FiguresHaveBounds) {
  auto wrap = [&](llvm::StringRef memory, llvm::StringRef f32,
                  llvm::StringRef latency) {
    return getDeviceError((R"({"a": {"hbm": )" + memory + R"(, "f32": )" + f32 +
                           R"(, "latency_s": )" + latency + R"(, "hbm_bw": 1,
                        "link": 1, "links": 1, "domain": 1, "launch_s": 0,
                        "eff_bw": 1, "eff_flops": 1, "topology": "switch"}})")
                              .str());
  };
  EXPECT_EQ(wrap("1e30", "1e-9", "1e-300"), "");
  EXPECT_NE(wrap("1e31", "1", "0").find("1e-9 to 1e30 at devices.a.hbm"),
            std::string::npos);
  EXPECT_NE(wrap("1", "1e-320", "0").find("1e-9 to 1e30 at devices.a.f32"),
            std::string::npos);
  EXPECT_NE(wrap("1", "1", "1e999").find("at devices.a.latency_s"),
            std::string::npos);
}

TEST(DeviceTest, MultipliesAtTheSpeedOfTheElements) {
  mlir::MLIRContext context;
  mlir::Builder builder(&context);
  Device h100 = find("h100"), v5e = find("tpu-v5e"), cpu = find("cpu");
  EXPECT_DOUBLE_EQ(h100.getMatrixSpeed(builder.getBF16Type()), 989e12 * 0.75);
  EXPECT_DOUBLE_EQ(h100.getMatrixSpeed(builder.getF32Type()), 495e12 * 0.75);
  EXPECT_DOUBLE_EQ(
      h100.getMatrixSpeed(builder.getF32Type(), MatrixPrecision::Highest),
      67e12 * 0.75);
  EXPECT_DOUBLE_EQ(v5e.getMatrixSpeed(builder.getF32Type()), 197e12 * 0.8);
  EXPECT_DOUBLE_EQ(v5e.getMatrixSpeed(builder.getI8Type()), 394e12 * 0.8);
  EXPECT_DOUBLE_EQ(v5e.getMatrixSpeed(mlir::Float8E5M2Type::get(&context)),
                   197e12 * 0.8);
  EXPECT_DOUBLE_EQ(
      v5e.getMatrixSpeed(builder.getF32Type(), MatrixPrecision::Highest),
      197e12 * 0.8 / 6);
  EXPECT_DOUBLE_EQ(cpu.getMatrixSpeed(builder.getBF16Type()), 135e9 * 0.6);
}

TEST(CollectiveTest, TakesTheTimeOfRings) {
  Device h100 = find("h100");
  double speed = 25e9 * 18 * 0.85, bytes = 1e9;
  auto seconds = [&](CollectiveKind kind, int64_t n, const Device &device) {
    Collective collective;
    collective.kind = kind;
    collective.participants = n;
    collective.bytes = bytes;
    return estimateSeconds(collective, device);
  };
  double gather = bytes * 7 / (8 * speed) + 5e-6;
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::AllGather, 8, h100), gather);
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::ReduceScatter, 8, h100), gather);
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::AllReduce, 8, h100), 2 * gather);
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::AllToAll, 8, h100),
                   bytes * 7 / (64 * speed) + 5e-6);
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::Permute, 8, h100),
                   bytes / speed + 5e-6);
  EXPECT_EQ(seconds(CollectiveKind::AllReduce, 1, h100), 0);
  // Beyond a domain the network carries it.
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::AllGather, 16, h100),
                   bytes * 15 / (16 * 50e9 * 0.85) + 5e-6);
  // A ring of a torus goes both ways.
  Device v5e = find("tpu-v5e");
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::AllGather, 4, v5e),
                   bytes * 3 / (4 * 2 * 50e9 * 0.9) + 3e-6);
}

TEST(CollectiveTest, DomainsAreOfAnySize) {
  Device h100 = find("h100");
  h100.domain = 1e30;
  EXPECT_EQ(getRoute({0, 8}, {8, 8}, h100), Route::Domain);
  h100.domain = 8;
  EXPECT_EQ(getRoute({0, 8}, {8, 8}, h100), Route::Network);
}

TEST(CollectiveTest, SendsAsMuchAsTheBusiestDevice) {
  EXPECT_EQ(countTransferBytes(100, 4, 4), 100);
  EXPECT_EQ(countTransferBytes(100, 2, 8), 400);
  EXPECT_EQ(countTransferBytes(100, 8, 2), 100);
  Device h100 = find("h100");
  EXPECT_EQ(getTransferTime(1e9, h100, Route::SameDevices), 0);
  EXPECT_DOUBLE_EQ(getTransferTime(1e9, h100, Route::Network),
                   5e-6 + 1e9 / (50e9 * 0.85));
  EXPECT_DOUBLE_EQ(getTransferTime(1e9, h100, Route::Host),
                   5e-6 + 1e9 / (64e9 * 0.85));
}
