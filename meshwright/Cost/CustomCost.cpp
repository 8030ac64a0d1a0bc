//===- CustomCost.cpp - What users say about custom calls -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/CustomCost.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace meshwright;
using llvm::StringRef;

/// Parentheses in parentheses; more is no formula that a person has written.
static constexpr unsigned kDeepest = 100;

namespace meshwright {
/// Sums of products of numbers, names and parentheses.
class ExpressionParser {
public:
  ExpressionParser(StringRef text, std::vector<std::string> &names,
                   bool isGrowing)
      : rest(text), names(names), isGrowing(isGrowing) {}

  llvm::Expected<SizeExpression> parse() {
    if (llvm::Error error = parseSum())
      return error;
    if (!rest.empty())
      return expected("an operator");
    return std::move(result);
  }

private:
  llvm::Error expected(const llvm::Twine &what) {
    rest = rest.ltrim();
    return llvm::createStringError(
        "expected " + what + " at " +
        (rest.empty() ? "the end" : "\"" + rest.str() + "\""));
  }

  llvm::Error parseSum() {
    if (++depth > kDeepest)
      return expected("fewer parentheses");
    if (llvm::Error error = parseProduct())
      return error;
    while (char sign = takeOneOf("+-")) {
      if (llvm::Error error = parseProduct())
        return error;
      result.tokens.push_back({sign});
    }
    --depth;
    return llvm::Error::success();
  }

  llvm::Error parseProduct() {
    if (llvm::Error error = parseFactor())
      return error;
    while (char sign = takeOneOf("*/")) {
      if (llvm::Error error = parseFactor())
        return error;
      result.tokens.push_back({sign});
    }
    return llvm::Error::success();
  }

  llvm::Error parseFactor() {
    if (takeOneOf("(")) {
      if (llvm::Error error = parseSum())
        return error;
      return takeOneOf(")") ? llvm::Error::success() : expected("\")\"");
    }
    rest = rest.ltrim();
    StringRef word = rest.take_while(
        [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
    double number;
    if (word.empty())
      return expected("a number, the name of a dimension or \"(\"");
    if (llvm::isDigit(word.front()) || word.front() == '.') {
      if (word.getAsDouble(number))
        return expected("a number");
      result.tokens.push_back({'n', number});
    } else {
      auto found = llvm::find(names, word);
      if (found == names.end() && !isGrowing)
        return llvm::createStringError("there is no dimension \"" + word +
                                       "\"; there are " +
                                       llvm::join(names, ", "));
      unsigned index = found - names.begin();
      if (found == names.end())
        names.push_back(word.str());
      result.tokens.push_back({'d', 0, index});
    }
    rest = rest.drop_front(word.size());
    return llvm::Error::success();
  }

  char takeOneOf(StringRef signs) {
    rest = rest.ltrim();
    if (rest.empty() || !signs.contains(rest.front()))
      return 0;
    char sign = rest.front();
    rest = rest.drop_front();
    return sign;
  }

  StringRef rest;
  std::vector<std::string> &names;
  bool isGrowing;
  unsigned depth = 0;
  SizeExpression result;
};
} // namespace meshwright

llvm::Expected<SizeExpression>
SizeExpression::parse(StringRef text, std::vector<std::string> &names,
                      bool isGrowing) {
  return ExpressionParser(text, names, isGrowing).parse();
}

double SizeExpression::evaluate(llvm::ArrayRef<int64_t> sizes) const {
  llvm::SmallVector<double> stack;
  for (const Token &token : tokens) {
    if (token.kind == 'n' || token.kind == 'd') {
      stack.push_back(token.kind == 'n' ? token.number
                                        : double(sizes[token.dimension]));
      continue;
    }
    double right = stack.pop_back_val();
    double &left = stack.back();
    switch (token.kind) {
    case '+':
      left += right;
      break;
    case '-':
      left -= right;
      break;
    case '*':
      left *= right;
      break;
    default:
      left = right == 0 ? 0 : left / right;
    }
  }
  return stack.back();
}

/// `NAME` or `NAME(b,h,t,d)`.
static llvm::Error parsePattern(StringRef pattern, std::string &name,
                                CustomCost &cost) {
  auto [head, list] = pattern.split('(');
  name = head.trim().str();
  if (name.empty())
    return llvm::createStringError("expected the name of a custom call first");
  if (head.size() == pattern.size())
    return llvm::Error::success();
  if (!list.consume_back(")"))
    return llvm::createStringError("expected \")\" after the dimensions");
  cost.isComplete = true;
  llvm::SmallVector<StringRef> names;
  list.split(names, ',');
  for (StringRef dimension : names) {
    dimension = dimension.trim();
    if (dimension.empty() || !llvm::isAlpha(dimension.front()))
      return llvm::createStringError(
          "expected names of dimensions in parentheses, such as (b,h,t,d)");
    if (llvm::is_contained(cost.dimensions, dimension))
      return llvm::createStringError("duplicate dimension \"" + dimension +
                                     "\"; give each a name of its own");
    cost.dimensions.push_back(dimension.str());
  }
  return llvm::Error::success();
}

static llvm::Error parseCost(StringRef text, CustomCosts &costs) {
  auto [pattern, formulas] = text.split('=');
  if (pattern.size() == text.size())
    return llvm::createStringError("expected NAME=flops:FORMULA, such as "
                                   "flash_attention=flops:4*b*h*t*t*d");
  std::string name;
  CustomCost cost;
  if (llvm::Error error = parsePattern(pattern.trim(), name, cost))
    return error;
  llvm::SmallVector<StringRef> parts;
  formulas.split(parts, ',');
  for (StringRef part : parts) {
    auto [key, formula] = part.split(':');
    key = key.trim();
    if (key != "flops" && key != "bytes")
      return llvm::createStringError("expected \"flops:\" or \"bytes:\" and a "
                                     "formula, got \"" +
                                     part.trim() + "\"");
    std::optional<SizeExpression> &target =
        key == "flops" ? cost.flops : cost.bytes;
    if (target)
      return llvm::createStringError("duplicate \"" + key +
                                     ":\"; remove one of the two");
    llvm::Expected<SizeExpression> parsed = SizeExpression::parse(
        formula, cost.dimensions, /*isGrowing=*/!cost.isComplete);
    if (!parsed)
      return llvm::createStringError(key + ": " +
                                     llvm::toString(parsed.takeError()));
    target = std::move(*parsed);
  }
  if (!costs.try_emplace(name, std::move(cost)).second)
    return llvm::createStringError("duplicate cost of \"" + name +
                                   "\"; remove one of the two");
  return llvm::Error::success();
}

llvm::Error meshwright::addCustomCost(StringRef text, CustomCosts &costs) {
  if (llvm::Error error = parseCost(text, costs))
    return llvm::createStringError("--cost '" + text +
                                   "': " + llvm::toString(std::move(error)));
  return llvm::Error::success();
}

llvm::Expected<CustomCosts>
meshwright::parseCustomCosts(llvm::ArrayRef<std::string> texts) {
  CustomCosts costs;
  for (const std::string &text : texts)
    if (llvm::Error error = addCustomCost(text, costs))
      return error;
  return costs;
}

llvm::Expected<CustomCosts> meshwright::parseCostList(StringRef list) {
  llvm::SmallVector<StringRef> texts;
  list.split(texts, ';', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  CustomCosts costs;
  for (StringRef text : texts)
    if (llvm::Error error = addCustomCost(text.trim(), costs))
      return error;
  return costs;
}
