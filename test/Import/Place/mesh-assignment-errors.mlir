// RUN: not mpmd-opt %s -mpmd-map-named-ops-to-mpmd-ops='assignment=f@p,,g@q' 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not mpmd-opt %s -mpmd-map-named-ops-to-mpmd-ops='assignment=f@p,g' 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not mpmd-opt %s -mpmd-map-named-ops-to-mpmd-ops='assignment=f@p/two' 2>&1 | FileCheck %s --check-prefix=STAGE
// RUN: not mpmd-opt %s -mpmd-map-input-output-to-mesh='input-assignment=0' 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: not mpmd-opt %s -mpmd-map-input-output-to-mesh='output-assignment=a@p' 2>&1 | FileCheck %s --check-prefix=INDEX
// RUN: not mpmd-opt %s -mpmd-enforce-input-output-equisharding=constraints=a:0 2>&1 | FileCheck %s --check-prefix=INPUT
// RUN: not mpmd-opt %s -mpmd-enforce-input-output-equisharding=constraints=0:b 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: mpmd-opt %s -mpmd-map-named-ops-to-mpmd-ops='assignment={z@p, a@q/-3,}' --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=DUMP
// RUN: mpmd-opt %s -mpmd-enforce-input-output-equisharding=constraints=0:0,1:0 --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=LIST

// EMPTY: missing '@' in an entry, expected name@mesh or name@mesh/stage but got:{{ *$}}
// NAME: missing '@' in an entry, expected name@mesh or name@mesh/stage but got: g{{$}}
// STAGE: invalid stage number for "f", expected an integer but got: two{{$}}
// MESH: missing '@' in an entry, expected index@mesh but got: 0{{$}}
// INDEX: invalid index, expected an integer but got: a{{$}}
// INPUT: invalid input index of a constraint, expected input:output but got: a{{$}}
// OUTPUT: invalid output index of a constraint, expected input:output but got: b{{$}}
// DUMP: assignment={a@q/-3, z@p}}
// LIST: constraints={0:0,1:0}
func.func private @nothing()
