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
complete -c farfield -n "__fish_farfield_needs_command" -f -a "run" -d 'Drive a server, and judge the result'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "serve" -d 'Serve generated pages: a server to try things on, as slow and as narrow as you say'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "report" -d 'Print the result of a run again, from its directory'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "doctor" -d 'Tell what this machine allows, and how to allow more'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "generate" -d 'Print shell completions, the man page or the summary\'s schema'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c farfield -n "__fish_farfield_using_subcommand run" -s c -l users -d 'Users: how many a closed load has, or how many an open load may have at once' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -s d -l duration -d 'How long to measure' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -s R -l rate -d 'Open load: pages arrive at this rate, as a Poisson process' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -s n -l requests -d 'End after so many requests, without a warm-up unless one is asked for' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -s t -l workers -d 'Worker threads' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l warm-up -d 'How long to warm up before measuring' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l think -d 'How long a user thinks between pages' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l target -d 'The server, where the scenario names none or another' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l policy -d 'When connections are used again: one-request, persistent, early-close or pipelined' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l parallel -d 'Connections a user opens at most at once' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l plane -d 'What carries the bytes: sockets, emulated or simulated' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l clients -d 'Emulated clients, each with an address and a path of its own; the plane is then emulated unless you say' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l rtt -d 'The round trip between emulated clients and the server' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l access -d 'The access link of emulated clients, such as dsl, fibre, 4g or modem-56k' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l server -d 'The command that starts the server before emulated clients' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l shards -d 'Threads that emulated clients are dealt out over' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l gateway -d 'What the gateway between emulated clients and the server is made of: auto, tun or packet' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l http -d 'The version that requests announce: 1.0 or 1.1' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -s X -l method -d 'The request\'s method' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -s H -l header -d 'A header of the request, `Name: value`; may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l body -d 'The request\'s body' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l source -d 'Addresses that clients connect from, in turn; may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l processors -d 'Processors that farfield keeps to, such as 1 or 0,2' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l seed -d 'The seed that all chance comes from' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l set -d 'Sets any key of the scenario' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l threshold -d 'Exit with 99 unless this holds of the result, such as \'p99<200ms\' or \'errors<0.1%\'; may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l abort -d 'The same, and end the run with 105 once it is broken' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -s o -l out -d 'Where to put the run directory; it must hold no run yet' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand run" -l samples -d 'Which samples to keep: all, none, or a number k for every k-th' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l format -d 'What to print on standard output' -r -f -a "text\t'A summary that fits a terminal'
json\t'The summary as JSON, for pipes'"
complete -c farfield -n "__fish_farfield_using_subcommand run" -l capture -d 'Keep the packets between emulated clients and the server in capture.pcapng'
complete -c farfield -n "__fish_farfield_using_subcommand run" -s q -l quiet -d 'Print no progress'
complete -c farfield -n "__fish_farfield_using_subcommand run" -l show-scenario -d 'Print the scenario as farfield understands it, and run nothing'
complete -c farfield -n "__fish_farfield_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c farfield -n "__fish_farfield_using_subcommand serve" -s t -l threads -d 'Event loops' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l service-time -d 'How long each request takes to serve' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l servers -d 'Requests served at once at most; the others wait their turn' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l error-rate -d 'The share of requests answered with 503' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l accept-limit -d 'Connections held at once at most; the others wait in the kernel\'s accept queue' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l backlog -d 'The length of that queue' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l keep-alive-timeout -d 'How long an idle connection is kept' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l keep-alive-requests -d 'Requests served on one connection at most' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l seed -d 'The seed of the pages and of the errors' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l config -d 'All else that a scenario can say under `origin`, as TOML; other flags outrank it' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand report" -l format -d 'What to print' -r -f -a "text\t'A summary that fits a terminal'
json\t'The summary as JSON, for pipes'"
complete -c farfield -n "__fish_farfield_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c farfield -n "__fish_farfield_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand generate; and not __fish_seen_subcommand_from completions man schema help" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand generate; and not __fish_seen_subcommand_from completions man schema help" -f -a "completions" -d 'Completions for a shell'
complete -c farfield -n "__fish_farfield_using_subcommand generate; and not __fish_seen_subcommand_from completions man schema help" -f -a "man" -d 'The man page'
complete -c farfield -n "__fish_farfield_using_subcommand generate; and not __fish_seen_subcommand_from completions man schema help" -f -a "schema" -d 'The JSON schema of summary.json'
complete -c farfield -n "__fish_farfield_using_subcommand generate; and not __fish_seen_subcommand_from completions man schema help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c farfield -n "__fish_farfield_using_subcommand generate; and __fish_seen_subcommand_from completions" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand generate; and __fish_seen_subcommand_from man" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand generate; and __fish_seen_subcommand_from schema" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand generate; and __fish_seen_subcommand_from help" -f -a "completions" -d 'Completions for a shell'
complete -c farfield -n "__fish_farfield_using_subcommand generate; and __fish_seen_subcommand_from help" -f -a "man" -d 'The man page'
complete -c farfield -n "__fish_farfield_using_subcommand generate; and __fish_seen_subcommand_from help" -f -a "schema" -d 'The JSON schema of summary.json'
complete -c farfield -n "__fish_farfield_using_subcommand generate; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c farfield -n "__fish_farfield_using_subcommand help; and not __fish_seen_subcommand_from run serve report doctor generate help" -f -a "run" -d 'Drive a server, and judge the result'
complete -c farfield -n "__fish_farfield_using_subcommand help; and not __fish_seen_subcommand_from run serve report doctor generate help" -f -a "serve" -d 'Serve generated pages: a server to try things on, as slow and as narrow as you say'
complete -c farfield -n "__fish_farfield_using_subcommand help; and not __fish_seen_subcommand_from run serve report doctor generate help" -f -a "report" -d 'Print the result of a run again, from its directory'
complete -c farfield -n "__fish_farfield_using_subcommand help; and not __fish_seen_subcommand_from run serve report doctor generate help" -f -a "doctor" -d 'Tell what this machine allows, and how to allow more'
complete -c farfield -n "__fish_farfield_using_subcommand help; and not __fish_seen_subcommand_from run serve report doctor generate help" -f -a "generate" -d 'Print shell completions, the man page or the summary\'s schema'
complete -c farfield -n "__fish_farfield_using_subcommand help; and not __fish_seen_subcommand_from run serve report doctor generate help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c farfield -n "__fish_farfield_using_subcommand help; and __fish_seen_subcommand_from generate" -f -a "completions" -d 'Completions for a shell'
complete -c farfield -n "__fish_farfield_using_subcommand help; and __fish_seen_subcommand_from generate" -f -a "man" -d 'The man page'
complete -c farfield -n "__fish_farfield_using_subcommand help; and __fish_seen_subcommand_from generate" -f -a "schema" -d 'The JSON schema of summary.json'
