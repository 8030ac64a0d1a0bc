// RUN: mpmd-opt %s -mpmd-fuse-overlapped-pairs -verify-diagnostics -split-input-file

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
!n = !mpmd.mesh_tensor<"n", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2]>>>

func.func @two_meshes(%x: !m, %y: !n) -> (!m, !n) attributes {topology = #topology} {
  // expected-note@+1 {{the other fragment is here}}
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) {mpmd.overlap = array<i64: 2, 0>} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m) -> !m
  // expected-error@+1 {{overlapped pair 2 is on meshes "m" and "n"; expected fragments of one mesh}}
  %1 = mpmd.fragment<mesh="n", origin=["g"(1)]> (%y) {mpmd.overlap = array<i64: 2, 1>} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!n) -> !n
  return %0, %1 : !m, !n
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

func.func @two_forwards(%x: !m) -> (!m, !m) attributes {topology = #topology} {
  // expected-note@+1 {{the other fragment is here}}
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) {mpmd.overlap = array<i64: 2, 0>} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m) -> !m
  // expected-error@+1 {{overlapped pair 2 has two first parts; expected one forward}}
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%x) {mpmd.overlap = array<i64: 2, 0>} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m) -> !m
  return %0, %1 : !m, !m
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

func.func @halves_of_two_backwards(%x: !m) -> (!m, !m) attributes {topology = #topology} {
  // expected-note@+1 {{the other fragment is here}}
  %0 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%x) {call_counter = 0 : ui32, mpmd.overlap = array<i64: 2, 1>} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m) -> !m
  // expected-error@+1 {{overlapped pair 2 has two second parts that are no halves of one backward; expected the same stage and call counter}}
  %1 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%x) {call_counter = 1 : ui32, mpmd.overlap = array<i64: 2, 1>} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m) -> !m
  return %0, %1 : !m, !m
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

func.func @three_backwards(%x: !m) -> (!m, !m, !m) attributes {topology = #topology} {
  // expected-note@+1 {{the other fragment is here}}
  %0 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%x) {mpmd.overlap = array<i64: 2, 1>} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%x) {mpmd.overlap = array<i64: 2, 1>} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m) -> !m
  // expected-error@+1 {{overlapped pair 2 has three second parts; expected one backward, or the two halves of one}}
  %2 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%x) {mpmd.overlap = array<i64: 2, 1>} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m) -> !m
  return %0, %1, %2 : !m, !m, !m
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

func.func @no_mark(%x: !m) -> !m attributes {topology = #topology} {
  // expected-error@+1 {{mpmd.overlap is 3 : i64; expected array<i64> of the number of a pair, and 0 or 1}}
  %0 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%x) {mpmd.overlap = 3 : i64} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m) -> !m
  return %0 : !m
}
