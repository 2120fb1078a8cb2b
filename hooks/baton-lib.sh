# shellcheck shell=sh disable=SC2034,SC2154
# The functions of baton-hook.sh: settings, project, request, answer. It runs before every tool call, so it starts as few
# processes as it can: text is taken apart by the shell's own expansions, not by sed or git. And it parses as little as it
# can: what few hooks need is behind `more`.
LC_ALL=C
PATH=/usr/bin:/bin:$PATH # a project's settings may name a folder of its own
line_end='
'

read_settings() { # EVENT [block] [wait] [CONFIG]: reads the config file, and of the environment what the client was started with
  accept='' relay='' counting='' installed='' file_url='' file_user='' token='' ca_file='' manifest_claude='' manifest_codex='' manifest_copilot='' manifest_opencode='' manifest_gemini='' manifest_qwen='' manifest_cursor=''
  event=$1 on_failure=allow started='' ignored=''
  case ${2-} in block | allow) on_failure=$2 && shift ;; esac
  waits='' && case ${2-} in wait) waits=1 && shift ;; esac
  config=${2-}
  [ "$config" ] || { at_start; config=${XDG_CONFIG_HOME:-${HOME-}/.config}/baton/config; }
  while IFS= read -r line || [ -n "$line" ]; do
    value=${line#*=}
    case $line in
      BATON_URL=*) file_url=${file_url:-$value} ;;
      BATON_USER=*) file_user=${file_user:-$value} ;;
      BATON_TOKEN=*) token=${token:-$value} ;;
      BATON_CA_FILE=*) ca_file=${ca_file:-$value} ;;
      BATON_WORK_ITEMS_COMMAND=*) counting=${counting:-$value} ;;
      BATON_ACCEPT_REWRITES=*) accept=${accept:-$value} ;;
      BATON_RELAY=*) relay=${relay:-$value} ;;
      BATON_INSTALLED=*) installed=${installed:-$value} ;;
      BATON_DIGESTS_CLAUDE_CODE=*) manifest_claude=${manifest_claude:-$value} ;;
      BATON_DIGESTS_CODEX=*) manifest_codex=${manifest_codex:-$value} ;;
      BATON_DIGESTS_OPENCODE=*) manifest_opencode=${manifest_opencode:-$value} ;;
      BATON_DIGESTS_GEMINI=*) manifest_gemini=${manifest_gemini:-$value} ;;
      BATON_DIGESTS_CURSOR=*) manifest_cursor=${manifest_cursor:-$value} ;;
      BATON_DIGESTS_QWEN=*) manifest_qwen=${manifest_qwen:-$value} ;;
      BATON_DIGESTS_COPILOT_CLI=*) manifest_copilot=${manifest_copilot:-$value} ;;
    esac
  done 2>/dev/null <"$config"
  keep_started BATON_URL BATON_USER BATON_TOKEN BATON_CA_FILE BATON_PROJECT BATON_DISABLED BATON_ON_FAILURE HTMLGRAPH_ORCHESTRATOR_DISABLED
  file_url=${file_url:-http://127.0.0.1:8080} url=${BATON_URL:-$file_url} login=${BATON_USER:-${file_user:-$(id -un)}}
  url=${url%/} on_failure=${BATON_ON_FAILURE:-$on_failure}
  # A token goes to its own server alone: that of the environment to that of the environment. So does the relay.
  [ "$url" = "${file_url%/}" ] || token='' ca_file='' relay=''
  relay_python=${relay#* } relay=${relay%% *}
  if [ "${BATON_URL-}" ]; then token=${BATON_TOKEN:-$token} ca_file=${BATON_CA_FILE:-$ca_file}; elif [ "${BATON_TOKEN-}" ]; then ignored="$ignored BATON_TOKEN"; fi
  case ${BATON_DISABLED-} in 1 | true | yes | on) disabled=1 ;; *) disabled= ;; esac
  case ${HTMLGRAPH_ORCHESTRATOR_DISABLED-} in 1 | true | yes | on) mode_off=1 ;; *) mode_off= ;; esac
  case ${BATON_DEBUG-} in 1 | true) debug=1 ;; *) debug= ;; esac
  case $event in UserPromptSubmit) seconds=14 ;; SessionStart) seconds=4 ;; SessionEnd) seconds=2.5 ;; *) seconds=1.5 ;; esac
  [ "$debug" ] || [ "$on_failure" = block ] || exec 2>/dev/null
}

