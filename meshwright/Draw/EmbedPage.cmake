# Writes PAGE as a string literal of C++ into TEXT.
file(READ ${PAGE} page)
string(FIND "${page}" ")MESHWRIGHT\"" place)
if(NOT place EQUAL -1)
  message(FATAL_ERROR "${PAGE} has the end of a string literal in it")
endif()
file(WRITE ${TEXT} "R\"MESHWRIGHT(${page})MESHWRIGHT\"\n")
