#!/usr/bin/env bash
# Streak history: from when to when pushes failed in a row, how often, why, and what ended it.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: streaks.sh [ARGUMENT OF journalctl]...

Lists the times in which pushes failed in a row. "ended by" is the first push that worked again;
"-" where none has.
TEXT
}

# shellcheck source=scripts/journal/lib.sh
. "$(dirname -- "$0")/lib.sh"
take_arguments "$@"
# shellcheck disable=SC2016 # the variables are jq's
{
    printf 'from\tto\tfailed\treasons\towed at most\tended by\n'
    records "$kind_push" | ask --slurp '
        def failed: text("OUTCOME") | IN("retryable", "unavailable");
        group_by(text("DATABASE"))[] | reduce .[] as $push ({streaks: [], open: null};
            if ($push | failed) then .open += [$push]
            elif .open then .streaks += [{pushes: .open, end: $push}] | .open = null
            else . end)
        | (.streaks + if .open then [{pushes: .open, end: null}] else [] end)[]
        | [
            (.pushes[0] | time), (.pushes[-1] | time), (.pushes | length),
            (.pushes | map(text("REASON")) | unique | join(", ")),
            (.pushes | map(number("BACKLOG_BYTES")) | max | size),
            if .end then .end | "\(text("SYNC_KIND")), \(number("BYTES") | size)" else "-" end
        ] | @tsv'
} | table
