# baton-hook.ps1 CLIENT EVENT [block]: the shim for Windows machines without Python. README.md is the contract.
# It runs on Windows PowerShell 5.1 and later. Like `baton hook` it refuses in the client's own words, never by its exit code.
param([string]$Client, [string]$EventName, [string]$Block = '')
$ErrorActionPreference = 'Stop'
$utf8 = New-Object System.Text.UTF8Encoding $false

function Get-Setting([string]$Name) { # the environment, then the config file
    $value = [Environment]::GetEnvironmentVariable($Name)
    if ($value) { return $value }
    return $script:stored[$Name]
}

function Read-Stored { # the lines NAME=value of the config file; the first of a name counts
    $script:stored = @{}
    $base = if ($env:XDG_CONFIG_HOME) { $env:XDG_CONFIG_HOME } else { Join-Path $script:userHome '.config' }
    $path = Join-Path $base 'baton/config'
    if (-not (Test-Path -LiteralPath $path -PathType Leaf)) { return }
    foreach ($line in [IO.File]::ReadAllLines($path)) {
        $at = $line.IndexOf('=')
        if ($at -lt 1 -or $at -eq $line.Length - 1) { continue }
        $name = $line.Substring(0, $at)
        if (-not $script:stored.ContainsKey($name)) { $script:stored[$name] = $line.Substring($at + 1) }
    }
}

function Find-Project { # sets root and project
    $start = if ($env:CLAUDE_PROJECT_DIR -and (Test-Path -LiteralPath $env:CLAUDE_PROJECT_DIR)) { $env:CLAUDE_PROJECT_DIR } else { (Get-Location).ProviderPath }
    $root = $start
    while ($root -and -not (Test-Path -LiteralPath (Join-Path $root '.git'))) { $root = [IO.Path]::GetDirectoryName($root) }
    if (-not $root) { $root = $start }
    $git = Join-Path $root '.git'
    if (Test-Path -LiteralPath $git -PathType Leaf) { # a worktree or a submodule: the file names the real folder
        $git = [IO.Path]::Combine($root, ([IO.File]::ReadAllLines($git)[0] -replace '^gitdir: ', ''))
        $common = Join-Path $git 'commondir'
        if (Test-Path -LiteralPath $common -PathType Leaf) { $git = [IO.Path]::Combine($git, [IO.File]::ReadAllLines($common)[0]) }
    }
    $remote = ''
    $section = ''
    $config = Join-Path $git 'config'
    if (Test-Path -LiteralPath $config -PathType Leaf) {
        foreach ($line in [IO.File]::ReadAllLines($config)) {
            $line = $line.Trim()
            if ($line.StartsWith('[')) { $section = $line; continue }
            if ($section -eq '[remote "origin"]' -and $line -match '^url[^=]*=\s*(.*)$') { $remote = $Matches[1]; break }
        }
    }
    if ($remote -match '^[^:/]*://([^/@]*@)?(.*)$') { $remote = $Matches[2] -replace '^[^/]*@', '' }
    elseif ($remote.StartsWith('.')) { $remote = '' }
    elseif ($remote -match '^([^/:]+):/?(.*)$') { $remote = ($Matches[1] -replace '^.*@', '') + '/' + $Matches[2] }
    $remote = $remote -replace '/$', '' -replace '\.git$', ''
    $script:root = $root
    $script:project = if ($env:BATON_PROJECT) { $env:BATON_PROJECT } elseif ($remote) { $remote } else { $root }
}

