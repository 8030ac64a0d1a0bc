//===- Values.cpp - Other numbers, types and attributes -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Values.h"
#include "Mutator.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/TypeSwitch.h"
#include <limits>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::fuzz;

int64_t fuzz::makeNumber(Chance &chance, int64_t old) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const int64_t numbers[] = {0,
                             1,
                             -1,
                             2,
                             3,
                             static_cast<int64_t>(old + uint64_t(1)),
                             static_cast<int64_t>(old - uint64_t(1)),
                             static_cast<int64_t>(-static_cast<uint64_t>(old)),
                             static_cast<int64_t>(old * uint64_t(2)),
                             old / 2,
                             kMax,
                             -kMax - 1,
                             int64_t(1) << chance.below(63),
                             static_cast<int64_t>(chance.below(16)),
                             std::numeric_limits<int32_t>::max(),
                             std::numeric_limits<int32_t>::min()};
  return numbers[chance.below(std::size(numbers))];
}

int64_t fuzz::makeSize(Chance &chance, int64_t old) {
  const int64_t sizes[] = {0,
                           1,
                           1,
                           2,
                           3,
                           old > 1 ? old - 1 : 2,
                           old < (1 << 20) ? old + 1 : 5,
                           old > 0 && old < (1 << 20) ? old * 2 : 7,
                           int64_t(1) << 20,
                           int64_t(1) << 31,
                           int64_t(1) << 40,
                           int64_t(1) << 62,
                           std::numeric_limits<int64_t>::max(),
                           ShapedType::kDynamic};
  int64_t size = sizes[chance.below(std::size(sizes))];
  return size < 0 && size != ShapedType::kDynamic ? 1 : size;
}

Type fuzz::makeElementType(Chance &chance, MLIRContext *context) {
  Builder b(context);
  switch (chance.below(30)) {
  case 0:
    return b.getI1Type();
  case 1:
    return b.getIntegerType(2);
  case 2:
    return b.getIntegerType(4);
  case 3:
    return b.getI8Type();
  case 4:
    return b.getI16Type();
  case 5:
  case 6:
    return b.getI32Type();
  case 7:
    return b.getI64Type();
  case 8:
    return b.getIntegerType(2, false);
  case 9:
    return b.getIntegerType(4, false);
  case 10:
    return b.getIntegerType(8, false);
  case 11:
    return b.getIntegerType(16, false);
  case 12:
    return b.getIntegerType(32, false);
  case 13:
    return b.getIntegerType(64, false);
  case 14:
    return b.getF16Type();
  case 15:
    return b.getBF16Type();
  case 16:
  case 17:
    return b.getF32Type();
  case 18:
    return b.getF64Type();
  case 19:
    return Float8E4M3FNType::get(context);
  case 20:
    return Float8E5M2Type::get(context);
  case 21:
    return Float4E2M1FNType::get(context);
  case 22:
    return Float8E8M0FNUType::get(context);
  case 23:
    return ComplexType::get(b.getF32Type());
  case 24:
    return ComplexType::get(b.getF64Type());
  case 25:
    return b.getIndexType();
  case 26:
    return b.getIntegerType(1 + chance.below(200));
  case 27:
    return quant::UniformQuantizedType::get(quant::QuantizationFlags::Signed,
                                            b.getI8Type(), b.getF32Type(), 0.5,
                                            chance.below(20), -128, 127);
  case 28:
    return b.getIntegerType(32, true);
  default:
    return Float6E3M2FNType::get(context);
  }
}

static Type makeShaped(Chance &chance, RankedTensorType old) {
  SmallVector<int64_t> shape(old.getShape());
  Type element = old.getElementType();
  Attribute encoding = old.getEncoding();
  switch (chance.below(shape.empty() ? 4 : 10)) {
  case 0:
  case 1:
    element = makeElementType(chance, old.getContext());
    break;
  case 2:
    shape.insert(shape.begin() + chance.below(shape.size() + 1),
                 makeSize(chance, 1));
    break;
  case 3:
    if (encoding)
      encoding = {};
    else if (chance.oneIn(2))
      return UnrankedTensorType::get(element);
    else
      encoding = Builder(old.getContext()).getUnitAttr();
    break;
  case 4:
    shape.erase(shape.begin() + chance.below(shape.size()));
    break;
  case 5:
    std::swap(chance.of(shape), shape.front());
    break;
  default: {
    int64_t &size = chance.of(shape);
    size = makeSize(chance, size);
  }
  }
  if (!RankedTensorType::getChecked(
          [&] { return emitError(UnknownLoc::get(old.getContext())); }, shape,
          element, encoding))
    return old;
  return RankedTensorType::get(shape, element, encoding);
}