keep_started() { # NAME …: unsets the variables that the client was not started with, and adds them to ignored
  for variable; do
    eval "[ \"\${$variable-}\" ]" || continue
    [ "$started" ] || at_start
    eval "value=\$$variable"
    case $started in *"$line_end$variable=$value$line_end"*) ;; *) unset "$variable" && ignored="$ignored $variable" ;; esac
  done
}

recall() { # sets memory and connect; seconds is less while the server hangs. A planted file shortens the wait, it skips nothing
  memory=${url#*://} && memory=${memory##*@}
  # What turns curl elsewhere, lets it trust others or loads code into it.
  set -- http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY no_proxy NO_PROXY SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE OPENSSL_CONF OPENSSL_ENGINES OPENSSL_MODULES SSLKEYLOGFILE HOSTALIASES
  case $memory in
    localhost | localhost:* | 127.* | '[::1]'*) connect=0.3 again=0.3 && unset "$@" ;;
    *) connect=$seconds again=0.7 && keep_started "$@" ;;
  esac
  direct="localhost,127.0.0.1,::1,[::1],${no_proxy:-${NO_PROXY-}}"
  while :; do case $memory in */*) memory=${memory%%/*}_${memory#*/} ;; *) break ;; esac; done
  folder=${XDG_RUNTIME_DIR:-${XDG_CACHE_HOME:-${HOME-}/.cache}}/baton memory=$folder/failed-$memory,
  [ -e "${memory}hung" ] || return 0
  case $event in SessionStart | UserPromptSubmit) seconds=1.5 ;; *) seconds=$again ;; esac
}

ask() { # prints curl's answer, in a subshell; curl reads the request from a descriptor: anyone can see a command line
  set -- curl -q -gsi --suppress-connect-headers --connect-timeout "$connect" --noproxy "$direct" -K /dev/fd/3
  if [ "$relay" ]; then # `-T -` reads the input once the relay has said 100: before that, `ask_through` finds it whole
    # A new relay reads its rules first. One that takes no byte for a second is stuck: the server is asked in the time left.
    case $seconds in [01].*) seconds=3.2 stuck=1 ;; 2.5 | 4) stuck=1 ;; *) stuck=$seconds ;; esac
    line=${request%%"$line_end"*}
    # Without TLS its libraries need not start: a tenth of curl's time.
    export OPENSSL_CONF=/dev/null GNUTLS_NO_IMPLICIT_INIT=1 LC_ALL
    exec "$@" --max-time "$seconds" --speed-limit 1 --speed-time "$stuck" --unix-socket "$relay" -X POST -T - --expect100-timeout "$seconds" 3<<END
url = "http://localhost/hooks/${line##*/hooks/}
${request#*"$line_end"}
END
  fi
  [ "$project" ] || { find_project && write_project; }
  exec "$@" --max-time "$seconds" --data-binary @- -H Expect: -w '\n%{time_connect}' 3<<END
$request
END
}

