//===- BooleanText.cpp - Boolean constants in two texts -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Files/BooleanText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"
#include <optional>
#include <string_view>

using namespace llvm;
using namespace meshwright;

static constexpr StringLiteral kDense = "dense<";

namespace {
/// A constant in hex digits, of booleans.
struct HexBooleans {
  StringRef quoted; ///< With the quotation marks.
  StringRef digits;
  SmallVector<int64_t> shape;
  int64_t count; ///< Of elements.

  /// One byte is also how either form writes a constant of equal elements.
  bool isByteEach() const {
    return count > 1 && digits.size() % 2 == 0 &&
           digits.size() / 2 == size_t(count);
  }
  bool isBitEach() const {
    return count > 1 && digits.size() == 2 * size_t(divideCeil(count, 8));
  }
  /// Equal elements as JAX's form may write them; 00 and FF are in both.
  bool isByteOfAll() const {
    return count > 8 && digits.size() == 2 && digits != "00" &&
           !digits.equals_insensitive("ff");
  }
  bool isOfJax() const { return isByteEach() || isByteOfAll(); }

  uint8_t getByte(size_t index) const {
    return hexFromNibbles(digits[2 * index], digits[2 * index + 1]);
  }
};

/// Finds them one after the other.
class HexBooleansFinder {
public:
  HexBooleansFinder(StringRef text, StringRef quote)
      : text(text), rest(text), quote(quote) {}

  std::optional<HexBooleans> next();

private:
  bool readShape(StringRef type, HexBooleans &found);
  StringRef resolveAlias(StringRef name);
  void findAliases();

  StringRef text, rest, quote;
  /// What each name represents from a place on: parts of a text, to be split,
  /// have definitions of their own. Null until first asked for.
  std::optional<StringMap<SmallVector<StringRef, 1>>> aliases;
};
} // namespace

static bool consume(StringRef &text, StringRef token) {
  text = text.ltrim();
  return text.consume_front(token);
}

/// Of values and aliases, after their first character.
static bool isOfName(char c) {
  return isAlnum(c) || StringRef("_$.-").contains(c);
}

/// The line that a text ends in, as far as it goes. In a text of JSON, a line
/// also begins where a string does.
static StringRef getLastLine(StringRef text, StringRef quote) {
  if (quote.size() == 1)
    return text.substr(text.find_last_of("\n\r") + 1);
  for (size_t i = text.size(); i-- > 0;) {
    bool isEscaped = text.take_front(i).ends_with("\\");
    if (StringRef(isEscaped ? "nr" : "\"").contains(text[i]))
      return text.substr(i + 1);
  }
  return text;
}

/// Whether what follows the beginning of a line is in a comment or a string.
static bool isPassedOver(StringRef line, StringRef quote) {
  StringRef backslash = quote.size() == 1 ? "\\" : "\\\\";
  bool isString = false;
  while (!line.empty()) {
    if (line.consume_front(quote))
      isString = !isString;
    else if (isString && line.consume_front(backslash)) {
      if (!line.consume_front(quote))
        line.consume_front(backslash);
    } else if (!isString && line.starts_with("//"))
      return true;
    else
      line = line.drop_front();
  }
  return isString;
}

void HexBooleansFinder::findAliases() {
  aliases.emplace();
  for (size_t at = 0; (at = text.find('!', at)) != StringRef::npos; ++at) {
    StringRef type = text.substr(at + 1);
    StringRef name = type.take_while(isOfName);
    type = type.drop_front(name.size());
    if (consume(type, "=") &&
        !isPassedOver(getLastLine(text.take_front(at), quote), quote))
      (*aliases)[name].push_back(type.ltrim());
  }
}

/// What `name`, a part of the text, represents: the text after the last
/// `!name =` before it.
StringRef HexBooleansFinder::resolveAlias(StringRef name) {
  if (!aliases)
    findAliases();
  auto found = aliases->find(name);
  if (found == aliases->end())
    return {};
  auto after = upper_bound(
      found->second, name.data(),
      [](const char *place, StringRef type) { return place < type.data(); });
  return after == found->second.begin() ? StringRef() : *std::prev(after);
}

/// Reads `tensor<2x3xi1`, what an alias of such a type names, or nothing.
bool HexBooleansFinder::readShape(StringRef type, HexBooleans &found) {
  while (type.consume_front("!"))
    type = resolveAlias(type.take_while(isOfName));
  if (!consume(type, "tensor<") && !consume(type, "vector<"))
    return false;
  type = type.ltrim();
  found.count = 1;
  int64_t size;
  while (!type.consumeInteger(10, size)) {
    if (!type.consume_front("x") || size < 0 ||
        MulOverflow(found.count, size, found.count))
      return false;
    found.shape.push_back(size);
  }
  if (!type.consume_front("i1"))
    return false;
  type = type.ltrim();
  return type.starts_with(">") || type.starts_with(",");
}

