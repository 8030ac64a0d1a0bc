// RUN: split-file %s %t
// RUN: mpmd-opt %t/strict.mlir -mpmd-validate-no-inferred-fragments -verify-diagnostics -split-input-file
// RUN: mpmd-opt %t/lenient.mlir -mpmd-validate-no-inferred-fragments=fail-on-inferred-fragments=false -verify-diagnostics

//--- strict.mlir
#topology = #mpmd.topology<<"m": <["x"=2]>>>

func.func @reports_fragments_that_should_be_merged() attributes {topology = #topology} {
  // expected-error@+1 {{Inferred fragment has not been merged (inferred by one, other)}}
  mpmd.fragment<mesh="m", origin=[]> () {mpmd.inferred_by = ["one", "other"]} () { mpmd.return } : () -> ()
  // expected-error@+1 {{Inferred fragment has not been merged (inferred by one)}}
  mpmd.fragment<mesh="m", origin=[]> () {mpmd.inferred_by = ["one"]} () { mpmd.return } : () -> ()
  return
}

//--- lenient.mlir
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// The pass that made it must be known, whatever the option.
func.func @reports_missing_origin_of_inferred_fragment() attributes {topology = #topology} {
  // expected-warning@+1 {{Inferred fragment has not been merged (inferred by one)}}
  mpmd.fragment<mesh="m", origin=[]> () {mpmd.inferred_by = ["one"]} () { mpmd.return } : () -> ()
  // expected-error@+1 {{Internal error: inferred fragment is missing the attribute `mpmd.inferred_by`}}
  mpmd.fragment<mesh="m", origin=[]> () () { mpmd.return } : () -> ()
  // expected-error@+1 {{Internal error: inferred fragment is missing the attribute `mpmd.inferred_by`}}
  mpmd.fragment<mesh="m", origin=[]> () {mpmd.inferred_by = []} () { mpmd.return } : () -> ()
  return
}
