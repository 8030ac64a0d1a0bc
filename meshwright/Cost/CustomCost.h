//===- CustomCost.h - What users say about custom calls ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
//   flash_attention=flops:4*b*h*t*t*d
//   flash_attention(b,h,t,d)=flops:4*b*h*t*t*d,bytes:8*b*h*t*d
//
// The letters represent the dimensions of the first operand, in order: as the
// list in parentheses names them, or else as they first appear. Expressions
// have numbers, + - * / and parentheses.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_COST_CUSTOMCOST_H
#define MESHWRIGHT_COST_CUSTOMCOST_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace meshwright {

/// An expression over the sizes of dimensions, in postfix order.
class SizeExpression {
public:
  /// A number, a dimension by its position, or an operator.
  struct Token {
    char kind; ///< 'n', 'd', or one of + - * /.
    double number = 0;
    unsigned dimension = 0;
  };

  /// `names` are those of dimensions; where it is growing, new ones are added.
  static llvm::Expected<SizeExpression>
  parse(llvm::StringRef text, std::vector<std::string> &names, bool isGrowing);

  /// `sizes` has an entry for each name.
  double evaluate(llvm::ArrayRef<int64_t> sizes) const;

private:
  friend class ExpressionParser;
  std::vector<Token> tokens;
};

/// What is known of the custom calls of one name.
struct CustomCost {
  std::vector<std::string> dimensions;
  /// Whether the user named all dimensions of the operand.
  bool isComplete = false;
  std::optional<SizeExpression> flops, bytes;
};

/// By the name of the call target.
using CustomCosts = std::map<std::string, CustomCost, std::less<>>;

/// Reads what is after `--cost`, and adds it.
llvm::Error addCustomCost(llvm::StringRef text, CustomCosts &costs);

/// The same for several in one text, separated by semicolons.
llvm::Expected<CustomCosts> parseCostList(llvm::StringRef list);

/// The same for several.
llvm::Expected<CustomCosts> parseCustomCosts(llvm::ArrayRef<std::string> texts);

} // namespace meshwright

#endif
