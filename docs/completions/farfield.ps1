
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'farfield' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'farfield'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'farfield' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('run', 'run', [CompletionResultType]::ParameterValue, 'Load a server, and judge the result')
            [CompletionResult]::new('capacity', 'capacity', [CompletionResultType]::ParameterValue, 'Find what a server can take: the highest load that keeps goals, or its highest throughput')
            [CompletionResult]::new('sweep', 'sweep', [CompletionResultType]::ParameterValue, 'Make runs at many points, each repeated, and say what moves the result')
            [CompletionResult]::new('experiment', 'experiment', [CompletionResultType]::ParameterValue, 'Answer a question by a sweep: make its runs until its claims are decided')
            [CompletionResult]::new('try', 'try', [CompletionResultType]::ParameterValue, 'Run one session of a scenario once, and show what is sent, extracted and checked')
            [CompletionResult]::new('serve', 'serve', [CompletionResultType]::ParameterValue, 'Run the built-in server, with the capacity and the faults that flags give it')
            [CompletionResult]::new('shell', 'shell', [CompletionResultType]::ParameterValue, 'Run any program behind an emulated path to a server')
            [CompletionResult]::new('route', 'route', [CompletionResultType]::ParameterValue, 'Be the emulated network between clients and servers that somebody else runs')
            [CompletionResult]::new('path', 'path', [CompletionResultType]::ParameterValue, 'Measure the paths of clients, and compare them with what was asked for')
            [CompletionResult]::new('report', 'report', [CompletionResultType]::ParameterValue, 'Print the result of a run again, from its directory')
            [CompletionResult]::new('compare', 'compare', [CompletionResultType]::ParameterValue, 'Compare runs: whether they differ, by how much, and with what confidence')
            [CompletionResult]::new('runs', 'runs', [CompletionResultType]::ParameterValue, 'List the runs of a folder, with their verdicts and first figures')
            [CompletionResult]::new('ui', 'ui', [CompletionResultType]::ParameterValue, 'Show runs in a browser, write scenarios, and start and stop runs')
            [CompletionResult]::new('merge', 'merge', [CompletionResultType]::ParameterValue, 'Make one run of the parts that several processes made')
            [CompletionResult]::new('verify', 'verify', [CompletionResultType]::ParameterValue, 'Compare the samples of a run with the packets of a capture')
            [CompletionResult]::new('doctor', 'doctor', [CompletionResultType]::ParameterValue, 'Show what this machine allows, and how to allow more')
            [CompletionResult]::new('fit', 'fit', [CompletionResultType]::ParameterValue, 'Fit models to an access log: a scenario with similar traffic, and a report of how well it fits')
            [CompletionResult]::new('audit', 'audit', [CompletionResultType]::ParameterValue, 'Run another load generator, and compare its report with the packets that it sent')
            [CompletionResult]::new('import', 'import', [CompletionResultType]::ParameterValue, 'Make a scenario from a curl command, a HAR file, an OpenAPI document, a Postman collection or a JMeter plan')
            [CompletionResult]::new('record', 'record', [CompletionResultType]::ParameterValue, 'Record what a browser or a program asks a server for, and make a scenario of it')
            [CompletionResult]::new('export', 'export', [CompletionResultType]::ParameterValue, 'Write the sessions that a scenario draws, for other load generators')
            [CompletionResult]::new('advise', 'advise', [CompletionResultType]::ParameterValue, 'Advise on a server''s settings, from an access log')
            [CompletionResult]::new('site', 'site', [CompletionResultType]::ParameterValue, 'Make sites from models, and describe the sites of folders and servers')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Explain a command, or a key of the scenario, a check of the verdict, a metric')
            [CompletionResult]::new('schema', 'schema', [CompletionResultType]::ParameterValue, 'Print the JSON schema of a scenario file, or of a result')
            [CompletionResult]::new('generate', 'generate', [CompletionResultType]::ParameterValue, 'Print completions of shells, and man pages')
            break
        }
        'farfield;run' {
            [CompletionResult]::new('-c', '-c', [CompletionResultType]::ParameterName, 'Users of a closed load, or the most of an open one at once [default: 10]')
            [CompletionResult]::new('--users', '--users', [CompletionResultType]::ParameterName, 'Users of a closed load, or the most of an open one at once [default: 10]')
            [CompletionResult]::new('-R', '-R ', [CompletionResultType]::ParameterName, 'Open load: Poisson arrivals at this rate; a closed load if absent')
            [CompletionResult]::new('--rate', '--rate', [CompletionResultType]::ParameterName, 'Open load: Poisson arrivals at this rate; a closed load if absent')
            [CompletionResult]::new('--stages', '--stages', [CompletionResultType]::ParameterName, 'Users, or their rate, over time: 1m:100,5m:100,1m:0 or 1m:50/s,1m:0/s; one level if absent')
            [CompletionResult]::new('-d', '-d', [CompletionResultType]::ParameterName, 'Length of the measured part; a number is of seconds [default: 10s]')
            [CompletionResult]::new('--duration', '--duration', [CompletionResultType]::ParameterName, 'Length of the measured part; a number is of seconds [default: 10s]')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'End after this many requests, without a warm-up; no limit if absent')
            [CompletionResult]::new('--requests', '--requests', [CompletionResultType]::ParameterName, 'End after this many requests, without a warm-up; no limit if absent')
            [CompletionResult]::new('--sessions', '--sessions', [CompletionResultType]::ParameterName, 'End after this many sessions, completed or broken off; without a warm-up, unless --warm-up sets one; no limit if absent')
            [CompletionResult]::new('--think', '--think', [CompletionResultType]::ParameterName, 'Think time: from the end of a page to the user''s next [default: 0s]')
            [CompletionResult]::new('--warm-up', '--warm-up', [CompletionResultType]::ParameterName, 'Length of the warm-up, before the measured part [default: 1s]')
            [CompletionResult]::new('--part', '--part', [CompletionResultType]::ParameterName, 'Make this part of a run that several processes share, such as 2/3, or 3..5/16; all of it if absent')
            [CompletionResult]::new('--start-at', '--start-at', [CompletionResultType]::ParameterName, 'Start at this wall-clock time, such as 2026-12-01T09:30:00Z; as soon as all is ready if absent')
            [CompletionResult]::new('--target', '--target', [CompletionResultType]::ParameterName, 'URL of the server; the scenario''s or the built-in server if absent')
            [CompletionResult]::new('--plane', '--plane', [CompletionResultType]::ParameterName, 'Carrier of the traffic: sockets, emulated or simulated [default: sockets]')
            [CompletionResult]::new('-X', '-X ', [CompletionResultType]::ParameterName, 'Method of the request; GET if absent, or POST with a body')
            [CompletionResult]::new('--method', '--method', [CompletionResultType]::ParameterName, 'Method of the request; GET if absent, or POST with a body')
            [CompletionResult]::new('-H', '-H ', [CompletionResultType]::ParameterName, 'A header of the request, `Name: value`; may be repeated')
            [CompletionResult]::new('--header', '--header', [CompletionResultType]::ParameterName, 'A header of the request, `Name: value`; may be repeated')
            [CompletionResult]::new('--body', '--body', [CompletionResultType]::ParameterName, 'Body of the request, or `@FILE` for that of a file; none if absent')
            [CompletionResult]::new('--http', '--http', [CompletionResultType]::ParameterName, 'HTTP version: 1.0, 1.1, 2, 3, or auto as browsers do [default: auto]')
            [CompletionResult]::new('--policy', '--policy', [CompletionResultType]::ParameterName, 'Use of connections by users: one-request, persistent, early-close, pipelined, pipelined-early-close, multiplexed or shared-pool [default: persistent]')
            [CompletionResult]::new('--parallel', '--parallel', [CompletionResultType]::ParameterName, 'The most connections that a user has open at once [default: 1]')
            [CompletionResult]::new('--source', '--source', [CompletionResultType]::ParameterName, 'Local addresses that connections come from, one after the other; may be repeated. If absent, all of 127.0.0.0/8 for a target there, and else as the kernel chooses')
            [CompletionResult]::new('--connect-to', '--connect-to', [CompletionResultType]::ParameterName, 'Connect to OTHER-HOST and OTHER-PORT in place of HOST and PORT, as curl does; requests, SNI and the certificate keep the name. What is empty is any, or as it was; may be repeated')
            [CompletionResult]::new('--resolve', '--resolve', [CompletionResultType]::ParameterName, 'Take ADDRESS, or several with commas between, for HOST, as curl does; may be repeated')
            [CompletionResult]::new('--addresses', '--addresses', [CompletionResultType]::ParameterName, 'Addresses of the target''s name that connections go to: the first that answers, all in turn, or the one that the name has when a connection is opened [default: first]')
            [CompletionResult]::new('--unix-socket', '--unix-socket', [CompletionResultType]::ParameterName, 'Connect to the Unix socket at PATH, or to @NAME, as curl does; the URL says host and path. If absent, TCP')
            [CompletionResult]::new('-x', '-x', [CompletionResultType]::ParameterName, 'Connect to the proxy at URL, `http://[user:password@]host:port`, as curl does: it is asked for http in absolute form, and for a tunnel (CONNECT) for https; no proxy if absent')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Connect to the proxy at URL, `http://[user:password@]host:port`, as curl does: it is asked for http in absolute form, and for a tunnel (CONNECT) for https; no proxy if absent')
            [CompletionResult]::new('--cacert', '--cacert', [CompletionResultType]::ParameterName, 'PEM file of the CA of the server''s certificate; the system''s if absent')
            [CompletionResult]::new('--cert', '--cert', [CompletionResultType]::ParameterName, 'PEM file of the certificates that users have for an https server that asks for one; none if absent')
            [CompletionResult]::new('--key', '--key', [CompletionResultType]::ParameterName, 'PEM file of their private keys; that of the certificates if absent')
            [CompletionResult]::new('--rtt', '--rtt', [CompletionResultType]::ParameterName, 'Round-trip time between clients and the server, emulated; none if absent')
            [CompletionResult]::new('--access', '--access', [CompletionResultType]::ParameterName, 'Access link of clients, such as dsl, fibre, 4g or modem-56k; none if absent')
            [CompletionResult]::new('--gateway', '--gateway', [CompletionResultType]::ParameterName, 'Kind of gateway between clients and the server: auto, tun or packet; auto if absent')
            [CompletionResult]::new('--clients', '--clients', [CompletionResultType]::ParameterName, 'Emulated clients, each with an address and a path; none if absent')
            [CompletionResult]::new('--shards', '--shards', [CompletionResultType]::ParameterName, 'Number of threads that share the emulated clients; 1 if absent')
            [CompletionResult]::new('--server', '--server', [CompletionResultType]::ParameterName, 'Command that starts the server; the built-in server if absent')
            [CompletionResult]::new('--server-pid', '--server-pid', [CompletionResultType]::ParameterName, 'Process of a server that runs already, in a network namespace of its own; one is started, or reached by the URL, if absent')
            [CompletionResult]::new('--server-netns', '--server-netns', [CompletionResultType]::ParameterName, 'Network namespace of a server that runs already: a name of `ip netns`, or a file; this one if absent')
            [CompletionResult]::new('--container', '--container', [CompletionResultType]::ParameterName, 'Container of a server that runs already; none if absent')
            [CompletionResult]::new('--interface', '--interface', [CompletionResultType]::ParameterName, 'Network card that leads to a server on another machine; none if absent')
            [CompletionResult]::new('--server-cpu', '--server-cpu', [CompletionResultType]::ParameterName, 'The most processor time that the started server may take, in processors, such as 0.2; no limit if absent')
            [CompletionResult]::new('--server-memory', '--server-memory', [CompletionResultType]::ParameterName, 'The most memory that the started server may take, such as 64MiB; no limit if absent')
            [CompletionResult]::new('--server-user', '--server-user', [CompletionResultType]::ParameterName, 'System user that the started server runs as; only root can set another; the one who runs farfield if absent')
            [CompletionResult]::new('-t', '-t', [CompletionResultType]::ParameterName, 'Worker threads; by the number of processors if absent')
            [CompletionResult]::new('--workers', '--workers', [CompletionResultType]::ParameterName, 'Worker threads; by the number of processors if absent')
            [CompletionResult]::new('--processors', '--processors', [CompletionResultType]::ParameterName, 'Processors that farfield runs on, such as 1 or 0,2; all that it may use if absent')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'Seed of all random numbers [default: 1]')
            [CompletionResult]::new('--set', '--set', [CompletionResultType]::ParameterName, 'Any key of the scenario (`farfield help scenario`); may be repeated')
            [CompletionResult]::new('--beside', '--beside', [CompletionResultType]::ParameterName, 'Run COMMAND, by the shell `sh`, at a client of CLASS beside the emulated users, on the same network; it ends with the run; may be repeated')
            [CompletionResult]::new('--shell', '--shell', [CompletionResultType]::ParameterName, 'Run your shell at a client of CLASS beside the emulated users, on this terminal; the run ends when you leave it; no shell if absent')
            [CompletionResult]::new('--repeats', '--repeats', [CompletionResultType]::ParameterName, 'Repeat so often, each time with another seed; if absent a sweep does it 3 times, a run once')
            [CompletionResult]::new('--until', '--until', [CompletionResultType]::ParameterName, 'Repeat until the mean is known so well: ''p99 ± 5%''; not if absent')
            [CompletionResult]::new('--repeats-max', '--repeats-max', [CompletionResultType]::ParameterName, 'Repeat so often at most')
            [CompletionResult]::new('--length-max', '--length-max', [CompletionResultType]::ParameterName, 'The longest measured part that runs are lengthened to where --until needs longer ones')
            [CompletionResult]::new('--budget', '--budget', [CompletionResultType]::ParameterName, 'The time for all repeats; none is begun that would probably not end in it; no limit if absent')
            [CompletionResult]::new('--threshold', '--threshold', [CompletionResultType]::ParameterName, 'Exit with 99 unless ''p99<200ms'' (errors<1%, …); may be repeated')
            [CompletionResult]::new('--abort', '--abort', [CompletionResultType]::ParameterName, 'End the run, and exit with 105, once this does not hold; may be repeated')
            [CompletionResult]::new('--name', '--name', [CompletionResultType]::ParameterName, 'Name of the run, in results and of its directory [default: run]')
            [CompletionResult]::new('--note', '--note', [CompletionResultType]::ParameterName, 'Note on the run, which results and `farfield runs` show; none if absent')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Where to put the run directory; farfield-runs/TIME-NAME if absent')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'Where to put the run directory; farfield-runs/TIME-NAME if absent')
            [CompletionResult]::new('--samples', '--samples', [CompletionResultType]::ParameterName, 'Keep these samples: all, none, or a number k for every k-th [default: all]')
            [CompletionResult]::new('--metrics', '--metrics', [CompletionResultType]::ParameterName, 'Serve the figures for Prometheus at /metrics while the run goes on: at a port of the loopback interface, or at the address given; not served if absent')
            [CompletionResult]::new('--metrics-push', '--metrics-push', [CompletionResultType]::ParameterName, 'Push the figures each second by Prometheus'' remote write; may be repeated')
            [CompletionResult]::new('--metrics-otlp', '--metrics-otlp', [CompletionResultType]::ParameterName, 'Push the figures each second by the OpenTelemetry Protocol (JSON over HTTP); may be repeated')
            [CompletionResult]::new('--ui', '--ui', [CompletionResultType]::ParameterName, 'Show the run in a browser while it goes on, at a free port or the one given')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'Format of standard output')
            [CompletionResult]::new('--starts-only', '--starts-only', [CompletionResultType]::ParameterName, 'Start only the programs whose digest this is, as somebody has confirmed them in the workbench')
            [CompletionResult]::new('--with-parent', '--with-parent', [CompletionResultType]::ParameterName, 'End when this process does, which makes the run')
            [CompletionResult]::new('--set-aside', '--set-aside', [CompletionResultType]::ParameterName, 'Set seconds in which the machine was disturbed aside, and measure as much longer')
            [CompletionResult]::new('-k', '-k', [CompletionResultType]::ParameterName, 'Accept any certificate of the server; every output says so')
            [CompletionResult]::new('--insecure', '--insecure', [CompletionResultType]::ParameterName, 'Accept any certificate of the server; every output says so')
            [CompletionResult]::new('--capture', '--capture', [CompletionResultType]::ParameterName, 'Keep the packets between clients and server in capture.pcapng')
            [CompletionResult]::new('--no-report', '--no-report', [CompletionResultType]::ParameterName, 'Write no page of the run (report.html)')
            [CompletionResult]::new('--no-monitor', '--no-monitor', [CompletionResultType]::ParameterName, 'Do not monitor the server during the run')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no progress')
            [CompletionResult]::new('--plain', '--plain', [CompletionResultType]::ParameterName, 'Print progress as a line each second, also on a terminal, instead of the live view')
            [CompletionResult]::new('--show-scenario', '--show-scenario', [CompletionResultType]::ParameterName, 'Print the scenario with its defaults and the flags, and run nothing')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'farfield;capacity' {
            [CompletionResult]::new('--slo', '--slo', [CompletionResultType]::ParameterName, 'Find the highest load that keeps these thresholds: ''p99<1s,errors<1%''; --peak if absent')
            [CompletionResult]::new('--from', '--from', [CompletionResultType]::ParameterName, 'The load of the first trial; the scenario''s if absent')
            [CompletionResult]::new('--to', '--to', [CompletionResultType]::ParameterName, 'The highest load that is tried; no limit if absent')
            [CompletionResult]::new('--generator-limit', '--generator-limit', [CompletionResultType]::ParameterName, 'The highest load that the generator can offer (`farfield doctor --limit`); no limit if absent')
            [CompletionResult]::new('--budget', '--budget', [CompletionResultType]::ParameterName, 'The time for all trials')
            [CompletionResult]::new('--precision', '--precision', [CompletionResultType]::ParameterName, 'Half-width of the interval that is good enough')
            [CompletionResult]::new('-d', '-d', [CompletionResultType]::ParameterName, 'Length of a full trial''s measured part; by default about budget / 30')
            [CompletionResult]::new('--duration', '--duration', [CompletionResultType]::ParameterName, 'Length of a full trial''s measured part; by default about budget / 30')
            [CompletionResult]::new('--warm-up', '--warm-up', [CompletionResultType]::ParameterName, 'Length of each trial''s warm-up; the scenario''s, or found from trials, if absent')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'The folder of trials; farfield-runs/TIME-NAME-capacity if absent')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'The folder of trials; farfield-runs/TIME-NAME-capacity if absent')
            [CompletionResult]::new('-c', '-c', [CompletionResultType]::ParameterName, 'Users of a closed load: of the first trial, as --from; the scenario''s if absent')
            [CompletionResult]::new('--users', '--users', [CompletionResultType]::ParameterName, 'Users of a closed load: of the first trial, as --from; the scenario''s if absent')
            [CompletionResult]::new('--think', '--think', [CompletionResultType]::ParameterName, 'Think time: from the end of a page to the user''s next [default: 0s]')
            [CompletionResult]::new('--target', '--target', [CompletionResultType]::ParameterName, 'URL of the server; the scenario''s or the built-in server if absent')
            [CompletionResult]::new('--plane', '--plane', [CompletionResultType]::ParameterName, 'Carrier of the traffic: sockets, emulated or simulated [default: sockets]')
            [CompletionResult]::new('-X', '-X ', [CompletionResultType]::ParameterName, 'Method of the request; GET if absent, or POST with a body')
            [CompletionResult]::new('--method', '--method', [CompletionResultType]::ParameterName, 'Method of the request; GET if absent, or POST with a body')
            [CompletionResult]::new('-H', '-H ', [CompletionResultType]::ParameterName, 'A header of the request, `Name: value`; may be repeated')
            [CompletionResult]::new('--header', '--header', [CompletionResultType]::ParameterName, 'A header of the request, `Name: value`; may be repeated')
            [CompletionResult]::new('--body', '--body', [CompletionResultType]::ParameterName, 'Body of the request, or `@FILE` for that of a file; none if absent')
            [CompletionResult]::new('--http', '--http', [CompletionResultType]::ParameterName, 'HTTP version: 1.0, 1.1, 2, 3, or auto as browsers do [default: auto]')
            [CompletionResult]::new('--policy', '--policy', [CompletionResultType]::ParameterName, 'Use of connections by users: one-request, persistent, early-close, pipelined, pipelined-early-close, multiplexed or shared-pool [default: persistent]')
            [CompletionResult]::new('--parallel', '--parallel', [CompletionResultType]::ParameterName, 'The most connections that a user has open at once [default: 1]')
            [CompletionResult]::new('--source', '--source', [CompletionResultType]::ParameterName, 'Local addresses that connections come from, one after the other; may be repeated. If absent, all of 127.0.0.0/8 for a target there, and else as the kernel chooses')
            [CompletionResult]::new('--connect-to', '--connect-to', [CompletionResultType]::ParameterName, 'Connect to OTHER-HOST and OTHER-PORT in place of HOST and PORT, as curl does; requests, SNI and the certificate keep the name. What is empty is any, or as it was; may be repeated')
            [CompletionResult]::new('--resolve', '--resolve', [CompletionResultType]::ParameterName, 'Take ADDRESS, or several with commas between, for HOST, as curl does; may be repeated')
            [CompletionResult]::new('--addresses', '--addresses', [CompletionResultType]::ParameterName, 'Addresses of the target''s name that connections go to: the first that answers, all in turn, or the one that the name has when a connection is opened [default: first]')
            [CompletionResult]::new('--unix-socket', '--unix-socket', [CompletionResultType]::ParameterName, 'Connect to the Unix socket at PATH, or to @NAME, as curl does; the URL says host and path. If absent, TCP')
            [CompletionResult]::new('-x', '-x', [CompletionResultType]::ParameterName, 'Connect to the proxy at URL, `http://[user:password@]host:port`, as curl does: it is asked for http in absolute form, and for a tunnel (CONNECT) for https; no proxy if absent')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Connect to the proxy at URL, `http://[user:password@]host:port`, as curl does: it is asked for http in absolute form, and for a tunnel (CONNECT) for https; no proxy if absent')
            [CompletionResult]::new('--cacert', '--cacert', [CompletionResultType]::ParameterName, 'PEM file of the CA of the server''s certificate; the system''s if absent')
            [CompletionResult]::new('--cert', '--cert', [CompletionResultType]::ParameterName, 'PEM file of the certificates that users have for an https server that asks for one; none if absent')
            [CompletionResult]::new('--key', '--key', [CompletionResultType]::ParameterName, 'PEM file of their private keys; that of the certificates if absent')
            [CompletionResult]::new('--rtt', '--rtt', [CompletionResultType]::ParameterName, 'Round-trip time between clients and the server, emulated; none if absent')
            [CompletionResult]::new('--access', '--access', [CompletionResultType]::ParameterName, 'Access link of clients, such as dsl, fibre, 4g or modem-56k; none if absent')
            [CompletionResult]::new('--gateway', '--gateway', [CompletionResultType]::ParameterName, 'Kind of gateway between clients and the server: auto, tun or packet; auto if absent')
            [CompletionResult]::new('--clients', '--clients', [CompletionResultType]::ParameterName, 'Emulated clients, each with an address and a path; none if absent')
            [CompletionResult]::new('--shards', '--shards', [CompletionResultType]::ParameterName, 'Number of threads that share the emulated clients; 1 if absent')
            [CompletionResult]::new('--server', '--server', [CompletionResultType]::ParameterName, 'Command that starts the server; the built-in server if absent')
            [CompletionResult]::new('--server-pid', '--server-pid', [CompletionResultType]::ParameterName, 'Process of a server that runs already, in a network namespace of its own; one is started, or reached by the URL, if absent')
            [CompletionResult]::new('--server-netns', '--server-netns', [CompletionResultType]::ParameterName, 'Network namespace of a server that runs already: a name of `ip netns`, or a file; this one if absent')
            [CompletionResult]::new('--container', '--container', [CompletionResultType]::ParameterName, 'Container of a server that runs already; none if absent')
            [CompletionResult]::new('--interface', '--interface', [CompletionResultType]::ParameterName, 'Network card that leads to a server on another machine; none if absent')
            [CompletionResult]::new('--server-cpu', '--server-cpu', [CompletionResultType]::ParameterName, 'The most processor time that the started server may take, in processors, such as 0.2; no limit if absent')
            [CompletionResult]::new('--server-memory', '--server-memory', [CompletionResultType]::ParameterName, 'The most memory that the started server may take, such as 64MiB; no limit if absent')
            [CompletionResult]::new('--server-user', '--server-user', [CompletionResultType]::ParameterName, 'System user that the started server runs as; only root can set another; the one who runs farfield if absent')
            [CompletionResult]::new('-t', '-t', [CompletionResultType]::ParameterName, 'Worker threads; by the number of processors if absent')
            [CompletionResult]::new('--workers', '--workers', [CompletionResultType]::ParameterName, 'Worker threads; by the number of processors if absent')
            [CompletionResult]::new('--processors', '--processors', [CompletionResultType]::ParameterName, 'Processors that farfield runs on, such as 1 or 0,2; all that it may use if absent')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'Seed of all random numbers [default: 1]')
            [CompletionResult]::new('--set', '--set', [CompletionResultType]::ParameterName, 'Any key of the scenario (`farfield help scenario`); may be repeated')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'Format of standard output')
            [CompletionResult]::new('--peak', '--peak', [CompletionResultType]::ParameterName, 'Find the most successful replies a second that the server gives at any load')
            [CompletionResult]::new('-k', '-k', [CompletionResultType]::ParameterName, 'Accept any certificate of the server; every output says so')
            [CompletionResult]::new('--insecure', '--insecure', [CompletionResultType]::ParameterName, 'Accept any certificate of the server; every output says so')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no progress')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'farfield;sweep' {
            [CompletionResult]::new('--vary', '--vary', [CompletionResultType]::ParameterName, 'Vary this key, in all combinations with others; may be repeated')
            [CompletionResult]::new('--points', '--points', [CompletionResultType]::ParameterName, 'The points as CSV, keys in the first line; none if absent')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'Runs at once; if absent 1, or simulated as many as processors')
            [CompletionResult]::new('--metric', '--metric', [CompletionResultType]::ParameterName, 'A further metric: p95, mean(connect), …; may be repeated')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'The folder of the runs; farfield-runs/TIME-NAME-sweep if absent')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'The folder of the runs; farfield-runs/TIME-NAME-sweep if absent')
            [CompletionResult]::new('--repeats', '--repeats', [CompletionResultType]::ParameterName, 'Repeat so often, each time with another seed; if absent a sweep does it 3 times, a run once')
            [CompletionResult]::new('--until', '--until', [CompletionResultType]::ParameterName, 'Repeat until the mean is known so well: ''p99 ± 5%''; not if absent')
            [CompletionResult]::new('--repeats-max', '--repeats-max', [CompletionResultType]::ParameterName, 'Repeat so often at most')
            [CompletionResult]::new('--length-max', '--length-max', [CompletionResultType]::ParameterName, 'The longest measured part that runs are lengthened to where --until needs longer ones')
            [CompletionResult]::new('--budget', '--budget', [CompletionResultType]::ParameterName, 'The time for all repeats; none is begun that would probably not end in it; no limit if absent')
            [CompletionResult]::new('-c', '-c', [CompletionResultType]::ParameterName, 'Users of a closed load, or the most of an open one at once [default: 10]')
            [CompletionResult]::new('--users', '--users', [CompletionResultType]::ParameterName, 'Users of a closed load, or the most of an open one at once [default: 10]')
            [CompletionResult]::new('-R', '-R ', [CompletionResultType]::ParameterName, 'Open load: Poisson arrivals at this rate; a closed load if absent')
            [CompletionResult]::new('--rate', '--rate', [CompletionResultType]::ParameterName, 'Open load: Poisson arrivals at this rate; a closed load if absent')
            [CompletionResult]::new('--stages', '--stages', [CompletionResultType]::ParameterName, 'Users, or their rate, over time: 1m:100,5m:100,1m:0 or 1m:50/s,1m:0/s; one level if absent')
            [CompletionResult]::new('-d', '-d', [CompletionResultType]::ParameterName, 'Length of the measured part; a number is of seconds [default: 10s]')
            [CompletionResult]::new('--duration', '--duration', [CompletionResultType]::ParameterName, 'Length of the measured part; a number is of seconds [default: 10s]')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'End after this many requests, without a warm-up; no limit if absent')
            [CompletionResult]::new('--requests', '--requests', [CompletionResultType]::ParameterName, 'End after this many requests, without a warm-up; no limit if absent')
            [CompletionResult]::new('--sessions', '--sessions', [CompletionResultType]::ParameterName, 'End after this many sessions, completed or broken off; without a warm-up, unless --warm-up sets one; no limit if absent')
            [CompletionResult]::new('--think', '--think', [CompletionResultType]::ParameterName, 'Think time: from the end of a page to the user''s next [default: 0s]')
            [CompletionResult]::new('--warm-up', '--warm-up', [CompletionResultType]::ParameterName, 'Length of the warm-up, before the measured part [default: 1s]')
            [CompletionResult]::new('--part', '--part', [CompletionResultType]::ParameterName, 'Make this part of a run that several processes share, such as 2/3, or 3..5/16; all of it if absent')
            [CompletionResult]::new('--start-at', '--start-at', [CompletionResultType]::ParameterName, 'Start at this wall-clock time, such as 2026-12-01T09:30:00Z; as soon as all is ready if absent')
            [CompletionResult]::new('--target', '--target', [CompletionResultType]::ParameterName, 'URL of the server; the scenario''s or the built-in server if absent')
            [CompletionResult]::new('--plane', '--plane', [CompletionResultType]::ParameterName, 'Carrier of the traffic: sockets, emulated or simulated [default: sockets]')
            [CompletionResult]::new('-X', '-X ', [CompletionResultType]::ParameterName, 'Method of the request; GET if absent, or POST with a body')
            [CompletionResult]::new('--method', '--method', [CompletionResultType]::ParameterName, 'Method of the request; GET if absent, or POST with a body')
            [CompletionResult]::new('-H', '-H ', [CompletionResultType]::ParameterName, 'A header of the request, `Name: value`; may be repeated')
            [CompletionResult]::new('--header', '--header', [CompletionResultType]::ParameterName, 'A header of the request, `Name: value`; may be repeated')
            [CompletionResult]::new('--body', '--body', [CompletionResultType]::ParameterName, 'Body of the request, or `@FILE` for that of a file; none if absent')
            [CompletionResult]::new('--http', '--http', [CompletionResultType]::ParameterName, 'HTTP version: 1.0, 1.1, 2, 3, or auto as browsers do [default: auto]')
            [CompletionResult]::new('--policy', '--policy', [CompletionResultType]::ParameterName, 'Use of connections by users: one-request, persistent, early-close, pipelined, pipelined-early-close, multiplexed or shared-pool [default: persistent]')
            [CompletionResult]::new('--parallel', '--parallel', [CompletionResultType]::ParameterName, 'The most connections that a user has open at once [default: 1]')
            [CompletionResult]::new('--source', '--source', [CompletionResultType]::ParameterName, 'Local addresses that connections come from, one after the other; may be repeated. If absent, all of 127.0.0.0/8 for a target there, and else as the kernel chooses')
            [CompletionResult]::new('--connect-to', '--connect-to', [CompletionResultType]::ParameterName, 'Connect to OTHER-HOST and OTHER-PORT in place of HOST and PORT, as curl does; requests, SNI and the certificate keep the name. What is empty is any, or as it was; may be repeated')
            [CompletionResult]::new('--resolve', '--resolve', [CompletionResultType]::ParameterName, 'Take ADDRESS, or several with commas between, for HOST, as curl does; may be repeated')
            [CompletionResult]::new('--addresses', '--addresses', [CompletionResultType]::ParameterName, 'Addresses of the target''s name that connections go to: the first that answers, all in turn, or the one that the name has when a connection is opened [default: first]')
            [CompletionResult]::new('--unix-socket', '--unix-socket', [CompletionResultType]::ParameterName, 'Connect to the Unix socket at PATH, or to @NAME, as curl does; the URL says host and path. If absent, TCP')
            [CompletionResult]::new('-x', '-x', [CompletionResultType]::ParameterName, 'Connect to the proxy at URL, `http://[user:password@]host:port`, as curl does: it is asked for http in absolute form, and for a tunnel (CONNECT) for https; no proxy if absent')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Connect to the proxy at URL, `http://[user:password@]host:port`, as curl does: it is asked for http in absolute form, and for a tunnel (CONNECT) for https; no proxy if absent')
            [CompletionResult]::new('--cacert', '--cacert', [CompletionResultType]::ParameterName, 'PEM file of the CA of the server''s certificate; the system''s if absent')
            [CompletionResult]::new('--cert', '--cert', [CompletionResultType]::ParameterName, 'PEM file of the certificates that users have for an https server that asks for one; none if absent')
            [CompletionResult]::new('--key', '--key', [CompletionResultType]::ParameterName, 'PEM file of their private keys; that of the certificates if absent')
            [CompletionResult]::new('--rtt', '--rtt', [CompletionResultType]::ParameterName, 'Round-trip time between clients and the server, emulated; none if absent')
            [CompletionResult]::new('--access', '--access', [CompletionResultType]::ParameterName, 'Access link of clients, such as dsl, fibre, 4g or modem-56k; none if absent')
            [CompletionResult]::new('--gateway', '--gateway', [CompletionResultType]::ParameterName, 'Kind of gateway between clients and the server: auto, tun or packet; auto if absent')
            [CompletionResult]::new('--clients', '--clients', [CompletionResultType]::ParameterName, 'Emulated clients, each with an address and a path; none if absent')
            [CompletionResult]::new('--shards', '--shards', [CompletionResultType]::ParameterName, 'Number of threads that share the emulated clients; 1 if absent')
            [CompletionResult]::new('--server', '--server', [CompletionResultType]::ParameterName, 'Command that starts the server; the built-in server if absent')
            [CompletionResult]::new('--server-pid', '--server-pid', [CompletionResultType]::ParameterName, 'Process of a server that runs already, in a network namespace of its own; one is started, or reached by the URL, if absent')
            [CompletionResult]::new('--server-netns', '--server-netns', [CompletionResultType]::ParameterName, 'Network namespace of a server that runs already: a name of `ip netns`, or a file; this one if absent')
            [CompletionResult]::new('--container', '--container', [CompletionResultType]::ParameterName, 'Container of a server that runs already; none if absent')
            [CompletionResult]::new('--interface', '--interface', [CompletionResultType]::ParameterName, 'Network card that leads to a server on another machine; none if absent')
            [CompletionResult]::new('--server-cpu', '--server-cpu', [CompletionResultType]::ParameterName, 'The most processor time that the started server may take, in processors, such as 0.2; no limit if absent')
            [CompletionResult]::new('--server-memory', '--server-memory', [CompletionResultType]::ParameterName, 'The most memory that the started server may take, such as 64MiB; no limit if absent')
            [CompletionResult]::new('--server-user', '--server-user', [CompletionResultType]::ParameterName, 'System user that the started server runs as; only root can set another; the one who runs farfield if absent')
            [CompletionResult]::new('-t', '-t', [CompletionResultType]::ParameterName, 'Worker threads; by the number of processors if absent')
            [CompletionResult]::new('--workers', '--workers', [CompletionResultType]::ParameterName, 'Worker threads; by the number of processors if absent')
            [CompletionResult]::new('--processors', '--processors', [CompletionResultType]::ParameterName, 'Processors that farfield runs on, such as 1 or 0,2; all that it may use if absent')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'Seed of all random numbers [default: 1]')
            [CompletionResult]::new('--set', '--set', [CompletionResultType]::ParameterName, 'Any key of the scenario (`farfield help scenario`); may be repeated')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'Format of standard output')
            [CompletionResult]::new('--one-at-a-time', '--one-at-a-time', [CompletionResultType]::ParameterName, 'Vary one key at a time, from the first value of each')
            [CompletionResult]::new('--set-aside', '--set-aside', [CompletionResultType]::ParameterName, 'Set seconds in which the machine was disturbed aside, and measure as much longer')
            [CompletionResult]::new('-k', '-k', [CompletionResultType]::ParameterName, 'Accept any certificate of the server; every output says so')
            [CompletionResult]::new('--insecure', '--insecure', [CompletionResultType]::ParameterName, 'Accept any certificate of the server; every output says so')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no progress')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'farfield;experiment' {
            [CompletionResult]::new('--recompute', '--recompute', [CompletionResultType]::ParameterName, 'Make the pages of this experiment again from its runs, without a run; not if absent')
            [CompletionResult]::new('--budget', '--budget', [CompletionResultType]::ParameterName, 'The time for all runs; the question''s if absent')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'The folder of the runs and of what follows from them; farfield-runs/TIME-NAME if absent')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'The folder of the runs and of what follows from them; farfield-runs/TIME-NAME if absent')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'Format of standard output')
            [CompletionResult]::new('--list', '--list', [CompletionResultType]::ParameterName, 'List the questions that are built in')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no progress')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'farfield;try' {
            [CompletionResult]::new('--flow', '--flow', [CompletionResultType]::ParameterName, 'The flow whose session is tried; the first with states if absent')
            [CompletionResult]::new('--target', '--target', [CompletionResultType]::ParameterName, 'URL of the server; the scenario''s or the built-in server if absent')
            [CompletionResult]::new('--plane', '--plane', [CompletionResultType]::ParameterName, 'Carrier of the traffic: sockets, emulated or simulated [default: sockets]')
            [CompletionResult]::new('-x', '-x', [CompletionResultType]::ParameterName, 'Connect to the proxy at URL, `http://[user:password@]host:port`, as curl does: it is asked for http in absolute form, and for a tunnel (CONNECT) for https; no proxy if absent')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Connect to the proxy at URL, `http://[user:password@]host:port`, as curl does: it is asked for http in absolute form, and for a tunnel (CONNECT) for https; no proxy if absent')
            [CompletionResult]::new('--cacert', '--cacert', [CompletionResultType]::ParameterName, 'PEM file of the CA of the server''s certificate; the system''s if absent')
            [CompletionResult]::new('--cert', '--cert', [CompletionResultType]::ParameterName, 'PEM file of the certificates that users have for an https server that asks for one; none if absent')
            [CompletionResult]::new('--key', '--key', [CompletionResultType]::ParameterName, 'PEM file of their private keys; that of the certificates if absent')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'Seed of all random numbers [default: 1]')
            [CompletionResult]::new('--set', '--set', [CompletionResultType]::ParameterName, 'Any key of the scenario (`farfield help scenario`); may be repeated')
            [CompletionResult]::new('--trace', '--trace', [CompletionResultType]::ParameterName, 'Show whole heads and bodies, up to 4000 characters of each')
            [CompletionResult]::new('-k', '-k', [CompletionResultType]::ParameterName, 'Accept any certificate of the server; every output says so')
            [CompletionResult]::new('--insecure', '--insecure', [CompletionResultType]::ParameterName, 'Accept any certificate of the server; every output says so')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'farfield;serve' {
            [CompletionResult]::new('--cert', '--cert', [CompletionResultType]::ParameterName, 'PEM file of the certificate to serve over TLS with; one is made if absent')
            [CompletionResult]::new('--key', '--key', [CompletionResultType]::ParameterName, 'PEM file of the certificate''s key; the certificate''s file if absent')
            [CompletionResult]::new('-t', '-t', [CompletionResultType]::ParameterName, 'Number of event loops [default: 1]')
            [CompletionResult]::new('--threads', '--threads', [CompletionResultType]::ParameterName, 'Number of event loops [default: 1]')
            [CompletionResult]::new('--service-time', '--service-time', [CompletionResultType]::ParameterName, 'Time to serve each request [default: 0s]')
            [CompletionResult]::new('--servers', '--servers', [CompletionResultType]::ParameterName, 'The most requests served at once; the others wait; no limit if absent')
            [CompletionResult]::new('--error-rate', '--error-rate', [CompletionResultType]::ParameterName, 'The share of requests answered with 503 [default: 0]')
            [CompletionResult]::new('--stall', '--stall', [CompletionResultType]::ParameterName, 'Serve nothing for a time in every period, such as ''500ms every 5s''; no stalls if absent')
            [CompletionResult]::new('--hiccup', '--hiccup', [CompletionResultType]::ParameterName, 'Serve nothing for a time, once, such as ''2s at 3s'' after the first request; not if absent')
            [CompletionResult]::new('--slow-tail', '--slow-tail', [CompletionResultType]::ParameterName, 'Take longer to serve a share of the requests, such as ''1% take 200ms''; none if absent')
            [CompletionResult]::new('--slow-start', '--slow-start', [CompletionResultType]::ParameterName, 'Take longer at first, and less and less so, such as ''100ms for 3s''; not if absent')
            [CompletionResult]::new('--accept-limit', '--accept-limit', [CompletionResultType]::ParameterName, 'The most connections held at once; others wait in the kernel''s accept queue; no limit if absent')
            [CompletionResult]::new('--backlog', '--backlog', [CompletionResultType]::ParameterName, 'Length of that queue [default: 4096]')
            [CompletionResult]::new('--keep-alive-timeout', '--keep-alive-timeout', [CompletionResultType]::ParameterName, 'Time after which an idle connection is closed; never if absent')
            [CompletionResult]::new('--keep-alive-requests', '--keep-alive-requests', [CompletionResultType]::ParameterName, 'The most requests served on one connection; no limit if absent')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'Seed of the pages and of the errors [default: 1]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Any key of a scenario''s `origin` table, as TOML; other flags outrank it; none if absent')
            [CompletionResult]::new('--tls', '--tls', [CompletionResultType]::ParameterName, 'Serve over TLS, with a certificate that is made at the start')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'farfield;shell' {
            [CompletionResult]::new('--scenario', '--scenario', [CompletionResultType]::ParameterName, 'Scenario with the network and the server; its load is not used; only flags if absent')
            [CompletionResult]::new('--as', '--as', [CompletionResultType]::ParameterName, 'The class of clients whose path the program gets; the first if absent')
            [CompletionResult]::new('--beside', '--beside', [CompletionResultType]::ParameterName, 'Run COMMAND, by the shell `sh`, at a client of CLASS beside the program, on the same network; it ends with the program; may be repeated')
            [CompletionResult]::new('--rtt', '--rtt', [CompletionResultType]::ParameterName, 'Round-trip time between clients and the server, emulated; none if absent')
            [CompletionResult]::new('--access', '--access', [CompletionResultType]::ParameterName, 'Access link of clients, such as dsl, fibre, 4g or modem-56k; none if absent')
            [CompletionResult]::new('--gateway', '--gateway', [CompletionResultType]::ParameterName, 'Kind of gateway between clients and the server: auto, tun or packet; auto if absent')
            [CompletionResult]::new('--server', '--server', [CompletionResultType]::ParameterName, 'Command that starts the server; the built-in server if absent')
            [CompletionResult]::new('--server-pid', '--server-pid', [CompletionResultType]::ParameterName, 'Process of a server that runs already, in a network namespace of its own; one is started, or reached by the URL, if absent')
            [CompletionResult]::new('--server-netns', '--server-netns', [CompletionResultType]::ParameterName, 'Network namespace of a server that runs already: a name of `ip netns`, or a file; this one if absent')
            [CompletionResult]::new('--container', '--container', [CompletionResultType]::ParameterName, 'Container of a server that runs already; none if absent')
            [CompletionResult]::new('--interface', '--interface', [CompletionResultType]::ParameterName, 'Network card that leads to a server on another machine; none if absent')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'Seed of all random numbers [default: 1]')
            [CompletionResult]::new('--set', '--set', [CompletionResultType]::ParameterName, 'Any key of the scenario (`farfield help scenario`); may be repeated')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but what the program prints')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but what the program prints')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'farfield;route' {
            [CompletionResult]::new('--clients-netns', '--clients-netns', [CompletionResultType]::ParameterName, 'Network namespace of the clients: a name of `ip netns`, a file, or the number of a process in it; --between if absent')
            [CompletionResult]::new('--server-netns', '--server-netns', [CompletionResultType]::ParameterName, 'Network namespace of the servers; --between if absent')
            [CompletionResult]::new('--between', '--between', [CompletionResultType]::ParameterName, 'Ethernet interfaces of this machine, to the clients'' link and to the servers''; --client says who the clients are; network namespaces if absent')
            [CompletionResult]::new('--client', '--client', [CompletionResultType]::ParameterName, 'The class of the clients at these addresses, on their way to this target or to all; may be repeated. Without, all addresses of the clients'' namespace are of the first class')
            [CompletionResult]::new('--scenario', '--scenario', [CompletionResultType]::ParameterName, 'Scenario with the network; its server and its load are not used; only flags if absent')
            [CompletionResult]::new('-d', '-d', [CompletionResultType]::ParameterName, 'End after this time; by Ctrl-C if absent')
            [CompletionResult]::new('--duration', '--duration', [CompletionResultType]::ParameterName, 'End after this time; by Ctrl-C if absent')
            [CompletionResult]::new('--rtt', '--rtt', [CompletionResultType]::ParameterName, 'Round-trip time between clients and the server, emulated; none if absent')
            [CompletionResult]::new('--access', '--access', [CompletionResultType]::ParameterName, 'Access link of clients, such as dsl, fibre, 4g or modem-56k; none if absent')
            [CompletionResult]::new('--gateway', '--gateway', [CompletionResultType]::ParameterName, 'Kind of gateway between clients and the server: auto, tun or packet; auto if absent')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'Seed of all random numbers [default: 1]')
            [CompletionResult]::new('--set', '--set', [CompletionResultType]::ParameterName, 'Any key of the scenario (`farfield help scenario`); may be repeated')
            [CompletionResult]::new('--counts', '--counts', [CompletionResultType]::ParameterName, 'Print counts each second')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but mistakes')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but mistakes')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'farfield;path' {
            [CompletionResult]::new('--scenario', '--scenario', [CompletionResultType]::ParameterName, 'Scenario with the network; its server and its load are not used; only flags if absent')
            [CompletionResult]::new('--as', '--as', [CompletionResultType]::ParameterName, 'The class of clients whose path is measured; all, one after the other, if absent')
            [CompletionResult]::new('--rtt', '--rtt', [CompletionResultType]::ParameterName, 'Round-trip time between clients and the server, emulated; none if absent')
            [CompletionResult]::new('--access', '--access', [CompletionResultType]::ParameterName, 'Access link of clients, such as dsl, fibre, 4g or modem-56k; none if absent')
            [CompletionResult]::new('--gateway', '--gateway', [CompletionResultType]::ParameterName, 'Kind of gateway between clients and the server: auto, tun or packet; auto if absent')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'Seed of all random numbers [default: 1]')
            [CompletionResult]::new('--set', '--set', [CompletionResultType]::ParameterName, 'Any key of the scenario (`farfield help scenario`); may be repeated')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'farfield;report' {
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'Content and format of standard output')
            [CompletionResult]::new('--histogram', '--histogram', [CompletionResultType]::ParameterName, 'The histogram of `--format hgrm`, by its tag in histograms.hlog')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write to a file; to standard output if absent')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'Write to a file; to standard output if absent')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'farfield;compare' {
            [CompletionResult]::new('--metric', '--metric', [CompletionResultType]::ParameterName, 'A further metric: p95, p99(service), mean(connect), …; may be repeated')
            [CompletionResult]::new('--fail-if', '--fail-if', [CompletionResultType]::ParameterName, 'Exit with 99 if a metric has changed by more than this, such as ''p99 +5%'' or ''rate -3%'', of errors in percentage points; may be repeated')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'Format of standard output')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'farfield;runs' {
            [CompletionResult]::new('--keep', '--keep', [CompletionResultType]::ParameterName, 'Remove none of the newest COUNT; by age alone if absent')
            [CompletionResult]::new('--older', '--older', [CompletionResultType]::ParameterName, 'Remove none that began within this time, such as 30d or 12h; by number alone if absent')
            [CompletionResult]::new('--prune', '--prune', [CompletionResultType]::ParameterName, 'Remove old runs, by --keep, --older or both, without a question')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Only say what --prune would remove')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'farfield;ui' {
            [CompletionResult]::new('--scenarios', '--scenarios', [CompletionResultType]::ParameterName, 'The folder of scenario files')
            [CompletionResult]::new('--listen', '--listen', [CompletionResultType]::ParameterName, 'A port of the loopback interface, a free one by default; or an address and a port, which other machines may reach')
            [CompletionResult]::new('--read-only', '--read-only', [CompletionResultType]::ParameterName, 'Show runs and compare them; save no scenario, and start and stop no run')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'farfield;merge' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Where to put the run directory of the whole; farfield-runs/TIME-NAME if absent')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'Where to put the run directory of the whole; farfield-runs/TIME-NAME if absent')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'Format of standard output')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'farfield;verify' {
            [CompletionResult]::new('--capture', '--capture', [CompletionResultType]::ParameterName, 'The capture file, pcapng or pcap, taken on this or another machine; the run''s own if absent')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'Format of standard output')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'farfield;doctor' {
            [CompletionResult]::new('--budget', '--budget', [CompletionResultType]::ParameterName, 'The time for that')
            [CompletionResult]::new('--limit', '--limit', [CompletionResultType]::ParameterName, 'Measure the highest load that farfield itself can offer here, before its own server: that at which one generator and two get the same')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'farfield;fit' {
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'Layout of the lines, by default detected from the first of them: common, combined, extended, json, gn, caddy, traefik, google, ecs, vhost, alb, elb, s3, envoy, haproxy, squid; or a pattern with Apache''s directives or nginx''s variables, such as ''%h %l %u %t "%r" %>s %b''')
            [CompletionResult]::new('--transfer', '--transfer', [CompletionResultType]::ParameterName, 'Unit of a transfer time that follows the usual fields; in an extended log, the unit of time-taken, by default seconds, or milliseconds if its #Software line is Microsoft''s')
            [CompletionResult]::new('--field', '--field', [CompletionResultType]::ParameterName, 'A field of JSON lines, such as client=request.remote_ip; one of time, client, agent, method, path, request, referrer, status, bytes, transfer. May be repeated')
            [CompletionResult]::new('--t-min', '--t-min', [CompletionResultType]::ParameterName, 'A request sooner than this after the one before belongs to its page')
            [CompletionResult]::new('--t-max', '--t-max', [CompletionResultType]::ParameterName, 'A request later than this after the one before begins a session')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'Seed of all random choices')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Folder for scenario.toml, site.json, fit.json and report.html; it may exist, but must contain none of these')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'Folder for scenario.toml, site.json, fit.json and report.html; it may exist, but must contain none of these')
            [CompletionResult]::new('--target', '--target', [CompletionResultType]::ParameterName, 'URL of a server that has the log''s own paths: the scenario then requests these. Without it, the scenario requests the site in site.json, which the built-in server serves, and any other server once `farfield site make` has written its files (absent: that site)')
            [CompletionResult]::new('--speed', '--speed', [CompletionResultType]::ParameterName, 'Factor by which sessions arrive, and users think, faster than in the log. By default 1, or more if ten minutes would then contain next to nothing')
            [CompletionResult]::new('--objects', '--objects', [CompletionResultType]::ParameterName, 'The most objects that the scenario and the site have; the most popular ones are kept')
            [CompletionResult]::new('--keep-query', '--keep-query', [CompletionResultType]::ParameterName, 'Treat URLs that differ only in their query as different objects')
            [CompletionResult]::new('--stamped-at-end', '--stamped-at-end', [CompletionResultType]::ParameterName, 'The log''s times are the ends of requests, as nginx writes them')
            [CompletionResult]::new('--single-distributions', '--single-distributions', [CompletionResultType]::ParameterName, 'Try single distributions only, no mixtures, which is much faster')
            [CompletionResult]::new('--course', '--course', [CompletionResultType]::ParameterName, 'Let the rate of sessions vary as in the log, for as long as the log; by default it is the mean, for ten minutes at most')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'farfield;audit' {
            [CompletionResult]::new('--server', '--server', [CompletionResultType]::ParameterName, 'The server that the tool sends to, as a URL or as ADDRESS:PORT; by default from the tool''s arguments')
            [CompletionResult]::new('--origin', '--origin', [CompletionResultType]::ParameterName, 'Start the built-in server, with this key of a scenario''s `origin` table, such as ''stall=500ms every 5s''; may be repeated')
            [CompletionResult]::new('--rate', '--rate', [CompletionResultType]::ParameterName, 'The constant rate at which the tool is to send requests, if it has one; the waits of open users are then counted from the instants at which requests were due; none if absent')
            [CompletionResult]::new('--as', '--as', [CompletionResultType]::ParameterName, 'The tool whose report to read, if the program has another name: wrk, wrk2, ab, h2load, httperf, k6, oha, locust, jmeter or csv; by the program''s name if absent')
            [CompletionResult]::new('--report', '--report', [CompletionResultType]::ParameterName, 'A file that the tool writes its report to; may be repeated. Those of JMeter, Locust, k6 and oha are found in their arguments')
            [CompletionResult]::new('--tolerance', '--tolerance', [CompletionResultType]::ParameterName, 'The largest relative error with which a figure agrees; times may always be off by 40 µs')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Where to put the capture, the tool''s output, audit.json and audit.html; farfield-runs/TIME-audit-TOOL if absent')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'Where to put the capture, the tool''s output, audit.json and audit.html; farfield-runs/TIME-audit-TOOL if absent')
            [CompletionResult]::new('--page', '--page', [CompletionResultType]::ParameterName, 'Write the page into this file as well; only into the directory if absent')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'Format of standard output')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'farfield;import' {
            [CompletionResult]::new('--from', '--from', [CompletionResultType]::ParameterName, 'Kind of the file: curl, har, openapi, postman or jmeter; by its content if absent')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the scenario to FILE; to standard output if absent')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'Write the scenario to FILE; to standard output if absent')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the scenario to FILE; to standard output if absent')
            [CompletionResult]::new('--target', '--target', [CompletionResultType]::ParameterName, 'URL of the server to ask, and whose entries are taken; by default that of most entries')
            [CompletionResult]::new('--host', '--host', [CompletionResultType]::ParameterName, 'URL of a server whose entries are taken along, as a host of the scenario. May be repeated')
            [CompletionResult]::new('--value', '--value', [CompletionResultType]::ParameterName, 'Value of a variable of a collection, a plan or a command, or of a parameter or a security scheme of an OpenAPI document; ''${env.NAME}'' reads it from the environment when the scenario runs. May be repeated')
            [CompletionResult]::new('--all-methods', '--all-methods', [CompletionResultType]::ParameterName, 'Also ask for operations of an OpenAPI document that are no GET, which may change what the server stores')
            [CompletionResult]::new('--bind', '--bind', [CompletionResultType]::ParameterName, 'Take values of a HAR file that a reply contains and a later request repeats, such as tokens, from the reply, and leave recorded cookies that the server sets to the users; else they are only named')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'farfield;record' {
            [CompletionResult]::new('--host', '--host', [CompletionResultType]::ParameterName, 'URL of a server whose requests are recorded along, as a host of the scenario. May be repeated')
            [CompletionResult]::new('--listen', '--listen', [CompletionResultType]::ParameterName, 'Address of the proxy; whoever reaches it can use it. 127.0.0.1:8888, or another port if that is taken, if absent')
            [CompletionResult]::new('-d', '-d', [CompletionResultType]::ParameterName, 'Time after which the recording ends; at Ctrl-C, or with COMMAND, if absent')
            [CompletionResult]::new('--duration', '--duration', [CompletionResultType]::ParameterName, 'Time after which the recording ends; at Ctrl-C, or with COMMAND, if absent')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the scenario to FILE, and replace what is there; recorded.toml, which must not be there, if absent')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'Write the scenario to FILE, and replace what is there; recorded.toml, which must not be there, if absent')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the scenario to FILE, and replace what is there; recorded.toml, which must not be there, if absent')
            [CompletionResult]::new('--har', '--har', [CompletionResultType]::ParameterName, 'Write the HTTP Archive to FILE; beside the scenario if absent')
            [CompletionResult]::new('--ca-out', '--ca-out', [CompletionResultType]::ParameterName, 'Write the certificate of the recording''s own CA, for https servers, to FILE; beside the scenario if absent')
            [CompletionResult]::new('--cacert', '--cacert', [CompletionResultType]::ParameterName, 'PEM file of the CA of the server''s certificate; the system''s if absent')
            [CompletionResult]::new('--cert', '--cert', [CompletionResultType]::ParameterName, 'PEM file of the certificates that users have for an https server that asks for one; none if absent')
            [CompletionResult]::new('--key', '--key', [CompletionResultType]::ParameterName, 'PEM file of their private keys; that of the certificates if absent')
            [CompletionResult]::new('--reverse', '--reverse', [CompletionResultType]::ParameterName, 'Stand in the place of the server, for programs that know no proxy: requests to --listen are the server''s')
            [CompletionResult]::new('--no-bind', '--no-bind', [CompletionResultType]::ParameterName, 'Leave tokens and cookies as they were recorded, and only name those that replies contain; by default they are taken from the replies')
            [CompletionResult]::new('-k', '-k', [CompletionResultType]::ParameterName, 'Accept any certificate of the server; every output says so')
            [CompletionResult]::new('--insecure', '--insecure', [CompletionResultType]::ParameterName, 'Accept any certificate of the server; every output says so')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'farfield;export' {
            [CompletionResult]::new('--wsesslog', '--wsesslog', [CompletionResultType]::ParameterName, 'Write the sessions as httperf''s --wsesslog reads them; not if absent')
            [CompletionResult]::new('--gaps', '--gaps', [CompletionResultType]::ParameterName, 'Write the gaps between the starts of sessions, in seconds, one on each line; not if absent')
            [CompletionResult]::new('--csv', '--csv', [CompletionResultType]::ParameterName, 'Write a CSV table with a row for each request; not if absent')
            [CompletionResult]::new('-d', '-d', [CompletionResultType]::ParameterName, 'Length of the measured part; the scenario''s if absent')
            [CompletionResult]::new('--duration', '--duration', [CompletionResultType]::ParameterName, 'Length of the measured part; the scenario''s if absent')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'Seed of all random numbers [default: 1]')
            [CompletionResult]::new('--set', '--set', [CompletionResultType]::ParameterName, 'Any key of the scenario (`farfield help scenario`); may be repeated')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'farfield;advise' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('keepalive', 'keepalive', [CompletionResultType]::ParameterValue, 'Recommend a keep-alive timeout, for a server whose connections each hold a worker')
            break
        }
        'farfield;advise;keepalive' {
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'Layout of the lines, by default detected from the first of them: common, combined, extended, json, gn, caddy, traefik, google, ecs, vhost, alb, elb, s3, envoy, haproxy, squid; or a pattern with Apache''s directives or nginx''s variables, such as ''%h %l %u %t "%r" %>s %b''')
            [CompletionResult]::new('--transfer', '--transfer', [CompletionResultType]::ParameterName, 'Unit of a transfer time that follows the usual fields; in an extended log, the unit of time-taken, by default seconds, or milliseconds if its #Software line is Microsoft''s')
            [CompletionResult]::new('--field', '--field', [CompletionResultType]::ParameterName, 'A field of JSON lines, such as client=request.remote_ip; one of time, client, agent, method, path, request, referrer, status, bytes, transfer. May be repeated')
            [CompletionResult]::new('--t-min', '--t-min', [CompletionResultType]::ParameterName, 'A request sooner than this after the one before belongs to its page')
            [CompletionResult]::new('--t-max', '--t-max', [CompletionResultType]::ParameterName, 'A request later than this after the one before begins a session')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'Seed of all random choices')
            [CompletionResult]::new('--workers', '--workers', [CompletionResultType]::ParameterName, 'Workers of the server, each of which holds one connection')
            [CompletionResult]::new('--rtt', '--rtt', [CompletionResultType]::ParameterName, 'Round-trip time between users and the server')
            [CompletionResult]::new('--gain', '--gain', [CompletionResultType]::ParameterName, 'Extra time that a page takes on a new connection; by default two round trips')
            [CompletionResult]::new('--page', '--page', [CompletionResultType]::ParameterName, 'Time for which a page on a kept connection holds a worker; by default one round trip')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'The server''s present timeout, to compare with')
            [CompletionResult]::new('--keep-query', '--keep-query', [CompletionResultType]::ParameterName, 'Treat URLs that differ only in their query as different objects')
            [CompletionResult]::new('--stamped-at-end', '--stamped-at-end', [CompletionResultType]::ParameterName, 'The log''s times are the ends of requests, as nginx writes them')
            [CompletionResult]::new('--single-distributions', '--single-distributions', [CompletionResultType]::ParameterName, 'Try single distributions only, no mixtures, which is much faster')
            [CompletionResult]::new('--leavers-close', '--leavers-close', [CompletionResultType]::ParameterName, 'Users who leave close their connection; by default the timeout closes it')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'farfield;site' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('make', 'make', [CompletionResultType]::ParameterValue, 'Write the files of a site, each of exactly its size, for any web server to serve')
            [CompletionResult]::new('show', 'show', [CompletionResultType]::ParameterValue, 'Print a model that comes with farfield, as a start for your own')
            [CompletionResult]::new('read', 'read', [CompletionResultType]::ParameterValue, 'Describe a folder of files as a site: pages by their HTML, with what they embed and link to')
            [CompletionResult]::new('crawl', 'crawl', [CompletionResultType]::ParameterValue, 'Describe what a server serves as a site: follow links and embedded objects from a page, one request at a time')
            break
        }
        'farfield;site;make' {
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'Seed of the site, as `site-seed` in a scenario''s `[requests]`')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'farfield;site;show' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'farfield;site;read' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'The file for the site')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'The file for the site')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'farfield;site;crawl' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'The file for the site')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'The file for the site')
            [CompletionResult]::new('--objects-max', '--objects-max', [CompletionResultType]::ParameterName, 'Number of objects after which the crawl ends')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'farfield;help' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'farfield;schema' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'farfield;generate' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Completions for a shell')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'The man page of the program, or of a command')
            [CompletionResult]::new('commands', 'commands', [CompletionResultType]::ParameterValue, 'The commands that have man pages, a line each')
            break
        }
        'farfield;generate;completions' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'farfield;generate;man' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'farfield;generate;commands' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
