//===- JaxBytecode.cpp - Bytecode that JAX's MLIR wrote -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Files/JaxBytecode.h"
#include "meshwright/Dialect/StableHLO/Misc/BytecodeForm.h"
#include "meshwright/Files/BytecodeAttributes.h"
#include "meshwright/Files/BytecodeLimits.h"
#include "meshwright/Files/BytecodeTypes.h"
#include "meshwright/Files/CrashGuard.h"
#include "meshwright/Files/JaxAttributes.h"
#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace meshwright;

/// The float type of a number; null where this MLIR knows the number itself, or
/// neither does.
static Type getFloatType(uint64_t code, MLIRContext *context) {
  switch (code) {
  case 21:
    return FloatTF32Type::get(context);
  case 22:
    return Float8E5M2Type::get(context);
  case 23:
    return Float8E4M3Type::get(context);
  case 24:
    return Float8E4M3FNType::get(context);
  case 25:
    return Float8E5M2FNUZType::get(context);
  case 26:
    return Float8E4M3FNUZType::get(context);
  case 27:
    return Float8E4M3B11FNUZType::get(context);
  case 28:
    return Float8E3M4Type::get(context);
  case 29:
    return Float4E2M1FNType::get(context);
  case 30:
    return Float6E2M3FNType::get(context);
  case 31:
    return Float6E3M2FNType::get(context);
  case 32:
    return Float8E8M0FNUType::get(context);
  default:
    return Type();
  }
}

/// How often the reader may come to attributes and types: each is there once, and
/// a few times more while it waits for others.
static constexpr size_t kMostReads = 1 << 20, kMostReadsPerByte = 64;

/// Has a parser know the types and attributes that only JAX's MLIR has numbers for,
/// and come to an end with a bytecode of `size` bytes in which some hold themselves.
static void attachKindsOfJax(ParserConfig &config, size_t size) {
  // What is not there yet makes the reader come back to an attribute or type, and
  // what holds itself is never there.
  auto remaining =
      std::make_shared<size_t>(kMostReads + kMostReadsPerByte * size);
  auto hasEnd = [remaining](DialectBytecodeReader &reader) -> LogicalResult {
    if (*remaining == 0)
      return reader.emitError("the bytecode is damaged: an attribute or a type "
                              "is a part of itself");
    --*remaining;
    return success();
  };
  config.getBytecodeReaderConfig().attachTypeCallback(
      [hasEnd](DialectBytecodeReader &reader, StringRef dialect, Type &type) {
        if (failed(hasEnd(reader)))
          return failure();
        uint64_t code;
        // Without a type the reader starts again with its own numbers.
        if (dialect == "builtin") {
          if (failed(reader.readVarInt(code)))
            return failure();
          type = getFloatType(code, reader.getContext());
          return success();
        }
        return readTypeOfJax(reader, dialect, type);
      });
  config.getBytecodeReaderConfig().attachAttributeCallback(
      [hasEnd, size](DialectBytecodeReader &reader, StringRef dialect,
                     Attribute &attribute) -> LogicalResult {
        if (failed(hasEnd(reader)))
          return failure();
        // Without an attribute the reader starts again.
        if (dialect == "builtin")
          return verifyBuiltinAttribute(reader, size);
        return readAttributeOfJax(reader, dialect, attribute);
      });
}

static constexpr char kRemedy[] =
    "; write the file again, or pass the program as text";

static Location getFileLocation(MLIRContext *context, StringRef name) {
  return FileLineColLoc::get(context, name, /*line=*/0, /*column=*/0);
}

static bool isError(const Diagnostic &diagnostic) {
  return diagnostic.getSeverity() == DiagnosticSeverity::Error;
}

/// Calls `read` with each form of the ops, the newest first, until one can be read;
/// each of them ends within the attributes of some op if another one wrote it. Where
/// none can be read, the errors are those of the newest.
static LogicalResult readAnyForm(MLIRContext *context, StringRef name,
                                 llvm::function_ref<LogicalResult()> read) {
  using stablehlo::BytecodeForm;
  LogicalResult result = failure();
  std::vector<Diagnostic> reported;
  for (BytecodeForm form : {BytecodeForm::Jax0_11_2, BytecodeForm::Jax0_11_0,
                            BytecodeForm::Jax0_10}) {
    stablehlo::BytecodeFormScope scope(form);
    std::vector<Diagnostic> emitted;
    ScopedDiagnosticHandler keep(context, [&](Diagnostic &diagnostic) {
      emitted.push_back(std::move(diagnostic));
    });
    result = read();
    if (succeeded(result) || form == BytecodeForm::Jax0_11_2)
      reported = std::move(emitted);
    if (succeeded(result))
      break;
  }
  bool isSilent = failed(result) && llvm::none_of(reported, isError);
  for (Diagnostic &diagnostic : reported)
    context->getDiagEngine().emit(std::move(diagnostic));
  // The reader gives up on some bytes without a diagnostic.
  if (isSilent)
    return emitError(getFileLocation(context, name))
           << "the bytecode is damaged" << kRemedy;
  return result;
}

