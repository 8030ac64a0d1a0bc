//===- BytecodeTest.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The law of damaged bytecode: it is read, or there is an error, and the process
// goes on.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Files/ProgramText.h"
#include "meshwright/InitDialects.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace meshwright;

static constexpr llvm::StringLiteral kProgram = R"(
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = mpmd.named_computation<"a"(1)> (%x) (%y: tensor<2xf32>) {
      %c = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
      %1 = stablehlo.add %y, %c : tensor<2xf32>
      mpmd.return %1 : tensor<2xf32>
    } : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  })";

namespace {
class BytecodeTest : public testing::Test {
protected:
  BytecodeTest()
      : context(makeRegistry(), MLIRContext::Threading::DISABLED),
        handler(&context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
            errors.push_back(diagnostic.str());
        }) {
    OwningOpRef<ModuleOp> module = parseProgram(kProgram, &context, "text");
    EXPECT_TRUE(module);
    if (module)
      bytecode = write(*module);
  }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  /// Whether there is a program; if not, there are errors.
  bool read(llvm::StringRef bytes) {
    errors.clear();
    OwningOpRef<ModuleOp> module = parseProgram(bytes, &context, "bytecode");
    EXPECT_TRUE(module || !errors.empty());
    return !!module;
  }

  static std::string write(ModuleOp module) {
    std::string bytes;
    llvm::raw_string_ostream os(bytes);
    EXPECT_TRUE(succeeded(writeBytecodeToFile(module, os)));
    return bytes;
  }

  /// The first error of a program whose bytecode has `to` where it had `from`.
  std::string readChanged(llvm::StringRef program, llvm::StringRef from,
                          llvm::StringRef to) {
    OwningOpRef<ModuleOp> module = parseProgram(program, &context, "text");
    EXPECT_TRUE(module);
    if (!module)
      return "";
    std::string bytes = write(*module);
    EXPECT_TRUE(read(bytes));
    size_t place = bytes.find(from);
    EXPECT_EQ(place, bytes.rfind(from));
    EXPECT_NE(place, std::string::npos);
    if (place == std::string::npos)
      return "";
    return read(bytes.replace(place, from.size(), to)) ? "" : errors.front();
  }

  MLIRContext context;
  std::vector<std::string> errors;
  ScopedDiagnosticHandler handler;
  std::string bytecode;
};
} // namespace

TEST_F(BytecodeTest, IsReadOrRefusedWhateverOneByteIs) {
  ASSERT_TRUE(read(bytecode));
  unsigned numRead = 0;
  for (size_t place = 4; place < bytecode.size(); ++place)
    for (char byte : {'\0', '\x7f', '\xff', char(bytecode[place] ^ 4)}) {
      std::string changed = bytecode;
      changed[place] = byte;
      numRead += read(changed);
    }
  EXPECT_GT(numRead, 0u);
}

TEST_F(BytecodeTest, IsReadOrRefusedWhereverItEnds) {
  for (size_t size = 4; size < bytecode.size(); ++size)
    EXPECT_FALSE(read(llvm::StringRef(bytecode).take_front(size)));
}

// Arguments, several results, uses in an order of their own, blocks, regions that
// are isolated and some that are not, properties.
static constexpr llvm::StringLiteral kParts = R"(
  func.func private @declared(tensor<f32>)
  func.func @branches(%x: i1, %y: i32) -> (i32, i32) {
    cf.cond_br %x, ^bb1(%y : i32), ^bb2
  ^bb1(%a: i32):
    %r:2 = call @branches(%x, %a) : (i1, i32) -> (i32, i32)
    return %r#1, %r#0 : i32, i32
  ^bb2:
    return %y, %y : i32, i32
  }
  module @inner {
    func.func @loops(%x: tensor<i32>, %y: tensor<f32>) -> (tensor<i32>, tensor<f32>) {
      %0:2 = stablehlo.while(%i = %x, %v = %y) : tensor<i32>, tensor<f32>
      cond {
        %p = stablehlo.compare LT, %i, %x : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %n = stablehlo.add %i, %x : tensor<i32>
        stablehlo.return %n, %v : tensor<i32>, tensor<f32>
      }
      %1:2 = stablehlo.while(%i = %0#0, %v = %y) : tensor<i32>, tensor<f32>
      cond {
        %p = stablehlo.compare LT, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        stablehlo.return %i, %v : tensor<i32>, tensor<f32>
      }
      return %1#0, %0#1 : tensor<i32>, tensor<f32>
    }
  })";