# ask_through sets answer: through the relay, a new one if nobody listens; if none takes the request, by the server. It fails as
# curl does.
ask_through() {
  has_relay || { [ "$relay" ] && start_relay && has_relay; } || relay=''
  answer=$(ask) && code=0 || code=$?
  [ "$relay" ] || return "$code"
  case $code/$answer in
    */HTTP/*) ;;
    28/*)
      start_relay beside
      case $seconds in 2.5) seconds=1.5 ;; 14) seconds=1 ;; esac ;;
    *) start_relay && has_relay && answer=$(ask) && code=0 || code=$? ;;
  esac
  case $answer in
    HTTP/1.1\ 100*) answer=${answer#*"$line_end"?"$line_end"}${line_end}1 ;;
    HTTP/*) answer=$answer${line_end}1 ;;
    *) relay='' && answer=$(ask) && code=0 || code=$? ;;
  esac
  return "$code"
}

# shellcheck disable=SC3067 # dash, bash and busybox have `-O`; without it the server is asked
has_relay() { [ -S "$relay" ] && [ -O "$relay" ] && [ -O "${relay%/*}" ]; }

is_stuck() { # whether the relay listens, but does not answer
  [ -S "$relay" ] || return 1
  curl -q -s --noproxy '*' --max-time 1 --unix-socket "$relay" http://localhost/alive >/dev/null || [ $? != 28 ] || return 0
  return 1
}

start_relay() { # [beside]: waits until it listens
  [ -x "$relay_python" ] || return 1
  if [ "${1-}" ]; then run_relay >/dev/null; else ready=$(run_relay); fi
}

run_relay() { # it closes its output once it listens. The config file names its program; `-I` keeps a project's modules out of it
  (
    [ "$started" ] || at_start # it serves all projects, so none may set where git's and ssh's settings are
    unset BATON_TOKEN GIT_CONFIG_GLOBAL
    export BATON_URL="$url" BATON_CA_FILE="$ca_file"
    cd / && exec "$relay_python" -I -m baton.relay.process "$relay" "$config"
  ) </dev/null 2>/dev/null 3>&- 4>&- &
}

find_root() { # sets root
  cd -P -- "${CLAUDE_PROJECT_DIR:-.}" >/dev/null || :
  root=$PWD
  until [ -z "$root" ] || [ -e "$root/.git" ]; do root=${root%/*}; done
  [ -e "$root/.git" ] || root=$PWD
  root=${root:-/}
}

find_project() { # sets project and trees; app/baton/local/hook/project.py does the same, and the relay by it
  git=${root%/}/.git section='' remote=''
  if [ -f "$git" ]; then # a worktree or a submodule: the file names the real folder
    IFS= read -r line <"$git" && line=${line#gitdir: }
    case $line in /*) git=$line ;; *) git=$root/$line ;; esac
    if [ -f "$git/commondir" ]; then
      IFS= read -r line <"$git/commondir"
      case $line in /*) git=$line ;; *) git=$git/$line ;; esac
    fi
  fi
  [ ! -f "$git/config" ] || while read -r line || [ -n "$line" ]; do
    case $line in
      '['*) section=$line ;;
      url*=*) [ "$section" != '[remote "origin"]' ] || { remote=${line#*=} && break; } ;;
    esac
  done <"$git/config"
  [ -z "$remote" ] || resolve_remote "$git/config" "${GIT_CONFIG_GLOBAL:-${HOME-}/.gitconfig}" "${XDG_CONFIG_HOME:-${HOME-}/.config}/git/config" /etc/gitconfig
  plain_remote
  project=${BATON_PROJECT:-${remote:-$root}} trees=''
  for line in "$git"/worktrees/*/gitdir; do
    [ -r "$line" ] && [ ${#trees} -lt 6000 ] || break
    place=${line%/gitdir} && IFS= read -r line <"$line"
    case $line in /*) ;; *) line=$place/$line ;; esac
    trees="${trees:-$git}|$line"
  done
  return 0
}

resolve_remote() { # FILE…: replaces the longest beginning of remote that git's `insteadOf` names, as git does
  remote=${remote#"${remote%%[![:blank:]]*}"} longest='' base=''
  for file in "$@"; do
    section=''
    [ ! -r "$file" ] || while read -r line || [ -n "$line" ]; do
      case $line in
        '['[Uu][Rr][Ll]*'"'*'"]'*) section=${line#*\"} && section=${section%%\"]*} ;;
        '['*) section='' ;;
        [Ii][Nn][Ss][Tt][Ee][Aa][Dd][Oo][Ff]*=*)
          line=${line#*=} && line=${line#"${line%%[![:blank:]]*}"} && line=${line%"${line##*[![:blank:]]}"} && line=${line#\"} && line=${line%\"}
          [ "$section" ] || continue
          case $remote in "$line"*) [ ${#line} -le ${#longest} ] || longest=$line base=$section ;; esac ;;
      esac
    done <"$file"
  done
  remote=$base${remote#"$longest"}
}

resolve_host() { # FILE…: sets hostname, as ssh does, to the first HostName of a section for host. It reads no `Match`
  for file in "$@"; do
    [ -r "$file" ] || continue
    applies=1
    while read -r key line || [ -n "$key" ]; do
      case $key in *=*) line="${key#*=} $line" && key=${key%%=*} ;; esac
      line=${line#=} && line=${line#"${line%%[![:blank:]]*}"} && line=${line%"${line##*[![:blank:]]}"} && line=${line#\"} && line=${line%\"}
      case $key in
        [Hh][Oo][Ss][Tt])
          applies='' && set -f
          for pattern in $line; do
            # shellcheck disable=SC2254 # it is a pattern
            case $pattern in !*) case $host in ${pattern#!}) applies='' && break ;; esac ;; *) case $host in $pattern) applies=1 ;; esac ;; esac
          done
          set +f ;;
        [Mm][Aa][Tt][Cc][Hh]) applies='' ;;
        [Hh][Oo][Ss][Tt][Nn][Aa][Mm][Ee]) [ -z "$applies" ] || [ "$hostname" ] || hostname=$line ;;
        [Ii][Nn][Cc][Ll][Uu][Dd][Ee])
          case $line in '~'/*) line=${HOME-}/${line#??} ;; /*) ;; *) line=${HOME-}/.ssh/$line ;; esac
          # shellcheck disable=SC2086 # it is a pattern
          [ -z "$applies" ] || [ "$included" ] || hostname=$(included=1 && resolve_host $line && printf %s "$hostname") ;;
      esac
    done <"$file"
  done
}

plain_remote() { # https://user:secret@host/team/repo.git and git@host:team/repo become host/team/repo
  host=${remote%%:*} path=''
  case $remote in
    ssh://* | git+ssh://* | ssh+git://*)
      remote=${remote#*://} && host=${remote%%/*} && path=${remote#"$host"} && host=${host##*@}
      case $host in *']' | *']:'*) ;; *:*) path=:${host#*:}$path && host=${host%%:*} ;; esac ;;
    *://*) remote=${remote#*://} && host=${remote%%/*} && remote=${host##*@}${remote#"$host"} ;;
    .*) remote='' ;;
    *:*) case $host in */*) ;; *) path=${remote#*:} && path=/${path#/} && host=${host##*@} ;; esac ;;
  esac
  if [ "$path" ]; then # over ssh, where the person may have named the host
    hostname='' included=''
    resolve_host "${HOME-}/.ssh/config" /etc/ssh/ssh_config
    case $hostname in *%h*) hostname=${hostname%%\%h*}$host${hostname#*\%h} ;; esac
    remote=${hostname:-$host}$path
  fi
  remote=${remote%/} && remote=${remote%.git}
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
  option url "$url/hooks/$1?event=$2"
  if [ "$event" = SessionStart ]; then
    more
    count_work_items
    option header "Baton-Work-Items: $work_items"
    option header "Baton-Ignored:$ignored"
    measure "$1" "$0" "$lib"
    option header "Baton-Digests: $digests"
    option header "Baton-Manifest: $manifest"
    option header "Baton-Machine: $(uname -n)"
    gather_agents "$1"
    option header "Baton-Agents: $agents_sum"
    report_models "$1"
    option header "Baton-Models: $models"
  fi
  case $event in SessionStart | UserPromptSubmit) option header "Baton-Shim: $$" ;; esac
  case $event in SessionStart | PostToolUse* | PermissionDenied) [ -z "${AI_AGENT-}" ] || option header "Baton-Client: $AI_AGENT" ;; esac
  write_headers
}

