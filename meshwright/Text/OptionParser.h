//===- OptionParser.h - Options with a syntax of their own ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEXT_OPTIONPARSER_H
#define MESHWRIGHT_TEXT_OPTIONPARSER_H

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

namespace meshwright {

/// The parser of options of type T, of which `llvm::cl::parser<T>` is to be one. Beside
/// T are `operator<<`, which prints what parses to the same value, and
///
///   bool parseOption(llvm::cl::Option &option, llvm::StringRef text, T &value);
///
/// which reports a malformed text through `option` and returns true then.
template <typename T> class OptionParser : public llvm::cl::basic_parser<T> {
public:
  using llvm::cl::basic_parser<T>::basic_parser;

  bool parse(llvm::cl::Option &option, llvm::StringRef, llvm::StringRef text,
             T &value) {
    return parseOption(option, text, value);
  }

  /// Prints one line of --print-options.
  void printOptionDiff(const llvm::cl::Option &option, const T &value,
                       const llvm::cl::OptionValue<T> &,
                       size_t globalWidth) const {
    this->printOptionName(option, globalWidth);
    llvm::outs() << "= " << value << '\n';
  }
};

} // namespace meshwright

#endif
