"""What JavaScript's functions and methods do: Node's modules, Deno, Bun, and what is often used beside them."""

from baton.engine.code.effects import table


def _fs(names: str) -> str:
    """Return the names of `fs`: as they are, with `Sync`, and of `fs.promises`."""
    return " ".join(f"fs.{name} fs.{name}Sync fs.promises.{name}" for name in names.split())


def _deno(names: str) -> str:
    return " ".join(f"Deno.{name} Deno.{name}Sync" for name in names.split())


_EFFECTS = {
    "read": """require.resolve parseInt parseFloat isNaN Number String.raw Boolean Symbol Date RegExp Error TypeError Map Set
        WeakMap Array Object BigInt structuredClone encodeURIComponent encodeURI escape isFinite queueMicrotask clearTimeout
        clearInterval process.stdout.write process.stderr.write process.exit process.uptime process.memoryUsage process.hrtime
        process.version process.nextTick process.stdin.on process.stdin.setEncoding process.on process.hrtime.bigint
        process.stdin.resume process.emitWarning process.cpuUsage process.stdout.isTTY process.getuid
        .log .trim .trimEnd .trimStart .slice .substring .substr .includes .indexOf .lastIndexOf .startsWith .endsWith
        .match .matchAll .padStart .padEnd .repeat .charAt .charCodeAt .codePointAt .at .toFixed .toPrecision
        .toISOString .getTime .toLocaleString .toLocaleDateString .getFullYear .getMonth .getDate .localeCompare .normalize .search
        .sort .reverse .keys .values .entries .has .get .set .delete .add .size .length .pop .shift .unshift .splice .fill
        .flat .toJSON .hasOwnProperty .isArray .json .text .arrayBuffer .blob .update .digest .setEncoding .resume .end .destroy
        .once .off .emit .removeListener .unref .ref .bind .test .source .isFile .isDirectory .isSymbolicLink .toSorted .with .copy
        .readUInt8 .readUInt32BE .readUInt32LE .readUInt16LE .readInt32LE .equals .compare .subarray .close .question .ok .status
        pattern.exec url.parse process.stdin.pipe URL URLSearchParams TextDecoder TextEncoder Intl.DateTimeFormat AbortController
        Promise Promise.all Promise.resolve Promise.reject Promise.race Promise.allSettled Proxy Reflect.ownKeys Symbol.for
        WebAssembly.validate module.createRequire
        Deno.readDir Deno.readDirSync Deno.stat Deno.statSync
        Deno.cwd Deno.exit Deno.lstat Deno.env.toObject Bun.version Bun.which Bun.hash Bun.inspect Bun.sleep Bun.resolveSync Bun.stdin.text
        typescript.transpile typescript.createSourceFile yaml.parse yaml.stringify js-yaml.load js-yaml.dump semver.satisfies semver.valid semver.gt semver.lt
        """
    + _fs(
        """readdir stat lstat existsSync exists access realpath readlink opendir watch fstat read close
        watchFile statfs openAsBlob""",
    )
    + " fs.existsSync",
    "contents 0": _fs("readFile createReadStream") + " fs.ReadStream Bun.file " + _deno("readTextFile readFile"),
    "same 0": "await String Object.freeze Array.from Array.of path.resolve path.normalize path.relative url.fileURLToPath",
    "same -1": ".valueOf .toWellFormed .toString",
    "module 0": "require import process.mainModule.require module.require process.getBuiltinModule",
    "unread a file is executed": "Deno.dlopen process.dlopen process.binding",
    "input": "process.stdin.read process.stdin.toArray",
    "open 0 1": _fs("open"),
    "write 0": _fs(
        """writeFile appendFile mkdir mkdtemp truncate chmod chown lchown lchmod utimes lutimes ensureDir ensureFile outputFile
        outputJson writeJson writeJSON emptyDir createFile createFileSync""",
    )
    + " mkdirp mkdirp.sync make-dir write-file-atomic write-file-atomic.sync Bun.write "
    + _deno("writeTextFile writeFile mkdir truncate chmod create"),
    "write 0 file": "fs.createWriteStream fs.WriteStream",
    "write 1": _fs("copyFile cp copy link symlink") + " " + _deno("copyFile link symlink"),
    "write 0 1": _fs("rename move") + " " + _deno("rename"),
    "remove 0": _fs("rm rmdir unlink remove")
    + " rimraf rimraf.sync rimraf.rimraf rimraf.rimrafSync rimraf.native del del.sync del.deleteAsync del.deleteSync trash "
    + _deno("remove")
    + " shelljs.rm",
    "write 0 shell": "shelljs.mkdir shelljs.touch",
    "write 1 shell": "shelljs.cp shelljs.mv shelljs.ln",
    "folder 0": "process.chdir Deno.chdir shelljs.cd",
    "join": "path.join path.posix.join",
    "text $HOME": "os.homedir",
    "text .": "process.cwd",
    "text /tmp": "os.tmpdir",
    "decode 0 parent": "path.dirname",
    "decode 0 base": "path.basename",
    "decode 0 base64": "atob",
    "decode 0 buffer": "Buffer.from",
    "decode 0 url": "decodeURIComponent decodeURI unescape",
    "decode 0 chr": "String.fromCharCode String.fromCodePoint",
    "decode -1 lower": ".toLowerCase",
    "decode -1 upper": ".toUpperCase",
    "format join": ".join",
    "format replace": ".replace .replaceAll",
    "format split": ".split",
    "append": ".push .concat",
    "environment 0": "process.env[] Deno.env.get Bun.env[]",
    "shell 0": "child_process.exec child_process.execSync execa.command execa.commandSync execa.execaCommand execa.execaCommandSync shelljs.exec Bun.$ zx.$ $ bun.$",
    "exec 0": """child_process.execFile child_process.execFileSync child_process.spawn child_process.spawnSync execa execa.execa execa.execaSync execa.sync
        cross-spawn cross-spawn.sync cross-spawn.spawn Deno.Command node-pty.spawn""",
    "run": "Bun.spawn Bun.spawnSync Deno.run bun.spawn bun.spawnSync",
    "unread": "child_process.fork worker_threads.Worker cluster.fork process.kill Deno.kill process.abort .kill .exec",
    "eval 0": "eval Function vm.runInNewContext vm.runInThisContext vm.runInContext vm.Script GeneratorFunction AsyncFunction",
    "call": "setTimeout setInterval setImmediate",
    "same 0 function": "util.promisify util.callbackify",
    "each": ".map .forEach .filter .flatMap .reduce .reduceRight .some .every .find .findIndex .findLast .then .catch .finally .on .pipe",
    "download": "fetch https.get http.get axios axios.get axios.post axios.put axios.delete axios.request node-fetch got got.get got.post undici.fetch undici.request superagent.get",
    "network": """http.request https.request http.createServer https.createServer net.createServer dns.lookup dns.resolve dns.promises.lookup dns.promises.resolve http2.connect
        tls.createServer WebSocket ws.WebSocket Deno.serve Bun.serve http.Agent https.Agent .listen ws EventSource XMLHttpRequest dgram.createSocket""",
    "socket": "net.connect net.createConnection net.Socket tls.connect Deno.connect Deno.connectTls Bun.connect",
}

