/*===- Mpmd.h - The mpmd dialect in MLIR's C API ----------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0                                        *|
\*===----------------------------------------------------------------------===*/

#ifndef MESHWRIGHT_CAPI_MPMD_H
#define MESHWRIGHT_CAPI_MPMD_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/* mlirGetDialectHandle__mpmd__ */
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(MPMD, mpmd);

/* Makes every pass and pipeline of the project known to pass pipelines. */
MLIR_CAPI_EXPORTED void mlirRegisterAllMpmdPassesAndPipelines(void);

/* `"enc"(1)`: the name of a computation and its transpose count. */
MLIR_CAPI_EXPORTED bool mpmdAttributeIsAUserOriginAttr(MlirAttribute attribute);
MLIR_CAPI_EXPORTED MlirAttribute mpmdUserOriginAttrGet(MlirContext context,
                                                       MlirAttribute name,
                                                       int64_t transposeCount);
MLIR_CAPI_EXPORTED MlirAttribute
mpmdUserOriginAttrGetUserName(MlirAttribute attribute);
MLIR_CAPI_EXPORTED int64_t
mpmdUserOriginAttrGetTransposeCount(MlirAttribute attribute);

#ifdef __cplusplus
}
#endif

#endif
