# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_farfield_global_optspecs
    string join \n h/help V/version
end

function __fish_farfield_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_farfield_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_farfield_using_subcommand
    set -l cmd (__fish_farfield_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c farfield -n "__fish_farfield_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c farfield -n "__fish_farfield_needs_command" -s V -l version -d 'Print version'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "run" -d 'Load a server, and judge the result'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "capacity" -d 'Find what a server can take: the highest load that keeps goals, or its highest throughput'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "sweep" -d 'Make runs at many points, each repeated, and say what moves the result'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "experiment" -d 'Answer a question by a sweep: make its runs until its claims are decided'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "try" -d 'Run one session of a scenario once, and show what is sent, extracted and checked'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "serve" -d 'Run the built-in server, with the capacity and the faults that flags give it'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "shell" -d 'Run any program behind an emulated path to a server'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "route" -d 'Be the emulated network between clients and servers that somebody else runs'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "path" -d 'Measure the paths of clients, and compare them with what was asked for'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "report" -d 'Print the result of a run again, from its directory'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "compare" -d 'Compare runs: whether they differ, by how much, and with what confidence'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "runs" -d 'List the runs of a folder, with their verdicts and first figures'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "ui" -d 'Show runs in a browser, write scenarios, and start and stop runs'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "gather" -d 'Make one run of several processes, which join here: one start, one result'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "cluster" -d 'Make one run on several machines, by ssh or Kubernetes'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "merge" -d 'Make one run of the parts that several processes made'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "verify" -d 'Compare the samples of a run with the packets of a capture'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "doctor" -d 'Show what this machine allows, and how to allow more'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "fit" -d 'Fit models to an access log: a scenario with similar traffic, and a report of how well it fits'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "audit" -d 'Run another load generator, and compare its report with the packets that it sent'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "import" -d 'Make a scenario from a curl command, a HAR file, an OpenAPI document, a Postman collection or a JMeter plan'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "record" -d 'Record what a browser or a program asks a server for, and make a scenario of it'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "export" -d 'Write the sessions that a scenario draws, for other load generators'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "advise" -d 'Advise on a server\'s settings, from an access log'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "site" -d 'Make sites from models, and describe the sites of folders and servers'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "help" -d 'Explain a command, or a key of the scenario, a check of the verdict, a metric'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "schema" -d 'Print the JSON schema of a scenario file, or of a result'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "generate" -d 'Print completions of shells, and man pages'
complete -c farfield -n "__fish_farfield_using_subcommand run" -s c -l users -d 'Users of a closed load, or the most of an open one at once [default: 10]' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -s R -l rate -d 'Open load: Poisson arrivals at this rate; a closed load if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l stages -d 'Users, or their rate, over time: 1m:100,5m:100,1m:0 or 1m:50/s,1m:0/s; one level if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -s d -l duration -d 'Length of the measured part; a number is of seconds [default: 10s]' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -s n -l requests -d 'End after this many requests, without a warm-up; no limit if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l sessions -d 'End after this many sessions, completed or broken off; without a warm-up, unless --warm-up sets one; no limit if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l think -d 'Think time: from the end of a page to the user\'s next [default: 0s]' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l warm-up -d 'Length of the warm-up, before the measured part [default: 1s]' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l cool-down -d 'Time for which the load goes on after the measured part; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l part -d 'Make this part of a run that several processes share, such as 2/3, or 3..5/16; auto takes the place that Slurm, MPI or Kubernetes give; all of it if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l start-at -d 'Start at this wall-clock time, such as 2026-12-01T09:30:00Z; as soon as all is ready if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l target -d 'URL of the server; the scenario\'s or the built-in server if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l plane -d 'Carrier of the traffic: sockets, emulated or simulated [default: sockets]' -r -f -a "sockets\t''
emulated\t''
simulated\t''"
complete -c farfield -n "__fish_farfield_using_subcommand run" -s X -l method -d 'Method of the request; GET if absent, or POST with a body' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -s H -l header -d 'A header of the request, `Name: value`; may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l body -d 'Body of the request, or `@FILE` for that of a file; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l http -d 'HTTP version: 1.0, 1.1, 2, 3, or auto as browsers do [default: auto]' -r -f -a "1.0\t''
1.1\t''
2\t''
3\t''
auto\t''"
complete -c farfield -n "__fish_farfield_using_subcommand run" -l policy -d 'Use of connections by users: one-request, persistent, early-close, pipelined, pipelined-early-close, multiplexed or shared-pool [default: persistent]' -r -f -a "one-request\t''
persistent\t''
early-close\t''
pipelined\t''
pipelined-early-close\t''
multiplexed\t''
shared-pool\t''"
complete -c farfield -n "__fish_farfield_using_subcommand run" -l parallel -d 'The most connections that a user has open at once [default: 1]' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l source -d 'Local addresses that connections come from, one after the other; may be repeated. If absent, all of 127.0.0.0/8 for a target there, and else as the kernel chooses' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l connect-to -d 'Connect to OTHER-HOST and OTHER-PORT in place of HOST and PORT, as curl does; requests, SNI and the certificate keep the name. What is empty is any, or as it was; may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l resolve -d 'Take ADDRESS, or several with commas between, for HOST, as curl does; may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l addresses -d 'Addresses of the target\'s name that connections go to: the first that answers, all in turn, or the one that the name has when a connection is opened [default: first]' -r -f -a "first\t''
all\t''
each-connection\t''"
complete -c farfield -n "__fish_farfield_using_subcommand run" -l unix-socket -d 'Connect to the Unix socket at PATH, or to @NAME, as curl does; the URL says host and path. If absent, TCP' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand run" -s x -l proxy -d 'Connect to the proxy at URL, `http://[user:password@]host:port`, as curl does: it is asked for http in absolute form, and for a tunnel (CONNECT) for https; no proxy if absent' -r -f
complete -c farfield -n "__fish_farfield_using_subcommand run" -l cacert -d 'PEM file of the CA of the server\'s certificate; the system\'s if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand run" -l cert -d 'PEM file of the certificates that users have for an https server that asks for one; none if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand run" -l key -d 'PEM file of their private keys; that of the certificates if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand run" -l rtt -d 'Round-trip time between clients and the server, emulated; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l access -d 'Access link of clients, such as dsl, fibre, 4g or modem-56k; none if absent' -r -f -a "modem-56k\t''
modem-33k\t''
t1\t''
wan\t''
satellite\t''
ethernet\t''
fibre\t''
dsl\t''
4g\t''
5g\t''
wifi\t''
geostationary\t''
low-orbit\t''
starlink\t''"
complete -c farfield -n "__fish_farfield_using_subcommand run" -l gateway -d 'Kind of gateway between clients and the server: auto, tun or packet; auto if absent' -r -f -a "auto\t''
tun\t''
packet\t''"
complete -c farfield -n "__fish_farfield_using_subcommand run" -l clients -d 'Emulated clients, each with an address and a path; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l shards -d 'Number of threads that share the emulated clients; 1 if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l server -d 'Command that starts the server; the built-in server if absent' -r -f -a "(__fish_complete_command)"
complete -c farfield -n "__fish_farfield_using_subcommand run" -l server-pid -d 'Process of a server that runs already, in a network namespace of its own; one is started, or reached by the URL, if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l server-netns -d 'Network namespace of a server that runs already: a name of `ip netns`, or a file; this one if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l container -d 'Container of a server that runs already; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l interface -d 'Network card that leads to a server on another machine; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l server-cpu -d 'The most processor time that the started server may take, in processors, such as 0.2; no limit if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l server-memory -d 'The most memory that the started server may take, such as 64MiB; no limit if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l server-user -d 'System user that the started server runs as; only root can set another; the one who runs farfield if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -s t -l workers -d 'Worker threads; by the number of processors if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l processors -d 'Processors that farfield runs on, such as 1 or 0,2; all that it may use if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l seed -d 'Seed of all random numbers [default: 1]' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l set -d 'Any key of the scenario (`farfield help scenario`); may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l beside -d 'Run COMMAND, by the shell `sh`, at a client of CLASS beside the emulated users, on the same network; it ends with the run; may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l shell -d 'Run your shell at a client of CLASS beside the emulated users, on this terminal; the run ends when you leave it; no shell if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l join -d 'Make a part of the run that `farfield gather` gathers at ADDRESS, which has the scenario; a run of its own if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l ticket -d 'File of the ticket that `farfield gather` made; FARFIELD_TOKEN if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand run" -l join-within -d 'Time for which the gatherer may not be there yet' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l repeats -d 'Repeat so often, each time with another seed; if absent a sweep does it 3 times, a run once' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l until -d 'Repeat until the mean is known so well: \'p99 ± 5%\'; not if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l repeats-max -d 'Repeat so often at most' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l length-max -d 'The longest measured part that runs are lengthened to where --until needs longer ones' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l budget -d 'The time for all repeats; none is begun that would probably not end in it; no limit if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l on -d 'Make each run by parts: local:N, ssh:HOST,HOST… or slurm:N; by this process alone if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l on-ssh -d 'The command that reaches a host of --on' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l on-listen -d 'Listen here for the parts of --on; at a free port, of any address unless all are local, if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l on-wait -d 'Time for all parts of a run of --on to come and be ready, also in a queue' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l threshold -d 'Exit with 99 unless \'p99<200ms\' (errors<1%, …); may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l abort -d 'End the run, and exit with 105, once this does not hold; may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l name -d 'Name of the run, in results and of its directory [default: run]' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l note -d 'Note on the run, which results and `farfield runs` show; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -s o -l out -d 'Where to put the run directory; farfield-runs/TIME-NAME if absent' -r -f -a "(__fish_complete_directories)"
complete -c farfield -n "__fish_farfield_using_subcommand run" -l samples -d 'Keep these samples: all, none, or a number k for every k-th [default: all]' -r -f -a "all\t''
none\t''"
complete -c farfield -n "__fish_farfield_using_subcommand run" -l metrics -d 'Serve the figures for Prometheus at /metrics while the run goes on: at a port of the loopback interface, or at the address given; not served if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l metrics-push -d 'Push the figures each second by Prometheus\' remote write; may be repeated' -r -f
complete -c farfield -n "__fish_farfield_using_subcommand run" -l metrics-otlp -d 'Push the figures each second by the OpenTelemetry Protocol (JSON over HTTP); may be repeated' -r -f
complete -c farfield -n "__fish_farfield_using_subcommand run" -l ui -d 'Show the run in a browser while it goes on, at a free port or the one given' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l format -d 'Format of standard output' -r -f -a "text\t'A summary that fits a terminal'
json\t'The summary as JSON, for pipes'
jsonl\t'The figures so far as a line of JSON each second, and a last line with the result, for programs'"
complete -c farfield -n "__fish_farfield_using_subcommand run" -l starts-only -d 'Start only the programs whose digest this is, as somebody has confirmed them in the workbench' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l with-parent -d 'End when this process does, which makes the run' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l set-aside -d 'Set seconds in which the machine was disturbed aside, and measure as much longer'
complete -c farfield -n "__fish_farfield_using_subcommand run" -s k -l insecure -d 'Accept any certificate of the server; every output says so'
complete -c farfield -n "__fish_farfield_using_subcommand run" -l capture -d 'Keep the packets between clients and server in capture.pcapng'
complete -c farfield -n "__fish_farfield_using_subcommand run" -l no-report -d 'Write no page of the run (report.html)'
complete -c farfield -n "__fish_farfield_using_subcommand run" -l no-monitor -d 'Do not monitor the server during the run'
complete -c farfield -n "__fish_farfield_using_subcommand run" -s q -l quiet -d 'Print no progress'
complete -c farfield -n "__fish_farfield_using_subcommand run" -s v -l verbose -d 'Print diagnostics too: lateness, threads and packets of farfield itself'
complete -c farfield -n "__fish_farfield_using_subcommand run" -l plain -d 'Print progress as a line each second, also on a terminal, instead of the live view'
complete -c farfield -n "__fish_farfield_using_subcommand run" -l show-scenario -d 'Print the scenario with its defaults and the flags, and run nothing'
complete -c farfield -n "__fish_farfield_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l slo -d 'Find the highest load that keeps these thresholds: \'p99<1s,errors<1%\'; --peak if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l peak -d 'Find the most that the server gives at any load: --peak=requests, or bytes; --slo if absent' -r -f -a "requests\t'Successful replies a second'
bytes\t'Bytes of bodies a second'"
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l from -d 'The load of the first trial; the scenario\'s if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l to -d 'The highest load that is tried; no limit if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l generator-limit -d 'The highest load that the generator can offer (`farfield doctor --limit`); no limit if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l budget -d 'The time for all trials' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l precision -d 'Half-width of the interval that is good enough' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -s d -l duration -d 'Length of a full trial\'s measured part; by default about budget / 30' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l warm-up -d 'Length of each trial\'s warm-up; the scenario\'s, or found from trials, if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -s o -l out -d 'The folder of trials; farfield-runs/TIME-NAME-capacity if absent' -r -f -a "(__fish_complete_directories)"
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l on -d 'Make each run by parts: local:N, ssh:HOST,HOST… or slurm:N; by this process alone if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l on-ssh -d 'The command that reaches a host of --on' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l on-listen -d 'Listen here for the parts of --on; at a free port, of any address unless all are local, if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l on-wait -d 'Time for all parts of a run of --on to come and be ready, also in a queue' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -s c -l users -d 'Users of a closed load: of the first trial, as --from; the scenario\'s if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l think -d 'Think time: from the end of a page to the user\'s next [default: 0s]' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l target -d 'URL of the server; the scenario\'s or the built-in server if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l plane -d 'Carrier of the traffic: sockets, emulated or simulated [default: sockets]' -r -f -a "sockets\t''
emulated\t''
simulated\t''"
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -s X -l method -d 'Method of the request; GET if absent, or POST with a body' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -s H -l header -d 'A header of the request, `Name: value`; may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l body -d 'Body of the request, or `@FILE` for that of a file; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l http -d 'HTTP version: 1.0, 1.1, 2, 3, or auto as browsers do [default: auto]' -r -f -a "1.0\t''
1.1\t''
2\t''
3\t''
auto\t''"
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l policy -d 'Use of connections by users: one-request, persistent, early-close, pipelined, pipelined-early-close, multiplexed or shared-pool [default: persistent]' -r -f -a "one-request\t''
persistent\t''
early-close\t''
pipelined\t''
pipelined-early-close\t''
multiplexed\t''
shared-pool\t''"
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l parallel -d 'The most connections that a user has open at once [default: 1]' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l source -d 'Local addresses that connections come from, one after the other; may be repeated. If absent, all of 127.0.0.0/8 for a target there, and else as the kernel chooses' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l connect-to -d 'Connect to OTHER-HOST and OTHER-PORT in place of HOST and PORT, as curl does; requests, SNI and the certificate keep the name. What is empty is any, or as it was; may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l resolve -d 'Take ADDRESS, or several with commas between, for HOST, as curl does; may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l addresses -d 'Addresses of the target\'s name that connections go to: the first that answers, all in turn, or the one that the name has when a connection is opened [default: first]' -r -f -a "first\t''
all\t''
each-connection\t''"
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l unix-socket -d 'Connect to the Unix socket at PATH, or to @NAME, as curl does; the URL says host and path. If absent, TCP' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -s x -l proxy -d 'Connect to the proxy at URL, `http://[user:password@]host:port`, as curl does: it is asked for http in absolute form, and for a tunnel (CONNECT) for https; no proxy if absent' -r -f
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l cacert -d 'PEM file of the CA of the server\'s certificate; the system\'s if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l cert -d 'PEM file of the certificates that users have for an https server that asks for one; none if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l key -d 'PEM file of their private keys; that of the certificates if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l rtt -d 'Round-trip time between clients and the server, emulated; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l access -d 'Access link of clients, such as dsl, fibre, 4g or modem-56k; none if absent' -r -f -a "modem-56k\t''
modem-33k\t''
t1\t''
wan\t''
satellite\t''
ethernet\t''
fibre\t''
dsl\t''
4g\t''
5g\t''
wifi\t''
geostationary\t''
low-orbit\t''
starlink\t''"
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l gateway -d 'Kind of gateway between clients and the server: auto, tun or packet; auto if absent' -r -f -a "auto\t''
tun\t''
packet\t''"
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l clients -d 'Emulated clients, each with an address and a path; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l shards -d 'Number of threads that share the emulated clients; 1 if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l server -d 'Command that starts the server; the built-in server if absent' -r -f -a "(__fish_complete_command)"
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l server-pid -d 'Process of a server that runs already, in a network namespace of its own; one is started, or reached by the URL, if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l server-netns -d 'Network namespace of a server that runs already: a name of `ip netns`, or a file; this one if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l container -d 'Container of a server that runs already; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l interface -d 'Network card that leads to a server on another machine; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l server-cpu -d 'The most processor time that the started server may take, in processors, such as 0.2; no limit if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l server-memory -d 'The most memory that the started server may take, such as 64MiB; no limit if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l server-user -d 'System user that the started server runs as; only root can set another; the one who runs farfield if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -s t -l workers -d 'Worker threads; by the number of processors if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l processors -d 'Processors that farfield runs on, such as 1 or 0,2; all that it may use if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l seed -d 'Seed of all random numbers [default: 1]' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l set -d 'Any key of the scenario (`farfield help scenario`); may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -l format -d 'Format of standard output' -r -f -a "text\t'A summary that fits a terminal'
json\t'The summary as JSON, for pipes'"
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -s k -l insecure -d 'Accept any certificate of the server; every output says so'
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -s q -l quiet -d 'Print no progress'
complete -c farfield -n "__fish_farfield_using_subcommand capacity" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l vary -d 'Vary this key, in all combinations with others; may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l points -d 'The points as CSV, keys in the first line; none if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l jobs -d 'Runs at once; if absent 1, or simulated as many as processors' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l metric -d 'A further metric: p95, mean(connect), …; may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -s o -l out -d 'The folder of the runs; farfield-runs/TIME-NAME-sweep if absent' -r -f -a "(__fish_complete_directories)"
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l repeats -d 'Repeat so often, each time with another seed; if absent a sweep does it 3 times, a run once' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l until -d 'Repeat until the mean is known so well: \'p99 ± 5%\'; not if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l repeats-max -d 'Repeat so often at most' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l length-max -d 'The longest measured part that runs are lengthened to where --until needs longer ones' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l budget -d 'The time for all repeats; none is begun that would probably not end in it; no limit if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l on -d 'Make each run by parts: local:N, ssh:HOST,HOST… or slurm:N; by this process alone if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l on-ssh -d 'The command that reaches a host of --on' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l on-listen -d 'Listen here for the parts of --on; at a free port, of any address unless all are local, if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l on-wait -d 'Time for all parts of a run of --on to come and be ready, also in a queue' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -s c -l users -d 'Users of a closed load, or the most of an open one at once [default: 10]' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -s R -l rate -d 'Open load: Poisson arrivals at this rate; a closed load if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l stages -d 'Users, or their rate, over time: 1m:100,5m:100,1m:0 or 1m:50/s,1m:0/s; one level if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -s d -l duration -d 'Length of the measured part; a number is of seconds [default: 10s]' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -s n -l requests -d 'End after this many requests, without a warm-up; no limit if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l sessions -d 'End after this many sessions, completed or broken off; without a warm-up, unless --warm-up sets one; no limit if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l think -d 'Think time: from the end of a page to the user\'s next [default: 0s]' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l warm-up -d 'Length of the warm-up, before the measured part [default: 1s]' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l cool-down -d 'Time for which the load goes on after the measured part; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l part -d 'Make this part of a run that several processes share, such as 2/3, or 3..5/16; auto takes the place that Slurm, MPI or Kubernetes give; all of it if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l start-at -d 'Start at this wall-clock time, such as 2026-12-01T09:30:00Z; as soon as all is ready if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l target -d 'URL of the server; the scenario\'s or the built-in server if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l plane -d 'Carrier of the traffic: sockets, emulated or simulated [default: sockets]' -r -f -a "sockets\t''
emulated\t''
simulated\t''"
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -s X -l method -d 'Method of the request; GET if absent, or POST with a body' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -s H -l header -d 'A header of the request, `Name: value`; may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l body -d 'Body of the request, or `@FILE` for that of a file; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l http -d 'HTTP version: 1.0, 1.1, 2, 3, or auto as browsers do [default: auto]' -r -f -a "1.0\t''
1.1\t''
2\t''
3\t''
auto\t''"
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l policy -d 'Use of connections by users: one-request, persistent, early-close, pipelined, pipelined-early-close, multiplexed or shared-pool [default: persistent]' -r -f -a "one-request\t''
persistent\t''
early-close\t''
pipelined\t''
pipelined-early-close\t''
multiplexed\t''
shared-pool\t''"
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l parallel -d 'The most connections that a user has open at once [default: 1]' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l source -d 'Local addresses that connections come from, one after the other; may be repeated. If absent, all of 127.0.0.0/8 for a target there, and else as the kernel chooses' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l connect-to -d 'Connect to OTHER-HOST and OTHER-PORT in place of HOST and PORT, as curl does; requests, SNI and the certificate keep the name. What is empty is any, or as it was; may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l resolve -d 'Take ADDRESS, or several with commas between, for HOST, as curl does; may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l addresses -d 'Addresses of the target\'s name that connections go to: the first that answers, all in turn, or the one that the name has when a connection is opened [default: first]' -r -f -a "first\t''
all\t''
each-connection\t''"
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l unix-socket -d 'Connect to the Unix socket at PATH, or to @NAME, as curl does; the URL says host and path. If absent, TCP' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -s x -l proxy -d 'Connect to the proxy at URL, `http://[user:password@]host:port`, as curl does: it is asked for http in absolute form, and for a tunnel (CONNECT) for https; no proxy if absent' -r -f
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l cacert -d 'PEM file of the CA of the server\'s certificate; the system\'s if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l cert -d 'PEM file of the certificates that users have for an https server that asks for one; none if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l key -d 'PEM file of their private keys; that of the certificates if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l rtt -d 'Round-trip time between clients and the server, emulated; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l access -d 'Access link of clients, such as dsl, fibre, 4g or modem-56k; none if absent' -r -f -a "modem-56k\t''
modem-33k\t''
t1\t''
wan\t''
satellite\t''
ethernet\t''
fibre\t''
dsl\t''
4g\t''
5g\t''
wifi\t''
geostationary\t''
low-orbit\t''
starlink\t''"
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l gateway -d 'Kind of gateway between clients and the server: auto, tun or packet; auto if absent' -r -f -a "auto\t''
tun\t''
packet\t''"
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l clients -d 'Emulated clients, each with an address and a path; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l shards -d 'Number of threads that share the emulated clients; 1 if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l server -d 'Command that starts the server; the built-in server if absent' -r -f -a "(__fish_complete_command)"
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l server-pid -d 'Process of a server that runs already, in a network namespace of its own; one is started, or reached by the URL, if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l server-netns -d 'Network namespace of a server that runs already: a name of `ip netns`, or a file; this one if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l container -d 'Container of a server that runs already; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l interface -d 'Network card that leads to a server on another machine; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l server-cpu -d 'The most processor time that the started server may take, in processors, such as 0.2; no limit if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l server-memory -d 'The most memory that the started server may take, such as 64MiB; no limit if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l server-user -d 'System user that the started server runs as; only root can set another; the one who runs farfield if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -s t -l workers -d 'Worker threads; by the number of processors if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l processors -d 'Processors that farfield runs on, such as 1 or 0,2; all that it may use if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l seed -d 'Seed of all random numbers [default: 1]' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l set -d 'Any key of the scenario (`farfield help scenario`); may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l format -d 'Format of standard output' -r -f -a "text\t'The points and what moves the result, on a terminal'
json\t'All of it as JSON'
csv\t'A row for each run, as CSV'"
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l one-at-a-time -d 'Vary one key at a time, from the first value of each'
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -l set-aside -d 'Set seconds in which the machine was disturbed aside, and measure as much longer'
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -s k -l insecure -d 'Accept any certificate of the server; every output says so'
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -s q -l quiet -d 'Print no progress'
complete -c farfield -n "__fish_farfield_using_subcommand sweep" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c farfield -n "__fish_farfield_using_subcommand experiment" -l recompute -d 'Make the pages of this experiment again from its runs, without a run; not if absent' -r -f -a "(__fish_complete_directories)"
complete -c farfield -n "__fish_farfield_using_subcommand experiment" -l budget -d 'The time for all runs; the question\'s if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand experiment" -s o -l out -d 'The folder of the runs and of what follows from them; farfield-runs/TIME-NAME if absent' -r -f -a "(__fish_complete_directories)"
complete -c farfield -n "__fish_farfield_using_subcommand experiment" -l on -d 'Make each run by parts: local:N, ssh:HOST,HOST… or slurm:N; by this process alone if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand experiment" -l on-ssh -d 'The command that reaches a host of --on' -r
complete -c farfield -n "__fish_farfield_using_subcommand experiment" -l on-listen -d 'Listen here for the parts of --on; at a free port, of any address unless all are local, if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand experiment" -l on-wait -d 'Time for all parts of a run of --on to come and be ready, also in a queue' -r
complete -c farfield -n "__fish_farfield_using_subcommand experiment" -l format -d 'Format of standard output' -r -f -a "text\t'The points and what moves the result, on a terminal'
json\t'All of it as JSON'
csv\t'A row for each run, as CSV'"
complete -c farfield -n "__fish_farfield_using_subcommand experiment" -l list -d 'List the questions that are built in'
complete -c farfield -n "__fish_farfield_using_subcommand experiment" -s q -l quiet -d 'Print no progress'
complete -c farfield -n "__fish_farfield_using_subcommand experiment" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c farfield -n "__fish_farfield_using_subcommand try" -l flow -d 'The flow whose session is tried; the first with states if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand try" -l target -d 'URL of the server; the scenario\'s or the built-in server if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand try" -l plane -d 'Carrier of the traffic: sockets, emulated or simulated [default: sockets]' -r -f -a "sockets\t''
emulated\t''
simulated\t''"
complete -c farfield -n "__fish_farfield_using_subcommand try" -s x -l proxy -d 'Connect to the proxy at URL, `http://[user:password@]host:port`, as curl does: it is asked for http in absolute form, and for a tunnel (CONNECT) for https; no proxy if absent' -r -f
complete -c farfield -n "__fish_farfield_using_subcommand try" -l cacert -d 'PEM file of the CA of the server\'s certificate; the system\'s if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand try" -l cert -d 'PEM file of the certificates that users have for an https server that asks for one; none if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand try" -l key -d 'PEM file of their private keys; that of the certificates if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand try" -l seed -d 'Seed of all random numbers [default: 1]' -r
complete -c farfield -n "__fish_farfield_using_subcommand try" -l set -d 'Any key of the scenario (`farfield help scenario`); may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand try" -l trace -d 'Show whole heads and bodies, up to 4000 characters of each'
complete -c farfield -n "__fish_farfield_using_subcommand try" -s k -l insecure -d 'Accept any certificate of the server; every output says so'
complete -c farfield -n "__fish_farfield_using_subcommand try" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l cert -d 'PEM file of the certificate to serve over TLS with; one is made if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l key -d 'PEM file of the certificate\'s key; the certificate\'s file if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand serve" -s t -l threads -d 'Number of event loops [default: 1]' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l service-time -d 'Time to serve each request [default: 0s]' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l servers -d 'The most requests served at once; the others wait; no limit if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l error-rate -d 'The share of requests answered with 503 [default: 0]' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l stall -d 'Serve nothing for a time in every period, such as \'500ms every 5s\'; no stalls if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l hiccup -d 'Serve nothing for a time, once, such as \'2s at 3s\' after the first request; not if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l slow-tail -d 'Take longer to serve a share of the requests, such as \'1% take 200ms\'; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l slow-start -d 'Take longer at first, and less and less so, such as \'100ms for 3s\'; not if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l accept-limit -d 'The most connections held at once; others wait in the kernel\'s accept queue; no limit if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l backlog -d 'Length of that queue [default: 4096]' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l keep-alive-timeout -d 'Time after which an idle connection is closed; never if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l keep-alive-requests -d 'The most requests served on one connection; no limit if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l seed -d 'Seed of the pages and of the errors [default: 1]' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l config -d 'Any key of a scenario\'s `origin` table, as TOML; other flags outrank it; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l tls -d 'Serve over TLS, with a certificate that is made at the start'
complete -c farfield -n "__fish_farfield_using_subcommand serve" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand shell" -l scenario -d 'Scenario with the network and the server; its load is not used; only flags if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand shell" -l as -d 'The class of clients whose path the program gets; the first if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand shell" -l beside -d 'Run COMMAND, by the shell `sh`, at a client of CLASS beside the program, on the same network; it ends with the program; may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand shell" -l rtt -d 'Round-trip time between clients and the server, emulated; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand shell" -l access -d 'Access link of clients, such as dsl, fibre, 4g or modem-56k; none if absent' -r -f -a "modem-56k\t''
modem-33k\t''
t1\t''
wan\t''
satellite\t''
ethernet\t''
fibre\t''
dsl\t''
4g\t''
5g\t''
wifi\t''
geostationary\t''
low-orbit\t''
starlink\t''"
complete -c farfield -n "__fish_farfield_using_subcommand shell" -l gateway -d 'Kind of gateway between clients and the server: auto, tun or packet; auto if absent' -r -f -a "auto\t''
tun\t''
packet\t''"
complete -c farfield -n "__fish_farfield_using_subcommand shell" -l server -d 'Command that starts the server; the built-in server if absent' -r -f -a "(__fish_complete_command)"
complete -c farfield -n "__fish_farfield_using_subcommand shell" -l server-pid -d 'Process of a server that runs already, in a network namespace of its own; one is started, or reached by the URL, if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand shell" -l server-netns -d 'Network namespace of a server that runs already: a name of `ip netns`, or a file; this one if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand shell" -l container -d 'Container of a server that runs already; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand shell" -l interface -d 'Network card that leads to a server on another machine; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand shell" -l seed -d 'Seed of all random numbers [default: 1]' -r
complete -c farfield -n "__fish_farfield_using_subcommand shell" -l set -d 'Any key of the scenario (`farfield help scenario`); may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand shell" -s q -l quiet -d 'Print nothing but what the program prints'
complete -c farfield -n "__fish_farfield_using_subcommand shell" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c farfield -n "__fish_farfield_using_subcommand route" -l clients-netns -d 'Network namespace of the clients: a name of `ip netns`, a file, or the number of a process in it; --between if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand route" -l server-netns -d 'Network namespace of the servers; --between if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand route" -l between -d 'Ethernet interfaces of this machine, to the clients\' link and to the servers\'; --client says who the clients are; network namespaces if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand route" -l client -d 'The class of the clients at these addresses, on their way to this target or to all; may be repeated. Without, all addresses of the clients\' namespace are of the first class' -r
complete -c farfield -n "__fish_farfield_using_subcommand route" -l scenario -d 'Scenario with the network; its server and its load are not used; only flags if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand route" -s d -l duration -d 'End after this time; by Ctrl-C if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand route" -l rtt -d 'Round-trip time between clients and the server, emulated; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand route" -l access -d 'Access link of clients, such as dsl, fibre, 4g or modem-56k; none if absent' -r -f -a "modem-56k\t''
modem-33k\t''
t1\t''
wan\t''
satellite\t''
ethernet\t''
fibre\t''
dsl\t''
4g\t''
5g\t''
wifi\t''
geostationary\t''
low-orbit\t''
starlink\t''"
complete -c farfield -n "__fish_farfield_using_subcommand route" -l gateway -d 'Kind of gateway between clients and the server: auto, tun or packet; auto if absent' -r -f -a "auto\t''
tun\t''
packet\t''"
complete -c farfield -n "__fish_farfield_using_subcommand route" -l seed -d 'Seed of all random numbers [default: 1]' -r
complete -c farfield -n "__fish_farfield_using_subcommand route" -l set -d 'Any key of the scenario (`farfield help scenario`); may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand route" -l counts -d 'Print counts each second'
complete -c farfield -n "__fish_farfield_using_subcommand route" -s q -l quiet -d 'Print nothing but mistakes'
complete -c farfield -n "__fish_farfield_using_subcommand route" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c farfield -n "__fish_farfield_using_subcommand path" -l scenario -d 'Scenario with the network; its server and its load are not used; only flags if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand path" -l as -d 'The class of clients whose path is measured; all, one after the other, if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand path" -l rtt -d 'Round-trip time between clients and the server, emulated; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand path" -l access -d 'Access link of clients, such as dsl, fibre, 4g or modem-56k; none if absent' -r -f -a "modem-56k\t''
modem-33k\t''
t1\t''
wan\t''
satellite\t''
ethernet\t''
fibre\t''
dsl\t''
4g\t''
5g\t''
wifi\t''
geostationary\t''
low-orbit\t''
starlink\t''"
complete -c farfield -n "__fish_farfield_using_subcommand path" -l gateway -d 'Kind of gateway between clients and the server: auto, tun or packet; auto if absent' -r -f -a "auto\t''
tun\t''
packet\t''"
complete -c farfield -n "__fish_farfield_using_subcommand path" -l seed -d 'Seed of all random numbers [default: 1]' -r
complete -c farfield -n "__fish_farfield_using_subcommand path" -l set -d 'Any key of the scenario (`farfield help scenario`); may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand path" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c farfield -n "__fish_farfield_using_subcommand report" -l format -d 'Content and format of standard output' -r -f -a "text\t'A summary that fits a terminal'
json\t'The summary as JSON'
csv\t'The samples as comma-separated values, a line for each request'
jsonl\t'The samples as JSON lines, an object for each request'
hdr\t'All histograms, as an interval log of HdrHistogram (V2)'
hgrm\t'The percentiles of one histogram, as HdrHistogram\'s tools plot them'
junit\t'The checks of the verdict and the thresholds, as JUnit\'s XML'
markdown\t'The result as Markdown, for a pull request'
html\t'The run as a page of HTML in one file, with charts'"
complete -c farfield -n "__fish_farfield_using_subcommand report" -l histogram -d 'The histogram of `--format hgrm`, by its tag in histograms.hlog' -r
complete -c farfield -n "__fish_farfield_using_subcommand report" -s o -l out -d 'Write to a file; to standard output if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand report" -s v -l verbose -d 'Print diagnostics too: lateness, threads and packets of farfield itself'
complete -c farfield -n "__fish_farfield_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c farfield -n "__fish_farfield_using_subcommand compare" -l metric -d 'A further metric: p95, p99(service), mean(connect), …; p99{mobile} is of a class, flow, host, stage or state of that name; may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand compare" -l fail-if -d 'Exit with 99 if a metric has changed by more than this, such as \'p99 +5%\' or \'rate -3%\', of errors in percentage points; may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand compare" -l format -d 'Format of standard output' -r -f -a "text\t'Text for a terminal'
markdown\t'Markdown, for a pull request'
html\t'A page of HTML in one file, without scripts'
json\t'All numbers as JSON'"
complete -c farfield -n "__fish_farfield_using_subcommand compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c farfield -n "__fish_farfield_using_subcommand runs" -l keep -d 'Remove none of the newest COUNT; by age alone if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand runs" -l older -d 'Remove none that began within this time, such as 30d or 12h; by number alone if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand runs" -l prune -d 'Remove old runs, by --keep, --older or both, without a question'
complete -c farfield -n "__fish_farfield_using_subcommand runs" -l dry-run -d 'Only say what --prune would remove'
complete -c farfield -n "__fish_farfield_using_subcommand runs" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand ui" -l scenarios -d 'The folder of scenario files' -r -f -a "(__fish_complete_directories)"
complete -c farfield -n "__fish_farfield_using_subcommand ui" -l listen -d 'A port of the loopback interface, a free one by default; or an address and a port, which other machines may reach' -r
complete -c farfield -n "__fish_farfield_using_subcommand ui" -l read-only -d 'Show runs and compare them; save no scenario, and start and stop no run'
complete -c farfield -n "__fish_farfield_using_subcommand ui" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand gather" -s c -l users -d 'Users of a closed load, or the most of an open one at once [default: 10]' -r
complete -c farfield -n "__fish_farfield_using_subcommand gather" -s R -l rate -d 'Open load: Poisson arrivals at this rate; a closed load if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand gather" -l stages -d 'Users, or their rate, over time: 1m:100,5m:100,1m:0 or 1m:50/s,1m:0/s; one level if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand gather" -s d -l duration -d 'Length of the measured part; a number is of seconds [default: 10s]' -r
complete -c farfield -n "__fish_farfield_using_subcommand gather" -s n -l requests -d 'End after this many requests, without a warm-up; no limit if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand gather" -l sessions -d 'End after this many sessions, completed or broken off; without a warm-up, unless --warm-up sets one; no limit if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand gather" -l think -d 'Think time: from the end of a page to the user\'s next [default: 0s]' -r
complete -c farfield -n "__fish_farfield_using_subcommand gather" -l warm-up -d 'Length of the warm-up, before the measured part [default: 1s]' -r
complete -c farfield -n "__fish_farfield_using_subcommand gather" -l cool-down -d 'Time for which the load goes on after the measured part; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand gather" -l part -d 'Make this part of a run that several processes share, such as 2/3, or 3..5/16; auto takes the place that Slurm, MPI or Kubernetes give; all of it if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand gather" -l start-at -d 'Start at this wall-clock time, such as 2026-12-01T09:30:00Z; as soon as all is ready if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand gather" -l target -d 'URL of the server; the scenario\'s or the built-in server if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand gather" -l plane -d 'Carrier of the traffic: sockets, emulated or simulated [default: sockets]' -r -f -a "sockets\t''
emulated\t''
simulated\t''"
complete -c farfield -n "__fish_farfield_using_subcommand gather" -l seed -d 'Seed of all random numbers [default: 1]' -r
complete -c farfield -n "__fish_farfield_using_subcommand gather" -l set -d 'Any key of the scenario (`farfield help scenario`); may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand gather" -l wait -d 'Time for all parts to come and be ready' -r
complete -c farfield -n "__fish_farfield_using_subcommand gather" -s o -l out -d 'Where to put the run directory of the whole; farfield-runs/TIME-NAME if absent' -r -f -a "(__fish_complete_directories)"
complete -c farfield -n "__fish_farfield_using_subcommand gather" -l format -d 'Format of standard output' -r -f -a "text\t'A summary that fits a terminal'
json\t'The summary as JSON, for pipes'"
complete -c farfield -n "__fish_farfield_using_subcommand gather" -l listen -d 'Listen for parts here: at a port of the loopback interface, or at the address given' -r
complete -c farfield -n "__fish_farfield_using_subcommand gather" -l ticket -d 'Write the ticket of the parts into this new file; it is printed if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand gather" -l key -d 'File of the gatherer\'s key, as `farfield cluster manifest` makes it; a new one if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand gather" -l parts -d 'Number of parts; by --weights if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand gather" -l weights -d 'Weights of parts that are not equal, such as 3,1,1, in place of their number; all equal if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand gather" -l set-aside -d 'Set seconds in which the machine was disturbed aside, and measure as much longer'
complete -c farfield -n "__fish_farfield_using_subcommand gather" -s q -l quiet -d 'Print no progress; parts that are lost are named all the same'
complete -c farfield -n "__fish_farfield_using_subcommand gather" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and not __fish_seen_subcommand_from run manifest" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and not __fish_seen_subcommand_from run manifest" -f -a "run" -d 'Make one run on several hosts, which are reached by ssh'
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and not __fish_seen_subcommand_from run manifest" -f -a "manifest" -d 'Print what Kubernetes needs to make one run by several pods'
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from run" -s c -l users -d 'Users of a closed load, or the most of an open one at once [default: 10]' -r
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from run" -s R -l rate -d 'Open load: Poisson arrivals at this rate; a closed load if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from run" -l stages -d 'Users, or their rate, over time: 1m:100,5m:100,1m:0 or 1m:50/s,1m:0/s; one level if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from run" -s d -l duration -d 'Length of the measured part; a number is of seconds [default: 10s]' -r
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from run" -s n -l requests -d 'End after this many requests, without a warm-up; no limit if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from run" -l sessions -d 'End after this many sessions, completed or broken off; without a warm-up, unless --warm-up sets one; no limit if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from run" -l think -d 'Think time: from the end of a page to the user\'s next [default: 0s]' -r
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from run" -l warm-up -d 'Length of the warm-up, before the measured part [default: 1s]' -r
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from run" -l cool-down -d 'Time for which the load goes on after the measured part; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from run" -l part -d 'Make this part of a run that several processes share, such as 2/3, or 3..5/16; auto takes the place that Slurm, MPI or Kubernetes give; all of it if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from run" -l start-at -d 'Start at this wall-clock time, such as 2026-12-01T09:30:00Z; as soon as all is ready if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from run" -l target -d 'URL of the server; the scenario\'s or the built-in server if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from run" -l plane -d 'Carrier of the traffic: sockets, emulated or simulated [default: sockets]' -r -f -a "sockets\t''
emulated\t''
simulated\t''"
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from run" -l seed -d 'Seed of all random numbers [default: 1]' -r
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from run" -l set -d 'Any key of the scenario (`farfield help scenario`); may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from run" -l wait -d 'Time for all parts to come and be ready' -r
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from run" -s o -l out -d 'Where to put the run directory of the whole; farfield-runs/TIME-NAME if absent' -r -f -a "(__fish_complete_directories)"
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from run" -l format -d 'Format of standard output' -r -f -a "text\t'A summary that fits a terminal'
json\t'The summary as JSON, for pipes'"
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from run" -l hosts -d 'Hosts of the parts, as ssh names them; a host that is named twice makes two parts' -r
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from run" -l ssh -d 'The command that reaches a host' -r
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from run" -l listen -d 'Listen for parts here; at any address and a free port if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from run" -l address -d 'Address of this machine that parts connect to; the one that they see their ssh come from if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from run" -l set-aside -d 'Set seconds in which the machine was disturbed aside, and measure as much longer'
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from run" -s q -l quiet -d 'Print no progress; parts that are lost are named all the same'
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from manifest" -s n -l parts -d 'Number of parts, a pod each' -r
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from manifest" -l image -d 'The image, which has farfield as its entry point' -r
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from manifest" -l name -d 'Name of all objects' -r
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from manifest" -l claim -d 'Claim of a persistent volume that the result is written to; it goes with the pod if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from manifest" -s o -l out -d 'Write into this new file, which its owner alone may read; standard output if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand cluster; and __fish_seen_subcommand_from manifest" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c farfield -n "__fish_farfield_using_subcommand merge" -s o -l out -d 'Where to put the run directory of the whole; farfield-runs/TIME-NAME if absent' -r -f -a "(__fish_complete_directories)"
complete -c farfield -n "__fish_farfield_using_subcommand merge" -l format -d 'Format of standard output' -r -f -a "text\t'A summary that fits a terminal'
json\t'The summary as JSON, for pipes'"
complete -c farfield -n "__fish_farfield_using_subcommand merge" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c farfield -n "__fish_farfield_using_subcommand verify" -l capture -d 'The capture file, pcapng or pcap, taken on this or another machine; the run\'s own if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand verify" -l format -d 'Format of standard output' -r -f -a "text\t'A summary that fits a terminal'
json\t'The summary as JSON, for pipes'"
complete -c farfield -n "__fish_farfield_using_subcommand verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c farfield -n "__fish_farfield_using_subcommand doctor" -l budget -d 'The time for that' -r
complete -c farfield -n "__fish_farfield_using_subcommand doctor" -l limit -d 'Measure the highest load that farfield itself can offer here, before its own server: that at which one generator and two get the same'
complete -c farfield -n "__fish_farfield_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand fit" -l format -d 'Layout of the lines, by default detected from the first of them: common, combined, extended, json, gn, caddy, traefik, google, ecs, vhost, alb, elb, s3, envoy, haproxy, squid; or a pattern with Apache\'s directives or nginx\'s variables, such as \'%h %l %u %t "%r" %>s %b\'' -r
complete -c farfield -n "__fish_farfield_using_subcommand fit" -l transfer -d 'Unit of a transfer time that follows the usual fields; in an extended log, the unit of time-taken, by default seconds, or milliseconds if its #Software line is Microsoft\'s' -r -f -a "seconds\t'Seconds'
milliseconds\t'Milliseconds'
microseconds\t'Microseconds'
nanoseconds\t'Nanoseconds'"
complete -c farfield -n "__fish_farfield_using_subcommand fit" -l field -d 'A field of JSON lines, such as client=request.remote_ip; one of time, client, agent, method, path, request, referrer, status, bytes, transfer. May be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand fit" -l t-min -d 'A request sooner than this after the one before belongs to its page' -r
complete -c farfield -n "__fish_farfield_using_subcommand fit" -l t-max -d 'A request later than this after the one before begins a session' -r
complete -c farfield -n "__fish_farfield_using_subcommand fit" -l seed -d 'Seed of all random choices' -r
complete -c farfield -n "__fish_farfield_using_subcommand fit" -s o -l out -d 'Folder for scenario.toml, site.json, fit.json and report.html; it may exist, but must contain none of these' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand fit" -l target -d 'URL of a server that has the log\'s own paths: the scenario then requests these. Without it, the scenario requests the site in site.json, which the built-in server serves, and any other server once `farfield site make` has written its files (absent: that site)' -r
complete -c farfield -n "__fish_farfield_using_subcommand fit" -l speed -d 'Factor by which sessions arrive, and users think, faster than in the log. By default 1, or more if ten minutes would then contain next to nothing' -r
complete -c farfield -n "__fish_farfield_using_subcommand fit" -l objects -d 'The most objects that the scenario and the site have; the most popular ones are kept' -r
complete -c farfield -n "__fish_farfield_using_subcommand fit" -l keep-query -d 'Treat URLs that differ only in their query as different objects'
complete -c farfield -n "__fish_farfield_using_subcommand fit" -l stamped-at-end -d 'The log\'s times are the ends of requests, as nginx writes them'
complete -c farfield -n "__fish_farfield_using_subcommand fit" -l single-distributions -d 'Try single distributions only, no mixtures, which is much faster'
complete -c farfield -n "__fish_farfield_using_subcommand fit" -l course -d 'Let the rate of sessions vary as in the log, for as long as the log; by default it is the mean, for ten minutes at most'
complete -c farfield -n "__fish_farfield_using_subcommand fit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c farfield -n "__fish_farfield_using_subcommand audit" -l server -d 'The server that the tool sends to, as a URL or as ADDRESS:PORT; by default from the tool\'s arguments' -r
complete -c farfield -n "__fish_farfield_using_subcommand audit" -l origin -d 'Start the built-in server, with this key of a scenario\'s `origin` table, such as \'stall=500ms every 5s\'; may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand audit" -l rate -d 'The constant rate at which the tool is to send requests, if it has one; the waits of open users are then counted from the instants at which requests were due; none if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand audit" -l as -d 'The tool whose report to read, if the program has another name: wrk, wrk2, ab, h2load, httperf, k6, oha, locust, jmeter or csv; by the program\'s name if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand audit" -l report -d 'A file that the tool writes its report to; may be repeated. Those of JMeter, Locust, k6 and oha are found in their arguments' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand audit" -l tolerance -d 'The largest relative error with which a figure agrees; times may always be off by 40 µs' -r
complete -c farfield -n "__fish_farfield_using_subcommand audit" -s o -l out -d 'Where to put the capture, the tool\'s output, audit.json and audit.html; farfield-runs/TIME-audit-TOOL if absent' -r -f -a "(__fish_complete_directories)"
complete -c farfield -n "__fish_farfield_using_subcommand audit" -l page -d 'Write the page into this file as well; only into the directory if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand audit" -l format -d 'Format of standard output' -r -f -a "text\t'A summary that fits a terminal'
json\t'The summary as JSON, for pipes'"
complete -c farfield -n "__fish_farfield_using_subcommand audit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c farfield -n "__fish_farfield_using_subcommand import" -l from -d 'Kind of the file: curl, har, openapi, postman or jmeter; by its content if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand import" -s o -l out -l output -d 'Write the scenario to FILE; to standard output if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand import" -l target -d 'URL of the server to ask, and whose entries are taken; by default that of most entries' -r
complete -c farfield -n "__fish_farfield_using_subcommand import" -l host -d 'URL of a server whose entries are taken along, as a host of the scenario. May be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand import" -l value -d 'Value of a variable of a collection, a plan or a command, or of a parameter or a security scheme of an OpenAPI document; \'${env.NAME}\' reads it from the environment when the scenario runs. May be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand import" -l all-methods -d 'Also ask for operations of an OpenAPI document that are no GET, which may change what the server stores'
complete -c farfield -n "__fish_farfield_using_subcommand import" -l bind -d 'Take values of a HAR file that a reply contains and a later request repeats, such as tokens, from the reply, and leave recorded cookies that the server sets to the users; else they are only named'
complete -c farfield -n "__fish_farfield_using_subcommand import" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand record" -l host -d 'URL of a server whose requests are recorded along, as a host of the scenario. May be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand record" -l listen -d 'Address of the proxy; whoever reaches it can use it. 127.0.0.1:8888, or another port if that is taken, if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand record" -s d -l duration -d 'Time after which the recording ends; at Ctrl-C, or with COMMAND, if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand record" -s o -l out -l output -d 'Write the scenario to FILE, and replace what is there; recorded.toml, which must not be there, if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand record" -l har -d 'Write the HTTP Archive to FILE; beside the scenario if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand record" -l ca-out -d 'Write the certificate of the recording\'s own CA, for https servers, to FILE; beside the scenario if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand record" -l cacert -d 'PEM file of the CA of the server\'s certificate; the system\'s if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand record" -l cert -d 'PEM file of the certificates that users have for an https server that asks for one; none if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand record" -l key -d 'PEM file of their private keys; that of the certificates if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand record" -l reverse -d 'Stand in the place of the server, for programs that know no proxy: requests to --listen are the server\'s'
complete -c farfield -n "__fish_farfield_using_subcommand record" -l no-bind -d 'Leave tokens and cookies as they were recorded, and only name those that replies contain; by default they are taken from the replies'
complete -c farfield -n "__fish_farfield_using_subcommand record" -s k -l insecure -d 'Accept any certificate of the server; every output says so'
complete -c farfield -n "__fish_farfield_using_subcommand record" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c farfield -n "__fish_farfield_using_subcommand export" -l wsesslog -d 'Write the sessions as httperf\'s --wsesslog reads them; not if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand export" -l gaps -d 'Write the gaps between the starts of sessions, in seconds, one on each line; not if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand export" -l csv -d 'Write a CSV table with a row for each request; not if absent' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand export" -s d -l duration -d 'Length of the measured part; the scenario\'s if absent' -r
complete -c farfield -n "__fish_farfield_using_subcommand export" -l seed -d 'Seed of all random numbers [default: 1]' -r
complete -c farfield -n "__fish_farfield_using_subcommand export" -l set -d 'Any key of the scenario (`farfield help scenario`); may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand export" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand advise; and not __fish_seen_subcommand_from keepalive" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand advise; and not __fish_seen_subcommand_from keepalive" -f -a "keepalive" -d 'Recommend a keep-alive timeout, for a server whose connections each hold a worker'
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l format -d 'Layout of the lines, by default detected from the first of them: common, combined, extended, json, gn, caddy, traefik, google, ecs, vhost, alb, elb, s3, envoy, haproxy, squid; or a pattern with Apache\'s directives or nginx\'s variables, such as \'%h %l %u %t "%r" %>s %b\'' -r
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l transfer -d 'Unit of a transfer time that follows the usual fields; in an extended log, the unit of time-taken, by default seconds, or milliseconds if its #Software line is Microsoft\'s' -r -f -a "seconds\t'Seconds'
milliseconds\t'Milliseconds'
microseconds\t'Microseconds'
nanoseconds\t'Nanoseconds'"
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l field -d 'A field of JSON lines, such as client=request.remote_ip; one of time, client, agent, method, path, request, referrer, status, bytes, transfer. May be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l t-min -d 'A request sooner than this after the one before belongs to its page' -r
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l t-max -d 'A request later than this after the one before begins a session' -r
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l seed -d 'Seed of all random choices' -r
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l workers -d 'Workers of the server, each of which holds one connection' -r
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l rtt -d 'Round-trip time between users and the server' -r
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l gain -d 'Extra time that a page takes on a new connection; by default two round trips' -r
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l page -d 'Time for which a page on a kept connection holds a worker; by default one round trip' -r
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l timeout -d 'The server\'s present timeout, to compare with' -r
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l keep-query -d 'Treat URLs that differ only in their query as different objects'
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l stamped-at-end -d 'The log\'s times are the ends of requests, as nginx writes them'
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l single-distributions -d 'Try single distributions only, no mixtures, which is much faster'
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l leavers-close -d 'Users who leave close their connection; by default the timeout closes it'
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c farfield -n "__fish_farfield_using_subcommand site; and not __fish_seen_subcommand_from make show read crawl" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand site; and not __fish_seen_subcommand_from make show read crawl" -f -a "make" -d 'Write the files of a site, each of exactly its size, for any web server to serve'
complete -c farfield -n "__fish_farfield_using_subcommand site; and not __fish_seen_subcommand_from make show read crawl" -f -a "show" -d 'Print a model that comes with farfield, as a start for your own'
complete -c farfield -n "__fish_farfield_using_subcommand site; and not __fish_seen_subcommand_from make show read crawl" -f -a "read" -d 'Describe a folder of files as a site: pages by their HTML, with what they embed and link to'
complete -c farfield -n "__fish_farfield_using_subcommand site; and not __fish_seen_subcommand_from make show read crawl" -f -a "crawl" -d 'Describe what a server serves as a site: follow links and embedded objects from a page, one request at a time'
complete -c farfield -n "__fish_farfield_using_subcommand site; and __fish_seen_subcommand_from make" -l seed -d 'Seed of the site, as `site-seed` in a scenario\'s `[requests]`' -r
complete -c farfield -n "__fish_farfield_using_subcommand site; and __fish_seen_subcommand_from make" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand site; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand site; and __fish_seen_subcommand_from read" -s o -l out -d 'The file for the site' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand site; and __fish_seen_subcommand_from read" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand site; and __fish_seen_subcommand_from crawl" -s o -l out -d 'The file for the site' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand site; and __fish_seen_subcommand_from crawl" -l objects-max -d 'Number of objects after which the crawl ends' -r
complete -c farfield -n "__fish_farfield_using_subcommand site; and __fish_seen_subcommand_from crawl" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand help" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand schema" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c farfield -n "__fish_farfield_using_subcommand generate; and not __fish_seen_subcommand_from completions man commands" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand generate; and not __fish_seen_subcommand_from completions man commands" -f -a "completions" -d 'Completions for a shell'
complete -c farfield -n "__fish_farfield_using_subcommand generate; and not __fish_seen_subcommand_from completions man commands" -f -a "man" -d 'The man page of the program, or of a command'
complete -c farfield -n "__fish_farfield_using_subcommand generate; and not __fish_seen_subcommand_from completions man commands" -f -a "commands" -d 'The commands that have man pages, a line each'
complete -c farfield -n "__fish_farfield_using_subcommand generate; and __fish_seen_subcommand_from completions" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand generate; and __fish_seen_subcommand_from man" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand generate; and __fish_seen_subcommand_from commands" -s h -l help -d 'Print help'