TEST_F(BytecodeTest, IsReadInEachVersion) {
  DialectRegistry more;
  more.insert<cf::ControlFlowDialect>();
  context.appendDialectRegistry(more);
  OwningOpRef<ModuleOp> module = parseProgram(kParts, &context, "text");
  ASSERT_TRUE(module);
  auto branches = module->lookupSymbol<func::FuncOp>("branches");
  branches.getArgument(1).shuffleUseList({2, 0, 1});
  for (int64_t version = 0; version <= 6; ++version) {
    BytecodeWriterConfig config;
    config.setDesiredBytecodeVersion(version);
    std::string bytes;
    llvm::raw_string_ostream os(bytes);
    ASSERT_TRUE(succeeded(writeBytecodeToFile(*module, os, config)));
    EXPECT_TRUE(read(bytes)) << version << ": " << errors.front();
  }
}

// A count of more than the file has is refused before there is memory for as many.
TEST_F(BytecodeTest, IsRefusedBeforeItsReaderMakesRoomForMoreThanThereIs) {
  std::string count = {0x10, 0, 0, 0, '\x20'}; // 2^32 and more
  for (size_t place = 4; place + count.size() <= bytecode.size(); ++place) {
    std::string changed = bytecode;
    changed.replace(place, count.size(), count);
    (void)read(changed);
    for (const std::string &error : errors)
      EXPECT_EQ(error.find("its reader"), std::string::npos)
          << place << ": " << error;
  }
}

// What its reader makes of numbers that no text can say.
TEST_F(BytecodeTest, IsRefusedWithTypesThatThereAreNot) {
  auto expectNoType = [&](llvm::StringRef type, llvm::StringRef from,
                          llvm::StringRef to) {
    std::string program = ("func.func private @f(" + type + ")").str();
    std::string error = readChanged(program, from, to);
    EXPECT_NE(error.find("there is no type"), std::string::npos) << error;
  };
  // Signed numbers have their sign in the lowest bit, above that of the length.
  expectNoType("tensor<61x59xf32>", {"\xf5\xed", 2}, {"\xf7\xed", 2});
  // The least number of the storage, and the largest one.
  expectNoType("tensor<2x!quant.uniform<i8:f32, 1.5>>", "\xfe\x03\xfa\x03",
               "\xfe\x13\xfa\x03");
}

TEST_F(BytecodeTest, IsRefusedWithTensorsOfTensors) {
  // The other types, by their numbers, as elements.
  std::string found;
  for (char type = 1; type < 12; type += 2)
    found +=
        readChanged("func.func private @f(tensor<61x59xf32>, tensor<67xi8>)",
                    {"\xf5\xed\x05", 3}, std::string{'\xf5', '\xed', type});
  EXPECT_NE(found.find("there is no type tensor<61x59xtensor<67xi8>>"),
            std::string::npos)
      << found;
}

