" SPDX-License-Identifier: Apache-2.0
" MLIR with the dialects mpmd, sdy, stablehlo and chlo.
if exists("b:current_syntax")
  finish
endif
syn match mlirOperation /\<\(mpmd\|sdy\|stablehlo\|chlo\|func\|builtin\|quant\|tensor\)\.[a-z_][A-Za-z0-9_.]*/
syn keyword mlirKeyword module private public nested attributes loc dense array unit true false return mesh origin
syn match mlirType /\<\(tensor\|memref\|vector\|tuple\|complex\|index\|none\)\>/
syn match mlirType /\%(\<\|x\)\zs\([su]\?i\|bf\|f\|tf\)[0-9]\+\(E[0-9]\+M[0-9]\+[A-Z0-9]*\)\?\>/
syn match mlirType /![A-Za-z_][A-Za-z0-9_$.]*/
syn match mlirAttribute /#[A-Za-z_][A-Za-z0-9_$.]*/
syn match mlirValue /%[A-Za-z0-9_$.-]\+\(#[0-9]\+\)\?/
syn match mlirSymbol /@\([A-Za-z_][A-Za-z0-9_$.]*\|"[^"]*"\)/
syn match mlirBlock /\^[A-Za-z0-9_$.-]\+/
syn match mlirComment +//.*$+
syn region mlirString start=+"+ skip=+\\.+ end=+"+
hi def link mlirOperation Function
hi def link mlirKeyword Keyword
hi def link mlirType Type
hi def link mlirAttribute PreProc
hi def link mlirValue Identifier
hi def link mlirSymbol Function
hi def link mlirBlock Label
hi def link mlirComment Comment
hi def link mlirString String
let b:current_syntax = "mlir"
