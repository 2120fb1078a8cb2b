#!/bin/sh
# baton-hook.sh CLIENT EVENT [block]: asks Baton about one event and prints its answer. README.md is the contract.
case $0 in */*) lib=${0%/*}/baton-lib.sh ;; *) lib=./baton-lib.sh ;; esac
if [ ! -r "$lib" ]; then
  case ${BATON_ON_FAILURE:-${3-}}/${2-} in block/Stop | block/SubagentStop) exit 0 ;; block/*) ;; *) exit 0 ;; esac
  echo "baton: ${2-} refused: $lib is missing. The person can run baton hooks install." >&2
  exit 2
fi
# shellcheck source=hooks/baton-lib.sh
. "$lib"
read_settings "$2" "${3-}"
if [ "$disabled" ] && [ "$event" != SessionStart ]; then exec cat >/dev/null; fi
find_project
recall
write_request "$1" "$2"
# Nobody waits for the answer to what has happened already, but where it ends a sub-agent or brings advice.
case $1/$event/$debug in
  gemini/* | qwen/PostToolUse/*) ;;
  */PostToolUse*/ | */PermissionDenied/) # a command in the background gets no input but what it is given by a descriptor
    exec 4<&0
    ask <&4 >/dev/null 2>&1 &
    exit 0 ;;
esac
answer=$(ask) || fail "no answer within $seconds s (curl exit code $?)"
print_answer "$1"
[ "$event" != SessionStart ] || send_agents "$1"