// What is missing, the reader would take from after the file.
TEST_F(BytecodeTest, IsRefusedWithOtherBytesThanElementsHave) {
  auto expectError = [&](llvm::StringRef attribute, llvm::StringRef from,
                         llvm::StringRef to, llvm::StringRef message) {
    std::string program =
        ("module attributes {test.a = " + attribute + "} {}").str();
    std::string error = readChanged(program, from, to);
    EXPECT_NE(error.find(message), std::string::npos) << error;
  };
  expectError("dense<[1, 2, 3]> : tensor<3xi64>", "\x1b\x03\x0d",
              "\x1b\x03\x81",
              "elements of type 'tensor<32xi64>' are of 24 bytes");
  expectError("dense<[1, 2, 3]> : tensor<3xi64>", "\x1b\x03\x0d",
              "\x1b\x03\x09",
              "elements of type 'tensor<2xi64>' are of 24 bytes");
  expectError("dense<[1, 2, 3]> : tensor<3xi24>", {"\x01\xc1", 2},
              {"\x01\x01", 2},
              "elements of type 'tensor<3xi0>' are of 9 bytes");
  expectError("array<i64: 1, 2, 3>", {"\x07\x31", 2}, {"\x81\x31", 2},
              "an array of 64 elements of type 'i64' is of 24 bytes");
  expectError(
      "dense<[[\"a\"], [\"b\"]]> : tensor<2x1x!stablehlo.token>",
      "\x1b\x05\x09\x05", "\x1b\x03\x02\xfd",
      "strings of type 'tensor<8096x!stablehlo.token>' are of less than");
}

TEST_F(BytecodeTest, KeepsElementsOfEachType) {
  for (llvm::StringRef attribute :
       {"dense<[true, false, true]> : tensor<3xi1>",
        "dense<true> : tensor<9xi1>",
        "dense<false> : tensor<9xi1>",
        "dense<7> : tensor<2x3xi4>",
        "dense<[1, -2]> : tensor<2xi7>",
        "dense<> : tensor<0xi64>",
        "dense<> : tensor<0xi1>",
        "dense<[0, 0]> : tensor<2xi0>",
        "dense<[1, 2]> : tensor<2xindex>",
        "dense<[1.0, 2.0]> : tensor<2xf80>",
        "dense<[1.0, 2.0]> : tensor<2xtf32>",
        "dense<[(1.0, 2.0), (3.0, 4.0)]> : tensor<2xcomplex<f32>>",
        "dense<(true, false)> : tensor<2xcomplex<i1>>",
        "dense<5> : vector<2x3xi64>",
        "dense<5> : tensor<4294967296x4xi64>",
        "dense<\"a\"> : tensor<4294967296x!stablehlo.token>",
        "array<i1: true, false, true>",
        "array<f32: 1.0, 2.0>",
        "array<i8>",
        "sparse<[[0, 0], [1, 2]], [1, 5]> : tensor<3x4xi32>"}) {
    std::string text =
        ("module attributes {test.a = " + attribute + "} {}").str();
    OwningOpRef<ModuleOp> module = parseProgram(text, &context, "text");
    ASSERT_TRUE(module) << text;
    std::string bytes = write(*module);
    OwningOpRef<ModuleOp> again = parseProgram(bytes, &context, "bytecode");
    ASSERT_TRUE(again) << text << ": " << errors.front();
    EXPECT_EQ((*module)->getAttr("test.a"), (*again)->getAttr("test.a"));
  }
}

// A wide number is its words, of which the reader takes as many as the file says.
TEST_F(BytecodeTest, RefusesNumbersOfMoreWordsThanTheirType) {
  constexpr uint64_t kWord = 0x0123456789abcdef; // Kept as twice as much.
  Builder builder(&context);
  APInt number(256, {kWord, kWord});
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  (*module)->setAttr("test.number", builder.getIntegerAttr(
                                        builder.getIntegerType(256), number));
  std::string bytes = write(*module);
  ASSERT_TRUE(read(bytes)) << errors.front();

  // Two words, in a byte, and the first, after a byte that says how long it is.
  std::string two("\x05\0", 2), many("\0", 1);
  for (unsigned shift = 0; shift < 64; shift += 8) {
    two += char(2 * kWord >> shift);
    many += char(uint64_t(1) << 30 >> shift);
  }
  size_t place = bytes.find(two);
  ASSERT_NE(place, std::string::npos);
  EXPECT_FALSE(read(bytes.replace(place, many.size(), many)));
  EXPECT_NE(errors.front().find("is declared with 1073741824 words"),
            std::string::npos)
      << errors.front();
}
