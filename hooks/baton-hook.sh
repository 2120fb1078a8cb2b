#!/bin/sh
# baton-hook.sh CLIENT EVENT [block]: asks Baton about one event and prints its answer. README.md is the contract.
lib=${0%/*}/baton-lib.sh
if [ ! -r "$lib" ]; then [ "${3-}" = block ] && exit 2; exit 0; fi
# shellcheck source=hooks/baton-lib.sh
. "$lib"
read_settings "$2" "${3-}"
if [ "$disabled" ] && [ "$event" != SessionStart ]; then exec cat >/dev/null; fi
find_project
write_request "$1" "$2"
answer=$(curl -q -gsSi --suppress-connect-headers --max-time "$seconds" --noproxy "$direct" --data-binary @- -K /dev/fd/3 3<<END
$request
END
) || fail "no answer within $seconds s (curl exit code $?)"
print_answer
