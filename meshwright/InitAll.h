//===- InitAll.h - Everything a Meshwright tool registers -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_INITALL_H
#define MESHWRIGHT_INITALL_H

#include "meshwright/InitDialects.h"

namespace meshwright {

/// The passes of all folders, and the pipelines of the phases.
void registerAllPasses();

} // namespace meshwright

#endif
