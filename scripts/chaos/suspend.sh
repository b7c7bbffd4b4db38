#!/usr/bin/env bash
# Suspends a running service for some seconds, as a phone does.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: suspend.sh [--unit UNIT] SECONDS

Stops every process of the service (SIGSTOP) for so long and lets it go on. Longer than its
WatchdogSec it is killed and started again: then there is one restart more.
TEXT
}

# shellcheck source=scripts/chaos/lib.sh
. "$(dirname -- "$0")/lib.sh"
seconds=
while (($#)); do
    case $1 in
        --unit) unit=${2:?}; shift ;;
        --help | -h) usage; exit ;;
        *) seconds=$1 ;;
    esac
    shift
done
[[ $seconds =~ ^[0-9]+(\.[0-9]+)?$ ]] || misused 'give the seconds'

undo() {
    systemctl kill --signal=SIGCONT "$unit" 2>/dev/null || true
}

require_running
undo_on_exit
report
systemctl kill --signal=SIGSTOP "$unit"
say "stopped for $seconds s"
sleep "$seconds"
undo
trap - EXIT
report
