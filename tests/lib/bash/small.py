"""Small tables, independent of the shipped ones."""

from baton.lib.bash.model import Shell
from baton.lib.bash.read import read
from baton.lib.bash.tables import tables

TEXT = """
ls|cat|head|grep|"true": read-only
"[": read-only
echo|printf|cd|pushd|popd|export|read: read-only
python: {aka: ["python3*"], is: unknown, takes_value: [-c, -m], runs: [{module: -m}, {file: true}, {stdin: other}]}
pytest|make: test-or-build
curl: {is: network, takes_value: [-o], when: [{flags: [-o], is: [network, file-write], writes: [-o]}]}
rm: {is: destructive, writes: [operands]}
cp|mv: {is: file-write, writes: [last]}
tee|touch: {is: file-write, writes: [operands]}
dd: {is: destructive, writes: [of=]}
sed:
  is: read-only
  when: [{flags: [-i, -i*, --in-place, --in-place=*], is: file-write, writes: [rest]}]
git:
  is: unknown
  takes_value: [-C, -c]
  holds: [{at: -c, find: "^alias.*=!(.*)"}]
  subcommands:
    push: {is: [vcs-write, network], when: [{flags: [-f, --force], is: [vcs-write, network, destructive]}]}
    log|show: vcs-read
    remote: {is: vcs-read, subcommands: {add: vcs-write}}
sudo|nice|time|nohup|command: {is: read-only, takes_value: [-u, -n], runs: [{command: 0}]}
env: {is: read-only, takes_value: [-u], runs: [{command: 0, assignments: true}]}
timeout: {is: read-only, takes_value: [-s], runs: [{command: 1}]}
xargs: {is: read-only, takes_value: [-I, -n], runs: [{command: 0}]}
find: {is: read-only, when: [{flags: [-delete], is: destructive}], runs: [{between: [-exec, -execdir], until: [";", "+"]}]}
bash|sh|zsh: {is: unknown, takes_value: [-c, -o], runs: [{script: -c}, {file: true}, {stdin: true}]}
eval: {is: read-only, runs: [{script: operands}]}
source|.: {is: unknown, runs: [{file: true}]}
trap: {is: read-only, runs: [{script: first}]}
ssh: {is: network, takes_value: [-p], when: [{count: 2+, is: network, runs: [{script: rest}]}], runs: [{stdin: true}]}
npm: {is: unknown, subcommands: {exec: {runs: [{after: "--"}, {command: 0}]}, test: test-or-build}}
concurrently: {is: unknown, runs: [{script: each}]}
"""
TABLES = tables.build({"small.yaml": TEXT.replace('|"true"', "|true")})


def shell(line: str) -> Shell:
    """Read a line with the small tables."""
    assert isinstance(TABLES, tables.ShellTables), TABLES
    return read(TABLES, line)