write_headers() { # adds to request who asks, and how to answer
  [ -z "${TRACEPARENT-}" ] || option header "Traceparent: $TRACEPARENT"
  set -- "User: $login" "Root: $root" "Disabled: $disabled" "Orchestrator-Disabled: $mode_off" "On-Failure: $on_failure" "Debug: $debug" "Accept-Rewrites: $accept" "Installed: $installed"
  for header in "$@" "Protocol: 1"; do [ -z "${header#*: }" ] || option header "Baton-$header"; done
  [ -z "$project" ] || write_project
  option header "Content-Type: application/json"
  write_access
}

write_project() {
  option header "Baton-Project: $project"
  option header "Baton-Worktrees: $trees"
}

write_access() { # adds to request what the server is trusted by, and the token
  [ -z "$ca_file" ] || option cacert "$ca_file"
  [ -z "$token" ] || option header "Authorization: Bearer $token"
}

ask_given() {
  ask_through <<END
$given
END
}

print_answer() { # CLIENT: only a 2xx with a JSON object is an answer
  answer=${answer%"$line_end"*} # without what curl has measured
  head=${answer%%"$line_end"?"$line_end"*} body=${answer#*"$line_end"?"$line_end"} status=${answer#* }
  while :; do case $body in *"$line_end") body=${body%"$line_end"} ;; *) break ;; esac; done
  case $status in 2[0-9][0-9]*) ;; 599\ *) status=${status#* } && fail "${status%%[[:cntrl:]]*}" ;; *) fail "${status%%[[:cntrl:]]*}" ;; esac
  case $body in \{*\}) ;; *) fail 0 ;; esac
  for file in "$memory"*; do [ ! -e "$file" ] || rm -f "$file"; done
  case $body in # what could change a call or allow it
    *updatedInput* | *updated_input* | *modifiedArgs* | *'"tool_input"'* | *'"allow"'* | *'"approve"'* | *\\u00[2-7]*)
      [ "$accept" ] || { more && { is_harmless "$1" || drop_answer; }; } ;;
  esac
  printf '%s\n' "$body"
  [ -z "$debug" ] || printf '%s\n' "$head" | tr -d '\r' |
    sed -n -e "s/^[Bb]aton-[Dd]ecision: /baton: $event: /p" -e 's/^[Bb]aton-[Mm]essage: //p' >&2
}

