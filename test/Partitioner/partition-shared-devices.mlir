// RUN: split-file %s %t
// RUN: meshwright partition %t/program.mlir --config %t/apart.json -o %t/apart
// RUN: grep -A6 issue_order %t/apart/schedule.json | tr -d ' \n' | FileCheck %s --check-prefix=APART
// RUN: meshwright partition %t/program.mlir --config %t/shared.json -o %t/shared
// RUN: grep -A6 issue_order %t/shared/schedule.json | tr -d ' \n' | FileCheck %s --check-prefix=SHARED
// RUN: not meshwright partition %t/program.mlir --config %t/unknown.json -o %t/no 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not meshwright partition %t/program.mlir --config %t/pairs.json -o %t/no 2>&1 | FileCheck %s --check-prefix=PAIRS
// RUN: not meshwright partition %t/program.mlir --config %t/meshes.json -o %t/no 2>&1 | FileCheck %s --check-prefix=MESHES

// Meshes with devices of their own are issued by turns, those that share them one
// after the other where the first one is busy.
// APART: "issue_order":[0,2,1,3]
// SHARED: "issue_order":[0,1,2,3]

// UNKNOWN: assignment: no computation or tensor is named "another"
// PAIRS: pairs.json:4:25: error: shared_devices[0]: expected [mesh, mesh]
// MESHES: meshes.json:4:31: error: shared_devices[0]: unknown mesh "m3", known are

//--- program.mlir
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = mpmd.named_computation<"a"> (%x) (%arg: tensor<4xf32>) {
    %8 = stablehlo.sine %arg : tensor<4xf32>
    mpmd.return %8 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %1 = mpmd.named_computation<"b"> (%0) (%arg: tensor<4xf32>) {
    %8 = stablehlo.cosine %arg : tensor<4xf32>
    mpmd.return %8 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %2 = mpmd.named_computation<"c"> (%y) (%arg: tensor<4xf32>) {
    %8 = stablehlo.sine %arg : tensor<4xf32>
    mpmd.return %8 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %3 = mpmd.named_computation<"d"> (%2) (%arg: tensor<4xf32>) {
    %8 = stablehlo.cosine %arg : tensor<4xf32>
    mpmd.return %8 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}

//--- apart.json
{"topology": {"m1": {"x": 1}, "m2": {"x": 1}},
 "assignment": {"a": ["m1", 0], "b": ["m1", 1], "c": ["m2", 0], "d": ["m2", 1],
                "another": "m2"},
 "allow_unknown_names": true}
//--- shared.json
{"topology": {"m1": {"x": 1}, "m2": {"x": 1}},
 "assignment": {"a": ["m1", 0], "b": ["m1", 1], "c": ["m2", 0], "d": ["m2", 1]},
 "shared_devices": [["m1", "m2"]]}
//--- unknown.json
{"topology": {"m1": {"x": 1}, "m2": {"x": 1}},
 "assignment": {"a": "m1", "b": "m1", "c": "m2", "d": "m2", "another": "m2"},
 "allow_unknown_names": false}
//--- pairs.json
{"topology": {"m1": {"x": 1}, "m2": {"x": 1}},
 "assignment": {"a": "m1", "b": "m1", "c": "m2", "d": "m2"},
 "options": {},
 "shared_devices":     [["m1"]]}
//--- meshes.json
{"topology": {"m1": {"x": 1}, "m2": {"x": 1}},
 "assignment": {"a": "m1", "b": "m1", "c": "m2", "d": "m2"},
 "options": {},
 "shared_devices":     [["m1","m3"]]}
