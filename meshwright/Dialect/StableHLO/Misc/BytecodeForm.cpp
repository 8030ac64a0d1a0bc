//===- BytecodeForm.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Misc/BytecodeForm.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"

using namespace mlir;
using namespace mlir::stablehlo;

static thread_local BytecodeForm form = BytecodeForm::Jax0_11_2;

BytecodeFormScope::BytecodeFormScope(BytecodeForm inner) : outer(form) {
  form = inner;
}
BytecodeFormScope::~BytecodeFormScope() { form = outer; }

BytecodeForm BytecodeFormScope::current() { return form; }

LogicalResult CustomCallOp::readProperties(DialectBytecodeReader &reader,
                                           OperationState &state) {
  auto &properties = state.getOrAddProperties<Properties>();
  return AttributeReader(reader)
      .optional(properties.api_version)
      .optional(properties.backend_config)
      .required(properties.call_target_name)
      .optional(properties.called_computations)
      .optional(properties.has_side_effect)
      .optional(properties.operand_layouts)
      .optional(properties.output_operand_aliases)
      .optional(properties.result_layouts)
      .since(BytecodeForm::Jax0_11_0, properties.result_tilings);
}

void CustomCallOp::writeProperties(DialectBytecodeWriter &writer) {
  const Properties &properties = getProperties();
  writer.writeOptionalAttribute(properties.api_version);
  writer.writeOptionalAttribute(properties.backend_config);
  writer.writeAttribute(properties.call_target_name);
  writer.writeOptionalAttribute(properties.called_computations);
  writer.writeOptionalAttribute(properties.has_side_effect);
  writer.writeOptionalAttribute(properties.operand_layouts);
  writer.writeOptionalAttribute(properties.output_operand_aliases);
  writer.writeOptionalAttribute(properties.result_layouts);
  writer.writeOptionalAttribute(properties.result_tilings);
}

LogicalResult
CollectiveBroadcastOp::readProperties(DialectBytecodeReader &reader,
                                      OperationState &state) {
  auto &properties = state.getOrAddProperties<Properties>();
  return AttributeReader(reader)
      .optional(properties.channel_handle)
      .since(BytecodeForm::Jax0_11_2, properties.has_dynamic_root)
      .required(properties.replica_groups);
}

void CollectiveBroadcastOp::writeProperties(DialectBytecodeWriter &writer) {
  const Properties &properties = getProperties();
  writer.writeOptionalAttribute(properties.channel_handle);
  writer.writeOptionalAttribute(properties.has_dynamic_root);
  writer.writeAttribute(properties.replica_groups);
}
