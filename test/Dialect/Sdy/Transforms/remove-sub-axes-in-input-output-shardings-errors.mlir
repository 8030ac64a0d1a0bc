// RUN: mpmd-opt %s -sdy-remove-sub-axes-in-input-output-shardings -split-input-file -verify-diagnostics

// expected-error@+1 {{module has no main function}}
module {
  func.func private @f()
  func.func private @g()
}
