//===- ProgramText.cpp - Programs from texts, and back --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Files/ProgramText.h"
#include "meshwright/Files/BooleanText.h"
#include "meshwright/Files/JaxBytecode.h"
#include "meshwright/Files/TextLimits.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace meshwright;

OwningOpRef<ModuleOp> meshwright::parseProgram(StringRef program,
                                               MLIRContext *context,
                                               StringRef name) {
  if (failed(verifyTextLimits(program, name, context)))
    return {};
  if (isBytecode(llvm::MemoryBufferRef(program, name)))
    return parseBytecode(program, context, name);
  std::string own;
  if (hasByteBooleans(program)) {
    own = program.str();
    packByteBooleans(llvm::MutableArrayRef(own.data(), own.size()));
    program = own;
  }
  return parseSourceString<ModuleOp>(program, context, name);
}

void meshwright::printProgram(ModuleOp module, llvm::raw_ostream &os,
                              const OpPrintingFlags &flags) {
  BooleanListStream lists(os);
  module->print(lists, flags);
}

LogicalResult meshwright::checkBeforeWriting(ModuleOp module) {
#ifdef NDEBUG
  return success();
#else
  if (failed(verify(module)))
    return failure();
  std::string text;
  llvm::raw_string_ostream textStream(text);
  module->print(textStream);
  if (OwningOpRef<ModuleOp> again =
          parseSourceString<ModuleOp>(text, module.getContext(), "written"))
    return success();
  return module.emitError() << "the text of the result cannot be read back";
#endif
}
