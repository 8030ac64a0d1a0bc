// RUN: mpmd-opt %s -split-input-file -mpmd-verify-program -verify-diagnostics
// RUN: mpmd-opt %s -split-input-file -mpmd-import-pipeline -verify-diagnostics

// expected-note@+1 {{this function calls itself, directly or through others}}
func.func private @calls_itself(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{recursive call of @calls_itself; every call becomes a copy of what it calls}}
  %0 = mpmd.call @calls_itself(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-note@+1 {{this function calls itself, directly or through others}}
func.func private @plain(%x: tensor<f32>) -> tensor<f32> {
  %0 = mpmd.call @marked(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @marked(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{recursive call of @plain}}
  %0 = call @plain(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = call @plain(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func private @declared(tensor<f32>) -> tensor<f32>
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{callee @declared must be a function whose body is one block}}
  %0 = mpmd.call @declared(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func private @f(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  return %y : tensor<f32>
}
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{call has 1 operands and 1 results, but callee @f has 2 arguments and 1 results}}
  %0 = mpmd.call @f(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func private @calls_f(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{call of @f must be directly in a `func.func` or `mpmd.for`, but it runs inside a `stablehlo.while`}}
  %0 = mpmd.call @f(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @calls_that(%x: tensor<f32>) -> tensor<f32> {
  %0 = call @calls_f(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func @main(%x: tensor<f32>, %p: tensor<i1>) -> tensor<f32> {
  %0 = stablehlo.while(%a = %x) : tensor<f32>
  cond {
    stablehlo.return %p : tensor<i1>
  } do {
    // expected-note@+1 {{the function that it is in is called here}}
    %1 = func.call @calls_that(%a) : (tensor<f32>) -> tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = mpmd.named_computation<"n"> (%x) (%a: tensor<f32>) {
    %1 = mpmd.for (%a) {iterations = 2 : ui32, unroll_factor = 2 : ui32} (%b: tensor<f32>, %index: tensor<ui32>) {
      // expected-error@+1 {{it runs inside a `mpmd.named_computation`}}
      %2 = mpmd.call @f(%b) : (tensor<f32>) -> tensor<f32>
      mpmd.return %2 : tensor<f32>
    } : tensor<f32>
    mpmd.return %1 : tensor<f32>
  } : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @main(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{unrolling the loops of this program makes more than 524288 operations, this one of 4000000000 iterations 12000000000; let it do fewer iterations, or allow more by the option mpmd_max_inlined_ops}}
  %0 = mpmd.for (%x) {iterations = 4000000000 : ui32, unroll_factor = 4000000000 : ui32} (%a: tensor<f32>, %index: tensor<ui32>) {
    %1 = stablehlo.tanh %a : tensor<f32>
    mpmd.return %1 : tensor<f32>
  } : tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  builtin.module {
    func.func @f(%y: tensor<f32>) -> tensor<f32> {
      // expected-error@+1 {{call of @f is in a module within the program; expected calls in functions of the program itself}}
      %0 = mpmd.call @f(%y) : (tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }
  }
  %0 = mpmd.call @f(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
