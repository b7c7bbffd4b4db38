#!/usr/bin/env bash
# Bytes a day: what was shipped, how much of it as whole databases, and how many pushes it took.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: bytes.sh [ARGUMENT OF journalctl]...

Adds up what pushes shipped, day by day (local time). "snapshots" is the part that was shipped by
pushes that had to be of whole databases.
TEXT
}

# shellcheck source=scripts/journal/lib.sh
. "$(dirname -- "$0")/lib.sh"
take_arguments "$@"
{
    printf 'day\tpushes\tfailed\tfiles\tbytes\tsnapshots\n'
    records "$kind_push" | ask --slurp '
        group_by(day)[] | [
            (.[0] | day), length, (map(select(number("STREAK") > 0)) | length),
            (map(number("FILES")) | add), (map(number("BYTES")) | add | size),
            (map(select(text("SYNC_KIND") == "snapshot") | number("BYTES")) | add // 0 | size)
        ] | @tsv'
} | table
