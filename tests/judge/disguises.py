"""Ways to run a command missing in `wrappings`: other shells, coprocesses, traps, arrays, encodings, written files.

Each makes a line from a command. `test_disguises.py` judges every target in every disguise, and runs those with
installed programs in a real bash.
"""

import base64
import gzip
import json
import shlex
from collections.abc import Callable, Iterable, Iterator

from tests.judge.wrappings import TARGETS, Dressed, Target

Disguise = Callable[[str], str]


def _q(text: str) -> str:
    return shlex.quote(text)


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _bash(line: str) -> str:
    return f"bash -c {_q(line)}"


def _py(line: str) -> str:
    return repr(_bash(line))


def _js(line: str) -> str:
    return json.dumps(_bash(line))


def _octal(text: str) -> str:
    return "".join(f"\\{ord(letter):03o}" for letter in text)


def _hex(text: str) -> str:
    return "".join(f"\\x{ord(letter):02x}" for letter in text)


def _single(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS: dict[str, Disguise] = {
    "zsh -c": lambda line: f"zsh -c {_q(line)}",
    "zsh -fc": lambda line: f"zsh -fc {_q(line)}",
    "zsh -o": lambda line: f"zsh -o nonomatch -c {_q(line)}",
    "zsh here-document": lambda line: f"zsh <<'E'\n{line}\nE",
    "zsh eval": lambda line: f"zsh -c {_q('eval ' + _q(line))}",
    "fish -c": lambda line: f"fish -c {_q(line)}",
    "fish --command": lambda line: f"fish --command={_q(line)}",
    "fish -C": lambda line: f"fish -C {_q(line)} -c true",
    "fish piped": lambda line: f"echo {_q(line)} | fish",
    "dash -c": lambda line: f"dash -c {_q(line)}",
    "dash -ec": lambda line: f"dash -ec {_q(line)}",
    "ksh -c": lambda line: f"ksh -c {_q(line)}",
    "mksh -c": lambda line: f"mksh -c {_q(line)}",
    "busybox sh -c": lambda line: f"busybox sh -c {_q(line)}",
    "busybox ash": lambda line: f"busybox ash -c {_q(line)}",
    "busybox env sh": lambda line: f"busybox env sh -c {_q(line)}",
    "toybox sh": lambda line: f"toybox sh -c {_q(line)}",
    "csh -c": lambda line: f"csh -c {_q(line)}",
    "tcsh -fc": lambda line: f"tcsh -fc {_q(line)}",
    "xonsh -c": lambda line: f"xonsh -c {_q(line)}",
    "nu -c": lambda line: f"nu -c {_q(_bash(line))}",
    "elvish -c": lambda line: f"elvish -c {_q(line)}",
    "osh -c": lambda line: f"osh -c {_q(line)}",
    "rbash -c": lambda line: f"rbash -c {_q(line)}",
    "sh -s": lambda line: f"sh -s <<'E'\n{_bash(line)}\nE",
    "bash -O": lambda line: f"bash -O extglob -c {_q(line)}",
    "bash --norc": lambda line: f"bash --norc --noprofile -c {_q(line)}",
    "bash -xc": lambda line: f"bash -xc {_q(line)}",
    "bash --rcfile": lambda line: f"bash --rcfile <(echo {_q(line)}) -i -c true",
    "bash -p": lambda line: f"bash -p -c {_q(line)} x y z",
    "pwsh": lambda line: f"pwsh -Command {_q(_bash(line))}",
    "pwsh -NoProfile": lambda line: f"pwsh -NoProfile -NonInteractive -c {_q('& ' + _bash(line))}",
    "powershell encoded": lambda line: f"powershell -EncodedCommand {base64.b64encode(_bash(line).encode('utf-16-le')).decode()}",
    "cmd /c": lambda line: f"cmd /c {_q(_bash(line))}",
    "wsl bash": lambda line: f"wsl bash -c {_q(line)}",
}  # fmt: skip

FLOWS: dict[str, Disguise] = {
    "coproc name": lambda line: f"coproc X {{ {line}; }}; wait",
    "trap debug": lambda line: f"trap {_q(line)} DEBUG; true",
    "trap err": lambda line: f"trap {_q(line)} ERR; false",
    "trap return": lambda line: f"f() {{ trap {_q(line)} RETURN; }}; f",
    "trap two signals": lambda line: f"trap -- {_q(line)} INT EXIT",
    "trap of a variable": lambda line: f'x={_q(line)}; trap "$x" 0',
    "trap of a function": lambda line: f"f() {{ {line}; }}; trap f EXIT",
    "array": lambda line: f'x=({line}); "${{x[@]}}"' if "$" not in line and "'" not in line and "\\" not in line else f'x=(bash -c {_q(line)}); "${{x[@]}}"',
    "array slice": lambda line: f'x=(true bash -c {_q(line)}); "${{x[@]:1}}"',
    "array append": lambda line: f'x=(bash); x+=(-c {_q(line)}); "${{x[@]}}"',
    "array element": lambda line: f'x=(true {_q(line)}); eval "${{x[1]}}"',
    "array index": lambda line: f'x[0]=bash; x[1]=-c; x[2]={_q(line)}; "${{x[@]}}"',
    "associative array": lambda line: f'declare -A x=([k]={_q(line)}); eval "${{x[k]}}"',
    "array of mapfile": lambda line: f"mapfile -t x < <(printf '%s\\n' bash -c {_q(line)}); \"${{x[@]}}\"",
    "prompt expansion": lambda line: f"x={_q('$(' + line + ')')}; echo \"${{x@P}}\"",
    "printf -v format": lambda line: f"printf -v x '%b' {_q(_octal(line).replace(chr(92), chr(92) + '0'))}; eval \"$x\"",
    "printf -v array": lambda line: f"printf -v 'x[0]' %s {_q(line)}; eval \"${{x[0]}}\"",
    "echo -e hexadecimal": lambda line: f"echo -e {_q(_hex(line))} | bash",
    "printf hexadecimal": lambda line: f"printf {_q(_hex(line))} | bash",
    "printf octal": lambda line: f'bash -c "$(printf {_q(_octal(line))})"',
    "ansi-c": lambda line: f"eval $'{_hex(line)}'",
    "eval chain": lambda line: f"eval eval eval {_q(_q(_q(line)))}" if "'" not in line else f"eval eval {_q(_q(line))}",
    "eval of parts": lambda line: f'a={_q(line[:1])}; b={_q(line[1:])}; eval "$a$b"',
    "eval with set": lambda line: f'set -- {_q(line)}; eval "$@"',
    "shift": lambda line: f'set -- a b {_q(line)}; shift 2; eval "$1"',
    "declare": lambda line: f'declare -r x={_q(line)}; eval "$x"',
    "local": lambda line: f'f() {{ local x={_q(line)}; eval "$x"; }}; f',
    "nameref": lambda line: f'y={_q(line)}; declare -n x=y; eval "$x"',
    "default": lambda line: f'eval "${{x:-{line}}}"' if not set(line) & set("'\"$}\\") else f"eval {_q(line)}",
    "assigned default": lambda line: f": ${{x:=bash}}; $x -c {_q(line)}",
    "replaced": lambda line: f"x=bXsh; ${{x/X/a}} -c {_q(line)}",
    "cut": lambda line: f"x=bashful; ${{x%ful}} -c {_q(line)}",
    "upper case": lambda line: f"x=BASH; ${{x,,}} -c {_q(line)}",
    "sliced": lambda line: f"x=xbashx; ${{x:1:4}} -c {_q(line)}",
    "split by IFS": lambda line: f"IFS=,; x=bash,-c; $x {_q(line)}",
    "reverse": lambda line: f"echo {_q(line[::-1])} | rev | bash",
    "tr": lambda line: f"echo {_q(line.translate(str.maketrans('abcdefghijklmnopqrstuvwxyz', 'bcdefghijklmnopqrstuvwxyza')))} | tr b-za a-z | bash",
    "sed into a shell": lambda line: f"echo {_q('X' + line)} | sed 's/^X//' | bash",
    "arithmetic substitution": lambda line: f"(( x[$({line})] ))",
    "arithmetic let": lambda line: f"let x=$({line})",
    "condition of a for": lambda line: f"for (( i=$({line} >/dev/null; echo 0); i<1; i++ )); do :; done",
    "select": lambda line: f"select x in a; do {line}; break; done <<< 1",
    "until": lambda line: f"until {line}; do break; done",
    "case pattern": lambda line: f"case $({line}) in *) ;; esac",
    "redirection target": lambda line: f": > /tmp/$({line} | wc -c)",
    "redirected substitution": lambda line: f"cat < <({line})",
    "tee to a process": lambda line: f"echo {_q(line)} | tee >(bash) >/dev/null",
    "process substitution twice": lambda line: f"bash <(cat <(echo {_q(line)}))",
    "source of a descriptor": lambda line: f"exec 3<<< {_q(line)}; source /dev/fd/3",
    "source of a here-document": lambda line: f"source /dev/stdin <<'E'\n{line}\nE",
    "dot of a process": lambda line: f". <(echo {_q(line)})",
    "bash of a descriptor": lambda line: f"bash /dev/fd/3 3<<'E'\n{line}\nE",
    "exec of a descriptor": lambda line: f"exec 0<<< {_q(line)}; bash",
    "while read": lambda line: f'while read -r x; do eval "$x"; done <<< {_q(line)}',
    "while read piped": lambda line: f'echo {_q(line)} | while IFS= read -r x; do bash -c "$x"; done',
    "read array": lambda line: f'IFS=, read -ra x <<< bash,-c; "${{x[@]}}" {_q(line)}',
    "command -p": lambda line: f"command -p bash -c {_q(line)}",
    "exec -c": lambda line: f"(exec -c bash -c {_q(line)})",
    "enable": lambda line: f"enable -n echo; {line}",
    "hash -p": lambda line: f"hash -p /bin/bash x; x -c {_q(line)}",
    "type -P": lambda line: f"$(type -P bash) -c {_q(line)}",
    "which": lambda line: f"$(which bash) -c {_q(line)}",
    "glob of a path": lambda line: f"/bin/b?sh -c {_q(line)}",
    "braces": lambda line: f"{{bash,-c,{_q(line)}}}",
    "tilde": lambda line: f"~/../../bin/bash -c {_q(line)}",
    "long option with a value": lambda line: f"env --split-string={_q(_bash(line))}",
    "xargs lines": lambda line: f"echo {_q(line)} | xargs -d '\\n' bash -c",
    "xargs -a": lambda line: f"xargs -a <(printf %s {_q(line)}) -0 bash -c",
    "xargs sh": lambda line: f"echo x | xargs -I{{}} sh -c {_q(_bash(line))}",
    "parallel": lambda line: f"parallel bash -c ::: {_q(_q(line))}",
    "find -execdir": lambda line: f"find . -maxdepth 0 -execdir bash -c {_q(line)} \\;",
    "find -ok": lambda line: f"find . -maxdepth 0 -ok bash -c {_q(line)} \\;",
    "find -exec +": lambda line: f"find . -maxdepth 0 -exec bash -c {_q(line)} {{}} +",
    "find and name": lambda line: f"find / -name bash -exec {{}} -c {_q(line)} \\; -quit",
    "fd -x": lambda line: f"fd -d 1 -x bash -c {_q(line)}",
}  # fmt: skip

FILES: dict[str, Disguise] = {
    "git hook": lambda line: f"printf '#!/bin/bash\\n%s' {_q(line)} > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; git commit -m x",
    "git alias set": lambda line: f"git config alias.x {_q('!' + line)} && git x",
    "git alias global": lambda line: f"git config --global alias.zz {_q('!' + _bash(line))}; git zz",
    "git hooksPath": lambda line: f"mkdir h; printf '#!/bin/bash\\n%s' {_q(line)} > h/pre-push; chmod +x h/pre-push; git -c core.hooksPath=h push",
    "git editor": lambda line: f"GIT_EDITOR={_q(_bash(line))} git commit",
    "git sequence editor": lambda line: f"GIT_SEQUENCE_EDITOR={_q(_bash(line))} git rebase -i HEAD~1",
    "git pager key": lambda line: f"git -c core.pager={_q(_bash(line))} log",
    "git ssh command": lambda line: f"GIT_SSH_COMMAND={_q(_bash(line))} git fetch",
    "git rebase --exec": lambda line: f"git rebase -x {_q(_bash(line))} HEAD~1",
    "git bisect run": lambda line: f"git bisect run bash -c {_q(line)}",
    "git submodule foreach": lambda line: f"git submodule foreach {_q(_bash(line))}",
    "git filter-branch": lambda line: f"git filter-branch --tree-filter {_q(_bash(line))} HEAD",
    "git difftool": lambda line: f"git difftool -x {_q(_bash(line))}",
    "makefile": lambda line: f"printf 'x:\\n\\t%s\\n' {_q(_bash(line).replace('$', '$$'))} > Makefile; make x",
    "makefile by -f": lambda line: f"printf 'x:\\n\\t%s\\n' {_q(_bash(line).replace('$', '$$'))} > /tmp/m; make -f /tmp/m",
    "makefile here-document": lambda line: f"cat > Makefile <<'E'\nx:\n\t{_bash(line).replace('$', '$$')}\nE\nmake",
    "makefile with @": lambda line: f"cat > Makefile <<'E'\nall:\n\t@-{_bash(line).replace('$', '$$')}\nE\nmake all",
    "make --eval": lambda line: f"make --eval={_q('$(shell ' + _bash(line).replace('$', '$$') + ')')}",
    "make variable": lambda line: f"make SHELL=/bin/bash CC={_q(_bash(line))}",
    "justfile": lambda line: f"printf 'x:\\n  %s\\n' {_q(_bash(line))} > justfile; just x",
    "justfile here-document": lambda line: f"cat > justfile <<'E'\nx:\n    {_bash(line)}\nE\njust x",
    "npm script": lambda line: f"echo {_q(json.dumps({'scripts': {'x': _bash(line)}}))} > package.json; npm run x",
    "npm preinstall": lambda line: f"echo {_q(json.dumps({'scripts': {'preinstall': _bash(line)}}))} > package.json && npm install",
    "npm pkg set": lambda line: f"npm pkg set scripts.x={_q(_bash(line))} && npm run x",
    "script by cat": lambda line: f"cat > r.sh <<'E'\n{line}\nE\nbash r.sh",
    "script by echo >>": lambda line: f"echo '#!/bin/bash' > r; echo {_q(line)} >> r; chmod 755 r; ./r",
    "script moved": lambda line: f"echo {_q(line)} > a.txt; mv a.txt b.sh; bash b.sh",
    "script copied": lambda line: f"echo {_q(line)} > a.txt && cp a.txt /tmp/b && bash /tmp/b",
    "script linked": lambda line: f"echo {_q(line)} > a.txt && ln -s a.txt b && bash b",
    "script by tee -a": lambda line: f"echo {_q(line)} | tee -a s.sh; bash s.sh",
    "script by dd": lambda line: f"echo {_q(line)} | dd of=s.sh; bash s.sh",
    "script by install": lambda line: f"install -m 755 <(echo {_q(line)}) s.sh; bash s.sh",
    "script by python": lambda line: f"python3 -c {_q('open(' + repr('s.sh') + ', ' + repr('w') + ').write(' + repr(line) + ')')}; bash s.sh",
    "script in a folder": lambda line: f"mkdir -p t && cd t && echo {_q(line)} > s.sh && bash s.sh",
    "script to a pipe": lambda line: f"echo {_q(line)} > s.sh; cat s.sh | bash",
    "script to standard input": lambda line: f"echo {_q(line)} > s.sh; bash < s.sh",
    "script to source": lambda line: f"echo {_q(line)} > s.sh; source ./s.sh",
    "script to xargs": lambda line: f"echo {_q(line)} > s.txt; xargs -a s.txt -0 bash -c",
    "script through git": lambda line: f"echo {_q(line)} > s.sh; BASH_ENV=s.sh bash -c true",
    "ENV": lambda line: f"echo {_q(_bash(line))} > s.sh; ENV=./s.sh sh -i -c true",
    "prompt command": lambda line: f"PROMPT_COMMAND={_q(line)} bash -i",
    "crontab": lambda line: f"echo {_q('* * * * * ' + _bash(line))} | crontab -",
    "at": lambda line: f"echo {_q(_bash(line))} | at now",
    "batch": lambda line: f"batch <<'E'\n{_bash(line)}\nE",
    "profile": lambda line: f"echo {_q(line)} >> ~/.bashrc; bash -i -c true",
    "python file": lambda line: f"printf %s {_q('import os; os.system(' + _py(line) + ')')} > x.py; python3 x.py",
    "node file": lambda line: f"cat > x.js <<'E'\nrequire('child_process').execSync({_js(line)})\nE\nnode x.js",
    "awk file": lambda line: f"cat > x.awk <<'E'\nBEGIN {{ system({_js(line)}) }}\nE\nawk -f x.awk",
    "perl file": lambda line: f"cat > x.pl <<'E'\nsystem({_single(_bash(line))});\nE\nperl x.pl",
    "ruby file": lambda line: f"cat > x.rb <<'E'\nsystem({_single(_bash(line))})\nE\nruby x.rb",
}  # fmt: skip

ENCODED: dict[str, Disguise] = {
    "base64 -d": lambda line: f"base64 -d <<< {_b64(line)} | sh",
    "base64 -D": lambda line: f"echo {_b64(line)} | base64 -D | bash",
    "base64 -di": lambda line: f"echo {_b64(line)} | base64 -di | bash",
    "base64 to a file": lambda line: f"echo {_b64(line)} | base64 -d > s.sh; bash s.sh",
    "base64 of a file": lambda line: f"echo {_b64(line)} > f; base64 -d f | bash",
    "base64 in eval": lambda line: f'eval "$(base64 -d <<< {_b64(line)})"',
    "base64 twice": lambda line: f"echo {_b64(_b64(line))} | base64 -d | base64 -d | bash",
    "base64 in a variable": lambda line: f'x=$(echo {_b64(line)} | base64 -d); bash -c "$x"',
    "base32": lambda line: f"echo {base64.b32encode(line.encode()).decode()} | base32 -d | bash",
    "basenc": lambda line: f"echo {_b64(line)} | basenc --base64 -d | bash",
    "openssl base64": lambda line: f"echo {_b64(line)} | openssl base64 -d -A | bash",
    "openssl enc": lambda line: f"echo {_b64(line)} | openssl enc -base64 -d -A | bash",
    "openssl aes": lambda line: f"openssl enc -d -aes-256-cbc -k x -in s.enc | bash # {_b64(line)}",
    "xxd": lambda line: f"echo {line.encode().hex()} | xxd -r -p | bash",
    "xxd joined": lambda line: f"xxd -rp <<< {line.encode().hex()} | bash",
    "xxd in eval": lambda line: f'eval "$(echo {line.encode().hex()} | xxd -r -p)"',
    "gzip": lambda line: f"echo {base64.b64encode(gzip.compress(line.encode(), mtime=0)).decode()} | base64 -d | gunzip | bash",
    "gzip -dc": lambda line: f"echo {base64.b64encode(gzip.compress(line.encode(), mtime=0)).decode()} | base64 -d | gzip -dc | bash",
    "zcat": lambda line: f"base64 -d <<< {base64.b64encode(gzip.compress(line.encode(), mtime=0)).decode()} | zcat | sh",
    "gpg": lambda line: f"gpg -d s.gpg | bash # {_b64(line)}",
    "uudecode": lambda line: f"uudecode -o - s.uu | bash # {_b64(line)}",
    "python base64": lambda line: f"python3 -c {_q('import base64,os; os.system(base64.b64decode(' + repr(_b64(_bash(line))) + ').decode())')}",
    "python exec base64": lambda line: "python3 -c " + _q("import base64; exec(base64.b64decode(" + repr(_b64("import os; os.system(" + _py(line) + ")")) + "))"),
    "python hex": lambda line: f"python3 -c {_q('import os; os.system(bytes.fromhex(' + repr(_bash(line).encode().hex()) + ').decode())')}",
    "python printed": lambda line: f"python3 -c {_q('print(' + repr(line) + ')')} | bash",
    "perl printed": lambda line: f"perl -e {_q('print ' + _single(line))} | bash",
    "perl pack": lambda line: f"perl -e {_q('system(pack(' + _single('H*') + ', ' + _single(_bash(line).encode().hex()) + '))')}",
    "node buffer": lambda line: f"node -e {_q('require(`child_process`).execSync(Buffer.from(' + json.dumps(_b64(_bash(line))) + ', `base64`).toString())')}",
    "php base64": lambda line: f"php -r {_q('system(base64_decode(' + json.dumps(_b64(_bash(line))) + '));')}",
    "ruby unpack": lambda line: f"ruby -e {_q('system(' + _single(_b64(_bash(line))) + '.unpack1(' + _single('m') + '))')}",
    "awk printed": lambda line: "awk " + _q("BEGIN { print " + json.dumps(line) + " }") + " | bash",
    "awk piped": lambda line: "awk " + _q("BEGIN { print " + json.dumps(line) + ' | "bash" }'),
    "awk getline": lambda line: "awk " + _q("BEGIN { " + json.dumps(_bash(line)) + " | getline x }"),
    "sed e": lambda line: f"echo x | sed {_q('s/x/true/e; 1e ' + _bash(line))}" if "\n" not in line else line,
    "jq printed": lambda line: f"jq -rn {_q(json.dumps(line))} | bash",
    "head": lambda line: f"printf '%s\\nx\\n' {_q(line)} | head -1 | bash",
    "cut fields": lambda line: f"echo {_q('x|' + line)} | cut -d'|' -f2- | bash",
    "tail": lambda line: f"printf 'x\\n%s\\n' {_q(line)} | tail -n1 | bash",
    "here-document rot13": lambda line: f"tr A-Za-z N-ZA-Mn-za-m <<'E' | bash\n{line.translate(str.maketrans('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', 'NOPQRSTUVWXYZABCDEFGHIJKLMnopqrstuvwxyzabcdefghijklm'))}\nE",
}  # fmt: skip

CODE: dict[str, Disguise] = {
    "python popen": lambda line: f"python3 -c {_q('import os; os.popen(' + _py(line) + ').read()')}",
    "python getoutput": lambda line: f"python3 -c {_q('import subprocess; subprocess.getoutput(' + _py(line) + ')')}",
    "python check_call": lambda line: f"python3 -c {_q('from subprocess import check_call as c; c(' + repr(['bash', '-c', line]) + ')')}",
    "python Popen": lambda line: f"python3 -c {_q('import subprocess as s; s.Popen(' + _py(line) + ', shell=True).wait()')}",
    "python execvp": lambda line: f"python3 -c {_q('import os; os.execvp(' + repr('bash') + ', ' + repr(['bash', '-c', line]) + ')')}",
    "python spawn": lambda line: f"python3 -c {_q('import os; os.spawnlp(os.P_WAIT, ' + repr('bash') + ', ' + repr('bash') + ', ' + repr('-c') + ', ' + repr(line) + ')')}",
    "python pty": lambda line: f"python3 -c {_q('import pty; pty.spawn(' + repr(['bash', '-c', line]) + ')')}",
    "python __import__": lambda line: f"python3 -c {_q('__import__(' + repr('os') + ').system(' + _py(line) + ')')}",
    "python importlib": lambda line: f"python3 -c {_q('import importlib; importlib.import_module(' + repr('os') + ').system(' + _py(line) + ')')}",
    "python getattr": lambda line: f"python3 -c {_q('import os; getattr(os, ' + repr('sys' + 'tem') + ')(' + _py(line) + ')')}",
    "python exec": lambda line: "python3 -c " + _q("exec(" + repr("import os; os.system(" + _py(line) + ")") + ")"),
    "python lambda": lambda line: f"python3 -c {_q('import os; (lambda f: f(' + _py(line) + '))(os.system)')}",
    "python asyncio": lambda line: f"python3 -c {_q('import asyncio; asyncio.run(asyncio.create_subprocess_shell(' + _py(line) + '))')}",
    "python joined": lambda line: "python3 -c " + _q("import os; os.system(" + repr("bash -c ") + " + " + repr(_q(line)) + ")"),
    "python format": lambda line: "python3 -c " + _q("import os; x = " + repr(_q(line)) + "; os.system(f'bash -c {x}')"),
    "python shlex": lambda line: f"python3 -c {_q('import subprocess, shlex; subprocess.run(shlex.split(' + _py(line) + '))')}",
    "python -": lambda line: f"echo {_q('import os; os.system(' + _py(line) + ')')} | python3 -",
    "python -Ic": lambda line: f"python3 -Ic {_q('import os; os.system(' + _py(line) + ')')}",
    "python -u -c": lambda line: f"python -u -W ignore -c {_q('import os; os.system(' + _py(line) + ')')}",
    "python of a process": lambda line: f"python3 <(echo {_q('import os; os.system(' + _py(line) + ')')})",
    "uv run python": lambda line: f"uv run python -c {_q('import os; os.system(' + _py(line) + ')')}",
    "ipython": lambda line: f"ipython -c {_q('!' + _bash(line))}",
    "pypy": lambda line: f"pypy3 -c {_q('import os; os.system(' + _py(line) + ')')}",
    "node execSync": lambda line: f"node -e {_q('require(`child_process`).execSync(' + _js(line) + ')')}",
    "node spawn": lambda line: f"node -e {_q('require(`child_process`).spawnSync(`bash`, ' + json.dumps(['-c', line]) + ')')}",
    "node prefix": lambda line: f"node --input-type=module -e {_q('import {execSync} from `node:child_process`; execSync(' + _js(line) + ')').replace('`node:child_process`', json.dumps('node:child_process'))}",
    "node -p": lambda line: f"node -p {_q('require(`fs`) && require(`child_process`).execSync(' + _js(line) + ').toString()')}",
    "bun -e": lambda line: f"bun -e {_q('require(`child_process`).execSync(' + _js(line) + ')')}",
    "deno eval": lambda line: f"deno eval {_q('new Deno.Command(`bash`, {args: ' + json.dumps(['-c', line]) + '}).outputSync()')}",
    "perl backticks": lambda line: "perl -e " + _q("my $x = qx{" + _bash(line) + "};") if "{" not in line and "}" not in line else _bash(line),
    "perl exec": lambda line: f"perl -e {_q('exec(' + _single('bash') + ', ' + _single('-c') + ', ' + _single(line) + ')')}",
    "perl open": lambda line: f"perl -e {_q('open(F, ' + _single(_bash(line) + ' |') + '); print <F>')}",
    "perl here-document": lambda line: f"perl <<'E'\nsystem({_single(_bash(line))});\nE",
    "perl with an inner here-document": lambda line: f"perl -e {_q('system(<<X);' + chr(10) + _bash(line).replace('@', chr(92) + '@') + chr(10) + 'X' + chr(10))}",
    "ruby backticks": lambda line: "ruby -e " + _q("`" + _bash(line) + "`") if "`" not in line else _bash(line),
    "ruby exec": lambda line: f"ruby -e {_q('exec(' + _single(_bash(line)) + ')')}",
    "ruby spawn": lambda line: f"ruby -e {_q('Process.wait(spawn(' + _single(_bash(line)) + '))')}",
    "ruby popen": lambda line: f"ruby -e {_q('IO.popen(' + _single(_bash(line)) + ').read')}",
    "php exec": lambda line: f"php -r {_q('exec(' + _single(_bash(line)) + ');')}",
    "php passthru": lambda line: f"php -r {_q('passthru(' + _single(_bash(line)) + ');')}",
    "php shell_exec": lambda line: f"php -r {_q('echo shell_exec(' + _single(_bash(line)) + ');')}",
    "lua": lambda line: f"lua -e {_q('os.execute(' + _single(_bash(line)) + ')')}",
    "tclsh": lambda line: "echo " + _q("exec bash -c {" + line + "}") + " | tclsh",
    "osascript": lambda line: "osascript -e " + _q("do shell script " + json.dumps(_bash(line))),
    "Rscript": lambda line: f"Rscript -e {_q('system(' + json.dumps(_bash(line)) + ')')}",
    "gawk": lambda line: f"gawk {_q('BEGIN { system(' + json.dumps(_bash(line)) + ') }')}",
    "mawk": lambda line: f"mawk {_q('BEGIN { system(' + json.dumps(_bash(line)) + ') }')}",
    "vim": lambda line: f"vim -es -c {_q('!' + _bash(line))} -c q",
    "ex": lambda line: f"ex -sc {_q('!' + _bash(line))} -cq",
    "ed": lambda line: f"ed <<'E'\n!{_bash(line)}\nq\nE",
    "emacs": lambda line: f"emacs --batch --eval {_q('(shell-command ' + json.dumps(_bash(line)) + ')')}",
    "less": lambda line: f"LESSOPEN={_q('|' + _bash(line))} less x",
    "man": lambda line: f"man -P {_q(_bash(line))} ls",
    "sqlite3": lambda line: f"sqlite3 x.db {_q('.shell ' + _bash(line))}",
    "psql": lambda line: f"psql -c {_q(chr(92) + '! ' + _bash(line))}",
    "mysql": lambda line: f"mysql -e {_q(chr(92) + '! ' + _bash(line))}",
    "gdb": lambda line: f"gdb -batch -ex {_q('shell ' + _bash(line))}",
    "tar --to-command": lambda line: f"tar -xf a.tar --to-command={_q(_bash(line))}",
    "tar -I": lambda line: f"tar -I {_q(_bash(line))} -cf a.tar b",
    "zip -TT": lambda line: f"zip -T -TT {_q(_bash(line))} a.zip b",
    "rsync -e": lambda line: f"rsync -e {_q(_bash(line))} a host:b",
    "ssh ProxyCommand": lambda line: f"ssh -o ProxyCommand={_q(_bash(line))} host",
    "ssh LocalCommand": lambda line: f"ssh -o PermitLocalCommand=yes -o LocalCommand={_q(_bash(line))} host",
    "scp -S": lambda line: f"scp -o ProxyCommand={_q(_bash(line))} a host:b",
    "socat": lambda line: f"socat - EXEC:{_q(_bash(line))}" if not set(line) & set("'\",:!") else f"socat - SYSTEM:{_q(line)}",
    "split --filter": lambda line: f"split --filter={_q(_bash(line))} x",
    "sort --compress-program": lambda line: f"sort --compress-program={_q(_bash(line))} x",
    "rg --pre": lambda line: f"rg --pre {_q(_bash(line))} x",
    "fzf --preview": lambda line: f"fzf --preview {_q(_bash(line))}",
    "watch": lambda line: f"watch -n1 {_q(line)}",
    "script -c": lambda line: f"script -qc {_q(line)} /dev/null",
    "expect": lambda line: "expect -c " + _q("spawn bash -c {" + line + "}; interact"),
    "tmux send-keys": lambda line: f"tmux send-keys -t x {_q(line)} Enter",
    "screen -X stuff": lambda line: f"screen -S x -X stuff {_q(line + chr(10))}",
    "systemd-run": lambda line: f"systemd-run --user bash -c {_q(line)}",
    "docker entrypoint": lambda line: f"docker run --entrypoint bash -v /:/h x -c {_q(line)}",
    "nix-shell": lambda line: f"nix-shell -p hello --run {_q(line)}",
    "npx -c": lambda line: f"npx -c {_q(_bash(line))}",
    "npm exec -c": lambda line: f"npm exec -c {_q(_bash(line))}",
    "concurrently": lambda line: f"concurrently {_q(_bash(line))} 'echo x'",
    "entr": lambda line: f"ls | entr -s {_q(line)}",
    "nodemon": lambda line: f"nodemon --exec {_q(_bash(line))}",
    "watchexec": lambda line: f"watchexec -- bash -c {_q(line)}",
    "hyperfine": lambda line: f"hyperfine --prepare {_q(_bash(line))} true",
    "su": lambda line: f"su - me -c {_q(_bash(line))}",
    "flock -c": lambda line: f"flock /tmp/l -c {_q(_bash(line))}",
    "unshare": lambda line: f"unshare -m bash -c {_q(line)}",
    "setsid": lambda line: f"setsid bash -c {_q(line)} &>/dev/null &",
    "nohup": lambda line: f"nohup bash -c {_q(line)} >/dev/null 2>&1 & disown",
    "time -f": lambda line: f"/usr/bin/time -f %e bash -c {_q(line)}",
}  # fmt: skip

DISGUISES: dict[str, Disguise] = {**SHELLS, **FLOWS, **FILES, **ENCODED, **CODE}


def disguised(targets: Iterable[Target] = TARGETS) -> Iterator[Dressed]:
    """Yield each target in every disguise."""
    for target in targets:
        for name, make in DISGUISES.items():
            yield Dressed(target, "", "plain", name, make(f"{target.program} {target.arguments}"))
