// RUN: mpmd-opt %s -mpmd-map-named-ops-to-mpmd-ops='assignment={"a@b"@m1,"c, {d}"@"m 2"/3,e@m3/cpu,"f"@m3/cpu/1,"g\22"@m1#pinned_host,h@m3/cpu#device,"i@j"@"m/4"}' --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=NAMES
// RUN: mpmd-opt %s --pass-pipeline='builtin.module(func.func(mpmd-map-named-ops-to-mpmd-ops{assignment={"a@b"@m1, "c, \7Bd\7D"@"m 2"/3, e@m3/cpu, f@m3/cpu/1, "g\22"@m1#pinned_host, h@m3/cpu#device, "i@j"@"m/4"}}))' --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=NAMES
// RUN: mpmd-opt %s -mpmd-map-input-output-to-mesh='input-assignment={1@"m 1"} output-assignment=0@m3/cpu' --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=INDICES
// RUN: not mpmd-opt %s -mpmd-map-named-ops-to-mpmd-ops='assignment={a@"m"1}' 2>&1 | FileCheck %s --check-prefix=AFTER
// RUN: not mpmd-opt %s -mpmd-map-input-output-to-mesh='input-assignment={0@"m"1}' 2>&1 | FileCheck %s --check-prefix=INDEX-AFTER

// What is printed is read again as the same.
// NAMES: assignment={"a@b"@m1, "c, \7Bd\7D"@"m 2"/3, e@m3/cpu, f@m3/cpu/1, "g\22"@m1#pinned_host, h@m3/cpu#device, "i@j"@"m/4"}}
// INDICES: input-assignment={1@"m 1"} output-assignment=0@m3/cpu}

// AFTER: expected '/' and a stage after a mesh in quotes, but got: 1{{$}}
// INDEX-AFTER: a quote in a mesh does not end where the mesh does, got: 1{{$}}
func.func private @nothing()
