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
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

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
#endif

LogicalResult meshwright::printVerified(ModuleOp module,
                                        llvm::raw_ostream &os) {
  OpPrintingFlags flags = OpPrintingFlags().assumeVerified();
#ifndef NDEBUG
  if (isReadBack(module)) {
    std::string text;
    llvm::raw_string_ostream textStream(text);
    printProgram(module, textStream, flags);
    // What is read back is verified as much as what was written.
    ParserConfig config(module.getContext(), /*verifyAfterParse=*/false);
    if (!parseSourceString<ModuleOp>(text, config, "written"))
      return module.emitError()
             << "the text of the result cannot be read back; this is a bug in "
                "Meshwright: please report it together with the program";
    os << text;
    return success();
  }
#endif
  printProgram(module, os, flags);
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

LogicalResult meshwright::checkBeforeWriting(ModuleOp module) {
  return failure(failed(verifyBeforeWriting(module)) ||
                 failed(checkText(module)));
}
