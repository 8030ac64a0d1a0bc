//===- JaxAttributes.cpp - Attributes in the bytecode of JAX --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Files/JaxAttributes.h"
#include "meshwright/Dialect/CHLO/ChloDialect.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringSwitch.h"
#include <tuple>

using namespace mlir;

namespace {
/// Reads parameters one after the other; null, zero and nothing once one of them
/// could not be read.
class Parameters {
public:
  explicit Parameters(DialectBytecodeReader &reader) : reader(reader) {}

  uint64_t count() {
    uint64_t value = 0;
    note(reader.readVarInt(value));
    return value;
  }
  int64_t number() {
    int64_t value = 0;
    note(reader.readSignedVarInt(value));
    return value;
  }
  SmallVector<int64_t> numbers() {
    SmallVector<int64_t> values;
    note(reader.readSignedVarInts(values));
    return values;
  }
  bool flag() {
    bool value = false;
    note(reader.readBool(value));
    return value;
  }
  StringRef name() {
    StringRef value;
    note(reader.readString(value));
    return value;
  }
  Type type() {
    Type value;
    note(reader.readType(value));
    return value;
  }
  SmallVector<Type> types() {
    SmallVector<Type> values;
    note(reader.readTypes(values));
    return values;
  }
  llvm::APFloat real() {
    FailureOr<llvm::APFloat> value =
        reader.readAPFloatWithKnownSemantics(llvm::APFloat::IEEEdouble());
    note(value);
    return succeeded(value) ? *value : llvm::APFloat(0.0);
  }
  template <typename AttrT = Attribute> AttrT attr() {
    AttrT value;
    note(reader.readAttribute(value));
    return value;
  }
  template <typename AttrT> AttrT optionalAttr() {
    AttrT value;
    note(reader.readOptionalAttribute(value));
    return value;
  }
  template <typename AttrT> SmallVector<AttrT> attrs() {
    SmallVector<AttrT> values;
    note(reader.readAttributes(values));
    return values;
  }
  /// A priority, with a bit that says whether there is one.
  std::optional<int64_t> optionalNumber() {
    uint64_t value = 0;
    bool isThere = false;
    note(reader.readVarIntWithFlag(value, isThere));
    return isThere ? std::optional<int64_t>(value) : std::nullopt;
  }
  template <typename EnumT>
  EnumT choice(uint64_t value, std::optional<EnumT> (*symbolize)(uint32_t)) {
    std::optional<EnumT> known =
        value <= UINT32_MAX ? symbolize(value) : std::nullopt;
    if (!known && isGood)
      note(reader.emitError() << "a number " << value << " of JAX's bytecode "
                              << "is unknown");
    return known.value_or(EnumT());
  }

  /// The attribute with these parameters. They come in braces, so that they were
  /// read in their order.
  template <typename AttrT, typename... Values>
  Attribute make(std::tuple<Values...> values) {
    if (!isGood)
      return Attribute();
    return std::apply(
        [this](auto &...value) -> Attribute {
          return AttrT::get(reader.getContext(), asParameter(value)...);
        },
        values);
  }
  /// The same for attributes that verify their parameters.
  template <typename AttrT, typename... Values>
  Attribute makeChecked(std::tuple<Values...> values) {
    if (!isGood)
      return Attribute();
    return std::apply(
        [this](auto &...value) -> Attribute {
          return AttrT::getChecked([this] { return reader.emitError(); },
                                   reader.getContext(), asParameter(value)...);
        },
        values);
  }
  template <typename AttrT, typename EnumT>
  Attribute makeEnum(std::optional<EnumT> (*symbolize)(uint32_t)) {
    EnumT value = choice(count(), symbolize);
    return isGood ? AttrT::get(reader.getContext(), value) : Attribute();
  }

  bool isGood = true;

private:
  void note(LogicalResult result) { isGood &= succeeded(result); }

  template <typename T> static ArrayRef<T> asParameter(SmallVector<T> &list) {
    return list;
  }
  template <typename T> static T asParameter(T &value) { return value; }

  DialectBytecodeReader &reader;
};
} // namespace

static Attribute readReplicaGroups(Parameters &in) {
  Attribute mesh = in.attr();
  SmallVector<Attribute> axes = in.attrs<Attribute>();
  if (!in.isGood)
    return Attribute();
  return in.makeChecked<stablehlo::ReplicaGroupMeshAxesAttr>(
      std::tuple{mesh, ArrayAttr::get(mesh.getContext(), axes)});
}

