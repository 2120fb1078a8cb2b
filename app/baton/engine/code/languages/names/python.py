"""What Python's functions and methods do: the standard library, and what is often used beside it."""

from collections.abc import Mapping

from baton.engine.code.effects import table

_EFFECTS: Mapping[str, str] = {
    "read": """print len str.format int float bool complex repr ascii ord set frozenset dict range enumerate reversed zip
        abs min max sum round any all next iter isinstance issubclass hasattr callable type id hash dir vars globals
        locals help slice super object property classmethod staticmethod memoryview bin oct hex divmod pow Exception
        ValueError SystemExit RuntimeError KeyError exit quit KeyboardInterrupt AssertionError
        sys.stdout.write sys.stderr.write sys.stdout.flush sys.exit sys.getsizeof sys.exc_info sys.getrecursionlimit
        sys.setrecursionlimit sys.stdout.isatty sys.stdin.isatty sys.stdout.reconfigure sys.path.append sys.path.insert
        sys.getdefaultencoding sys.intern sys.stdout.buffer.write
        os.stat os.lstat os.access os.getpid os.getppid os.getuid os.getgid os.geteuid os.uname
        os.cpu_count os.getlogin os.isatty os.get_terminal_size os.path.exists os.path.isfile os.path.isdir
        os.path.islink os.path.getsize os.path.getmtime os.path.getctime os.path.getatime os.path.samefile
        os.path.splitext os.path.split os.path.commonpath os.path.commonprefix os.path.isabs os.path.ismount
        os.read os.close os.fstat os.sysconf os.getloadavg os.times os.readlink os.environ.items os.environ.keys
        os.environ.copy os.strerror os.urandom os.sched_getaffinity os.environ.values os.path.lexists
        shutil.disk_usage shutil.get_terminal_size
        csv.reader csv.DictReader csv.writer csv.DictWriter io.StringIO io.BytesIO io.TextIOWrapper
        json.load json.loads json.dump json.dumps yaml.safe_load yaml.safe_load_all yaml.dump yaml.safe_dump yaml.load
        toml.load toml.loads tomli.load tomli.loads tomllib.load tomllib.loads configparser.ConfigParser
        zipfile.is_zipfile tarfile.is_tarfile ast.literal_eval ast.parse ast.dump ast.walk ast.unparse dis.dis
        inspect.getsource inspect.signature inspect.getmembers inspect.getfile inspect.getsourcefile inspect.getdoc
        importlib.util.find_spec importlib.metadata.version importlib.metadata.distributions importlib.metadata.files
        importlib.metadata.distribution importlib.metadata.requires importlib.metadata.entry_points
        importlib.resources.files pkgutil.iter_modules pkg_resources.get_distribution subprocess.list2cmdline
        signal.signal signal.alarm threading.Lock threading.Event threading.current_thread asyncio.run asyncio.gather
        asyncio.sleep asyncio.get_event_loop asyncio.Semaphore asyncio.wait_for asyncio.new_event_loop
        logging.basicConfig logging.getLogger logging.info logging.debug logging.warning logging.error logging.StreamHandler
        sqlite3.sqlite_version xml.etree.ElementTree.fromstring
        xml.etree.ElementTree.tostring xml.dom.minidom.parseString gc.collect gc.get_objects
        resource.getrusage resource.getrlimit tracemalloc.start traceback.print_exc traceback.format_exc warnings.filterwarnings
        warnings.simplefilter warnings.catch_warnings locale.getlocale locale.setlocale socket.gethostname
        contextlib.suppress contextlib.redirect_stdout contextlib.closing concurrent.futures.ThreadPoolExecutor
        multiprocessing.cpu_count mimetypes.guess_type getpass.getuser sysconfig.get_paths sysconfig.get_path
        site.getsitepackages numpy.array numpy.arange numpy.zeros numpy.ones numpy.linspace
        pandas.DataFrame pandas.Series pandas.to_datetime
        PIL.Image.open argparse.ArgumentParser
        .lstrip .rstrip .splitlines .partition .rpartition .rsplit .startswith .endswith .find .rfind .index
        .rindex .count .isdigit .isalpha .isalnum .isspace .islower .isupper .title .capitalize .swapcase .zfill .ljust
        .rjust .center .casefold .removeprefix .removesuffix .translate .expandtabs .isidentifier
        .isnumeric .isdecimal
        .keys .values .items .get .copy .setdefault .pop .popitem .update .sort .reverse .insert .clear .add .discard
        .union .intersection .difference .issubset .issuperset .symmetric_difference .elements .most_common .subtract
        .hexdigest .digest .group .groups .groupdict .span .start .end .match .search .fullmatch .findall .finditer
        .read .readline .readlines .readall .close .seek .tell .flush .fileno .readable .writable .isatty .getvalue
        .exists .is_file .is_dir .is_symlink .is_absolute .stat .lstat .samefile .relative_to
        .as_uri .match .owner .namelist .infolist .getnames .getmembers .getinfo .getmember
        .isoformat .strftime .timestamp .date .time .total_seconds .timetuple .astimezone .weekday .isocalendar .utcoffset
        .head .tail .describe .info .shape .dtypes .to_string .groupby .mean .median .std .value_counts .unique .nunique
        .isna .isnull .dropna .fillna .sort_values .reset_index .iterrows .itertuples .tolist .to_dict .astype .agg .merge
        .fetchone .fetchall .fetchmany .cursor .iter .findtext .getroot .attrib .text .sections .options .getint
        .getboolean .add_argument .parse_args .parse_known_args .poll .wait .is_set .acquire .release
        .as_integer_ratio .bit_length .hex .conjugate .tobytes .tolist .mro .__class__ .__str__ .__repr__ .__len__
        .writerow .writerows .writeheader .done .result .cache_clear .bit_count .to_bytes .__contains__ .__getitem__
        .parse_obj .model_dump .model_validate .print_help .locate_file .version .metadata
        file.write process.read""",
    "contents -1": ".read_text .read_bytes",
    "contents 0": """fileinput.input linecache.getline linecache.getlines xml.etree.ElementTree.parse xml.dom.minidom.parse
        pandas.read_csv pandas.read_json pandas.read_parquet pandas.read_excel pandas.read_table polars.read_csv
        polars.read_json polars.read_parquet numpy.load numpy.loadtxt numpy.genfromtxt""",
    "idle": ".communicate",
    "star": "import-*",
    "append": ".append .extend",
    "same 0": """str bytes bytearray list tuple sorted compile codecs.encode os.fspath os.path.abspath os.path.realpath
        os.path.normpath os.path.expandvars os.path.relpath types.FunctionType asyncio.ensure_future asyncio.create_task
        contextlib.nullcontext copy.copy copy.deepcopy typing.cast os.fsencode os.fsdecode""",
    "same -1": """.encode .decode .resolve .absolute .as_posix .__enter__ .expandvars .with_traceback .readlink
        .format_map .getbuffer .pipe""",
    "unread": """breakpoint runpy.run_module ctypes.CDLL ctypes.cdll.LoadLibrary code.interact
        pickle.load pickle.loads marshal.loads marshal.load shelve.open dill.load joblib.load torch.load""",
    "unread a file is executed": "runpy.run_path execfile",
    "input": "input raw_input sys.stdin.read sys.stdin.readlines sys.stdin.readline sys.stdin.buffer.read",
    # files
    "open 0 1": """open io.open codecs.open os.open gzip.open bz2.open lzma.open zipfile.ZipFile tarfile.open
        tarfile.TarFile wave.open dbm.open aiofiles.open builtins.open file gzip.GzipFile zipfile.PyZipFile""",
    "open -1 0": ".open",
    "write 0": """os.mkdir os.makedirs os.mknod os.mkfifo os.truncate os.chmod os.chown os.lchown os.utime os.setxattr
        logging.FileHandler logging.handlers.RotatingFileHandler shutil.chown sqlite3.connect dbm.dumb.open""",
    "write 1": """shutil.copy shutil.copy2 shutil.copyfile shutil.copytree shutil.copymode shutil.copystat os.link os.symlink
        torch.save distutils.file_util.copy_file""",
    "write 0 1": "os.rename os.replace os.renames shutil.move",
    "write -1": ".write_text .write_bytes .touch .mkdir .chmod .symlink_to .hardlink_to .link_to .lchmod",
    "write -1 0": ".rename path.replace .move .move_into",
    "write 0 file": "numpy.save numpy.savetxt numpy.savez shutil.make_archive",
    "write 0 of": """.to_csv .to_json .to_excel .to_parquet .to_pickle .to_html .savefig .dump_stats .write_csv .write_parquet
        .to_feather .tofile .save""",
    "remove 0": """os.remove os.unlink os.rmdir os.removedirs shutil.rmtree send2trash.send2trash distutils.dir_util.remove_tree""",
    "remove -1": ".unlink .rmdir .rmtree",
    "extract 1": "shutil.unpack_archive",
    "extract 0": ".extractall",
    "extract 1 member": ".extract",
    "folder 0": "os.chdir contextlib.chdir os.fchdir os.chroot",
    # paths and texts
    "path": "/ pathlib.Path pathlib.PurePath pathlib.PosixPath pathlib.PurePosixPath py.path.local",
    "path -1": ".joinpath",
    "join": "os.path.join posixpath.join",
    "text 0 $HOME": "pathlib.Path.home",
    "text 0 .": "pathlib.Path.cwd",
    "text .": "os.getcwd os.getcwdb",
    "text /tmp": "tempfile.gettempdir tempfile.gettempdirb",
    "text /tmp/tempfile": "tempfile.mkdtemp tempfile.mktemp",
    "text 0 /tmp/tempfile": "tempfile.TemporaryDirectory",
    "file": "tempfile.NamedTemporaryFile tempfile.TemporaryFile tempfile.SpooledTemporaryFile tempfile.mkstemp",
    "decode 0 home": "os.path.expanduser",
    "decode -1 home": ".expanduser",
    "decode 0 parent": "os.path.dirname",
    "decode 0 base": "os.path.basename",
    "decode 0 base64": "base64.b64decode base64.decodebytes base64.urlsafe_b64decode base64.standard_b64decode binascii.a2b_base64",
    "decode 0 base32": "base64.b32decode",
    "decode 0 hex": "bytes.fromhex binascii.unhexlify binascii.a2b_hex base64.b16decode bytearray.fromhex",
    "decode 0 chr": "chr",
    "decode 0 url": "urllib.parse.unquote",
    "decode 0 rot13": "codecs.decode",
    "decode 0 quote": "shlex.quote pipes.quote",
    "decode -1 lower": ".lower",
    "decode -1 upper": ".upper",
    "decode -1 strip": ".strip",
    "words 0": "shlex.split",
    "format -1": ".format",
    "format 0": "%",
    "format 0 join": ".join",
    "format replace": ".replace",
    "format split": ".split",
    "environment 0": "os.environ.get os.getenv os.environ[] os.environ.__getitem__ os.environ.setdefault",
    "list": "os.listdir os.scandir .iterdir",
    "walk 0": "os.walk os.fwalk",
    "walk -1": ".walk",
    "glob 0": "glob.glob glob.iglob",
    "glob -1 0": ".glob .rglob",
    # processes
    "shell 0": """os.system os.popen subprocess.getoutput subprocess.getstatusoutput asyncio.create_subprocess_shell
        commands.getoutput commands.getstatusoutput popen2.popen2 asyncio.subprocess.create_subprocess_shell posix.system nt.system
        os.popen2 os.popen3 os.startfile pexpect.spawn pexpect.run IPython.get_ipython.system""",
    "run": """subprocess.run subprocess.call subprocess.check_call subprocess.check_output subprocess.Popen
        sh.run plumbum.local _posixsubprocess.fork_exec anyio.run_process trio.run_process""",
    "terminal 0": "pty.spawn",
    "terminal": "os.dup2 pty.fork os.dup",
    "args": "asyncio.create_subprocess_exec asyncio.subprocess.create_subprocess_exec",
    "exec 0 argv": "os.execv os.execve os.execvp os.execvpe os.posix_spawn os.posix_spawnp posix.execv",
    "exec 0 rest": "os.execl os.execle os.execlp os.execlpe",
    "exec 1 argv": "os.spawnv os.spawnve os.spawnvp os.spawnvpe",
    "exec 1 rest": "os.spawnl os.spawnle os.spawnlp os.spawnlpe",
    "unread a process is ended": "os.kill os.killpg .send_signal .kill .terminate os.abort os._exit signal.raise_signal psutil.Process",
    "eval 0": "eval exec builtins.eval builtins.exec __builtins__.eval __builtins__.exec timeit.timeit cProfile.run",
    "module 0": "__import__ importlib.import_module builtins.__import__ importlib.__import__",
    "member": "getattr builtins.getattr object.__getattribute__ .__getattribute__ .getattr",
    "call": """threading.Thread multiprocessing.Process map filter .submit .map
        asyncio.to_thread atexit.register functools.partial""",
    "each": ".apply .filter",
    # network
    "download": """urllib.request.urlopen urllib2.urlopen urllib.urlopen requests.get httpx.get urllib3.request
        requests.request httpx.request httpx.stream requests.post httpx.post requests.put requests.delete requests.patch
        requests.head httpx.put httpx.delete httpx.patch httpx.head aiohttp.request pycurl.Curl
        urllib.request.OpenerDirector.open urllib3.PoolManager requests.options""",
    "download 1 to": "urllib.request.urlretrieve urllib.urlretrieve wget.download",
    "download session": """requests.Session requests.session httpx.Client httpx.AsyncClient aiohttp.ClientSession
        http.client.HTTPConnection http.client.HTTPSConnection httplib.HTTPConnection httplib.HTTPSConnection
        urllib.request.build_opener ftplib.FTP ftplib.FTP_TLS smtplib.SMTP smtplib.SMTP_SSL telnetlib.Telnet imaplib.IMAP4
        imaplib.IMAP4_SSL paramiko.SSHClient boto3.client boto3.resource redis.Redis psycopg2.connect psycopg.connect
        pymysql.connect websockets.connect websocket.create_connection xmlrpc.client.ServerProxy urllib.request.Request""",
    "socket": "socket.socket socket.create_connection socket.create_server asyncio.open_connection ssl.wrap_socket",
    "network": """urllib.request.install_opener socket.gethostbyname socket.getaddrinfo webbrowser.open socketserver.TCPServer
        http.server.HTTPServer asyncio.start_server dns.resolver.resolve""",
    "read socket": """socket.connect socket.send socket.sendall socket.bind socket.listen
        socket.settimeout socket.setsockopt socket.close socket.connect_ex socket.fileno""",
    "download socket": "socket.recv socket.makefile socket.recvfrom",
}

