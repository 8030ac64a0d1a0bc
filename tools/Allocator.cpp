//===- Allocator.cpp - How the tools take memory --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A pass makes and erases operations by the thousand, a few hundred bytes each.
// With the C library's allocator they end up all over the heap, and a module
// that no longer fits in the caches costs up to twice as much per operation;
// jemalloc keeps those of one size together, and huge pages spare the processor
// most walks of the page table.
//
//===----------------------------------------------------------------------===//

// Read by jemalloc at its first allocation, before main.
extern "C" const char *malloc_conf = "thp:always,metadata_thp:auto";