static Attribute readStablehloMesh(Parameters &in) {
  SmallVector<stablehlo::MeshAxisAttr> axes;
  if (auto list = in.attr<ArrayAttr>())
    axes = llvm::map_to_vector(list, llvm::DynCastTo<stablehlo::MeshAxisAttr>);
  if (llvm::is_contained(axes, stablehlo::MeshAxisAttr()))
    return Attribute();
  return in.make<stablehlo::MeshAttr>(
      std::tuple{axes, in.flag() ? in.attr<DenseIntElementsAttr>()
                                 : DenseIntElementsAttr()});
}

static Attribute readStablehlo(uint64_t kind, Parameters &in) {
  using namespace mlir::stablehlo;
  using std::tuple;
  switch (kind) {
  case 1:
    return in.make<ChannelHandleAttr>(tuple{in.number(), in.number()});
  case 2:
    return in.makeEnum<ComparisonDirectionAttr>(symbolizeComparisonDirection);
  case 3:
    return in.makeEnum<ComparisonTypeAttr>(symbolizeComparisonType);
  case 4:
    return in.make<ConvDimensionNumbersAttr>(
        tuple{in.number(), in.number(), in.numbers(), in.number(), in.number(),
              in.numbers(), in.number(), in.number(), in.numbers()});
  case 5:
    return in.make<DotDimensionNumbersAttr>(
        tuple{in.numbers(), in.numbers(), in.numbers(), in.numbers()});
  case 6:
    return in.makeEnum<FftTypeAttr>(symbolizeFftType);
  case 7:
    return in.make<GatherDimensionNumbersAttr>(
        tuple{in.numbers(), in.numbers(), in.numbers(), in.numbers(),
              in.numbers(), in.number()});
  case 8:
    return in.makeEnum<PrecisionAttr>(symbolizePrecision);
  case 9:
    return in.makeEnum<RngAlgorithmAttr>(symbolizeRngAlgorithm);
  case 10:
    return in.makeEnum<RngDistributionAttr>(symbolizeRngDistribution);
  case 11:
    return in.make<ScatterDimensionNumbersAttr>(
        tuple{in.numbers(), in.numbers(), in.numbers(), in.numbers(),
              in.numbers(), in.number()});
  case 12:
    return in.makeEnum<TransposeAttr>(symbolizeTranspose);
  case 13:
    return in.make<TypeExtensionsAttr>(tuple{in.numbers()});
  case 14:
    return in.make<OutputOperandAliasAttr>(
        tuple{in.numbers(), in.number(), in.numbers()});
  case 15:
    return in.makeChecked<DotAlgorithmAttr>(
        tuple{in.type(), in.type(), in.type(), in.number(), in.number(),
              in.number(), in.flag()});
  case 16:
    return in.makeEnum<ResultAccuracyModeAttr>(symbolizeResultAccuracyMode);
  case 17:
    return in.makeChecked<ResultAccuracyAttr>(tuple{
        in.real(), in.real(), in.number(), in.attr<ResultAccuracyModeAttr>()});
  case 18:
    return readReplicaGroups(in);
  case 19:
    return in.make<SubAxisInfoAttr>(tuple{in.number(), in.number()});
  case 20: {
    StringRef name = in.name();
    return in.make<AxisRefAttr>(tuple{
        name, in.flag() ? in.attr<SubAxisInfoAttr>() : SubAxisInfoAttr()});
  }
  case 21:
    return in.make<MeshAxisAttr>(tuple{in.name(), in.number()});
  case 22:
    return readStablehloMesh(in);
  default:
    return Attribute();
  }
}

static Attribute readChlo(uint64_t kind, Parameters &in) {
  using namespace mlir::chlo;
  switch (kind) {
  case 0:
    return in.makeEnum<ComparisonDirectionAttr>(symbolizeComparisonDirection);
  case 1:
    return in.makeEnum<ComparisonTypeAttr>(symbolizeComparisonType);
  default:
    return Attribute();
  }
}

static Attribute readSharding(bool hasUnreduced, bool hasKind, Parameters &in) {
  using namespace mlir::sdy;
  Attribute mesh = in.attr();
  auto dims = in.attrs<DimensionShardingAttr>();
  auto replicated = in.attrs<AxisRefAttr>();
  SmallVector<AxisRefAttr> unreduced;
  if (hasUnreduced)
    unreduced = in.attrs<AxisRefAttr>();
  ReductionKind kind = ReductionKind::Sum;
  if (hasKind)
    kind = in.choice(in.number(), symbolizeReductionKind);
  if (!isa_and_nonnull<FlatSymbolRefAttr, MeshAttr>(mesh))
    return Attribute();
  return in.make<TensorShardingAttr>(
      std::tuple{mesh, dims, replicated, unreduced, kind});
}