more() { # reads the rest of this file, too
  # shellcheck source=/dev/null
  [ "${whole-}" ] || { whole=1 && . "$lib"; }
}

at_start() { more && at_start; }
fail() { more && fail "$1"; }

[ "${whole-}" ] || return 0

# at_start sets started: the environment that the client was started with, a line for each variable. What a project's files
# set (the `env` of .claude/settings.json, .env) comes later. A client that an agent has started inherits that, so the first
# client is asked. On the way up are shells, and clients that start themselves again. HOME and XDG_CONFIG_HOME become those.
at_start() {
  started=$line_end pid=$PPID client='' client_name=''
  while [ "$pid" -gt 0 ] && look_at "$pid"; do
    if [ "$client" ] && [ "$name" != "$client_name" ] && ! [ "/proc/$pid/exe" -ef "/proc/$client/exe" ]; then
      first_environment && break
      client=''
    fi
    is_shell || client=$pid client_name=$name
    pid=$parent
  done
  [ "$started" != "$line_end" ] || [ -z "$client" ] || first_environment || started=$line_end
  for name in HOME XDG_CONFIG_HOME; do
    case $started in
      "$line_end") ;; # nobody knows
      *"$line_end$name="*) value=${started#*"$line_end$name="} && eval "$name=\${value%%\"\$line_end\"*}" ;;
      *) unset "$name" ;;
    esac
  done
}

is_shell() {
  case ${name##*/} in sh | bash | dash | zsh | ash | ksh | fish | busybox) ;; *) return 1 ;; esac
}

look_at() { # PID: sets parent and name
  if [ -r "/proc/$1/stat" ]; then
    read -r name <"/proc/$1/stat" && parent=${name##*) ?} && parent=${parent#?} && parent=${parent%% *}
    name=${name#*(} && name=${name%)*}
  else # macOS
    name=$(ps -o ppid= -o comm= -p "$1") && name=${name#"${name%%[! ]*}"} && parent=${name%% *} && name=${name#* }
  fi
}

first_environment() { # sets started to what client was started with; fails if an agent's client has started that
  if [ -r "/proc/$client/environ" ]; then started=$(tr '\0' '\n' <"/proc/$client/environ"); else started=$(ps -Eww -o command= -p "$client" | tr ' ' '\n'); fi
  started=$line_end$started$line_end
  case $started in
    *"$line_end"CLAUDECODE=* | *"$line_end"AI_AGENT=* | *"$line_end"CODEX_SANDBOX* | *"$line_end"CODEX_THREAD_ID=* | *"$line_end"CODEX_CI=* | *"$line_end"GEMINI_CLI=* | *"$line_end"QWEN_CODE=* | *"$line_end"OPENCODE=* | *"$line_end"COPILOT_CLI=* | *"$line_end"CURSOR_AGENT=*)
      started=$line_end && return 1 ;;
  esac
}

count_work_items() { # sets work_items; "" if unknown
  work_items=''
  if [ "$counting" ]; then
    work_items=$(cd "$root" && eval "$counting" </dev/null) && work_items=${work_items##*[!0-9]} || work_items=''
  fi
}

measure() { # CLIENT SHIM LIBRARY: sets digests and manifest; `baton hooks install` runs this too, and writes down what it finds
  case $1 in
    codex) settings=${CODEX_HOME:-${HOME-}/.codex}/hooks.json manifest=${manifest_codex-} ;;
    opencode) settings=${XDG_CONFIG_HOME:-${HOME-}/.config}/opencode/plugin/baton.js manifest=${manifest_opencode-} ;;
    copilot-cli) settings=${COPILOT_HOME:-${HOME-}/.copilot}/hooks/baton.json manifest=${manifest_copilot-} ;;
    gemini) settings=${GEMINI_CLI_HOME:-${HOME-}}/.gemini/settings.json manifest=${manifest_gemini-} ;;
    cursor) settings=${HOME-}/.cursor/hooks.json manifest=${manifest_cursor-} ;;
    qwen) settings=${QWEN_HOME:-${HOME-}/.qwen}/settings.json manifest=${manifest_qwen-} ;;
    *) settings=${CLAUDE_CONFIG_DIR:-${HOME-}/.claude}/settings.json manifest=${manifest_claude-} ;;
  esac
  digests=$(
    for file in "$2" "$3"; do cksum <"$file" || echo - -; done
    case $1 in # a plugin is code: all of it counts
      opencode) cat "$settings" ;;
      *) grep -oE "baton(-hook\.sh|(\.exe)?[\\\"']* hook)[\\\"']* [a-z-]+ [A-Za-z]+[^|;\"]*" "$settings" | sort ;;
    esac | cksum
    grep -cE '"disableAllHooks"[[:space:]]*:[[:space:]]*true|"hooksConfig"' "$settings"
  ) 2>/dev/null
  set -f
  # shellcheck disable=SC2086
  set -- $digests && set +f
  digests="${1-}-${2-},${3-}-${4-},${5-}-${6-},${7:-0}"
}

