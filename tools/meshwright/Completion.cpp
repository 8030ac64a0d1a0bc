//===- Completion.cpp - meshwright completion -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The scripts ask the commands themselves for verbs, options, their values and schedules when
// a word is completed, so they do not go stale.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Support/ModuleFile.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace meshwright;
namespace cl = llvm::cl;

static cl::SubCommand subCommand("completion",
                                 "Print a completion script for a shell");
static cl::opt<std::string> shell(cl::Positional, cl::sub(subCommand),
                                  cl::desc("<bash|zsh|fish>"));

static constexpr llvm::StringLiteral kBash = R"SH(# meshwright in bash:
#   source <(meshwright completion bash)
_meshwright_options() {
  "$@" --help 2>/dev/null | grep -oE '^ +--?[a-z][a-z0-9-]*' | tr -d ' '
}
_meshwright_verbs() {
  meshwright --help 2>/dev/null | sed -n '/^SUBCOMMANDS/,/^OPTIONS/p' |
    grep -oE '^  [a-z]+' | tr -d ' '
}
_meshwright_schedules() {
  meshwright schedule 2>/dev/null | cut -d' ' -f1
}
# What the help lists below an option: "    =html  - a page".
_meshwright_values() {
  meshwright "$1" --help 2>/dev/null |
    sed -n "/^ *$2=/,/^ *--/p" | grep -oE '^ +=[a-z]+' | tr -d ' ='
}
_meshwright() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  local verb=${COMP_WORDS[1]} words= option=
  [[ $before == '=' ]] && before=${COMP_WORDS[COMP_CWORD-2]}
  # zsh takes --option=value as one word.
  if [[ $word == --*=* ]]; then
    before=${word%%=*}
    option=$before= word=${word#*=}
  fi
  if ((COMP_CWORD == 1)); then
    words="$(_meshwright_verbs) --help --version"
  elif [[ $verb == completion ]]; then
    words='bash zsh fish'
  elif [[ $word == -* ]]; then
    words=$(_meshwright_options meshwright "$verb")
  elif [[ $before == --format || $before == --color ]]; then
    words=$(_meshwright_values "$verb" "$before")
  elif [[ $before == --schedule || $before == --compare || $verb == schedule ]]; then
    words=$(_meshwright_schedules)
  fi
  COMPREPLY=($(compgen -P "$option" -W "$words" -- "$word"))
  [[ -n $words ]] || COMPREPLY=($(compgen -P "$option" -f -- "$word"))
}
_meshwright_tool() {
  local word=${COMP_WORDS[COMP_CWORD]}
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$(_meshwright_options "$1")" -- "$word"))
    # An option of one dash may be written with two.
    ((${#COMPREPLY[@]})) || COMPREPLY=($(compgen -P - -W \
      "$(_meshwright_options "$1")" -- "${word#-}"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}
complete -o filenames -F _meshwright meshwright
complete -o filenames -F _meshwright_tool mpmd-opt mpmd-lsp-server
)SH";

static constexpr llvm::StringLiteral kZsh = R"SH(# meshwright in zsh:
#   source <(meshwright completion zsh)
autoload -U +X compinit && compinit
autoload -U +X bashcompinit && bashcompinit
source <(meshwright completion bash)
)SH";

static constexpr llvm::StringLiteral kFish = R"SH(# meshwright in fish:
#   meshwright completion fish | source
function __meshwright_verbs
  meshwright --help 2>/dev/null | sed -n '/^SUBCOMMANDS/,/^OPTIONS/p' |
    string match -rg '^  ([a-z]+)'
end
function __meshwright_options
  set -l tokens (commandline -opc)
  $tokens[1..2] --help 2>/dev/null | string match -rg '^ +(--?[a-z][a-z0-9-]*)'
end
function __meshwright_schedules
  meshwright schedule 2>/dev/null | string replace -r ' .*' ''
end
function __meshwright_values
  set -l tokens (commandline -opc)
  $tokens[1..2] --help 2>/dev/null | sed -n "/^ *--$argv[1]=/,/^ *--/p" |
    string match -rg '^ +=([a-z]+)'
end
complete -c meshwright -n __fish_use_subcommand -f -a '(__meshwright_verbs)'
complete -c meshwright -n 'not __fish_use_subcommand' -a '(__meshwright_options)'
complete -c meshwright -n '__fish_seen_subcommand_from schedule' -f \
  -a '(__meshwright_schedules)'
complete -c meshwright -n '__fish_seen_subcommand_from completion' -f \
  -a 'bash zsh fish'
complete -c meshwright -n 'not __fish_use_subcommand' -l color -x \
  -a '(__meshwright_values color)'
complete -c meshwright -n '__fish_seen_subcommand_from draw' -l format -x \
  -a '(__meshwright_values format)'
complete -c mpmd-opt -a "(mpmd-opt --help 2>/dev/null |
  string match -rg '^ +(--?[a-z][a-z0-9-]*)')"
)SH";

static LogicalResult run() {
  if (shell == "bash")
    llvm::outs() << kBash;
  else if (shell == "zsh")
    llvm::outs() << kZsh;
  else if (shell == "fish")
    llvm::outs() << kFish;
  else
    return reportError("unknown shell '" + shell +
                       "', expected bash, zsh or fish");
  return success();
}

const Command meshwright::completionCommand = {subCommand, run};
