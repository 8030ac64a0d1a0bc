//===- FragmentRules.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/Rules/FragmentRules.h"
#include "meshwright/Text/QuotedText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::mpmd;

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

namespace {
/// Parses one rule by recursive descent. The functions return false after an
/// error, of which the first is kept.
class RuleParser {
public:
  explicit RuleParser(StringRef text) : text(text) {}

  bool parse(FragmentMergeRule &rule);
  bool parse(FragmentScheduleRule &rule);
  llvm::Error takeError();

private:
  /// Skips `token` if it comes next.
  bool consume(StringRef token);
  bool expect(StringRef token);
  bool failExpecting(const Twine &expected);

  bool parseInteger(int64_t &value, int64_t min, int64_t max);
  bool parseName(std::string &name);
  bool parseOrigin(FragmentInfo &info);
  bool parseSplitType(FragmentInfo &info);
  bool parseField(FragmentInfo &info, SmallVectorImpl<StringRef> &seen);
  bool parseInfo(FragmentInfo &info);

  /// Parses elements up to `]`, with `separator` between them and, at will,
  /// after the last.
  bool parseList(StringRef separator, function_ref<bool()> parseElement);
  bool parseInfos(StringRef separator, SmallVectorImpl<FragmentInfo> &infos);

  StringRef text;
  size_t position = 0;
  std::string error;
};
} // namespace

bool RuleParser::consume(StringRef token) {
  if (!text.substr(position).starts_with(token))
    return false;
  position += token.size();
  return true;
}

bool RuleParser::failExpecting(const Twine &expected) {
  constexpr size_t kContext = 16;
  StringRef rest = text.substr(position);
  std::string found = "the end";
  if (!rest.empty())
    found = ("'" + rest.take_front(kContext) +
             (rest.size() > kContext ? "…'" : "'"))
                .str();
  error = llvm::formatv("in rule '{0}' at character {1}: expected {2}, found "
                        "{3}",
                        text, position + 1, expected.str(), found);
  return false;
}

/// Points at the first character that differs, not at the start of `token`.
bool RuleParser::expect(StringRef token) {
  if (consume(token))
    return true;
  StringRef rest = text.substr(position);
  size_t common = 0;
  while (common < rest.size() && rest[common] == token[common])
    ++common;
  position += common;
  return failExpecting("'" + token.drop_front(common) + "'");
}

bool RuleParser::parseInteger(int64_t &value, int64_t min, int64_t max) {
  StringRef rest = text.substr(position);
  size_t length = rest.starts_with("-") ? 1 : 0;
  length += rest.drop_front(length).take_while(llvm::isDigit).size();
  if (rest.take_front(length).getAsInteger(10, value) || value < min ||
      value > max)
    return failExpecting(
        llvm::formatv("a decimal number from {0} to {1}", min, max).str());
  position += length;
  return true;
}

bool RuleParser::parseName(std::string &name) {
  if (!expect("\""))
    return false;
  size_t end = text.find('"', position);
  if (end == StringRef::npos) {
    position = text.size();
    return failExpecting("'\"' after the name");
  }
  name = meshwright::unescape(text.slice(position, end));
  position = end + 1;
  return true;
}

bool RuleParser::parseOrigin(FragmentInfo &info) {
  FragmentOrigin origin;
  if (!parseName(origin.name))
    return false;
  if (consume("(") && (!parseInteger(origin.transposeCount, 0,
                                     std::numeric_limits<int64_t>::max()) ||
                       !expect(")")))
    return false;
  info.origins.push_back(std::move(origin));
  return true;
}

bool RuleParser::parseSplitType(FragmentInfo &info) {
  if (consume("kKeepTransferred"))
    info.splitType = SplitFragmentType::kKeepTransferred;
  else if (consume("kDropTransferred"))
    info.splitType = SplitFragmentType::kDropTransferred;
  else
    return failExpecting("kKeepTransferred or kDropTransferred");
  return true;
}