# Of each file of ARGV (`s=WHOSE` names the source of those behind it), what its front matter says under a few keys: no
# body, and nothing of `mcpServers` or `hooks`. A file is left where the front matter ends, or where it has none. A long value
# is cut at a blank, so that no character is torn and the keys behind it are still read.
read_front_matter='
BEGIN {
  for (i = 1; i < ARGC && total < 120000; i++) {
    file = ARGV[i]
    if (file ~ /^s=/) { whose = substr(file, 3); continue }
    count = keep = 0
    while (count++ < 20000 && (getline line < file) > 0) {
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
        if (key !~ /^(user|assistant|human|context|commentary)$/) {
          keep = key ~ /^(name|description|model|mode|disable)$/
          room = key == "description" && total < 60000 ? 3000 : 300
        }
      }
      if (keep && room > 0) {
        size = length(line)
        if (size > room) {
          line = substr(line, 1, room)
          if (!sub(/[ \t][^ \t]*$/, "", line)) line = ""
        }
        print " " line
        room -= size + 1
        total += length(line) + 1
      }
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

report_models() { # CLIENT: sets models, what the environment says of the models that the client can use
  models='' model=${ANTHROPIC_MODEL-} gateway=${ANTHROPIC_BASE_URL-}
  case $1 in
    copilot-cli) gateway=${COPILOT_PROVIDER_BASE_URL-} model=${gateway:+${COPILOT_MODEL-}} ;;
    *)
      models="${ANTHROPIC_DEFAULT_HAIKU_MODEL:+haiku }${ANTHROPIC_DEFAULT_SONNET_MODEL:+sonnet }${ANTHROPIC_DEFAULT_OPUS_MODEL:+opus }${ANTHROPIC_DEFAULT_FABLE_MODEL:+fable }"
      case ${CLAUDE_CODE_USE_BEDROCK-}/${CLAUDE_CODE_USE_VERTEX-}/${CLAUDE_CODE_USE_FOUNDRY-} in *1* | *true* | *yes* | *on*) models="${models}cloud " ;; esac ;;
  esac
  case $1/${CLAUDE_CODE_SESSION_ATTENDED-} in
    claude-code/0) models="${models}headless " ;;
    copilot-cli/* | qwen/*) ! runs_alone || models="${models}headless " ;;
  esac
  case $gateway in '' | https://api.anthropic.com | https://api.anthropic.com/*) ;; *) models="${models}gateway " ;; esac
  models=$models${model:+model=$model} && models=${models% }
}

runs_alone() { # whether the client was started with a prompt (`-p`): it asks nobody then, and does not say so
  pid=$PPID
  while look_at "$pid" && is_shell; do pid=$parent; done
  if [ -r "/proc/$pid/cmdline" ]; then said=$(tr '\0' ' ' <"/proc/$pid/cmdline"); else said=$(ps -o args= -p "$pid"); fi
  case " $said " in *' -p '* | *' --prompt '* | *' --prompt='*) ;; *) return 1 ;; esac
}

send_agents() { # CLIENT: sends what the server does not know yet; the session goes on whatever comes of it
  case $head/$agents_sum in *[Bb]aton-[Ww]ants:\ agents*/?*) ;; *) return 0 ;; esac
  request='' relay='' seconds=1.5
  option url "$url/inventory/$1?checksum=$agents_sum"
  option request PUT
  option header "Baton-User: $login"
  option header "Content-Type: application/octet-stream"
  write_access
  printf '%s\n' "$agents" | ask >/dev/null || :
}

