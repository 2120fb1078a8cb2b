# shellcheck shell=sh disable=SC2034,SC2154
# The functions of baton-hook.sh: settings, project, request, answer. It runs before every tool call, so it starts as few
# processes as it can: text is taken apart by the shell's own expansions, not by sed or git.
LC_ALL=C
line_end='
'

read_settings() { # EVENT [block]: reads the environment, then the config file, then the defaults
  accept='' counting='' installed='' manifest_claude='' manifest_codex='' manifest_copilot='' manifest_opencode='' manifest_gemini='' manifest_qwen='' manifest_cursor='' manifest_continue='' # from the file alone: a line that an agent runs can set the environment of another client
  while IFS= read -r line || [ -n "$line" ]; do
    name=${line%%=*} value=${line#*=}
    case $line in
      BATON_URL=* | BATON_USER=* | BATON_TOKEN=* | BATON_CA_FILE=*) eval ": \"\${$name:=\$value}\"" ;;
      BATON_WORK_ITEMS_COMMAND=*) counting=${counting:-$value} ;;
      BATON_ACCEPT_REWRITES=*) accept=${accept:-$value} ;;
      BATON_INSTALLED=*) installed=${installed:-$value} ;;
      BATON_DIGESTS_CLAUDE_CODE=*) manifest_claude=${manifest_claude:-$value} ;;
      BATON_DIGESTS_CODEX=*) manifest_codex=${manifest_codex:-$value} ;;
      BATON_DIGESTS_OPENCODE=*) manifest_opencode=${manifest_opencode:-$value} ;;
      BATON_DIGESTS_GEMINI=*) manifest_gemini=${manifest_gemini:-$value} ;;
      BATON_DIGESTS_CURSOR=*) manifest_cursor=${manifest_cursor:-$value} ;;
      BATON_DIGESTS_CONTINUE=*) manifest_continue=${manifest_continue:-$value} ;;
      BATON_DIGESTS_QWEN=*) manifest_qwen=${manifest_qwen:-$value} ;;
      BATON_DIGESTS_COPILOT_CLI=*) manifest_copilot=${manifest_copilot:-$value} ;;
    esac
  done 2>/dev/null <"${XDG_CONFIG_HOME:-$HOME/.config}/baton/config"
  : "${BATON_URL:=http://127.0.0.1:8080}" "${BATON_USER:=$(id -un)}"
  event=$1 on_failure=${BATON_ON_FAILURE:-${2:-allow}}
  direct="localhost,127.0.0.1,::1,[::1],${no_proxy:-${NO_PROXY-}}"
  case ${BATON_DISABLED-} in 1 | true | yes | on) disabled=1 ;; *) disabled= ;; esac
  case ${HTMLGRAPH_ORCHESTRATOR_DISABLED-} in 1 | true | yes | on) mode_off=1 ;; *) mode_off= ;; esac
  case ${BATON_DEBUG-}/${OMC_DEBUG-} in 1/* | true/* | */1 | */true) debug=1 ;; *) debug= ;; esac
  case $event in UserPromptSubmit) seconds=14 ;; SessionStart) seconds=4 ;; SessionEnd) seconds=2.5 ;; *) seconds=1.5 ;; esac
  [ "$debug" ] || [ "$on_failure" = block ] || exec 2>/dev/null
}

recall() { # sets memory and connect; seconds is less while the server hangs. A planted file shortens the wait, it skips nothing
  memory=${BATON_URL%/} && memory=${memory#*://} && memory=${memory##*@}
  case $memory in localhost | localhost:* | 127.* | '[::1]'*) connect=0.3 again=0.3 ;; *) connect=$seconds again=0.7 ;; esac
  while :; do case $memory in */*) memory=${memory%%/*}_${memory#*/} ;; *) break ;; esac; done
  folder=${XDG_RUNTIME_DIR:-${XDG_CACHE_HOME:-${HOME-}/.cache}}/baton memory=$folder/failed-$memory,
  [ -e "${memory}hung" ] || return 0
  case $event in SessionStart | UserPromptSubmit) seconds=1.5 ;; *) seconds=$again ;; esac
}

