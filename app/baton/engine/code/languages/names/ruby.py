"""What Ruby's functions and methods do."""

from baton.engine.code.effects import table

_EFFECTS = {
    "read": """puts print p pp printf putc warn raise exit abort sleep rand srand loop lambda proc block_given? catch throw
        Integer Float Array Hash Rational Complex caller binding freeze at_exit trap
        File.exist? File.exists? File.file? File.directory? File.size File.mtime File.stat File.extname
        File.readable? File.writable? File.symlink? File.readlink File.zero? File.lstat File.ftype File.executable? File.size?
        Dir.exist? Dir.empty? Etc.getlogin Etc.getpwuid Process.pid Process.clock_gettime
        JSON.parse JSON.generate JSON.pretty_generate JSON.load JSON.dump YAML.safe_load YAML.load YAML.dump
        CSV.parse Time.now Date.today Date.parse Time.at Time.parse DateTime.now SecureRandom.hex SecureRandom.uuid
        URI URI.parse URI.join ERB.new Struct.new OpenStruct.new Set.new StringIO.new Regexp.new Digest.MD5.hexdigest Digest.SHA256.hexdigest
        Digest.SHA1.hexdigest Digest.SHA256.file Gem.Version.new Gem.version ObjectSpace.each_object GC.start Random.rand Benchmark.measure Thread.current
        RbConfig.ruby Array.new Hash.new String.new Exception.new StandardError.new Mutex.new Queue.new Comparable
        $stdout.puts $stdout.write $stderr.puts $stdout.print $stdout.flush $stdout.sync STDOUT.puts STDOUT.write STDERR.puts STDOUT.print
        .to_s .to_i .to_f .to_a .to_h .to_sym .inspect .length .size .count .capitalize .strip .chomp .chop .lstrip .rstrip
        .tr .scan .match .match? .include? .start_with? .end_with? .index .rindex .slice .chars .bytes .lines .unpack .reverse
        .sort .uniq .first .last .take .drop .compact .flatten .zip .min .max .keys .values .key? .has_key? .fetch .dig .merge .empty? .nil?
        .is_a? .respond_to? .class .methods .freeze .dup .clone .rjust .ljust .center .hex .ord .chr .succ .next .round .floor .ceil .abs
        .puts .print .read .gets .readline .readlines .close .eof? .rewind .each_char .sort! .uniq! .any? .all? .none?
        .strftime .year .month .day .iso8601 .push .pop .shift .unshift .insert .compact! .encode .force_encoding .unicode_normalize .valid_encoding?
        .body .code .message .result .hash .object_id .instance_variables .public_methods .ancestors .instance_methods .name .to_json .exist? .file? .directory?
        .extname .values_at .sample .shuffle .transpose .rotate .tally .minmax .positive? .negative? .zero? .even? .odd? .nan? .succ
        .gsub! .sub! .tr! .strip! .chomp! .upcase! .downcase! .squeeze! .reverse! .source_location .success? .exitstatus .pid .lineno .to_r .to_c .step .gcd .lcm .bit_length .divmod .fdiv .pred .downto .squeeze .swapcase .ord .crypt .partition .captures .named_captures .pre_match .post_match .string .each_entry .children .entries
        file.write file.<<""",
    "contents 0": "File.read File.readlines File.foreach File.binread IO.read IO.readlines IO.foreach IO.binread JSON.load_file YAML.load_file YAML.safe_load_file CSV.read CSV.foreach CSV.table Find.find",
    "contents -1": "path.read path.readlines path.binread path.each_line",
    "same 0": "String",
    "same -1": ".to_path .to_str .realpath .cleanpath",
    "module 0": "require",
    "unread a file is executed": "load require_relative",
    "unread": "Process.kill fork Process.daemon Marshal.load .instance_variable_set .define_method Fiddle.dlopen .kill",
    "input": "gets STDIN.read $stdin.read STDIN.gets $stdin.gets ARGF.read STDIN.readlines $stdin.readlines ARGF.each_line readlines readline $<.read STDIN.each_line $stdin.each_line",
    "open 0 1 urls": "open URI.open Kernel.open",
    "open 0 1": "File.open File.new IO.sysopen Zlib.GzipReader.open Zlib.GzipWriter.open CSV.open",
    "open -1 0": ".open",
    "write 0": """File.write IO.write File.binwrite IO.binwrite FileUtils.mkdir FileUtils.mkdir_p FileUtils.makedirs FileUtils.mkpath FileUtils.touch Dir.mkdir
        File.truncate File.mkfifo SQLite3.Database.new""",
    "write 1": "FileUtils.cp FileUtils.copy FileUtils.copy_file FileUtils.cp_r FileUtils.install FileUtils.ln FileUtils.ln_s FileUtils.ln_sf FileUtils.link FileUtils.symlink File.symlink File.link IO.copy_stream FileUtils.chmod FileUtils.chmod_R File.chmod FileUtils.cp_lr FileUtils.copy_entry",
    "write 0 1": "File.rename FileUtils.mv FileUtils.move",
    "write 2": "FileUtils.chown FileUtils.chown_R File.chown",
    "write -1": ".binwrite .mkpath .mkdir .touch .make_symlink .write_text",
    "write -1 path": "path.write",
    "write -1 0": "path.rename",
    "remove 0 each": "File.delete File.unlink",
    "remove 0": "FileUtils.rm FileUtils.rm_f FileUtils.rm_r FileUtils.rm_rf FileUtils.remove FileUtils.remove_dir FileUtils.remove_entry FileUtils.remove_entry_secure FileUtils.remove_file FileUtils.rmtree FileUtils.rmdir FileUtils.safe_unlink Dir.rmdir Dir.delete Dir.unlink",
    "remove -1": ".unlink .rmtree .rmdir path.delete",
    "folder 0": "Dir.chdir FileUtils.cd FileUtils.chdir",
    "path": "Pathname Pathname.new /",
    "path -1": "path.+ path.join",
    "join": "File.join",
    "text $HOME": "Dir.home",
    "text .": "Dir.pwd Dir.getwd FileUtils.pwd",
    "text /tmp": "Dir.tmpdir",
    "text /tmp/tempfile": "Dir.mktmpdir",
    "file": "Tempfile.new Tempfile.create Tempfile.open",
    "decode 0 home": "File.expand_path File.absolute_path File.realpath",
    "decode -1 home": ".expand_path",
    "decode 0 parent": "File.dirname",
    "decode -1 parent": ".dirname",
    "decode 0 base": "File.basename",
    "decode -1 lower": ".downcase",
    "decode -1 upper": ".upcase",
    "decode 0 base64": "Base64.decode64 Base64.strict_decode64 Base64.urlsafe_decode64",
    "decode 0 quote": "Shellwords.escape Shellwords.shellescape",
    "decode -1 quote": ".shellescape",
    "decode -1 base64": ".unpack1",
    "format join": ".join",
    "format replace": ".sub .gsub",
    "format split": ".split",
    "format 0": "format sprintf %",
    "append": ".concat .<<",
    "environment 0": "ENV[] ENV.fetch",
    "read environment": "ENV.to_h ENV.each ENV.key? ENV.keys",
    "list": "Dir.entries Dir.children",
    "glob 0": "Dir.glob Dir[] Pathname.glob",
    "shell 0": "`",
    "args": "system exec spawn Process.spawn Process.exec Kernel.system Kernel.exec Kernel.spawn IO.popen Open3.capture2 Open3.capture2e Open3.capture3 Open3.popen3 Open3.popen2 Open3.popen2e Open3.pipeline PTY.getpty sh Kernel.`",
    "terminal 0": "PTY.spawn",
    "terminal": "STDIN.reopen STDOUT.reopen $stdin.reopen $stdout.reopen STDERR.reopen $stderr.reopen",
    "eval 0": "eval instance_eval class_eval Kernel.eval TOPLEVEL_BINDING.eval .instance_eval .class_eval .module_eval binding.eval",
    "member": "method .method .public_method .instance_method Object.const_get Kernel.const_get .const_get",
    "send": ".send .public_send .__send__ send __send__ public_send",
    "call": "Thread.new Thread.start Thread.fork",
    "each": ".each .map .each_with_index .select .reject .filter .collect .flat_map .each_with_object .inject .reduce .times .find .detect .group_by .sort_by .min_by .max_by .each_slice .each_line .tap .then .filter_map .each_pair .each_value .each_key .upto .to_proc .transform_values .reject! .map! .each_cons .find_all .all .find_index .each_child .each_byte .delete_if .keep_if .loop",
    "download": "Net.HTTP.get Net.HTTP.get_response Net.HTTP.post Net.HTTP.post_form Net.HTTP.start Net.HTTP.new HTTParty.get HTTParty.post Faraday.get Faraday.post RestClient.get RestClient.post Excon.get Net.HTTP.get_print OpenURI.open_uri Faraday.new Net.FTP.open Net.FTP.new Net.SSH.start Net.SMTP.start",
    "socket": "TCPSocket.new TCPSocket.open Socket.tcp UDPSocket.new Socket.new TCPSocket UNIXSocket.new OpenSSL.SSL.SSLSocket.new",
    "network": "TCPServer.new TCPServer.open Socket.tcp_server_loop Resolv.getaddress WEBrick.HTTPServer.new IPSocket.getaddress",
    "read net": "Net.HTTP.Get.new Net.HTTP.Post.new Net.HTTP.Put.new Net.HTTP.Delete.new",
}

_FAMILIES = """Math Comparable Kernel.Integer Process.clock JSON.ParserError Digest OpenSSL.Digest Time Date DateTime BigDecimal Random Etc RbConfig Gem SecureRandom
Encoding ObjectSpace GC Regexp Struct Range"""

_MODULES = """json yaml csv fileutils open3 net uri open-uri set time date tempfile tmpdir pathname erb digest securerandom base64 zlib socket stringio
ostruct optparse pp shellwords benchmark logger English etc rbconfig bundler rubygems forwardable singleton timeout bigdecimal matrix prime strscan find resolv pty io
openssl httparty faraday rest-client excon nokogiri active_support rails rake sqlite3 psych ripper racc webrick observer abbrev tsort weakref objspace coverage monitor delegate"""

TABLE = table(
    _EFFECTS,
    families=_FAMILIES,
    modules=_MODULES,
    constants={"RUBY_VERSION": "3", "$0": "ruby", "RUBY_PLATFORM": "linux", "__dir__": ".", "RUBY_ENGINE": "ruby", "nil": "", "true": "true", "false": "false"},
)  # fmt: skip
