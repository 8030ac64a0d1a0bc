// RUN: mpmd-opt %s -split-input-file -sdy-flatten-call-graph -verify-diagnostics

// expected-note@+1 {{this function calls itself, directly or through others}}
func.func private @even() {
  call @odd() : () -> ()
  return
}
func.func private @odd() {
  // expected-error@+1 {{recursive call of @even}}
  call @even() : () -> ()
  return
}
func.func @reports_recursion() {
  call @even() : () -> ()
  return
}