ask() { # prints curl's answer, in a subshell; curl reads the request from a descriptor: anyone can see a command line
  exec curl -q -gsSi --suppress-connect-headers --connect-timeout "$connect" --max-time "$seconds" --noproxy "$direct" \
    --data-binary @- -K /dev/fd/3 3<<END
$request
END
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
  if [ "$counting" ]; then
    work_items=$(cd "$root" && eval "$counting" </dev/null) && work_items=${work_items##*[!0-9]} || work_items=''
  elif [ -d "$root/.htmlgraph" ]; then
    set -- "$root"/.htmlgraph/features/*.html
    if [ -e "$1" ]; then work_items=$#; else work_items=0; fi
  fi
}

measure() { # CLIENT SHIM LIBRARY: sets digests and manifest; `baton hooks install` runs this too, and writes down what it finds
  case $1 in
    codex) settings=${CODEX_HOME:-${HOME-}/.codex}/hooks.json manifest=${manifest_codex-} ;;
    opencode) settings=${XDG_CONFIG_HOME:-${HOME-}/.config}/opencode/plugin/baton.js manifest=${manifest_opencode-} ;;
    copilot-cli) settings=${COPILOT_HOME:-${HOME-}/.copilot}/hooks/baton.json manifest=${manifest_copilot-} ;;
    gemini) settings=${GEMINI_CLI_HOME:-${HOME-}}/.gemini/settings.json manifest=${manifest_gemini-} ;;
    cursor) settings=${HOME-}/.cursor/hooks.json manifest=${manifest_cursor-} ;;
    continue) settings=${CONTINUE_GLOBAL_DIR:-${HOME-}/.continue}/settings.json manifest=${manifest_continue-} ;;
    qwen) settings=${QWEN_HOME:-${HOME-}/.qwen}/settings.json manifest=${manifest_qwen-} ;;
    *) settings=${CLAUDE_CONFIG_DIR:-${HOME-}/.claude}/settings.json manifest=${manifest_claude-} ;;
  esac
  digests=$(
    for file in "$2" "$3"; do cksum <"$file" || echo - -; done
    case $1 in # a plugin is code: all of it counts
      opencode) cat "$settings" ;;
      *) grep -oE "baton(-hook\.(sh|ps1)|(\.exe)?[\\\"']* hook)[\\\"']* [a-z-]+ [A-Za-z]+( block)?" "$settings" | sort ;;
    esac | cksum
    grep -cE '"disableAllHooks"[[:space:]]*:[[:space:]]*true|"hooksConfig"' "$settings"
  ) 2>/dev/null
  set -f
  # shellcheck disable=SC2086
  set -- $digests && set +f
  digests="${1-}-${2-},${3-}-${4-},${5-}-${6-},${7:-0}"
}

# Of each file of ARGV (`s=WHOSE` names the source of those behind it), what its front matter says under a few keys: no
# body, and nothing of `mcpServers` or `hooks`. A file is left where the front matter ends, or where it has none.
read_front_matter='
BEGIN {
  for (i = 1; i < ARGC && total < 120000; i++) {
    file = ARGV[i]
    if (file ~ /^s=/) { whose = substr(file, 3); continue }
    count = size = keep = 0
    while (count++ < 300 && (getline line < file) > 0) {
      sub(/\r$/, "", line)
      if (count == 1) {
        if (line !~ /^(\357\273\277)?---[ \t]*$/) break
        name = file
        sub(/.*\//, "", name)
        print "= " whose " " name
        continue
      }
      if (line ~ /^---[ \t]*$/) break
      if (line ~ /^[a-z][A-Za-z0-9_-]*:([ \t]|$)/) {
        key = line
        sub(/:.*/, "", key)
        if (key !~ /^(user|assistant|human|context|commentary)$/) keep = key ~ /^(name|description|model|mode|disable)$/
      }
      if (keep && (size += length(line) + 1) < 4000) { print " " line; total += length(line) + 1 }
    }
    close(file)
  }
}'

