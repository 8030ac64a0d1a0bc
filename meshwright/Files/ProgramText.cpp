//===- ProgramText.cpp - Programs from texts, and back --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Files/ProgramText.h"
#include "meshwright/Files/BooleanText.h"
#include "meshwright/Files/ErrorWatch.h"
#include "meshwright/Files/JaxBytecode.h"
#include "meshwright/Files/TextLimits.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace meshwright;

static StringRef getText(SMRange range) {
  return StringRef(range.Start.getPointer(),
                   range.End.getPointer() - range.Start.getPointer());
}

/// Parses a text that is a module, or what is in one.
static OwningOpRef<ModuleOp> parseWithNames(StringRef program,
                                            MLIRContext *context,
                                            StringRef name,
                                            WrittenValues &written) {
  llvm::SourceMgr sourceMgr;
  sourceMgr.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(program, name), SMLoc());
  AsmParserState state;
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(FileLineColLoc::get(context, name, 1, 1));
  if (failed(parseAsmSourceFile(sourceMgr, module->getBody(), context, &state)))
    return {};
  for (const auto &block : state.getBlockDefs())
    for (auto [arg, definition] :
         llvm::zip(block.block->getArguments(), block.arguments))
      written[getText(definition.loc)].push_back(arg);
  for (const auto &op : state.getOpDefs()) {
    unsigned end = op.op->getNumResults();
    for (const auto &group : llvm::reverse(op.resultGroups)) {
      written[getText(group.definition.loc)].push_back(
          op.op->getResults().slice(group.startIndex, end - group.startIndex));
      end = group.startIndex;
    }
  }
  auto inner = llvm::hasSingleElement(*module->getBody())
                   ? dyn_cast<ModuleOp>(module->getBody()->front())
                   : ModuleOp();
  if (!inner)
    return module;
  inner->remove();
  return inner;
}

OwningOpRef<ModuleOp> meshwright::parseProgram(StringRef program,
                                               MLIRContext *context,
                                               StringRef name,
                                               WrittenValues *written) {
  if (failed(verifyTextLimits(program, name, context)))
    return {};
  if (isBytecode(llvm::MemoryBufferRef(program, name)))
    return parseBytecode(program, context, name);
  // MLIR's lexer goes on to a zero after the text, and takes a text at null for
  // one that ends where completions are asked for.
  std::string own = program.str();
  if (hasByteBooleans(own))
    packByteBooleans(llvm::MutableArrayRef(own.data(), own.size()));
  ErrorWatch watch(context);
  OwningOpRef<ModuleOp> module =
      written ? parseWithNames(own, context, name, *written)
              : parseSourceString<ModuleOp>(own, context, name);
  return watch.hasSeenError() ? nullptr : std::move(module);
}

void meshwright::printProgram(ModuleOp module, llvm::raw_ostream &os,
                              const OpPrintingFlags &flags) {
  BooleanListStream lists(os);
  module->print(lists, flags);
}

#ifndef NDEBUG
/// Of the ops of one block.
static constexpr unsigned kMostReadBack = 128;

static bool isReadBack(ModuleOp module) {
  return llvm::none_of(module.getOps<func::FuncOp>(), [](func::FuncOp func) {
    return llvm::any_of(func.getBody(), [](Block &block) {
      return llvm::hasNItemsOrMore(block, kMostReadBack + 1);
    });
  });
}

static std::string printPlain(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printProgram(module, os, OpPrintingFlags().assumeVerified());
  return text;
}

static LogicalResult readBack(ModuleOp module, StringRef text) {
  // What is read back is verified as much as what was written.
  ParserConfig config(module.getContext(), /*verifyAfterParse=*/false);
  if (parseSourceString<ModuleOp>(text, config, "written"))
    return success();
  return module.emitError()
         << "the text of the result cannot be read back; this is a bug in "
            "Meshwright: please report it together with the program";
}

/// The text of a module without the module's name, if that is not quoted.
static std::string dropName(ModuleOp module, std::string text) {
  std::optional<StringRef> name = module.getSymName();
  auto isPlain = [](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '.';
  };
  if (!name || name->empty() || llvm::isDigit(name->front()) ||
      !llvm::all_of(*name, isPlain))
    return text;
  std::string written = "module @" + name->str() + " ";
  // Before it there are aliases, each on a line of its own.
  size_t place = text.find(written);
  if (place == 0 || (place != std::string::npos && text[place - 1] == '\n'))
    text.erase(place, written.size());
  return text;
}
#endif

LogicalResult meshwright::printVerified(ModuleOp module,
                                        llvm::raw_ostream &os) {
#ifndef NDEBUG
  if (isReadBack(module)) {
    std::string text = printPlain(module);
    if (failed(readBack(module, text)))
      return failure();
    os << text;
    return success();
  }
#endif
  printProgram(module, os, OpPrintingFlags().assumeVerified());
  return success();
}

LogicalResult meshwright::checkText(ModuleOp module) {
#ifndef NDEBUG
  if (isReadBack(module))
    return printVerified(module, llvm::nulls());
#endif
  return success();
}

LogicalResult meshwright::verifyBeforeWriting(ModuleOp module) {
#ifndef NDEBUG
  return verify(module);
#else
  return success();
#endif
}

LogicalResult WrittenModules::check(ModuleOp module) {
  if (failed(verifyBeforeWriting(module)))
    return failure();
#ifndef NDEBUG
  if (!isReadBack(module))
    return success();
  std::string text = printPlain(module);
  llvm::XXH128_hash_t hash =
      llvm::xxh3_128bits(llvm::arrayRefFromStringRef(dropName(module, text)));
  if (readBack.insert({hash.low64, hash.high64}).second)
    return ::readBack(module, text);
#endif
  return success();
}
