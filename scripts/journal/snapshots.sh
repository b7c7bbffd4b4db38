#!/usr/bin/env bash
# Snapshots with their reasons. The first of a database is needed; every other one has a cause.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: snapshots.sh [ARGUMENT OF journalctl]...

Lists every sync that had to ship the whole database, and why. docs/outcomes.md explains the
reasons; "journalctl -x MESSAGE_ID=9b348050552c62a23dec344bef0f48a7" says what to do.
TEXT
}

# shellcheck source=scripts/journal/lib.sh
. "$(dirname -- "$0")/lib.sh"
take_arguments "$@"
{
    printf 'time\treason\tpages\ttxid\tdatabase\n'
    records "$kind_snapshot" | ask '[
        time, text("SNAPSHOT_REASON"), text("PAGES"), text("TXID"), text("DATABASE")
    ] | @tsv'
} | table