/// What a text parses to that is almost that of `old`, or `old`. Attributes and
/// types of our dialects must not be made in other ways: those that their
/// verifiers do not accept do not exist.
template <typename Value>
static Value
makeByText(Chance &chance, Value old,
           llvm::function_ref<Value(StringRef, MLIRContext *)> parse) {
  std::string text;
  llvm::raw_string_ostream(text) << old;
  ScopedDiagnosticHandler quiet(old.getContext(),
                                [](Diagnostic &) { return success(); });
  for (int attempt = 0; attempt < 8; ++attempt)
    if (Value value =
            parse(mutateText(text, chance.below(~0ull)), old.getContext());
        value && value != old)
      return value;
  return old;
}

Type fuzz::makeType(Chance &chance, Type old) {
  if (auto tensor = dyn_cast<RankedTensorType>(old))
    return makeShaped(chance, tensor);
  if (isa<FloatType, IntegerType, IndexType, ComplexType>(old))
    return makeElementType(chance, old.getContext());
  if (auto function = dyn_cast<FunctionType>(old)) {
    SmallVector<Type> inputs(function.getInputs());
    SmallVector<Type> results(function.getResults());
    SmallVector<Type> &types = chance.oneIn(2) ? inputs : results;
    if (types.empty() || chance.oneIn(3))
      types.push_back(RankedTensorType::get(
          {2}, makeElementType(chance, old.getContext())));
    else if (chance.oneIn(2))
      types.erase(types.begin() + chance.below(types.size()));
    else
      chance.of(types) = makeType(chance, types.front());
    return FunctionType::get(old.getContext(), inputs, results);
  }
  return makeByText<Type>(chance, old,
                          [](StringRef text, MLIRContext *context) {
                            return parseType(text, context);
                          });
}

Attribute fuzz::retype(Attribute constant, Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped || !shaped.hasStaticShape() ||
      !isa<FloatType, IntegerType, IndexType, ComplexType>(
          shaped.getElementType()))
    return constant;
  Type element = shaped.getElementType();
  Builder b(type.getContext());
  auto zero = [&]() -> Attribute {
    if (auto complex = dyn_cast<ComplexType>(element))
      return b.getArrayAttr({b.getZeroAttr(complex.getElementType()),
                             b.getZeroAttr(complex.getElementType())});
    return b.getZeroAttr(element);
  };
  auto dense = dyn_cast<DenseElementsAttr>(constant);
  if (!dense || isa<ComplexType>(element))
    return DenseElementsAttr::get(shaped, zero());
  if (dense.getElementType() == element && !dense.empty()) {
    if (dense.getNumElements() == ShapedType::getNumElements(shaped.getShape()))
      return dense.reshape(shaped);
    return DenseElementsAttr::get(shaped, *dense.value_begin<Attribute>());
  }
  return DenseElementsAttr::get(shaped, zero());
}

template <typename Number>
static SmallVector<Number> makeNumbers(Chance &chance, ArrayRef<Number> old) {
  SmallVector<Number> numbers(old);
  if (numbers.empty() || chance.oneIn(6))
    numbers.push_back(makeNumber(chance, 1));
  else if (chance.oneIn(5))
    numbers.erase(numbers.begin() + chance.below(numbers.size()));
  else if (chance.oneIn(4))
    std::swap(chance.of(numbers), chance.of(numbers));
  else if (Number &number = chance.of(numbers); true)
    number = makeNumber(chance, number);
  return numbers;
}

