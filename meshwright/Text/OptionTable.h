//===- OptionTable.h - The options of a phase, once -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Each phase has a table, Options.def, with a line per option:
//
//   MESHWRIGHT_OPTION(TYPE, FIELD, TEXT, KEY, PIPELINE, FRONT, HELP)
//   MESHWRIGHT_LIST_OPTION(TYPE, FIELD, TEXT, KEY, HELP)
//
//   FIELD     of the phase's C++ struct, of type TYPE or a vector of TYPE
//   TEXT      its name in the textual pipeline, as in
//             `mpmd-import-pipeline{TEXT=...}`
//   KEY       its name among the `options` of a configuration file and of
//             Python; empty if a key of the file itself says it
//   PIPELINE  its value where a textual pipeline does not say any
//   FRONT     its value where a configuration does not say any
//   HELP      a sentence, for users
//
//
// A file that needs the options defines the macros and includes the table, which
// takes the definitions back at its end: the struct (PhaseOptions.inc), the textual
// pipeline (TextualOptions.inc), the configuration (ConfigOptions.cpp), and
// from there Python and docs/config.md (scripts/option_docs.py).
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEXT_OPTIONTABLE_H
#define MESHWRIGHT_TEXT_OPTIONTABLE_H

#include "meshwright/Text/QuotedText.h"

namespace meshwright {

/// How an option of type T is parsed and printed in a textual pipeline.
template <typename T> struct OptionTextOf {
  using type = T;
};
template <> struct OptionTextOf<std::string> {
  using type = TextOption;
};
template <typename T> using OptionText = typename OptionTextOf<T>::type;

} // namespace meshwright

#endif
