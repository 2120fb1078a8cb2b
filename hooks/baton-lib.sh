# shellcheck shell=sh disable=SC2034,SC2154
# The functions of baton-hook.sh: settings, project, request, answer. It runs before every tool call, so it starts as few
# processes as it can: text is taken apart by the shell's own expansions, not by sed or git.
LC_ALL=C
line_end='
'

read_settings() { # EVENT [block]: reads the environment, then the config file, then the defaults
  while IFS= read -r line || [ -n "$line" ]; do
    name=${line%%=*} value=${line#*=}
    case $line in
      BATON_URL=* | BATON_USER=* | BATON_TOKEN=* | BATON_CA_FILE=* | BATON_WORK_ITEMS_COMMAND=*)
        eval ": \"\${$name:=\$value}\"" ;;
    esac
  done 2>/dev/null <"${XDG_CONFIG_HOME:-$HOME/.config}/baton/config"
  : "${BATON_URL:=http://127.0.0.1:8080}" "${BATON_USER:=$(id -un)}"
  event=$1 on_failure=${BATON_ON_FAILURE:-${2:-allow}}
  direct="localhost,127.0.0.1,::1,[::1],${no_proxy:-${NO_PROXY-}}"
  case ${BATON_DISABLED-} in 1 | true | yes | on) disabled=1 ;; *) disabled= ;; esac
  case ${BATON_DEBUG-}/${OMC_DEBUG-} in 1/* | true/* | */1 | */true) debug=1 ;; *) debug= ;; esac
  case $event in UserPromptSubmit) seconds=14 ;; SessionStart) seconds=4 ;; SessionEnd) seconds=2.5 ;; *) seconds=1.5 ;; esac
  [ "$debug" ] || [ "$on_failure" = block ] || exec 2>/dev/null
}

find_project() { # sets root and project; app/baton/local/project.py does the same
  cd -P -- "${CLAUDE_PROJECT_DIR:-.}" >/dev/null || :
  root=$PWD
  until [ -z "$root" ] || [ -e "$root/.git" ]; do root=${root%/*}; done
  git=$root/.git section='' remote=''
  if [ -f "$git" ]; then # a worktree or a submodule: the file names the real folder
    IFS= read -r line <"$git" && line=${line#gitdir: }
    case $line in /*) git=$line ;; *) git=$root/$line ;; esac
    if [ -f "$git/commondir" ]; then
      IFS= read -r line <"$git/commondir"
      case $line in /*) git=$line ;; *) git=$git/$line ;; esac
    fi
  fi
  [ -e "$root/.git" ] || root=$PWD
  [ ! -f "$git/config" ] || while read -r line || [ -n "$line" ]; do
    case $line in
      '['*) section=$line ;;
      url*=*) [ "$section" != '[remote "origin"]' ] || { remote=${line#*=} && break; } ;;
    esac
  done <"$git/config"
  plain_remote
  project=${BATON_PROJECT:-${remote:-${root:=/}}} root=${root:-/}
}

plain_remote() { # https://user:secret@host/team/repo.git and git@host:team/repo become host/team/repo
  remote=${remote#"${remote%%[![:blank:]]*}"} && host=${remote%%:*}
  case $remote in
    *://*) remote=${remote#*://} && host=${remote%%/*} && remote=${host##*@}${remote#"$host"} ;;
    .*) remote='' ;;
    *:*) case $host in */*) ;; *) path=${remote#*:} && remote=${host##*@}/${path#/} ;; esac ;;
  esac
  remote=${remote%/} && remote=${remote%.git}
}

count_work_items() { # sets work_items; "" if unknown
  work_items=''
  if [ "${BATON_WORK_ITEMS_COMMAND-}" ]; then
    work_items=$(cd "$root" && eval "$BATON_WORK_ITEMS_COMMAND" </dev/null) && work_items=${work_items##*[!0-9]} || work_items=''
  elif [ -d "$root/.htmlgraph" ]; then
    set -- "$root"/.htmlgraph/features/*.html
    if [ -e "$1" ]; then work_items=$#; else work_items=0; fi
  fi
}

option() { # NAME VALUE: adds a line to curl's configuration; quotes in VALUE are escaped, control characters dropped
  text='' rest=$2
  while :; do
    case $rest in *[\\\"[:cntrl:]]*) ;; *) break ;; esac
    plain=${rest%%[\\\"[:cntrl:]]*} && rest=${rest#"$plain"}
    case $rest in [\\\"]*) text=$text$plain\\${rest%"${rest#?}"} ;; *) text=$text$plain ;; esac
    rest=${rest#?}
  done
  request="$request$1 = \"$text$rest\"$line_end"
}

write_request() { # CLIENT EVENT: sets request. curl reads it from a descriptor: anyone can see a command line
  request=''
  option url "${BATON_URL%/}/hooks/$1?event=$2"
  [ -z "${BATON_CA_FILE-}" ] || option cacert "$BATON_CA_FILE"
  [ -z "${BATON_TOKEN-}" ] || option header "Authorization: Bearer $BATON_TOKEN"
  if [ "$event" = SessionStart ]; then
    count_work_items
    option header "Baton-Work-Items: $work_items"
    option header "Baton-Job: ${BATON_JOB-}"
  fi
  set -- "User: $BATON_USER" "Project: $project" "Root: $root" "Disabled: $disabled" "On-Failure: $on_failure" "Debug: $debug"
  for header in "$@" "Protocol: 1"; do option header "Baton-$header"; done
  option header "Content-Type: application/json"
  option header "Expect:"
}

print_answer() { # only a 2xx with a JSON object is an answer
  head=${answer%%"$line_end"?"$line_end"*} body=${answer#*"$line_end"?"$line_end"} status=${answer#* }
  case $status in 2[0-9][0-9]*) ;; *) fail "answered ${status%%"$line_end"*}" ;; esac
  case $body in \{*\}) ;; *) fail "answered something that is not JSON" ;; esac
  printf '%s\n' "$body"
  [ -z "$debug" ] || printf '%s\n' "$head" | tr -d '\r' |
    sed -n -e "s/^[Bb]aton-[Dd]ecision: /baton: $event: /p" -e 's/^[Bb]aton-[Mm]essage: //p' >&2
}

fail() { # WHAT: lets the client go on, or refuses. A refused Stop would keep the agent running for ever
  [ -z "$debug" ] || printf 'baton: %s: not decided: %s\n' "$event" "$1" >&2
  case $on_failure/$event in block/Stop | block/SubagentStop) exit 0 ;; block/*) ;; *) exit 0 ;; esac
  printf 'baton: %s refused, because the server at %s could not be asked: %s. ' "$event" "${BATON_URL##*@}" "$1" >&2
  echo "The person can start it (baton serve), find the cause (baton doctor), or restart the client with BATON_ON_FAILURE=allow." >&2
  exit 2
}
