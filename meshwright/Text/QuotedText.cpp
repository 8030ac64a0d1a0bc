//===- QuotedText.cpp - Any text as part of an option ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Text/QuotedText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace meshwright;
using llvm::raw_ostream;
using llvm::StringRef;

bool meshwright::isPlainText(StringRef text, StringRef separators) {
  return !text.empty() && llvm::none_of(text, [&](unsigned char c) {
    return c <= ' ' || c == 0x7f || StringRef("\"'()[]{}\\,").contains(c) ||
           separators.contains(c);
  });
}

void meshwright::printEscaped(StringRef text, raw_ostream &os) {
  for (unsigned char c : text)
    if (c < ' ' || c == 0x7f || StringRef("\"'{}\\").contains(c))
      os << '\\' << llvm::hexdigit(c >> 4) << llvm::hexdigit(c & 15);
    else
      os << c;
}

void meshwright::printQuoted(StringRef text, raw_ostream &os) {
  os << '"';
  printEscaped(text, os);
  os << '"';
}

std::string meshwright::unescape(StringRef text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned code;
    if (text[i] == '\\' && i + 2 < text.size() &&
        !text.substr(i + 1, 2).getAsInteger(16, code)) {
      result += static_cast<char>(code);
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

bool meshwright::takeText(StringRef &rest, StringRef separators,
                          std::string &text) {
  if (!rest.consume_front("\"")) {
    StringRef plain =
        rest.take_until([&](char c) { return separators.contains(c); });
    text = plain.str();
    rest = rest.substr(plain.size());
    return true;
  }
  size_t end = rest.find('"');
  if (end == StringRef::npos)
    return false;
  text = unescape(rest.take_front(end));
  rest = rest.substr(end + 1);
  return true;
}

raw_ostream &meshwright::operator<<(raw_ostream &os, const TextOption &option) {
  if (isPlainText(option.text))
    return os << option.text;
  os << '{';
  printQuoted(option.text, os);
  return os << '}';
}

bool meshwright::parseOption(llvm::cl::Option &option, StringRef text,
                             TextOption &value) {
  StringRef rest = text;
  if (!takeText(rest, "", value.text))
    return option.error("missing '\"' at the end of: " + text);
  if (!rest.empty())
    return option.error("unexpected characters after the quoted string: " +
                        rest);
  return false;
}
