/*===- main.c - Runs the tests of the C interfaces --------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0                                        *|
\*===----------------------------------------------------------------------===*/

void testPartition(void);
void testErrors(void);
void testUserOrigin(void);

int main(void) {
  testPartition();
  testErrors();
  testUserOrigin();
  return 0;
}
