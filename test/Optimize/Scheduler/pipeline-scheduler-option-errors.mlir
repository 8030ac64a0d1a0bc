// RUN: not mpmd-opt %s -mpmd-pipeline-scheduler=must-happen-before=ZeroBubleV 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not mpmd-opt %s -mpmd-pipeline-scheduler=must-happen-before=builtin:nothing-like-it 2>&1 | FileCheck %s --check-prefix=FAR
// RUN: not mpmd-opt %s -mpmd-pipeline-scheduler=must-happen-before=file:%S/Inputs/twice.csv 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not mpmd-opt %s -mpmd-pipeline-scheduler=must-happen-before=file:%S/Inputs/absent.csv 2>&1 | FileCheck %s --check-prefix=ABSENT

// UNKNOWN: unknown pipeline schedule 'ZeroBubleV', known are none, 1F1B, GPipe, {{.*}}ZeroBubbleV{{.*}} and file:PATH; did you mean ZeroBubbleV?
// FAR:     unknown pipeline schedule 'builtin:nothing-like-it', known are none
// FAR-NOT: did you mean
// TWICE:   Inputs/twice.csv: row 1 column 4: 0F1 occurs twice; it is in row 1 column 2 already, so remove one
// ABSENT:  Inputs/absent.csv: cannot be read: No such file or directory

module {
}
