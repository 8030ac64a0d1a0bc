// RUN: mpmd-opt %s -sdy-propagate-to-func-results -verify-diagnostics

// expected-error@+1 {{module has no main function}}
module {
  func.func @a() {
    return
  }
  func.func @b() {
    return
  }
}
