# shellcheck shell=bash disable=SC2034 # the scripts that source this use its variables
# What the scripts beside this share. Sourced, never run.

# The kinds of record, by their MESSAGE_ID: docs/telemetry.md has them all.
kind_push=4abf98c43ade5ca818f6542d7e3fc668
kind_snapshot=9b348050552c62a23dec344bef0f48a7
kind_resume=fe7b9a4a1ec2e3cdfc034138e0a29b17
kind_gap=61290228aff5d7a97666d0fbd61c16bd
kind_watchdog=bfa8a5156be47265aaee7f8a6a365be9
kind_lineage=6ffc5cc8deba12318c971295675fed28
kind_custody_lost=4f5dd238c47224b290af26b7b94cd299
kind_backlog=c6a8eeab19527e841cfa476a53a26a34
kind_start=6cff50133c841e08f7e7c46b87fe89e9

# Says --help, and leaves what is for journalctl in "selection".
take_arguments() {
    case ${1-} in
        --help | -h)
            usage
            cat <<'TEXT'

Arguments are journalctl's: --since -1d, --until, -u dormouse-agent, -D DIRECTORY, or a match such
as DORMOUSE_DATABASE=/var/lib/dormouse/health.db. Left out: all that there is, of every database.
Reads the fields of journald and nothing else. Needs jq.
TEXT
            exit
            ;;
    esac
    command -v jq >/dev/null || {
        echo 'error: no jq (on Debian: apt-get install jq)' >&2
        exit 1
    }
    selection=("$@")
}

# Prints records of some kinds as JSON, one a line, the oldest first.
records() {
    journalctl --quiet --output json "${selection[@]}" "${@/#/MESSAGE_ID=}"
}

# Runs a jq program over the records on standard input, with some words to say things in.
ask() {
    jq --raw-output "${@:1:$#-1}" '
        def number(name): (.["DORMOUSE_" + name] // "0") | tonumber;
        def text(name): .["DORMOUSE_" + name] // "-";
        def stamp: (.__REALTIME_TIMESTAMP | tonumber) / 1000000;
        def time: stamp | strflocaltime("%F %T");
        def day: stamp | strflocaltime("%F");
        def seconds: . / 1000000 | if . < 10 then . * 1000 | round / 1000 else round end | "\(.) s";
        def size:
            if . < 1000 then "\(.) B"
            elif . < 1000000 then "\(. / 100 | round / 10) kB"
            elif . < 1000000000 then "\(. / 100000 | round / 10) MB"
            else "\(. / 100000000 | round / 10) GB" end;
        '"${!#}"
}

# Lines up what is separated by tabs; the first line is the head.
table() {
    awk -F '\t' '
        { for (i = 1; i <= NF; i++) { cell[NR, i] = $i; if (length($i) > width[i]) width[i] = length($i) } }
        { fields[NR] = NF }
        END {
            for (row = 1; row <= NR; row++) {
                line = ""
                for (i = 1; i <= fields[row]; i++) line = line sprintf("%-" width[i] "s  ", cell[row, i])
                sub(/ +$/, "", line)
                print line
            }
        }'
}