_FAMILIES = """json re math cmath sys.version_info datetime time collections itertools functools statistics string textwrap hashlib hmac
base64 struct random uuid decimal fractions platform pprint operator calendar bisect heapq copy enum dataclasses html
difflib unicodedata urllib.parse keyword token tokenize fnmatch typing types numbers array zlib binascii secrets
abc colorsys contextvars graphlib ipaddress stringprep symtable zoneinfo timeit.default_timer errno stat csv
email.utils quopri reprlib linecache traceback weakref string.Template shlex importlib.metadata tomllib locale codecs inspect
packaging.version dateutil tabulate os.path numpy.random numpy.linalg math.prod html.parser http.HTTPStatus
collections.abc jmespath semver more_itertools"""

_MODULES = """os sys io subprocess shutil pathlib posixpath ntpath glob tempfile asyncio threading multiprocessing concurrent
urllib urllib2 requests httpx aiohttp socket ssl http ftplib smtplib telnetlib imaplib webbrowser pty signal sqlite3 zipfile
tarfile gzip bz2 lzma pickle marshal shelve configparser logging argparse getpass ctypes code codeop ast dis inspect
importlib pkgutil runpy builtins __future__ warnings contextlib gc resource tracemalloc site sysconfig locale mimetypes
email xml pdb profile cProfile timeit tokenize select selectors queue sched atexit socketserver posix nt pwd grp
fcntl termios tty cgi wsgiref xmlrpc unittest doctest numpy pandas yaml toml tomli pip setuptools pkg_resources packaging
PIL matplotlib scipy sklearn torch tensorflow bs4 lxml redis psycopg2 psycopg pymysql boto3 paramiko psutil django flask
fastapi pydantic sqlalchemy pytest click typer rich tqdm dotenv jinja2 attr attrs commands popen2 httplib encodings
distutils send2trash pexpect sh plumbum urllib3 websockets websocket wget certifi charset_normalizer idna six anyio trio
openpyxl transformers openai anthropic tiktoken networkx sympy polars pyarrow duckdb orjson ujson msgpack markdown
pygments docutils wcwidth regex chardet cryptography jwt jsonschema pycurl aiofiles dns _posixsubprocess"""

TABLE = table(
    _EFFECTS,
    families=_FAMILIES,
    modules=_MODULES,
    constants={
        "sys.executable": "python3",
        "os.sep": "/",
        "os.linesep": "\n",
        "os.curdir": ".",
        "os.pardir": "..",
        "os.devnull": "/dev/null",
        "os.O_RDONLY": "0",
        "os.O_WRONLY": "1",
        "os.O_RDWR": "2",
        "os.O_CREAT": "64",
        "True": "True",
        "False": "False",
    },
)