static Attribute makeElements(Chance &chance, DenseElementsAttr dense) {
  Type element = dense.getElementType();
  if (dense.empty() || chance.oneIn(4))
    return retype(dense, makeType(chance, dense.getType()));
  int64_t count = dense.getNumElements(); // Of huge sizes, it has overflowed.
  if (auto integer = dyn_cast<IntegerType>(element);
      integer && count > 0 && count < 4096) {
    SmallVector<APInt> numbers(dense.getValues<APInt>());
    APInt &number = chance.of(numbers);
    number = APInt(integer.getWidth(),
                   makeNumber(chance, number.sextOrTrunc(64).getSExtValue()),
                   /*isSigned=*/true, /*implicitTrunc=*/true);
    return DenseElementsAttr::get(dense.getType(), numbers);
  }
  if (auto real = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics &semantics = real.getFloatSemantics();
    APFloat values[] = {APFloat::getZero(semantics),
                        APFloat::getZero(semantics, /*Negative=*/true),
                        APFloat::getLargest(semantics),
                        APFloat::getSmallest(semantics),
                        APFloat::getOne(semantics)};
    if (APFloat::semanticsHasInf(semantics) && chance.oneIn(3))
      return DenseElementsAttr::get(dense.getType(),
                                    APFloat::getInf(semantics));
    if (APFloat::semanticsHasNaN(semantics) && chance.oneIn(3))
      return DenseElementsAttr::get(dense.getType(),
                                    APFloat::getNaN(semantics));
    return DenseElementsAttr::get(dense.getType(),
                                  values[chance.below(std::size(values))]);
  }
  return dense;
}

Attribute fuzz::makeAttribute(Chance &chance, Attribute old) {
  Builder b(old.getContext());
  return TypeSwitch<Attribute, Attribute>(old)
      .Case([&](IntegerAttr attr) -> Attribute {
        if (attr.getType().isInteger(1))
          return b.getBoolAttr(!attr.getValue().getBoolValue());
        unsigned width = attr.getValue().getBitWidth();
        int64_t number =
            makeNumber(chance, attr.getValue().sextOrTrunc(64).getSExtValue());
        return IntegerAttr::get(attr.getType(),
                                APInt(width, number, /*isSigned=*/true,
                                      /*implicitTrunc=*/true));
      })
      .Case([&](StringAttr attr) -> Attribute {
        std::string text = attr.getValue().str();
        if (text.empty() || chance.oneIn(3))
          text.insert(chance.below(text.size() + 1), 1,
                      "\"\\@#%/,{}()<> \n\t\x01\xff"
                      "a0"[chance.below(19)]);
        else if (chance.oneIn(2))
          text.erase(chance.below(text.size()), 1);
        else
          text = chance.oneIn(2) ? "" : text + text;
        return b.getStringAttr(text);
      })
      .Case([&](DenseI64ArrayAttr attr) -> Attribute {
        return b.getDenseI64ArrayAttr(makeNumbers(chance, attr.asArrayRef()));
      })
      .Case([&](DenseI32ArrayAttr attr) -> Attribute {
        return b.getDenseI32ArrayAttr(makeNumbers(chance, attr.asArrayRef()));
      })
      .Case([&](DenseElementsAttr attr) -> Attribute {
        return makeElements(chance, attr);
      })
      .Case([&](TypeAttr attr) -> Attribute {
        return TypeAttr::get(makeType(chance, attr.getValue()));
      })
      .Case([&](ArrayAttr attr) -> Attribute {
        SmallVector<Attribute> elements(attr.getValue());
        if (elements.empty() || chance.oneIn(8))
          elements.push_back(b.getUnitAttr());
        else if (chance.oneIn(5))
          elements.erase(elements.begin() + chance.below(elements.size()));
        else if (chance.oneIn(5))
          elements.push_back(chance.of(elements));
        else if (chance.oneIn(5))
          std::swap(chance.of(elements), chance.of(elements));
        else if (Attribute &element = chance.of(elements); true)
          element = makeAttribute(chance, element);
        return b.getArrayAttr(elements);
      })
      .Case([&](DictionaryAttr attr) -> Attribute {
        SmallVector<NamedAttribute> entries(attr.getValue());
        if (entries.empty())
          return attr;
        unsigned index = chance.below(entries.size());
        if (chance.oneIn(3))
          entries.erase(entries.begin() + index);
        else
          entries[index] =
              b.getNamedAttr(entries[index].getName(),
                             makeAttribute(chance, entries[index].getValue()));
        return b.getDictionaryAttr(entries);
      })
      .Default([&](Attribute attr) {
        return makeByText<Attribute>(chance, attr,
                                     [](StringRef text, MLIRContext *context) {
                                       return parseAttribute(text, context);
                                     });
      });
}
