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
complete -c farfield -n "__fish_farfield_needs_command" -f -a "try" -d 'Go through one session of a scenario, and show what is sent, extracted and checked'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "serve" -d 'Serve generated pages: a server to try things on, as slow and as narrow as you say'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "report" -d 'Print the result of a run again, from its directory'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "doctor" -d 'Show what this machine allows, and how to allow more'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "fit" -d 'Make a scenario like the traffic in an access log, and show how like it is'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "advise" -d 'Advise on a server\'s settings, from an access log'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "site" -d 'Make sites to serve, from models, and take folders of files as sites'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "generate" -d 'Print shell completions, the man page or the summary\'s schema'
complete -c farfield -n "__fish_farfield_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c farfield -n "__fish_farfield_using_subcommand run" -s c -l users -d 'Users: how many a closed load has, or how many an open load may have at once' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -s d -l duration -d 'How long to measure' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -s R -l rate -d 'Open load: pages arrive at this rate, as a Poisson process' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -s n -l requests -d 'End after so many requests, without a warm-up unless one is asked for' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l sessions -d 'End after so many sessions, completed or broken off, without a warm-up unless one is asked for' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -s t -l workers -d 'Worker threads' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l warm-up -d 'How long to warm up before measuring' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l think -d 'How long a user thinks between pages' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l target -d 'The server, where the scenario names none or another' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l policy -d 'When connections are used again: one-request, persistent, early-close, pipelined or pipelined-early-close' -r -f -a "one-request\t''
persistent\t''
early-close\t''
pipelined\t''
pipelined-early-close\t''"
complete -c farfield -n "__fish_farfield_using_subcommand run" -l parallel -d 'Connections a user opens at most at once' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l plane -d 'What carries the bytes: sockets, emulated or simulated' -r -f -a "sockets\t''
emulated\t''
simulated\t''"
complete -c farfield -n "__fish_farfield_using_subcommand run" -l clients -d 'Emulated clients, each with an address and a path of its own; the default plane is then emulated' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l rtt -d 'The round trip between emulated clients and the server' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l access -d 'The access link of emulated clients, such as dsl, fibre, 4g or modem-56k' -r -f -a "modem-56k\t''
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
low-orbit\t''"
complete -c farfield -n "__fish_farfield_using_subcommand run" -l server -d 'The command that starts the server before emulated clients' -r -f -a "(__fish_complete_command)"
complete -c farfield -n "__fish_farfield_using_subcommand run" -l server-cpu -d 'Processors that this server may take at most, such as 0.2' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l server-memory -d 'Memory that this server may take at most, such as 64MiB' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l server-user -d 'The user that this server runs as, where root starts it' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l shards -d 'Threads that emulated clients are dealt out over' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l gateway -d 'What the gateway between emulated clients and the server is made of: auto, tun or packet' -r -f -a "auto\t''
tun\t''
packet\t''"
complete -c farfield -n "__fish_farfield_using_subcommand run" -l http -d 'The version that requests announce: 1.0 or 1.1' -r -f -a "1.0\t''
1.1\t''"
complete -c farfield -n "__fish_farfield_using_subcommand run" -s X -l method -d 'The request\'s method' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -s H -l header -d 'A header of the request, `Name: value`; may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l body -d 'The request\'s body; `@FILE` for what is in a file' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l source -d 'Addresses that clients connect from, in turn; may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l processors -d 'Processors that farfield keeps to, such as 1 or 0,2' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l seed -d 'The seed of all random numbers' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l set -d 'Sets any key of the scenario' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l threshold -d 'Exit with 99 unless this holds of the result, such as \'p99<200ms\' or \'errors<0.1%\'; may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -l abort -d 'End the run, and exit with 105, once this is broken; may be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand run" -s o -l out -d 'Where to put the run directory; it must hold no run yet' -r -f -a "(__fish_complete_directories)"
complete -c farfield -n "__fish_farfield_using_subcommand run" -l samples -d 'Which samples to keep: all, none, or a number k for every k-th' -r -f -a "all\t''
none\t''"
complete -c farfield -n "__fish_farfield_using_subcommand run" -l format -d 'What to print on standard output' -r -f -a "text\t'A summary that fits a terminal'
json\t'The summary as JSON, for pipes'"
complete -c farfield -n "__fish_farfield_using_subcommand run" -l capture -d 'Keep the packets between emulated clients and the server in capture.pcapng'
complete -c farfield -n "__fish_farfield_using_subcommand run" -s q -l quiet -d 'Print no progress'
complete -c farfield -n "__fish_farfield_using_subcommand run" -l show-scenario -d 'Print the scenario with its defaults and the flags, and run nothing'
complete -c farfield -n "__fish_farfield_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c farfield -n "__fish_farfield_using_subcommand try" -l target -d 'The server, where the scenario names none or another' -r
complete -c farfield -n "__fish_farfield_using_subcommand try" -l plane -d 'What carries the bytes: sockets, emulated or simulated' -r -f -a "sockets\t''
emulated\t''
simulated\t''"
complete -c farfield -n "__fish_farfield_using_subcommand try" -l seed -d 'The seed of all random numbers' -r
complete -c farfield -n "__fish_farfield_using_subcommand try" -l set -d 'Sets any key of the scenario' -r
complete -c farfield -n "__fish_farfield_using_subcommand try" -l trace -d 'Show whole heads and bodies, up to 4000 characters of each'
complete -c farfield -n "__fish_farfield_using_subcommand try" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand serve" -s t -l threads -d 'Event loops' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l service-time -d 'How long each request takes to serve' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l servers -d 'Requests served at once at most; the others wait their turn' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l error-rate -d 'The share of requests answered with 503' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l accept-limit -d 'Connections held at once at most; the others wait in the kernel\'s accept queue' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l backlog -d 'The length of that queue' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l keep-alive-timeout -d 'How long an idle connection is kept' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l keep-alive-requests -d 'Requests served on one connection at most' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l seed -d 'The seed of the pages and of the errors' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -l config -d 'Any key of a scenario\'s `origin` table, as TOML; other flags outrank it' -r
complete -c farfield -n "__fish_farfield_using_subcommand serve" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand report" -l format -d 'What to print' -r -f -a "text\t'A summary that fits a terminal'
json\t'The summary as JSON, for pipes'"
complete -c farfield -n "__fish_farfield_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c farfield -n "__fish_farfield_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand fit" -l format -d 'The layout of the lines; by default detected from the first of them' -r -f -a "common\t'The Common Log Format'
combined\t'Common, with the referrer and the user agent'
extended\t'The W3C\'s Extended Log File Format'
json\t'A JSON object a line'
gn\t'The GN/WN server\'s'"
complete -c farfield -n "__fish_farfield_using_subcommand fit" -l transfer -d 'The unit of a transfer time behind the usual fields; in an extended log the unit of time-taken, by default seconds, or milliseconds where its #Software line is Microsoft\'s' -r -f -a "seconds\t'Seconds'
milliseconds\t'Milliseconds'
microseconds\t'Microseconds'"
complete -c farfield -n "__fish_farfield_using_subcommand fit" -l field -d 'A field of JSON lines, such as client=request.remote_ip; one of time, client, agent, method, path, request, referrer, status, bytes, transfer. May be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand fit" -l t-min -d 'A request sooner than this after the one before belongs to its page' -r
complete -c farfield -n "__fish_farfield_using_subcommand fit" -l t-max -d 'A request later than this after the one before begins a session' -r
complete -c farfield -n "__fish_farfield_using_subcommand fit" -l seed -d 'The seed of all random choices' -r
complete -c farfield -n "__fish_farfield_using_subcommand fit" -s o -l out -d 'The folder for scenario.toml, site.json, fit.json and report.html; it may exist and must hold none of them' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand fit" -l target -d 'The server that has the log\'s own paths, which the scenario then asks for. Without one it asks for the site that is written, which the built-in server serves, and any other once farfield site make has made files of it' -r
complete -c farfield -n "__fish_farfield_using_subcommand fit" -l speed -d 'How much faster than in the log sessions come and users think; by default as in the log, or faster where that would show next to nothing in ten minutes' -r
complete -c farfield -n "__fish_farfield_using_subcommand fit" -l objects -d 'The objects that the scenario and the site have at most, the most popular ones' -r
complete -c farfield -n "__fish_farfield_using_subcommand fit" -l keep-query -d 'Requests that differ behind the ? are for different objects'
complete -c farfield -n "__fish_farfield_using_subcommand fit" -l stamped-at-end -d 'The log\'s times are those of requests\' ends, as nginx writes them'
complete -c farfield -n "__fish_farfield_using_subcommand fit" -l single-laws -d 'Try single distributions only, no mixtures: a quick look'
complete -c farfield -n "__fish_farfield_using_subcommand fit" -l course -d 'The rate of sessions moves as it did over the log, and the run lasts as long; by default it is the mean, for ten minutes at most'
complete -c farfield -n "__fish_farfield_using_subcommand fit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c farfield -n "__fish_farfield_using_subcommand advise; and not __fish_seen_subcommand_from keepalive help" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand advise; and not __fish_seen_subcommand_from keepalive help" -f -a "keepalive" -d 'How long a server whose connections each hold a worker should keep idle ones'
complete -c farfield -n "__fish_farfield_using_subcommand advise; and not __fish_seen_subcommand_from keepalive help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l format -d 'The layout of the lines; by default detected from the first of them' -r -f -a "common\t'The Common Log Format'
combined\t'Common, with the referrer and the user agent'
extended\t'The W3C\'s Extended Log File Format'
json\t'A JSON object a line'
gn\t'The GN/WN server\'s'"
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l transfer -d 'The unit of a transfer time behind the usual fields; in an extended log the unit of time-taken, by default seconds, or milliseconds where its #Software line is Microsoft\'s' -r -f -a "seconds\t'Seconds'
milliseconds\t'Milliseconds'
microseconds\t'Microseconds'"
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l field -d 'A field of JSON lines, such as client=request.remote_ip; one of time, client, agent, method, path, request, referrer, status, bytes, transfer. May be repeated' -r
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l t-min -d 'A request sooner than this after the one before belongs to its page' -r
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l t-max -d 'A request later than this after the one before begins a session' -r
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l seed -d 'The seed of all random choices' -r
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l workers -d 'Workers of the server, each of which holds one connection' -r
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l rtt -d 'The round trip between users and the server' -r
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l gain -d 'What a page takes longer on a new connection; by default two round trips' -r
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l page -d 'How long a page on a kept connection holds a worker; by default one round trip' -r
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l timeout -d 'The server\'s present timeout, to compare with' -r
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l keep-query -d 'Requests that differ behind the ? are for different objects'
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l stamped-at-end -d 'The log\'s times are those of requests\' ends, as nginx writes them'
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l single-laws -d 'Try single distributions only, no mixtures: a quick look'
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -l leavers-close -d 'Users who leave close their connection; by default the timeout closes it'
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from keepalive" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from help" -f -a "keepalive" -d 'How long a server whose connections each hold a worker should keep idle ones'
complete -c farfield -n "__fish_farfield_using_subcommand advise; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c farfield -n "__fish_farfield_using_subcommand site; and not __fish_seen_subcommand_from make show read crawl help" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand site; and not __fish_seen_subcommand_from make show read crawl help" -f -a "make" -d 'Write a site as files of exactly its sizes, for any web server to serve'
complete -c farfield -n "__fish_farfield_using_subcommand site; and not __fish_seen_subcommand_from make show read crawl help" -f -a "show" -d 'Print a model that comes with farfield, to begin one\'s own with'
complete -c farfield -n "__fish_farfield_using_subcommand site; and not __fish_seen_subcommand_from make show read crawl help" -f -a "read" -d 'Take a folder of files as a site: pages by their HTML, with what they embed and link to'
complete -c farfield -n "__fish_farfield_using_subcommand site; and not __fish_seen_subcommand_from make show read crawl help" -f -a "crawl" -d 'Take what a server shows as a site: from a page along links and what pages embed, one request at a time'
complete -c farfield -n "__fish_farfield_using_subcommand site; and not __fish_seen_subcommand_from make show read crawl help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c farfield -n "__fish_farfield_using_subcommand site; and __fish_seen_subcommand_from make" -l seed -d 'The seed of the site, as `site-seed` of the requests' -r
complete -c farfield -n "__fish_farfield_using_subcommand site; and __fish_seen_subcommand_from make" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand site; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand site; and __fish_seen_subcommand_from read" -s o -l out -d 'The file for the site' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand site; and __fish_seen_subcommand_from read" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand site; and __fish_seen_subcommand_from crawl" -s o -l out -d 'The file for the site' -r -F
complete -c farfield -n "__fish_farfield_using_subcommand site; and __fish_seen_subcommand_from crawl" -l objects-max -d 'Objects after which the crawl ends' -r
complete -c farfield -n "__fish_farfield_using_subcommand site; and __fish_seen_subcommand_from crawl" -s h -l help -d 'Print help'
complete -c farfield -n "__fish_farfield_using_subcommand site; and __fish_seen_subcommand_from help" -f -a "make" -d 'Write a site as files of exactly its sizes, for any web server to serve'
complete -c farfield -n "__fish_farfield_using_subcommand site; and __fish_seen_subcommand_from help" -f -a "show" -d 'Print a model that comes with farfield, to begin one\'s own with'
complete -c farfield -n "__fish_farfield_using_subcommand site; and __fish_seen_subcommand_from help" -f -a "read" -d 'Take a folder of files as a site: pages by their HTML, with what they embed and link to'
complete -c farfield -n "__fish_farfield_using_subcommand site; and __fish_seen_subcommand_from help" -f -a "crawl" -d 'Take what a server shows as a site: from a page along links and what pages embed, one request at a time'
complete -c farfield -n "__fish_farfield_using_subcommand site; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
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
complete -c farfield -n "__fish_farfield_using_subcommand help; and not __fish_seen_subcommand_from run try serve report doctor fit advise site generate help" -f -a "run" -d 'Drive a server, and judge the result'
complete -c farfield -n "__fish_farfield_using_subcommand help; and not __fish_seen_subcommand_from run try serve report doctor fit advise site generate help" -f -a "try" -d 'Go through one session of a scenario, and show what is sent, extracted and checked'
complete -c farfield -n "__fish_farfield_using_subcommand help; and not __fish_seen_subcommand_from run try serve report doctor fit advise site generate help" -f -a "serve" -d 'Serve generated pages: a server to try things on, as slow and as narrow as you say'
complete -c farfield -n "__fish_farfield_using_subcommand help; and not __fish_seen_subcommand_from run try serve report doctor fit advise site generate help" -f -a "report" -d 'Print the result of a run again, from its directory'
complete -c farfield -n "__fish_farfield_using_subcommand help; and not __fish_seen_subcommand_from run try serve report doctor fit advise site generate help" -f -a "doctor" -d 'Show what this machine allows, and how to allow more'
complete -c farfield -n "__fish_farfield_using_subcommand help; and not __fish_seen_subcommand_from run try serve report doctor fit advise site generate help" -f -a "fit" -d 'Make a scenario like the traffic in an access log, and show how like it is'
complete -c farfield -n "__fish_farfield_using_subcommand help; and not __fish_seen_subcommand_from run try serve report doctor fit advise site generate help" -f -a "advise" -d 'Advise on a server\'s settings, from an access log'
complete -c farfield -n "__fish_farfield_using_subcommand help; and not __fish_seen_subcommand_from run try serve report doctor fit advise site generate help" -f -a "site" -d 'Make sites to serve, from models, and take folders of files as sites'
complete -c farfield -n "__fish_farfield_using_subcommand help; and not __fish_seen_subcommand_from run try serve report doctor fit advise site generate help" -f -a "generate" -d 'Print shell completions, the man page or the summary\'s schema'
complete -c farfield -n "__fish_farfield_using_subcommand help; and not __fish_seen_subcommand_from run try serve report doctor fit advise site generate help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c farfield -n "__fish_farfield_using_subcommand help; and __fish_seen_subcommand_from advise" -f -a "keepalive" -d 'How long a server whose connections each hold a worker should keep idle ones'
complete -c farfield -n "__fish_farfield_using_subcommand help; and __fish_seen_subcommand_from site" -f -a "make" -d 'Write a site as files of exactly its sizes, for any web server to serve'
complete -c farfield -n "__fish_farfield_using_subcommand help; and __fish_seen_subcommand_from site" -f -a "show" -d 'Print a model that comes with farfield, to begin one\'s own with'
complete -c farfield -n "__fish_farfield_using_subcommand help; and __fish_seen_subcommand_from site" -f -a "read" -d 'Take a folder of files as a site: pages by their HTML, with what they embed and link to'
complete -c farfield -n "__fish_farfield_using_subcommand help; and __fish_seen_subcommand_from site" -f -a "crawl" -d 'Take what a server shows as a site: from a page along links and what pages embed, one request at a time'
complete -c farfield -n "__fish_farfield_using_subcommand help; and __fish_seen_subcommand_from generate" -f -a "completions" -d 'Completions for a shell'
complete -c farfield -n "__fish_farfield_using_subcommand help; and __fish_seen_subcommand_from generate" -f -a "man" -d 'The man page'
complete -c farfield -n "__fish_farfield_using_subcommand help; and __fish_seen_subcommand_from generate" -f -a "schema" -d 'The JSON schema of summary.json'