gather_agents() { # CLIENT: sets agents, what its agents' files say of themselves, and agents_sum; "" without any file
  agents='' agents_sum='' user='' own=''
  case $1 in
    claude-code) user=${CLAUDE_CONFIG_DIR:-${HOME-}/.claude} own=.claude ;;
    copilot-cli) user=${COPILOT_HOME:-${HOME-}/.copilot} own=.github ;;
    opencode) user=${XDG_CONFIG_HOME:-${HOME-}/.config}/opencode own=.opencode ;;
    gemini) user=${GEMINI_CLI_HOME:-${HOME-}}/.gemini own=.gemini ;;
    qwen) user=${QWEN_HOME:-${HOME-}/.qwen} own=.qwen ;;
    *) return 0 ;; # Codex names no agent in the call that starts one
  esac
  set -- "$1"
  [ "$1" != claude-code ] || set -- "$1" s=managed /etc/claude-code/.claude/agents/*.md
  set -- "$@" s=project
  place=$PWD
  while :; do
    set -- "$@" "$place/$own/agent"/*.md "$place/$own/agents"/*.md "$place/$own/agents"/*/*.md "$place/$own/agents"/*/*/*.md
    case $place in "$root" | '') break ;; esac
    place=${place%/*}
  done
  set -- "$@" s=user "$user/agent"/*.md "$user/agents"/*.md "$user/agents"/*/*.md "$user/agents"/*/*/*.md
  if [ "$1" = claude-code ] && [ -f "$user/plugins/installed_plugins.json" ]; then
    plugins=$(cat "$user/plugins/installed_plugins.json")
    enabled='"[A-Za-z0-9._-]+@[A-Za-z0-9._-]+"[[:space:]]*:[[:space:]]*true'
    # shellcheck disable=SC2013 # the pattern lets no blank into a name; what follows it falls to the `case`
    for name in $(grep -ohE "$enabled" "$user/settings.json" "$root/.claude/settings.json" "$root/.claude/settings.local.json"); do
      case $name in *@*) ;; *) continue ;; esac
      name=${name#\"} && name=${name%%\"*}
      for place in "$user/plugins/cache/${name#*@}/${name%@*}"/*; do
        case $plugins in *"\"$place\""*) set -- "$@" "s=plugin:${name%@*}" "$place/agents"/*.md "$place/agents"/*/*.md ;; esac
      done
    done
  fi
  shift
  rest=$# count=0
  while [ "$rest" -gt 0 ]; do
    case $1 in
      s=*) set -- "$@" "$1" ;;
      *) [ "$count" -ge 200 ] || [ ! -f "$1" ] || [ ! -r "$1" ] || { count=$((count + 1)) && set -- "$@" "$1"; } ;;
    esac
    shift && rest=$((rest - 1))
  done
  [ "$count" -gt 0 ] || return 0
  agents=$(awk "$read_front_matter" "$@") || agents=''
  [ -z "$agents" ] || agents_sum=$(printf '%s\n' "$agents" | cksum) && agents_sum=${agents_sum%% *}-${agents_sum#* }
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

write_request() { # CLIENT EVENT: sets request
  request='' dialect=$1
  option url "${BATON_URL%/}/hooks/$1?event=$2"
  if [ "$event" = SessionStart ]; then
    count_work_items
    option header "Baton-Work-Items: $work_items"
    option header "Baton-Shim: $$"
    measure "$1" "$0" "$lib"
    option header "Baton-Digests: $digests"
    option header "Baton-Manifest: $manifest"
    option header "Baton-Machine: $(uname -n)"
    gather_agents "$1"
    option header "Baton-Agents: $agents_sum"
  fi
  case $event in SessionStart | PostToolUse* | PermissionDenied) [ -z "${AI_AGENT-}" ] || option header "Baton-Client: $AI_AGENT" ;; esac
  [ -z "${TRACEPARENT-}" ] || option header "Traceparent: $TRACEPARENT"
  set -- "User: $BATON_USER" "Project: $project" "Root: $root" "Disabled: $disabled" "Orchestrator-Disabled: $mode_off" "On-Failure: $on_failure" "Debug: $debug" "Accept-Rewrites: $accept" "Installed: $installed"
  for header in "$@" "Protocol: 1"; do option header "Baton-$header"; done
  option header "Content-Type: application/json"
  write_access
}

