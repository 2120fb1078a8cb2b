#!/bin/sh
# baton-hook.sh CLIENT EVENT [block] [wait] [CONFIG]: asks Baton about one event and prints its answer. README.md is the contract.
case $0 in */*) lib=${0%/*}/baton-lib.sh ;; *) lib=./baton-lib.sh ;; esac
if [ ! -r "$lib" ]; then
  case ${3-}/${2-} in block/Stop | block/SubagentStop) exit 0 ;; block/*) ;; *) exit 0 ;; esac
  echo "baton: ${2-} refused: $lib is missing. The person can run baton hooks install." >&2
  exit 2
fi
# shellcheck source=hooks/baton-lib.sh
. "$lib"
read_settings "$2" "${3-}" "${4-}" "${5-}"
if [ "$disabled" ] && [ "$event" != SessionStart ]; then exec cat >/dev/null; fi
find_root
# The relay names the project: a process that is there reads git's files faster than a shell, which reads byte by byte.
if [ "$relay" ] && [ -z "${BATON_PROJECT-}${GIT_CONFIG_GLOBAL-}" ]; then project=''; else find_project; fi
recall
write_request "$1" "$2"
case $relay/$event in
  /*/SessionStart | /*/UserPromptSubmit) ! is_stuck || { seconds=1.5 && start_relay; } ;; # a client waits less long than both ways would take
  /*/PostToolUse) [ -S "$relay" ] || start_relay beside ;;
esac
# Nobody waits for the answer to what has happened already, but where it ends a sub-agent or brings advice.
case $1/$event/$debug in
  gemini/* | qwen/PostToolUse/*) ;;
  */PostToolUse*/ | */PermissionDenied/) # a command in the background gets no input but what it is given by a descriptor
    exec 4<&0
    (exec <&4 >/dev/null 2>&1 && ask_through) & # redirections of `ask_through` itself would leave the subshell a copy of the client's pipe
    exit 0 ;;
esac
if [ "$waits" ]; then
  given=$(cat)
  ask_given || fail $?
  case $answer in *[Bb]aton-[Ww]ants:\ wait\ *) more && await_answer "$1" ;; esac
else
  ask_through || fail $?
fi
case $answer in *[Bb]aton-[Ww]ants:\ texts\ *) more && send_texts "$1" ;; esac
print_answer "$1"
[ "$event" != SessionStart ] || send_agents "$1"