_FAMILIES = """console JSON Math Object Array Reflect Number String Date Symbol util assert os url querystring crypto path buffer events
string_decoder perf_hooks performance readline zlib stream semver lodash Buffer Promise Intl chalk process.versions process.memoryUsage
timers async_hooks process.release Atomics"""

_MODULES = """fs child_process http https net tls dns vm worker_threads cluster http2 dgram v8 module process axios got undici execa shelljs rimraf
del trash cross-spawn node-pty mkdirp make-dir typescript yaml js-yaml glob fast-glob globby commander yargs zx bun ws express react vue svelte
esbuild acorn prettier eslint @babel vitest jest next playwright puppeteer cheerio dotenv uuid nanoid dayjs moment date-fns zod ajv superagent
write-file-atomic test constants punycode sqlite diagnostics_channel inspector repl tty sys wasi"""

TABLE = table(
    _EFFECTS,
    families=_FAMILIES,
    modules=_MODULES,
    constants={"process.execPath": "node", "process.platform": "linux", "path.sep": "/", "os.EOL": "\n", "os.devNull": "/dev/null",
               "__dirname": ".", "import.meta.dirname": "."},
    aliases={"fs-extra": "fs", "graceful-fs": "fs", "fs-extra.esm": "fs", "node-fetch": "fetch", "path.posix": "path"},
)  # fmt: skip