# send_texts CLIENT: where the server wants the skills and commands of a name, asks again with their texts. Claude Code before
# 2.1.332 runs their shell lines without a hook. An answer without an opinion leaves the first one as it is.
send_texts() {
  case $answer in *[Bb]aton-[Ww]ants:\ texts\ *) head=${answer%%"$line_end"?"$line_end"*} ;; *) return 0 ;; esac
  case $head in *[Bb]aton-[Ww]ants:\ texts\ *) ;; *) return 0 ;; esac
  about=${head#*[Bb]aton-[Ww]ants: texts } && about=${about%%[[:cntrl:]]*}
  name=${about%% *} about=${about#* } first=$answer request='' user=${CLAUDE_CONFIG_DIR:-${HOME-}/.claude}
  case $name/$about in *[!A-Za-z0-9._?=/-]*) return 0 ;; esac
  option url "$url/hooks/$1?event=$event&about=$about"
  set -- "$user/skills" "$user/commands" "$user/plugins" /etc/claude-code/.claude
  place=$PWD
  while :; do
    set -- "$@" "$place/.claude/skills" "$place/.claude/commands"
    case $place in "$root" | '') break ;; esac
    place=${place%/*}
  done
  write_headers
  skill='[Ss][Kk][Ii][Ll][Ll].[Mm][Dd]' pattern=$name
  while :; do case $pattern in *\?*) pattern=${pattern%%\?*}.${pattern#*\?} ;; *) break ;; esac; done
  answer=$({
    find -L "$@" -type f \( -path "*/$name/$skill" -o -name "$name.[Mm][Dd]" \) -exec cat {} +
    find -L "$@" -type f -name "$skill" -exec grep -lE "^name:.*$pattern" {} + | while IFS= read -r file; do cat "$file"; done
  } 2>/dev/null | head -c 1000000 | ask_and_print) || fail $?
  case ${answer#*"$line_end"?"$line_end"} in "{}$line_end"*) answer=$first ;; esac
}

# await_answer CLIENT: waits until a person has answered, then asks again about the call, which is `given`. The client's
# entry allows that time (its word `wait`). The first answer is a refusal: it stays if anything fails.
await_answer() {
  case $answer in *[Bb]aton-[Ww]ants:\ wait\ *) head=${answer%%"$line_end"?"$line_end"*} ;; *) return 0 ;; esac
  case $head in *[Bb]aton-[Ww]ants:\ wait\ *) ;; *) return 0 ;; esac
  about=${head#*[Bb]aton-[Ww]ants: wait } && about=${about%%[[:cntrl:]]*} first=$answer usual=$seconds
  name=${about#* } about=${about%% *}
  case $about/$name in *[!a-z0-9_/]* | [!1-9]* | *[!0-9]*/* | ????*/*) return 0 ;; esac
  request='' seconds=$((about + 5))
  option url "$url/hooks/$1?event=$event&about=wait+$about+$name"
  write_headers
  ask_through </dev/null || answer=''
  case ${answer%%"$line_end"?"$line_end"*} in *[Bb]aton-[Ww]ants:\ again*) ;; *) answer=$first && return 0 ;; esac
  request='' seconds=$usual
  option url "$url/hooks/$1?event=$event&about=again"
  write_headers
  ask_given || answer=''
  case ${answer#* } in 200*\{*) ;; *) answer=$first ;; esac
}

ask_and_print() { # the same, for a subshell
  ask_through && code=0 || code=$?
  printf '%s' "$answer" && return "$code"
}