static Attribute readSdy(uint64_t kind, Parameters &in) {
  using namespace mlir::sdy;
  using std::tuple;
  switch (kind) {
  case 0:
    return in.make<ManualAxesAttr>(tuple{in.attrs<StringAttr>()});
  case 1:
    return in.make<MeshAxisAttr>(tuple{in.name(), in.number()});
  case 2:
    return in.makeChecked<MeshAttr>(
        tuple{in.attrs<MeshAxisAttr>(), in.numbers()});
  case 3:
    return in.make<SubAxisInfoAttr>(tuple{in.number(), in.number()});
  case 4:
    return in.make<AxisRefAttr>(
        tuple{in.name(), in.optionalAttr<SubAxisInfoAttr>()});
  case 5:
    return in.make<DimensionShardingAttr>(
        tuple{in.attrs<AxisRefAttr>(), in.flag(), in.optionalNumber()});
  case 6:
    return readSharding(/*hasUnreduced=*/false, /*hasKind=*/false, in);
  case 7:
  case 16: // Where one has unreduced axes.
    return in.make<TensorShardingPerValueAttr>(
        tuple{in.attrs<TensorShardingAttr>()});
  case 8:
    return in.make<DimMappingAttr>(tuple{in.numbers()});
  case 9:
    return in.make<TensorMappingAttr>(tuple{in.attrs<DimMappingAttr>()});
  case 10:
    return in.make<OpShardingRuleAttr>(
        tuple{in.numbers(), in.attrs<TensorMappingAttr>(),
              in.attrs<TensorMappingAttr>(), in.numbers(), in.numbers(),
              in.numbers(), in.numbers(), in.flag()});
  case 11:
    return in.make<AxisRefListAttr>(tuple{in.attrs<AxisRefAttr>()});
  case 12:
    return in.make<ListOfAxisRefListsAttr>(tuple{in.attrs<AxisRefListAttr>()});
  case 13:
    return in.make<AllToAllParamAttr>(
        tuple{in.attrs<AxisRefAttr>(), in.number(), in.number()});
  case 14:
    return in.make<AllToAllParamListAttr>(tuple{in.attrs<AllToAllParamAttr>()});
  case 15:
    return readSharding(/*hasUnreduced=*/true, /*hasKind=*/false, in);
  case 17:
    return readSharding(/*hasUnreduced=*/true, /*hasKind=*/true, in);
  default:
    return Attribute();
  }
}

/// What is not known here can be read as text.
static LogicalResult reportUnknown(DialectBytecodeReader &reader,
                                   StringRef what, StringRef dialect,
                                   uint64_t kind) {
  return reader.emitError()
         << what << " " << kind << " of the dialect '" << dialect
         << "' in JAX's bytecode cannot be read; pass the program as text, "
            "which is str(module) in Python";
}

LogicalResult meshwright::readAttributeOfJax(DialectBytecodeReader &reader,
                                             StringRef dialect,
                                             Attribute &attribute) {
  auto read = llvm::StringSwitch<Attribute (*)(uint64_t, Parameters &)>(dialect)
                  .Case("stablehlo", readStablehlo)
                  .Case("chlo", readChlo)
                  .Case("sdy", readSdy)
                  .Default(nullptr);
  if (!read)
    return success();
  reader.getContext()->getOrLoadDialect(dialect);
  Parameters in(reader);
  uint64_t kind = in.count();
  if (in.isGood)
    attribute = read(kind, in);
  if (!attribute)
    return reportUnknown(reader, "attribute", dialect, kind);
  return success();
}

LogicalResult meshwright::readTypeOfJax(DialectBytecodeReader &reader,
                                        StringRef dialect, Type &type) {
  if (dialect != "stablehlo")
    return success();
  reader.getContext()->getOrLoadDialect(dialect);
  Parameters in(reader);
  uint64_t kind = in.count();
  if (in.isGood && kind == 0)
    type = stablehlo::TokenType::get(reader.getContext());
  if (in.isGood && kind == 1) {
    SmallVector<Type> types = in.types();
    if (in.isGood)
      type = stablehlo::FutureType::getChecked(
          [&] { return reader.emitError(); }, reader.getContext(),
          ArrayRef<Type>(types));
  }
  if (!type)
    return reportUnknown(reader, "type", dialect, kind);
  return success();
}