write_access() { # adds to request what the server is trusted by, and the token
  [ -z "${BATON_CA_FILE-}" ] || option cacert "$BATON_CA_FILE"
  [ -z "${BATON_TOKEN-}" ] || option header "Authorization: Bearer $BATON_TOKEN"
  option header "Expect:"
}

send_agents() { # CLIENT: sends what the server does not know yet; the session goes on whatever comes of it
  case $head/$agents_sum in *[Bb]aton-[Ww]ants:\ agents*/?*) ;; *) return 0 ;; esac
  request='' seconds=1.5
  option url "${BATON_URL%/}/inventory/$1?checksum=$agents_sum"
  option request PUT
  option header "Baton-User: $BATON_USER"
  option header "Content-Type: application/octet-stream"
  write_access
  printf '%s\n' "$agents" | ask >/dev/null || :
}

# The keys of an answer, and of the input of a tool that starts an agent.
answer_keys='systemMessage|hookSpecificOutput|hookEventName|permissionDecision|permissionDecisionReason|updatedInput|modifiedArgs|tool_input|additionalContext|updated_input|permission|user_message|agent_message|additional_context|continue|decision|reason|behavior|message'
agent_keys='model|subagent_type|agent_type|agent_name|prompt|description|task_name|fork_turns|reasoning_effort|run_in_background|resume|isolation|name|team_name|mode|max_turns|context_tier'