# The keys of an answer, and of the input of a tool that starts an agent.
answer_keys='systemMessage|hookSpecificOutput|hookEventName|permissionDecision|permissionDecisionReason|updatedInput|modifiedArgs|tool_input|additionalContext|updated_input|permission|user_message|agent_message|additional_context|continue|decision|reason|behavior|message'
agent_keys='model|subagent_type|agent_type|agent_name|prompt|description|task_name|fork_turns|reasoning_effort|run_in_background|resume|isolation|name|team_name|mode|max_turns|context_tier'

# is_harmless CLIENT: a server that was taken over may refuse, ask, and word an agent call. An input with other keys would
# be another tool's, and an `allow` would skip the client's own question. The rare answer with these words costs a process.
is_harmless() {
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

explain() { # STATUS: sets why and advice, by curl's exit code or the status of an answer
  advice='Find the cause: baton doctor.'
  case $1 in
    6) why='has a name that is not known' advice='Correct BATON_URL in the config file.' ;;
    7) why='refuses connections' advice='Start it: baton serve.' ;;
    28)
      case ${answer##*"$line_end"} in
        0.000000) why="could not be reached within $connect s" ;;
        *) why="did not answer within $seconds s: it is overloaded or hangs" ;;
      esac ;;
    18 | 52 | 56) why='broke off its answer' ;;
    35 | 60 | 77) why='has no certificate that is trusted here' advice='Set BATON_CA_FILE in the config file.' ;;
    changed*) why='does not answer, and another program has changed the rules for that' advice='Start the server, and find the program: baton relay status.' ;;
    12[67]) why='cannot be asked without curl' advice='Install curl.' ;;
    401* | 403*) why='does not accept the token of the hooks' advice='Sign in again: baton auth login, then baton hooks install.' ;;
    426*) why='speaks another version of the hooks' advice='Install those of this version: baton hooks install.' ;;
    [1-9][0-9][0-9]*) why="answered $1" ;;
    0) why='answered something that is not JSON' ;;
    *) why="cannot be asked (curl exit code $1)" ;;
  esac
}

remember() { # STATUS: notes the failure, and tells the person once a session what it means
  [ -d "$folder" ] || (umask 077 && mkdir -p "$folder")
  [ "$1" != 28 ] || printf '' >"${memory}hung"
  case $on_failure/$event/$dialect in block/* | */Stop/* | */Sub* | */SessionEnd/* | */PreCompress/* | */PreToolUse/qwen) return ;; esac
  # The session is known by the client's process. It started a shell, and that the shim.
  parent='' && look_at "$PPID"
  if [ "$event" != SessionStart ]; then [ ! -e "$memory$parent" ] || return 0; fi
  printf '' >"$memory$parent" || [ "$event" = SessionStart ] || return 0
  [ -z "$ignored" ] || advice="$advice Ignored, as the client was not started with it:$ignored."
  text="Baton is not checking this session: the server at ${url##*@} $why. $advice"
  case $text in *[\\\"[:cntrl:]]*) text="Baton is not checking this session: its server could not be asked. $advice" ;; esac
  warn "$text"
}

fail() { # STATUS: lets the client go on, or refuses. A refused Stop would keep the agent running for ever
  explain "$1"
  [ -z "$debug" ] || printf 'baton: %s: not decided: the server %s\n' "$event" "$why" >&2
  remember "$1" 2>/dev/null
  case $on_failure/$event in block/Stop | block/SubagentStop | block/PostToolUse* | block/PermissionDenied | block/PreCompress) exit 0 ;; block/*) ;; *) exit 0 ;; esac
  text="baton: $event refused, because the server at ${url##*@} $why."
  case $text in *[\\\"[:cntrl:]]*) text="baton: $event refused, because its server could not be asked." ;; esac
  [ -z "$ignored" ] || advice="$advice Ignored, as the client was not started with it:$ignored."
  text="$text What the person can do: $advice Or restart the client with BATON_ON_FAILURE=allow."
  case $dialect/$event in # these refuse on an exit code as well, but show no reason then
    copilot-cli/PreToolUse | copilot-cli/UserPromptSubmit | cursor/PreToolUse | cursor/UserPromptSubmit) refuse "$text" && exit 0 ;;
  esac
  printf '%s\n' "$text" >&2
  exit 2
}
