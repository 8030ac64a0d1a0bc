//===- Layout.cpp - What each stage of a model holds, as a text -----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Layout.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace meshwright;

/// Pieces and bars. More do not come from a model, but from an error in a number.
static constexpr size_t kMostSymbols = 1 << 16;

static constexpr llvm::StringLiteral kPieceLetters =
    "E (embedding), t (layer), m (extra prediction head) and L (head with the "
    "loss)";

namespace {
/// Reads a layout into its pieces and bars, repetitions written out.
class LayoutReader {
public:
  explicit LayoutReader(llvm::StringRef text) : text(text) {}

  llvm::Expected<std::string> read();

private:
  /// Reads up to the end, or to the parenthesis that closes a group.
  llvm::Error readSequence(std::string &symbols, bool isGroup);
  llvm::Error readRepetition(std::string &symbols, size_t start);
  llvm::Error makeError(size_t at, const llvm::Twine &problem) const {
    return llvm::createStringError("layout: character " + llvm::Twine(at + 1) +
                                   ": " + problem);
  }
  llvm::Error checkSize(size_t size, size_t at) const {
    if (size <= kMostSymbols)
      return llvm::Error::success();
    return makeError(at, "the layout has more than " +
                             llvm::Twine(kMostSymbols) +
                             " pieces and bars; repeat less often");
  }

  llvm::StringRef text;
  size_t next = 0;
  size_t depth = 0;
};
} // namespace

llvm::Expected<std::string> LayoutReader::read() {
  std::string symbols;
  if (llvm::Error error = readSequence(symbols, /*isGroup=*/false))
    return error;
  return symbols;
}

llvm::Error LayoutReader::readRepetition(std::string &symbols, size_t start) {
  size_t at = next++;
  if (start == symbols.size())
    return makeError(at, "'*' repeats nothing; it follows a piece, a bar or a "
                         "group");
  llvm::StringRef digits = text.drop_front(next).take_while(llvm::isDigit);
  unsigned count = 0;
  if (digits.empty())
    return makeError(at, "'*' without a number; expected how often, as in t*3");
  if (digits.getAsInteger(10, count) || count > kMostSymbols)
    count = kMostSymbols + 1;
  if (count == 0)
    return makeError(at, "repeats 0 times; leave the piece out, or repeat it "
                         "once or more");
  next += digits.size();
  std::string piece = symbols.substr(start);
  if (llvm::Error error = checkSize(start + count * piece.size(), at))
    return error;
  for (unsigned i = 1; i < count; ++i)
    symbols += piece;
  return llvm::Error::success();
}

llvm::Error LayoutReader::readSequence(std::string &symbols, bool isGroup) {
  size_t start = symbols.size(); // Of what a repetition would repeat.
  size_t opened = next;
  while (next < text.size()) {
    char symbol = text[next];
    if (symbol == '*') {
      if (llvm::Error error = readRepetition(symbols, start))
        return error;
      start = symbols.size(); // Twice in a row would be a typing error.
      continue;
    }
    ++next;
    if (symbol == ',' || llvm::isSpace(symbol)) {
      start = symbols.size();
      continue;
    }
    if (symbol == ')') {
      if (isGroup)
        return llvm::Error::success();
      return makeError(next - 1, "')' closes no group");
    }
    start = symbols.size();
    if (symbol == '(') {
      if (++depth > 64)
        return makeError(next - 1, "groups are nested more than 64 deep; write "
                                   "inner ones out");
      if (llvm::Error error = readSequence(symbols, /*isGroup=*/true))
        return error;
      --depth;
      continue;
    }
    if (!llvm::StringRef("EtmL|").contains(symbol))
      return makeError(next - 1, "unknown letter '" +
                                     llvm::StringRef(text).substr(next - 1, 1) +
                                     "'; known are " + kPieceLetters +
                                     ", and | between stages");
    symbols += symbol;
    if (llvm::Error error = checkSize(symbols.size(), next - 1))
      return error;
  }
  if (isGroup)
    return makeError(opened - 1, "'(' opens a group that nothing closes");
  return llvm::Error::success();
}

/// The order in which a model runs its pieces.
static llvm::Error checkPieces(llvm::StringRef pieces) {
  auto fail = [](const llvm::Twine &problem) {
    return llvm::createStringError("layout: " + problem);
  };
  if (pieces.empty())
    return fail("has no piece; expected some of " + kPieceLetters);
  for (char letter : {'E', 'L'})
    if (size_t count = pieces.count(letter); count > 1)
      return fail("has " + llvm::Twine(count) + " " +
                  llvm::StringRef(&letter, 1) + "; a model has one at most");
  if (size_t at = pieces.find('E'); at != llvm::StringRef::npos && at > 0)
    return fail("E comes after " + pieces.substr(at - 1, 1) +
                "; the embedding is the first piece");
  if (size_t at = pieces.find('L');
      at != llvm::StringRef::npos && at + 1 < pieces.size())
    return fail("L comes before " + pieces.substr(at + 1, 1) +
                "; the head with the loss is the last piece");
  size_t head = pieces.find('m');
  if (head != llvm::StringRef::npos &&
      pieces.find('t', head) != llvm::StringRef::npos)
    return fail(
        "m comes before t; extra prediction heads come after all layers");
  return llvm::Error::success();
}

llvm::Expected<std::vector<std::string>>
meshwright::parseLayout(llvm::StringRef text) {
  llvm::Expected<std::string> symbols = LayoutReader(text).read();
  if (!symbols)
    return symbols.takeError();
  std::string pieces = *symbols;
  llvm::erase(pieces, '|');
  if (llvm::Error error = checkPieces(pieces))
    return error;
  std::vector<std::string> stages(1);
  for (char symbol : *symbols) {
    if (symbol == '|')
      stages.emplace_back();
    else
      stages.back() += symbol;
  }
  return stages;
}

void meshwright::dropEmptyStages(Plan &plan,
                                 const std::vector<std::string> &stages) {
  auto isEmpty = [&](const Action &action) {
    return stages[action.stage].empty();
  };
  for (ActionList &list : plan.meshes) {
    for (size_t i = 0; i + 1 < list.size(); ++i)
      list[i].joinsNext &= !isEmpty(list[i + 1]);
    llvm::erase_if(list, isEmpty);
  }
}

std::vector<ActionCosts>
meshwright::getCosts(const std::vector<std::string> &stages,
                     const ActionCosts &ofPiece) {
  std::vector<ActionCosts> costs;
  for (const std::string &pieces : stages) {
    // What is never run costs something, so that times stay positive.
    int64_t count = std::max<int64_t>(1, static_cast<int64_t>(pieces.size()));
    costs.push_back({count * ofPiece.forward, count * ofPiece.input,
                     count * ofPiece.weight, count * ofPiece.backward});
  }
  return costs;
}