/// Where the next constant begins. Nearly all of a text is none, and StringRef's own search
/// compares at each place: a fiftieth of a partition (`bench/run.py`).
static size_t findDense(StringRef text) {
  return std::string_view(text).find(kDense);
}

std::optional<HexBooleans> HexBooleansFinder::next() {
  for (size_t at; (at = findDense(rest)) != StringRef::npos;) {
    rest = rest.substr(at + kDense.size()).ltrim();
    HexBooleans found;
    StringRef start = rest;
    if (!rest.consume_front(quote) || !rest.consume_front("0x"))
      continue;
    found.digits = rest.take_while(isHexDigit);
    rest = rest.substr(found.digits.size());
    if (!rest.consume_front(quote))
      continue;
    found.quoted = start.drop_back(rest.size());
    StringRef type = rest;
    if (consume(type, ">") && consume(type, ":") &&
        readShape(type.ltrim(), found))
      return found;
  }
  return std::nullopt;
}

/// Puts a text in the place of a longer one, and blanks after it.
static void replace(StringRef old, MutableArrayRef<char> text, StringRef by) {
  char *place = text.data() + (old.data() - text.data());
  fill(MutableArrayRef(place, old.size()), ' ');
  copy(by, place);
}

static std::string pack(const HexBooleans &booleans, StringRef quote) {
  std::string result = (quote + "0x").str();
  for (int64_t i = 0; i < booleans.count; i += 8) {
    unsigned bits = 0;
    for (int64_t j = i; j < std::min(i + 8, booleans.count); ++j)
      bits |= unsigned(booleans.getByte(j) != 0) << (j - i);
    result += hexdigit(bits >> 4);
    result += hexdigit(bits & 15);
  }
  return result += quote;
}

bool meshwright::hasByteBooleans(StringRef text, StringRef quote) {
  HexBooleansFinder finder(text, quote);
  while (std::optional<HexBooleans> found = finder.next())
    if (found->isOfJax())
      return true;
  return false;
}

void meshwright::packByteBooleans(MutableArrayRef<char> text, StringRef quote) {
  HexBooleansFinder finder({text.data(), text.size()}, quote);
  while (std::optional<HexBooleans> found = finder.next())
    if (found->isByteEach())
      replace(found->quoted, text, pack(*found, quote));
    else if (found->isByteOfAll())
      replace(found->quoted, text, "true");
}

/// Prints the elements from `next` on in the brackets of a shape.
static void printList(const HexBooleans &booleans, ArrayRef<int64_t> shape,
                      int64_t &next, raw_ostream &os) {
  if (shape.empty()) {
    bool isSet = booleans.getByte(next / 8) >> (next % 8) & 1;
    os << (isSet ? "true" : "false");
    ++next;
    return;
  }
  os << "[";
  for (int64_t i = 0; i < shape.front(); ++i) {
    if (i > 0)
      os << ", ";
    printList(booleans, shape.drop_front(), next, os);
  }
  os << "]";
}

void meshwright::printWithBooleanLists(StringRef text, raw_ostream &os,
                                       StringRef quote) {
  HexBooleansFinder finder(text, quote);
  const char *printed = text.begin();
  while (std::optional<HexBooleans> found = finder.next()) {
    if (!found->isBitEach())
      continue;
    os << StringRef(printed, found->quoted.begin() - printed);
    int64_t next = 0;
    printList(*found, found->shape, next, os);
    printed = found->quoted.end();
  }
  os << StringRef(printed, text.end() - printed);
}

BooleanListStream::BooleanListStream(raw_ostream &os) : os(os) {
  SetBufferSize(1 << 16);
}

BooleanListStream::~BooleanListStream() {
  flush();
  printWithBooleanLists(rest, os);
}

void BooleanListStream::write_impl(const char *text, size_t size) {
  position += size;
  StringRef piece(text, size);
  size_t end = piece.rfind('\n') + 1; // 0 if there is none.
  if (end == 0) {
    rest += piece;
    return;
  }
  if (!rest.empty()) {
    size_t first = piece.find('\n') + 1;
    rest += piece.take_front(first);
    printWithBooleanLists(rest, os);
    rest.clear();
    piece = piece.drop_front(first);
    end -= first;
  }
  printWithBooleanLists(piece.take_front(end), os);
  rest = piece.drop_front(end);
}
