#!/usr/bin/env bash
# Last outcomes: one line a push, also of those that failed or had nothing to ship.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: outcomes.sh [ARGUMENT OF journalctl]...

Lists pushes with their outcome, the oldest first. For the last 20: outcomes.sh -n 20
TEXT
}

# shellcheck source=scripts/journal/lib.sh
. "$(dirname -- "$0")/lib.sh"
take_arguments "$@"
{
    printf 'time\toutcome\treason\tsync\ttxid\tfiles\tbytes\tbacklog\tstreak\ttook\n'
    records "$kind_push" | ask '[
        time, text("OUTCOME"), text("REASON"), text("SYNC_KIND"), text("TXID"), text("FILES"),
        (number("BYTES") | size), (number("BACKLOG_BYTES") | size), text("STREAK"),
        (number("DURATION_USEC") | seconds)
    ] | @tsv'
} | table
