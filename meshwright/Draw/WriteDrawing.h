//===- WriteDrawing.h - The forms of a drawing ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DRAW_WRITEDRAWING_H
#define MESHWRIGHT_DRAW_WRITEDRAWING_H

#include "meshwright/Draw/Drawing.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace meshwright {

/// One page of HTML that needs nothing else: tools/page with the drawing in it.
llvm::Error printPage(const Drawing &drawing, llvm::raw_ostream &os);

/// An image, a row for each mesh; a recorded run below the simulated one.
void printSvg(const Drawing &drawing, llvm::raw_ostream &os);

/// The same as PDF, by rsvg-convert. Fails if that is not installed.
llvm::Error printPdf(const Drawing &drawing, llvm::raw_ostream &os);

/// A trace for Perfetto and chrome://tracing, in the form of the runtime's
/// recordings: a process for each mesh, counters for what it holds.
void printTrace(const Drawing &drawing, llvm::raw_ostream &os);

/// The fragments and what goes between them, as text for Graphviz.
void printDot(const Drawing &drawing, llvm::raw_ostream &os);

/// A line of `columns` letters for each mesh, and tables.
void printText(const Drawing &drawing, unsigned columns, bool withColours,
               llvm::raw_ostream &os);

} // namespace meshwright

#endif