bool RuleParser::parseField(FragmentInfo &info,
                            SmallVectorImpl<StringRef> &seen) {
  size_t start = position;
  StringRef name = text.substr(position).take_until(
      [](char c) { return c == '=' || c == ',' || c == ')'; });
  if (llvm::is_contained(seen, name))
    return failExpecting("a field other than " + name +
                         ", which the fragment already has");
  seen.push_back(name);

  int64_t number = 0;
  if (consume("stage=")) {
    if (!parseInteger(number, std::numeric_limits<int64_t>::min(),
                      std::numeric_limits<int64_t>::max()))
      return false;
    info.stageId = number;
  } else if (consume("call_counter=")) {
    if (!parseInteger(number, 0, std::numeric_limits<uint32_t>::max()))
      return false;
    info.callCounter = number;
  } else if (consume("split_type=")) {
    return parseSplitType(info);
  } else if (consume("mesh_name=")) {
    return parseName(info.meshName);
  } else {
    position = start;
    return failExpecting("stage=, call_counter=, split_type= or mesh_name=");
  }
  return true;
}

bool RuleParser::parseList(StringRef separator,
                           function_ref<bool()> parseElement) {
  while (!consume("]")) {
    if (!parseElement())
      return false;
    if (consume(separator))
      continue;
    if (!consume("]"))
      return failExpecting("'" + separator + "' or ']'");
    break;
  }
  return true;
}

bool RuleParser::parseInfo(FragmentInfo &info) {
  if (!expect("FragmentInfo(origins=[") ||
      !parseList(",", [&] { return parseOrigin(info); }))
    return false;
  SmallVector<StringRef> seen;
  while (consume(","))
    if (!parseField(info, seen))
      return false;
  return consume(")") || failExpecting("',' or ')'");
}

bool RuleParser::parseInfos(StringRef separator,
                            SmallVectorImpl<FragmentInfo> &infos) {
  return parseList(separator, [&] { return parseInfo(infos.emplace_back()); });
}

bool RuleParser::parse(FragmentMergeRule &rule) {
  return expect("FragmentMergeRule(sources=[") &&
         parseInfos(",", rule.sources) && expect(",target=") &&
         parseInfo(rule.target) && expect(")");
}

bool RuleParser::parse(FragmentScheduleRule &rule) {
  return expect("FragmentScheduleRule(ordered_fragments=[") &&
         parseInfos("->", rule.orderedFragments) && expect(")");
}

llvm::Error RuleParser::takeError() { return llvm::createStringError(error); }

template <typename RuleT>
static llvm::Expected<RuleT> parseRule(StringRef text) {
  RuleParser parser(text);
  RuleT rule;
  if (!parser.parse(rule))
    return parser.takeError();
  return rule;
}

llvm::Expected<FragmentMergeRule>
mlir::mpmd::parseFragmentMergeRule(StringRef text) {
  return parseRule<FragmentMergeRule>(text);
}

llvm::Expected<FragmentScheduleRule>
mlir::mpmd::parseFragmentScheduleRule(StringRef text) {
  return parseRule<FragmentScheduleRule>(text);
}

//===----------------------------------------------------------------------===//
// Comparing and printing
//===----------------------------------------------------------------------===//

bool mlir::mpmd::operator==(const FragmentMergeRule &a,
                            const FragmentMergeRule &b) {
  return a.sources == b.sources && a.target == b.target;
}

bool mlir::mpmd::operator==(const FragmentScheduleRule &a,
                            const FragmentScheduleRule &b) {
  return a.orderedFragments == b.orderedFragments;
}

raw_ostream &mlir::mpmd::operator<<(raw_ostream &os,
                                    const FragmentMergeRule &rule) {
  os << "FragmentMergeRule(sources=[";
  llvm::interleave(rule.sources, os, ",");
  return os << "],target=" << rule.target << ")";
}

raw_ostream &mlir::mpmd::operator<<(raw_ostream &os,
                                    const FragmentScheduleRule &rule) {
  os << "FragmentScheduleRule(ordered_fragments=[";
  llvm::interleave(rule.orderedFragments, os, "->");
  return os << "])";
}

//===----------------------------------------------------------------------===//
// Pass options
//===----------------------------------------------------------------------===//

template <typename RuleT>
static bool parseRuleOption(llvm::cl::Option &option, StringRef text,
                            RuleT &rule) {
  llvm::Expected<RuleT> parsed = parseRule<RuleT>(text);
  if (!parsed)
    return option.error(llvm::toString(parsed.takeError()));
  rule = std::move(*parsed);
  return false;
}

bool mlir::mpmd::parseOption(llvm::cl::Option &option, StringRef text,
                             FragmentMergeRule &rule) {
  return parseRuleOption(option, text, rule);
}

bool mlir::mpmd::parseOption(llvm::cl::Option &option, StringRef text,
                             FragmentScheduleRule &rule) {
  return parseRuleOption(option, text, rule);
}
