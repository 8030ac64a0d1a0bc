//===- Mpmd.cpp - The mpmd dialect in MLIR's C API ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/CAPI/Mpmd.h"
#include "meshwright/InitAll.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Registration.h"

using namespace mlir;
using namespace mlir::mpmd;

MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(MPMD, mpmd, mlir::mpmd::MpmdDialect)

void mlirRegisterAllMpmdPassesAndPipelines(void) {
  meshwright::registerAllPasses();
}

bool mpmdAttributeIsAUserOriginAttr(MlirAttribute attribute) {
  return isa<UserOriginAttr>(unwrap(attribute));
}

MlirAttribute mpmdUserOriginAttrGet(MlirContext context, MlirAttribute name,
                                    int64_t transposeCount) {
  return wrap(UserOriginAttr::get(
      unwrap(context), cast<StringAttr>(unwrap(name)), transposeCount));
}

MlirAttribute mpmdUserOriginAttrGetUserName(MlirAttribute attribute) {
  Attribute name = cast<UserOriginAttr>(unwrap(attribute)).getUserName();
  return wrap(name);
}

int64_t mpmdUserOriginAttrGetTransposeCount(MlirAttribute attribute) {
  return cast<UserOriginAttr>(unwrap(attribute)).getTransposeCount();
}
