//===- QuotedText.h - Any text as part of an option -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A pass pipeline gives a meaning to blanks, commas, quotes and braces. A text
// with one of them, or with a separator of the option it is part of, is in
// quotes, with `\XX` for the character of a hex code where the pipeline would
// look inside them. Braces around the option keep it together, and are no part
// of it:
//
//   assignment={"a@b"@m1,"layer 1"@"pod 2"/3}
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEXT_QUOTEDTEXT_H
#define MESHWRIGHT_TEXT_QUOTEDTEXT_H

#include "meshwright/Text/OptionParser.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/CommandLine.h"
#include <string>

namespace meshwright {

/// Whether a text is read back without quotes where `separators` end it.
bool isPlainText(llvm::StringRef text, llvm::StringRef separators = "");

/// Prints a text with `\XX` for what would end quotes or an option around it.
void printEscaped(llvm::StringRef text, llvm::raw_ostream &os);

/// Prints a text in quotes.
void printQuoted(llvm::StringRef text, llvm::raw_ostream &os);

/// What was printed so, without its quotes.
std::string unescape(llvm::StringRef text);

/// Takes a text up to one of `separators`, or a quoted one, from the front.
/// False if a quoted one does not end.
bool takeText(llvm::StringRef &rest, llvm::StringRef separators,
              std::string &text);

/// A pass option that is any text. MLIR's own for strings is not read back if
/// there is a quote or a brace in it.
struct TextOption {
  std::string text;

  TextOption() = default;
  TextOption(std::string text) : text(std::move(text)) {}
  TextOption(const char *text) : text(text) {}
  operator const std::string &() const { return text; }
  bool operator==(const TextOption &other) const { return text == other.text; }
};
llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const TextOption &option);

bool parseOption(llvm::cl::Option &option, llvm::StringRef text,
                 TextOption &value);

} // namespace meshwright

namespace llvm::cl {

template <>
class parser<meshwright::TextOption>
    : public meshwright::OptionParser<meshwright::TextOption> {
public:
  using OptionParser::OptionParser;
  StringRef getValueName() const override { return "text"; }
};

} // namespace llvm::cl

#endif
