// RUN: mpmd-opt %s -mpmd-inline-nested-user-exposed-ops='assignment=outer@p/1,stageless@p,elsewhere@q/1,tag@q,host@p#device' -verify-diagnostics -split-input-file

!t = tensor<3xf32>
#topology = #mpmd.topology<<"p": <["d"=3]>>, <"q": <["d"=3]>>>

func.func @reports_every_conflict(%x: !t) -> !t attributes {topology = #topology} {
  %0 = mpmd.named_computation<"outer"> (%x) (%a: !t) {
    // expected-error@+1 {{NamedComputation 'stageless' is nested in a NamedComputation 'outer' which has a different mesh or stage assignment: p inside p/1}}
    %1 = mpmd.named_computation<"stageless"> (%a) (%b: !t) {
      mpmd.return %b : !t
    } : (!t) -> !t
    // expected-error@+1 {{NamedComputation 'elsewhere' is nested in a NamedComputation 'outer' which has a different mesh or stage assignment: q/1 inside p/1}}
    %2 = mpmd.named_computation<"elsewhere"> (%1) (%b: !t) {
      mpmd.return %b : !t
    } : (!t) -> !t
    // expected-error@+1 {{NamedTensor 'tag' is nested in a NamedComputation 'outer' which has a different mesh assignment: q inside p}}
    %3 = mpmd.named_tensor %2 name="tag" : !t
    mpmd.return %3 : !t
  } : (!t) -> !t
  return %0 : !t
}

// -----

!t = tensor<3xf32>
#topology = #mpmd.topology<<"p": <["d"=3]>>, <"q": <["d"=3]>>>

func.func @stops_at_unassigned_parent(%x: !t) -> !t attributes {topology = #topology} {
  // expected-error@+1 {{Parent NamedComputation 'unknown' is not assigned to a mesh; add 'unknown@MESH' to the assignment}}
  %0 = mpmd.named_computation<"unknown"> (%x) (%a: !t) {
    %1 = mpmd.named_computation<"also_unknown"> (%a) (%b: !t) {
      mpmd.return %b : !t
    } : (!t) -> !t
    %2 = mpmd.named_tensor %1 name="tag" : !t
    mpmd.return %2 : !t
  } : (!t) -> !t
  return %0 : !t
}

// -----

!t = tensor<3xf32>
#topology = #mpmd.topology<<"p": <["d"=3]>>, <"q": <["d"=3]>>>

func.func @compares_target_of_parent_verbatim(%x: !t) -> !t attributes {topology = #topology} {
  %0 = mpmd.named_computation<"host"> (%x) (%a: !t) {
    // expected-error@+1 {{NamedTensor 'host' is nested in a NamedComputation 'host' which has a different mesh assignment: p inside p#device}}
    %1 = mpmd.named_tensor %a name="host" : !t
    mpmd.return %1 : !t
  } : (!t) -> !t
  return %0 : !t
}