# is_harmless CLIENT: a server that was taken over may refuse, ask, and word an agent call. An input with other keys would
# be another tool's, and an `allow` would skip the client's own question. The rare answer with these words costs a process.
is_harmless() {
  case $body in
    *updatedInput* | *updated_input* | *modifiedArgs* | *'"tool_input"'* | *'"allow"'* | *'"approve"'* | *\\u00[2-7]*) ;;
    *) return 0 ;;
  esac
  [ -z "$accept" ] || return 0
  # Without escaped quotes, quotes stand in pairs: one text a line, with the colon behind it if it is a key.
  texts=$(printf '%s\n' "$body" | tr '\n\r\t' '   ' | sed -e 's/\\\\//g' -e 's/\\[^u]//g' | grep -oE '"[^"]*" *:?')
  # Baton escapes no printable letter. One that is could spell any of these words unseen.
  case $texts in *\\u00[2-7]*) return 1 ;; esac
  case $1/$event/$body in
    codex/PreToolUse/*updatedInput* | cursor/PreToolUse/*updated_input*) ;; # they change an input only beside an `allow`
    *) case $texts in *'"allow"'* | *'"approve"'*) return 1 ;; esac ;;
  esac
  case $body in *updatedInput* | *updated_input* | *modifiedArgs* | *'"tool_input"'*) ;; *) return 0 ;; esac
  ! printf '%s\n' "$texts" | grep ':$' | grep -qvE "^\"($answer_keys|$agent_keys)\" *:\$"
}

refuse() { # TEXT: prints a refusal of the event in the client's dialect; TEXT needs no escapes
  case $dialect/$event in
    gemini/*) printf '{"decision":"deny","reason":"%s"}\n' "$1" ;;
    cursor/UserPromptSubmit) printf '{"continue":false,"user_message":"%s"}\n' "$1" ;;
    cursor/*) printf '{"permission":"deny","user_message":"%s","agent_message":"%s"}\n' "$1" "$1" ;;
    copilot-cli/UserPromptSubmit | qwen/UserPromptSubmit) printf '{"decision":"block","reason":"%s"}\n' "$1" ;;
    copilot-cli/*) printf '{"permissionDecision":"deny","permissionDecisionReason":"%s"}\n' "$1" ;;
    *) printf '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"%s"}}\n' "$1" ;;
  esac
}

warn() { # TEXT: tells the person; Copilot and Qwen show them nothing, so there the model is told
  case $dialect in
    copilot-cli) printf '{"additionalContext":"%s"}\n' "$1" ;;
    cursor) printf '{"additional_context":"%s"}\n' "$1" ;;
    qwen) printf '{"hookSpecificOutput":{"hookEventName":"%s","additionalContext":"%s"}}\n' "$event" "$1" ;;
    *) printf '{"systemMessage":"%s"}\n' "$1" ;;
  esac
}

drop_answer() { # what would refuse or ask must not be lost with the rest: then the call is refused
  said='Baton dropped an answer of its server, which would have changed what a tool does or allowed it in your place.'
  case $event/$on_failure/$texts in
    PreToolUse/block/* | PreToolUse/*'"deny"'* | PreToolUse/*'"ask"'* | PreToolUse/*'"block"'*)
      refuse "$said Ask the person to run baton doctor." ;;
    *) warn "$said Run baton doctor. BATON_ACCEPT_REWRITES in the config file accepts such answers." ;;
  esac
  exit 0
}

print_answer() { # CLIENT: only a 2xx with a JSON object is an answer
  head=${answer%%"$line_end"?"$line_end"*} body=${answer#*"$line_end"?"$line_end"} status=${answer#* }
  case $status in 2[0-9][0-9]*) ;; *) fail "answered ${status%%[[:cntrl:]]*}" ;; esac
  case $body in \{*\}) ;; *) fail "answered something that is not JSON" ;; esac
  for file in "$memory"*; do [ ! -e "$file" ] || rm -f "$file"; done
  is_harmless "$1" || drop_answer
  printf '%s\n' "$body"
  [ -z "$debug" ] || printf '%s\n' "$head" | tr -d '\r' |
    sed -n -e "s/^[Bb]aton-[Dd]ecision: /baton: $event: /p" -e 's/^[Bb]aton-[Mm]essage: //p' >&2
}

remember() { # WHAT: notes the failure, and tells the person once a session what it means
  [ -d "$folder" ] || (umask 077 && mkdir -p "$folder")
  case $1 in *'code 28)') printf '' >"${memory}hung" ;; esac
  case $on_failure/$event/$dialect in block/* | */Stop/* | */Sub* | */SessionEnd/* | */PreCompress/* | */PreToolUse/qwen) return ;; esac
  # The session is known by the client's process. It started a shell, and that the shim.
  client=''
  [ ! -r "/proc/$PPID/stat" ] || read -r client <"/proc/$PPID/stat"
  client=${client##*) ?} && client=${client#?} && client=${client%% *}
  [ "$client" ] || client=$(ps -o ppid= -p "$PPID") && client=${client##* }
  if [ "$event" != SessionStart ]; then [ ! -e "$memory$client" ] || return 0; fi
  printf '' >"$memory$client" || [ "$event" = SessionStart ] || return 0
  text="Baton is not checking this session: the server at ${BATON_URL##*@} could not be asked: $1. Start it (baton serve), or find the cause (baton doctor)."
  case $text in *[\\\"[:cntrl:]]*) text='Baton is not checking this session: its server could not be asked. Run baton doctor.' ;; esac
  warn "$text"
}

fail() { # WHAT: lets the client go on, or refuses. A refused Stop would keep the agent running for ever
  [ -z "$debug" ] || printf 'baton: %s: not decided: %s\n' "$event" "$1" >&2
  remember "$1" 2>/dev/null
  case $on_failure/$event in block/Stop | block/SubagentStop | block/PostToolUse* | block/PermissionDenied | block/PreCompress) exit 0 ;; block/*) ;; *) exit 0 ;; esac
  text="baton: $event refused, because the server at ${BATON_URL##*@} could not be asked: $1."
  case $text in *[\\\"[:cntrl:]]*) text="baton: $event refused, because its server could not be asked." ;; esac
  text="$text The person can start it (baton serve), find the cause (baton doctor), or restart the client with BATON_ON_FAILURE=allow."
  case $dialect/$event in # these refuse on an exit code as well, but show no reason then
    copilot-cli/PreToolUse | copilot-cli/UserPromptSubmit | cursor/PreToolUse | cursor/UserPromptSubmit) refuse "$text" && exit 0 ;;
  esac
  printf '%s\n' "$text" >&2
  exit 2
}