/// Gives `use` what a bytecode holds, in a context of its own. MLIR's reader does
/// not survive all bytes, and what it then leaves behind cannot be used or freed.
static bool readApart(
    llvm::MemoryBufferRef program, const DialectRegistry &registry,
    llvm::function_ref<bool(Block &block, FallbackAsmResourceMap &resources)>
        use,
    std::optional<std::string> &crash, std::string &error) {
  bool isRead = false;
  std::string type;
  crash = findBytecodeDamage(program);
  if (crash) {
    error = "the bytecode is damaged: " + *crash + kRemedy;
    return false;
  }
  crash = runGuarded([&] {
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    context.allowUnregisteredDialects();
    ScopedDiagnosticHandler keepFirst(&context, [&](Diagnostic &diagnostic) {
      if (error.empty() && isError(diagnostic))
        error = diagnostic.str();
    });
    FallbackAsmResourceMap resources;
    ParserConfig config(&context, /*verifyAfterParse=*/false, &resources);
    attachKindsOfJax(config, program.getBufferSize());
    Block block;
    auto read = [&] { return readBytecodeFile(program, &block, config); };
    isRead =
        succeeded(readAnyForm(&context, program.getBufferIdentifier(), read));
    if (!isRead)
      return;
    if (Type found = findTypeWithoutText(block)) {
      llvm::raw_string_ostream(type) << found;
      return;
    }
    isRead = use(block, resources);
  });
  if (!crash && !type.empty()) {
    crash = "there is no type " + type;
    error = "the bytecode is damaged: " + *crash + kRemedy;
    return false;
  }
  if (crash)
    error = "the bytecode is damaged: its reader " + *crash + kRemedy;
  return isRead && !crash;
}

/// Reports bytecode that MLIR's reader would not survive, at the file.
static LogicalResult verifyBytecode(llvm::MemoryBufferRef program,
                                    MLIRContext *context) {
  std::optional<std::string> crash;
  std::string error;
  readApart(
      program, context->getDialectRegistry(),
      [](Block &, FallbackAsmResourceMap &) { return true; }, crash, error);
  if (!crash)
    return success(); // The reader reports other errors.
  return emitError(getFileLocation(context, program.getBufferIdentifier()))
         << error;
}

OwningOpRef<ModuleOp> meshwright::parseBytecode(StringRef program,
                                                MLIRContext *context,
                                                StringRef name) {
  if (failed(verifyBytecode(llvm::MemoryBufferRef(program, name), context)))
    return {};
  ParserConfig config(context, /*verifyAfterParse=*/false);
  attachKindsOfJax(config, program.size());
  OwningOpRef<ModuleOp> module;
  if (failed(readAnyForm(context, name,
                         [&] {
                           module = parseSourceString<ModuleOp>(program, config,
                                                                name);
                           return success(bool(module));
                         })) ||
      failed(verify(*module)))
    return {};
  return module;
}

std::unique_ptr<llvm::MemoryBuffer>
meshwright::convertBytecodeOfJax(llvm::MemoryBufferRef program,
                                 const DialectRegistry &registry,
                                 std::string &error) {
  std::string result;
  auto write = [&](Block &block, FallbackAsmResourceMap &resources) {
    if (!llvm::hasSingleElement(block)) {
      error = "expected one op at the top of the bytecode";
      return false;
    }
    llvm::raw_string_ostream os(result);
    BytecodeWriterConfig writer(resources);
    return succeeded(writeBytecodeToFile(&block.front(), os, writer));
  };
  std::optional<std::string> crash;
  if (!readApart(program, registry, write, crash, error))
    return nullptr;
  return llvm::MemoryBuffer::getMemBufferCopy(result,
                                              program.getBufferIdentifier());
}
