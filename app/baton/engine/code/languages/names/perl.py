"""What Perl's functions do: the language's own, and those of modules by their short names, as they are imported."""

from baton.engine.code.effects import table

_EFFECTS = {
    "read": """print printf say length substr index rindex ucfirst lcfirst reverse sort keys values each exists defined delete scalar wantarray ref bless die warn exit return
        chomp chop hex oct ord abs int sqrt sin cos log exp rand srand time localtime gmtime sleep vec printf close eof binmode fileno seek tell
        read sysread getc readdir opendir closedir rewinddir stat lstat pop unshift splice quotemeta pos study caller local undef my our next last redo
        utf8.decode utf8.encode getpwuid getpwnam getpwent times wait waitpid tie untie prototype lock each not and or readlink -e -f -d -r -w -x -s -l -z -M -A -C -t
        fileparse croak carp confess cluck Dumper first sum sum0 max min uniq shuffle any all none reduce blessed reftype looks_like_number dualvar floor ceil fmod strftime mktime
        encode_json decode_json to_json from_json md5_hex sha1_hex sha256_hex encode decode encode_base64 encode_utf8 decode_utf8 uri_escape GetOptions gettimeofday tv_interval usleep
        JSON.PP.new JSON.new JSON.XS.new Data.Dumper.Dumper Time.Local.timelocal timelocal timegm Text.Wrap.wrap wrap splitdir splitpath File.Spec.splitdir File.Spec.rel2abs
        List.Util.sum List.Util.max List.Util.min List.Util.first List.Util.shuffle Time.HiRes.time Config.myconfig syswrite STDOUT.autoflush STDERR.autoflush STDOUT.flush Scalar.Util.blessed
        .pretty .canonical .encode .decode .utf8 .print .printf .say .getline .getlines .close .autoflush .binmode .ymd .hms .epoch .strftime .now .is_success
        .content .decoded_content .status_line .code .message .can .isa .ref VERSION .VERSION .DOES .opened .eof .fileno""",
    "contents 0": "read_file File.Slurp.read_file File.Slurp.slurp",
    "contents -1": ".slurp .slurp_utf8 .slurp_raw .lines .lines_utf8",
    "same 0": "abs_path realpath File.Spec.rel2 File.Spec.canonpath Cwd.abs_path Cwd.realpath",
    "items": "list-of",
    "shift": "shift",
    "three": "open-three",
    "two": "open-two",
    "input": "readline <STDIN>",
    "write 0": "mkdir make_path mkpath File.Path.make_path File.Path.mkpath truncate write_file File.Slurp.write_file spew dbmopen path.spew",
    "write 1": "copy cp link symlink File.Copy.copy File.Copy.cp sysopen copy_to fcopy dircopy rcopy",
    "write 0 1": "rename move mv File.Copy.move File.Copy.mv",
    "write each": "chmod chown utime",
    "remove 0 each": "unlink rmdir rmtree remove_tree File.Path.rmtree File.Path.remove_tree pathrmdir remove",
    "write -1": ".spew .spew_utf8 .spew_raw .append .touch .mkpath .mkdir .append_utf8",
    "remove -1": ".remove .remove_tree .unlink .rmtree",
    "folder 0": "chdir chroot",
    "path": "Path.Tiny.path path Path.Tiny.new Path.Class.file Mojo.File.path",
    "join": "catfile catdir File.Spec.catfile File.Spec.catdir",
    "text .": "getcwd cwd Cwd.getcwd Cwd.cwd",
    "text /tmp": "File.Spec.tmpdir",
    "text /tmp/tempfile": "tempdir File.Temp.tempdir",
    "file": "tempfile File.Temp.new File.Temp.tempfile",
    "decode 0 parent": "dirname File.Basename.dirname",
    "decode 0 base": "basename File.Basename.basename",
    "decode 1 hex": "pack",
    "decode 0 base64": "decode_base64 MIME.Base64.decode_base64 MIME.Base64.decode",
    "decode 0 chr": "chr",
    "decode 0 lower": "lc",
    "decode 0 upper": "uc",
    "decode 0 url": "uri_unescape",
    "format 0": "sprintf",
    "format 0 list": "join",
    "environment 0": "$ENV[]",
    "glob 0": "glob <>",
    "shell 0": "` readpipe qx",
    "args": "system exec run IPC.Run.run IPC.System.Simple.system systemx capture capturex IPC.Cmd.run",
    "args 3": "open3 IPC.Open3.open3",
    "args 2": "open2 IPC.Open2.open2",
    "unread": "kill fork syscall dump ioctl fcntl select",
    "unread a file is executed": "do",
    "eval 0": "eval",
    "call": "threads.create threads.new async",
    "each": "map grep sort_by",
    "append": "push",
    "download": "get getprint LWP.Simple.get LWP.Simple.getprint LWP.UserAgent.new HTTP.Tiny.new WWW.Mechanize.new Mojo.UserAgent.new HTTP.Request.new Net.FTP.new Net.SMTP.new Furl.new head",
    "download 1 to": "getstore LWP.Simple.getstore mirror LWP.Simple.mirror",
    "socket": "IO.Socket.INET.new IO.Socket.SSL.new IO.Socket.new IO.Socket.IP.new socket connect IO.Socket.UNIX.new",
    "read socket": "sockaddr_in inet_aton getprotobyname pack_sockaddr_in bind listen accept send recv shutdown setsockopt gethostbyname",
    "network": "IO.Socket.INET.listen HTTP.Daemon.new DBI.connect Net.SSH.new",
}

_FAMILIES = """strict warnings utf8 feature POSIX.floor constant Data.Dumper List.Util Scalar.Util Time.Local Time.Piece Time.HiRes JSON.PP Text.Wrap Text.ParseWords Unicode.Normalize
Digest Encode Math.BigInt Math.Trig bigint bignum integer Getopt.Long Config"""

_MODULES = """Carp Cwd File IO POSIX Socket LWP HTTP Net JSON MIME Storable Benchmark Term Text Time Tie Sys Errno Fcntl English Env FindBin IPC threads open vars parent base
overload diagnostics autodie locale bytes sort subs less if version re URI YAML XML DBI DateTime Path Mojo Mojolicious WWW Try Moose Moo Test Pod CPAN Module Archive Compress
Math Hash Memoize Safe Symbol Opcode PerlIO Unicode Exporter mro fields feature experimental v5 perl Furl Template Spreadsheet Text.CSV Digest.MD5 Digest.SHA strict warnings ojo"""

TABLE = table(
    _EFFECTS,
    families=_FAMILIES,
    modules=_MODULES,
    constants={"$0": "perl", "$^X": "perl", "$/": "\n", "$,": "", "$;": "", "$^O": "linux"},
)
