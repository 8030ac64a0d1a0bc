//===- Attributes.cpp - Attributes and types ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Mutator/Mutator.h"
#include "Support/Context.h"
#include "Support/Target.h"
#include "meshwright/Files/TextLimits.h"
#include "mlir/AsmParser/AsmParser.h"
#include "llvm/Support/raw_ostream.h"

using namespace meshwright;
using namespace meshwright::fuzz;
using llvm::StringRef;

/// Of a word that is none. After an attribute of a dialect, MLIR's parser goes on
/// after it; programs are read with an ErrorWatch.
static bool isFromLexer(StringRef error) {
  return error.contains("string literal") ||
         error.contains("@ identifier expected") ||
         error.contains("unexpected character");
}

/// What is printed is the same value again.
template <typename Value, typename Parse>
static void check(StringRef input, Parse parse) {
  ErrorCount errors(getContext());
  Value value = parse(input);
  if (!value) {
    if (errors.get() == 0)
      reportFinding("rejected without an error");
    return;
  }
  if (errors.get() != 0 && !isFromLexer(errors.first()))
    reportFinding("read in spite of an error: " + errors.first());
  std::string text;
  llvm::raw_string_ostream(text) << value;
  if (parse(text) != value)
    reportFinding("read back as another value: " + text);
}

void fuzz::takeInput(StringRef input) {
  std::string text = input.str(); // The parser wants an end.
  ErrorCount limits(getContext());
  if (failed(verifyTextLimits(text, "input", getContext())))
    return;
  check<mlir::Attribute>(text, [](StringRef text) {
    return mlir::parseAttribute(text, getContext());
  });
  check<mlir::Type>(
      text, [](StringRef text) { return mlir::parseType(text, getContext()); });
}

std::string fuzz::mutateInput(StringRef input, uint64_t seed) {
  return mutateText(input, seed);
}
