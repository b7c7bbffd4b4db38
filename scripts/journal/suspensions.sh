#!/usr/bin/env bash
# Suspensions: when the agent did not run, for how long, and what was missed.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: suspensions.sh [ARGUMENT OF journalctl]...

Lists the times in which the process did not run though it lived ("slept" is the machine's part
of it), those without samples, and what the watchdog was not told.
TEXT
}

# shellcheck source=scripts/journal/lib.sh
. "$(dirname -- "$0")/lib.sh"
take_arguments "$@"
# shellcheck disable=SC2016 # the variables are jq's
{
    printf 'time\twhat\tfor\tslept\tphase\tdetail\n'
    records "$kind_resume" "$kind_gap" "$kind_watchdog" | ask \
        --arg gap "$kind_gap" --arg watchdog "$kind_watchdog" '
        if .MESSAGE_ID == $gap then
            [time, "no samples", (number("GAP_USEC") | seconds), "-", text("PHASE"), text("DETAIL")]
        elif .MESSAGE_ID == $watchdog then
            [time, "stuck", (number("DURATION_USEC") | seconds), "-", text("PHASE"),
                "\(text("ACTOR")) in \(text("OPERATION"))"]
        else
            [time, "suspended", (number("GAP_USEC") | seconds),
                (number("SLEPT_USEC") | seconds), text("PHASE"), "-"]
        end | @tsv'
} | table
