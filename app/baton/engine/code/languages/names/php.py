"""What PHP's functions do."""

from baton.engine.code.effects import table

_EFFECTS = {
    "read": """echo print print_r var_dump var_export printf vprintf die exit isset empty unset count sizeof in_array array_keys array_values array_merge
        array_slice array_sum array_unique array_reverse array_pop array_shift array_push array_unshift array_search array_key_exists array_column array_combine array_flip array_chunk
        array_diff array_intersect array_fill array_pad array_product array_rand range compact extract sort rsort usort ksort krsort uasort asort arsort shuffle min max abs floor ceil round
        rand mt_rand random_int intval floatval strval boolval is_array is_string is_int is_numeric is_null is_file is_dir is_link is_readable is_writable is_callable is_bool is_object
        file_exists filesize filemtime fileperms stat lstat pathinfo disk_free_space fclose fgets fread fgetcsv feof fgetc fseek ftell rewind fflush flock
        fwrite fputs fputcsv json_encode json_decode json_last_error json_last_error_msg serialize md5 sha1 hash md5_file sha1_file hash_file crc32 password_hash
        strlen strpos stripos strrpos substr substr_count str_contains str_starts_with str_ends_with str_repeat str_pad ucfirst ucwords lcfirst nl2br htmlspecialchars htmlentities html_entity_decode
        strip_tags addslashes stripslashes number_format preg_match preg_match_all preg_split preg_quote preg_grep preg_last_error strcmp strcasecmp similar_text levenshtein soundex metaphone wordwrap
        chunk_split date time microtime strtotime mktime checkdate date_default_timezone_set gettype get_class get_object_vars method_exists function_exists class_exists extension_loaded get_loaded_extensions
        phpversion php_uname php_sapi_name phpinfo php_ini_loaded_file ini_get ini_get_all ini_set error_reporting set_time_limit memory_get_usage memory_get_peak_usage sleep usleep uniqid version_compare
        error_log trigger_error set_error_handler set_exception_handler defined define constant spl_autoload_register iterator_to_array array_is_list array_key_first array_key_last ctype_digit ctype_alpha
        base64_encode bin2hex dechex hexdec bindec decbin octdec urlencode rawurlencode http_build_query parse_url parse_str parse_ini_string mb_strlen mb_substr mb_strtoupper mb_strtolower mb_strpos
        iconv utf8_encode utf8_decode ord getmypid get_current_user gethostname simplexml_load_string token_get_all highlight_string str_word_count var_export ob_start ob_get_clean ob_end_clean
        stream_get_line fscanf sscanf list settype gzuncompress gzinflate gzdecode pack unpack getopt array_walk_recursive get_include_path spl_object_id debug_zval_refcount gc_collect_cycles opcache_get_status
        exception.new datetime.new datetimeimmutable.new stdclass.new arrayobject.new reflectionclass.new dateinterval.new runtimeexception.new invalidargumentexception.new
        .format .gettimestamp .modify .diff .getmessage .getname .getmethods .fetch .fetchall .fetchcolumn .xpath .close .count .getmtime .getsize .isfile .isdir .getpathname .rewind .valid .current .next .key
        file.read process.read""",
    "contents 0": "parse_ini_file simplexml_load_file highlight_file show_source php_strip_whitespace",
    "input": " stream_get_contents readline",
    "same 0": "realpath escapeshellcmd trim rtrim ltrim chop",
    "open 0 1 urls": "fopen gzopen bzopen",
    "open 0 9 urls": "file_get_contents file readfile",
    "write 0": """file_put_contents mkdir touch chmod chown chgrp lchown
       """,
    "write 1 urls": "copy",
    "write 1": "symlink link move_uploaded_file imagepng imagejpeg",
    "extract 0": ".extractto",
    "write 0 1": "rename",
    "remove 0": "unlink rmdir",
    "folder 0": "chdir chroot",
    "text .": "getcwd",
    "text /tmp": "sys_get_temp_dir",
    "text /tmp/tempfile": "tempnam",
    "file": "tmpfile",
    "decode 0 parent": "dirname",
    "decode 0 base": "basename",
    "decode 0 base64": "base64_decode",
    "decode 0 hex": "hex2bin",
    "decode 0 chr": "chr",
    "decode 0 rot13": "str_rot13",
    "decode 0 url": "urldecode rawurldecode",
    "decode 0 reverse": "strrev",
    "decode 0 lower": "strtolower",
    "decode 0 upper": "strtoupper",
    "decode 0 quote": "escapeshellarg",
    "format 0": "sprintf",
    "format 0 implode": "implode join",
    "format 0 explode": "explode",
    "read replace": "str_replace preg_replace strtr substr_replace str_ireplace preg_replace_callback array_reduce array_replace",
    "environment 0": "getenv $_ENV[] $_SERVER[]",
    "list": "scandir opendir readdir",
    "glob 0": "glob",
    "shell 0": "system exec shell_exec passthru popen",
    "run": "proc_open",
    "exec 0": "pcntl_exec",
    "unread": "posix_kill proc_terminate dl unserialize mail pcntl_fork proc_nice ffi.cdef",
    "unread a file is executed": "include",
    "eval 0": "eval assert create_function",
    "send": "call_user_func",
    "call": "array_map call_user_func_array array_walk array_filter register_shutdown_function forward_static_call iterator_apply",
    "download": "curl_exec curl_init get_headers http_get",
    "read curl": "curl_setopt curl_setopt_array curl_close curl_getinfo curl_error stream_context_create",
    "socket": "fsockopen pfsockopen socket_create socket_connect stream_socket_client",
    "read socket": "socket_close socket_bind socket_listen",
    "network": "stream_socket_server gethostbyname dns_get_record ftp_connect ssh2_connect mysqli_connect pdo.new mysqli.new pg_connect checkdnsrr",
    "write sqlite": "sqlite3.new",
}

TABLE = table(
    _EFFECTS,
    constants={
        "PHP_EOL": "\n",
        "DIRECTORY_SEPARATOR": "/",
        "PHP_BINARY": "php",
        "__DIR__": ".",
        "STDIN": "",
        "STDOUT": "",
        "STDERR": "",
    },
)