function Count-WorkItems { # "" if unknown
    $command = $script:stored['BATON_WORK_ITEMS_COMMAND']
    if ($command) {
        $said = '' | & $env:ComSpec /d /c "cd /d `"$script:root`" && $command" 2>$null | Out-String
        if ($LASTEXITCODE -eq 0 -and $said.TrimEnd() -match '([0-9]+)$') { return $Matches[1] }
        return ''
    }
    if (-not (Test-Path -LiteralPath (Join-Path $script:root '.htmlgraph') -PathType Container)) { return '' }
    return [string]@(Get-ChildItem -Path (Join-Path $script:root '.htmlgraph/features/*.html') -File -ErrorAction SilentlyContinue).Count
}

function ConvertTo-Line([object]$Value) { ConvertTo-Json -InputObject $Value -Compress -Depth 5 }

function Get-Refusal([string]$Text) { # in the client's dialect, "" for an event that cannot be refused
    if ($EventName -ne 'PreToolUse' -and $EventName -ne 'UserPromptSubmit') { return '' }
    if ($Client -eq 'gemini') { return ConvertTo-Line @{ decision = 'deny'; reason = $Text } }
    if ($Client -eq 'cursor' -and $EventName -eq 'UserPromptSubmit') { return ConvertTo-Line @{ continue = $false; user_message = $Text } }
    if ($Client -eq 'cursor') { return ConvertTo-Line @{ permission = 'deny'; user_message = $Text; agent_message = $Text } }
    if ($EventName -eq 'UserPromptSubmit') { return ConvertTo-Line @{ decision = 'block'; reason = $Text } }
    $said = @{ permissionDecision = 'deny'; permissionDecisionReason = $Text }
    if ($Client -eq 'copilot-cli') { return ConvertTo-Line $said }
    $said['hookEventName'] = $EventName
    return ConvertTo-Line @{ hookSpecificOutput = $said }
}

function Get-Warning([string]$Text) { # for the person; where a client shows them nothing, for the model
    switch ($Client) {
        'qwen' { return ConvertTo-Line @{ hookSpecificOutput = @{ hookEventName = $EventName; additionalContext = $Text } } }
        'copilot-cli' { return ConvertTo-Line @{ additionalContext = $Text } }
        'cursor' { return ConvertTo-Line @{ additional_context = $Text } }
    }
    return ConvertTo-Line @{ systemMessage = $Text }
}

function Test-Harmless([string]$Body) { # a server that was taken over may refuse, ask, and word an agent call
    if ($Body -cnotmatch 'updatedInput|updated_input|modifiedArgs|"tool_input"|"allow"|"approve"|\\u00[2-7]') { return $true }
    if ($script:stored['BATON_ACCEPT_REWRITES']) { return $true }
    $plain = $Body.Replace('\\', '') -replace '\\[^u]', ''
    if ($plain -cmatch '\\u00[2-7]') { return $false }
    $texts = @([regex]::Matches($plain, '"[^"]*"\s*:?') | ForEach-Object { $_.Value })
    $beside = @{ codex = 'updatedInput'; cursor = 'updated_input' }[$Client] # they change an input only beside an `allow`
    $mayAllow = $EventName -eq 'PreToolUse' -and $beside -and $Body.Contains($beside)
    if (-not $mayAllow -and @($texts | Where-Object { $_ -cmatch '^"(allow|approve)"' }).Count) { return $false }
    if ($Body -cnotmatch 'updatedInput|updated_input|modifiedArgs|"tool_input"') { return $true }
    $keys = 'systemMessage|hookSpecificOutput|hookEventName|permissionDecision|permissionDecisionReason|updatedInput|modifiedArgs|tool_input|additionalContext|updated_input|permission|user_message|agent_message|additional_context|continue|decision|reason|behavior|message|model|subagent_type|agent_type|agent_name|prompt|description|task_name|fork_turns|reasoning_effort|run_in_background|resume|isolation|name|team_name|mode|max_turns|context_tier'
    return -not @($texts | Where-Object { $_.EndsWith(':') -and $_ -cnotmatch "^`"($keys)`"\s*:$" }).Count
}

function Write-Mark([string]$What) { # notes a failure; nothing is lost if that cannot be done
    try {
        [void][IO.Directory]::CreateDirectory($script:folder)
        [IO.File]::WriteAllText((Join-Path $script:folder ($script:prefix + $What)), '')
    } catch { return }
}

function Stop-Undecided([string]$Why, [string]$Body) { # lets the client go on, or refuses; tells the person once a session
    $server = $script:url -replace '^.*@', ''
    if ($script:onFailure -eq 'block') {
        if ('Stop', 'SubagentStop', 'PostToolUse', 'PostToolUseFailure', 'PreCompress' -contains $EventName) { return }
        $text = "baton: $EventName refused, because the server at $server could not be asked: $Why. The person can start it (baton serve), find the cause (baton doctor), or restart the client with BATON_ON_FAILURE=allow."
        $said = Get-Refusal $text
        if ($said) { Write-Answer $said } else { [Console]::Error.WriteLine($text) }
        return
    }
    if ('Stop', 'SessionEnd', 'SubagentStart', 'SubagentStop', 'PreCompress' -contains $EventName) { return }
    if ($Client -eq 'qwen' -and $EventName -eq 'PreToolUse') { return }
    $session = if ($Body -match '"(?:session_id|sessionId|conversation_id)"\s*:\s*"([\w-]{1,64})"') { $Matches[1] } else { 'session' }
    if ($EventName -ne 'SessionStart' -and (Test-Path -LiteralPath (Join-Path $script:folder ($script:prefix + $session)))) { return }
    Write-Mark $session
    Write-Answer (Get-Warning "Baton is not checking this session: the server at $server could not be asked: $Why. Start it (baton serve), or find the cause (baton doctor).")
}

function Write-Answer([string]$Text) {
    $bytes = $utf8.GetBytes($Text + "`n")
    $out = [Console]::OpenStandardOutput()
    $out.Write($bytes, 0, $bytes.Length)
    $out.Flush()
}

function Send-Event([byte[]]$Body) { # returns the status and the text of the answer
    Add-Type -AssemblyName System.Net.Http
    $address = New-Object Uri $script:url
    $handler = New-Object System.Net.Http.HttpClientHandler
    $handler.AllowAutoRedirect = $false
    if ($address.IsLoopback) {
        $handler.UseProxy = $false
        $probe = New-Object System.Net.Sockets.TcpClient # Windows tries a closed port for two seconds
        try { if (-not $probe.ConnectAsync($address.DnsSafeHost, $address.Port).Wait(300)) { throw 'connection refused' } } finally { $probe.Dispose() }
    }
    $http = New-Object System.Net.Http.HttpClient $handler
    $http.Timeout = [TimeSpan]::FromSeconds($script:seconds)
    $request = New-Object System.Net.Http.HttpRequestMessage ([System.Net.Http.HttpMethod]::Post), ($script:url.TrimEnd('/') + "/hooks/${Client}?event=$EventName")
    $request.Content = New-Object System.Net.Http.ByteArrayContent (, $Body)
    $request.Content.Headers.ContentType = New-Object System.Net.Http.Headers.MediaTypeHeaderValue 'application/json'
    $yes = '1', 'true', 'yes', 'on'
    $token = Get-Setting 'BATON_TOKEN'
    $user = Get-Setting 'BATON_USER'
    $headers = @{
        'Authorization' = $(if ($token) { "Bearer $token" })
        'Baton-User' = $(if ($user) { $user } else { $env:USERNAME })
        'Baton-Project' = $script:project
        'Baton-Root' = $script:root
        'Baton-Disabled' = $(if ($script:disabled) { '1' })
        'Baton-Orchestrator-Disabled' = $(if ($yes -contains $env:HTMLGRAPH_ORCHESTRATOR_DISABLED) { '1' })
        'Baton-On-Failure' = $script:onFailure
        'Baton-Accept-Rewrites' = $script:stored['BATON_ACCEPT_REWRITES']
        'Baton-Installed' = $script:stored['BATON_INSTALLED']
        'Baton-Protocol' = '1'
        'Traceparent' = $env:TRACEPARENT
    }
    if ('SessionStart', 'PostToolUse', 'PostToolUseFailure', 'PermissionDenied' -contains $EventName) { $headers['Baton-Client'] = $env:AI_AGENT }
    if ($EventName -eq 'SessionStart') {
        $headers['Baton-Work-Items'] = Count-WorkItems
        $headers['Baton-Shim'] = [string]$PID
        $headers['Baton-Machine'] = $env:COMPUTERNAME
    }
    foreach ($name in $headers.Keys) {
        $value = ([string]$headers[$name]) -replace '[\x00-\x1f\x7f]', ''
        if ($value) { [void]$request.Headers.TryAddWithoutValidation($name, $value) }
    }
    $answer = $http.SendAsync($request).GetAwaiter().GetResult()
    return @([int]$answer.StatusCode, [string]$answer.ReasonPhrase, $utf8.GetString($answer.Content.ReadAsByteArrayAsync().GetAwaiter().GetResult()))
}

$body = ''
$script:onFailure = if ($env:BATON_ON_FAILURE) { $env:BATON_ON_FAILURE } elseif ($Block) { $Block } else { 'allow' }
$script:url = 'http://127.0.0.1:8080'
$script:folder = [IO.Path]::GetTempPath()
$script:prefix = 'baton-failed,'
try {
    $script:userHome = if ($env:HOME) { $env:HOME } else { $env:USERPROFILE }
    Read-Stored
    if (Get-Setting 'BATON_URL') { $script:url = Get-Setting 'BATON_URL' }
    $script:disabled = '1', 'true', 'yes', 'on' -contains $env:BATON_DISABLED
    $memory = New-Object IO.MemoryStream
    [Console]::OpenStandardInput().CopyTo($memory)
    if ($script:disabled -and $EventName -ne 'SessionStart') { exit 0 }
    $body = $utf8.GetString($memory.ToArray())
    $cache = if ($env:XDG_CACHE_HOME) { $env:XDG_CACHE_HOME } else { Join-Path $script:userHome '.cache' }
    $script:folder = Join-Path $cache 'baton'
    $script:prefix = 'failed-' + (($script:url -replace '^[^:]*://', '' -replace '^.*@', '').TrimEnd('/') -replace '[/:]', '_') + ','
    $times = @{ UserPromptSubmit = 14; SessionStart = 4; SessionEnd = 2.5 }
    $script:seconds = if ($times.ContainsKey($EventName)) { $times[$EventName] } else { 1.5 }
    if (Test-Path -LiteralPath (Join-Path $script:folder ($script:prefix + 'hung'))) {
        $script:seconds = if ('SessionStart', 'UserPromptSubmit' -contains $EventName) { 1.5 } elseif ((New-Object Uri $script:url).IsLoopback) { 0.3 } else { 0.7 }
    }
    Find-Project
    $status, $reason, $text = Send-Event $memory.ToArray()
    $text = $text.TrimEnd("`n")
    if ($status -lt 200 -or $status -gt 299) { Stop-Undecided "answered $status $reason" $body; exit 0 }
    if (-not ($text.StartsWith('{') -and $text.EndsWith('}'))) { Stop-Undecided 'answered something that is not JSON' $body; exit 0 }
    Get-ChildItem -LiteralPath $script:folder -Filter "$($script:prefix)*" -ErrorAction SilentlyContinue | Remove-Item -Force -ErrorAction SilentlyContinue
    if (Test-Harmless $text) { Write-Answer $text; exit 0 }
    $dropped = 'Baton dropped an answer of its server, which would have changed what a tool does or allowed it in your place.'
    $refuses = $script:onFailure -eq 'block' -or $text -cmatch '"(deny|ask|block)"'
    if ($EventName -eq 'PreToolUse' -and $refuses) { Write-Answer (Get-Refusal "$dropped Ask the person to run baton doctor.") }
    else { Write-Answer (Get-Warning "$dropped Run baton doctor. BATON_ACCEPT_REWRITES in the config file accepts such answers.") }
} catch {
    $why = $_.Exception
    while ($why.InnerException) { $why = $why.InnerException }
    if ($why -is [Threading.Tasks.TaskCanceledException]) { Write-Mark 'hung' }
    Stop-Undecided "no answer within $($script:seconds) s ($($why.Message))" $body
}
exit 0
