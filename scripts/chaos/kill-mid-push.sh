#!/usr/bin/env bash
# Kills an agent in the middle of a push.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: kill-mid-push.sh [--unit UNIT] [--signal NAME] [--times N]

Asks the agent for a push, holds the push in its middle by taking the network away from the
service, kills the service (SIGKILL unless another signal is named), gives the network back and
waits until systemd has started it again. The destination has to be reached over the network.
TEXT
}

# shellcheck source=scripts/chaos/lib.sh
. "$(dirname -- "$0")/lib.sh"
signal=SIGKILL
times=1
while (($#)); do
    case $1 in
        --unit) unit=${2:?}; shift ;;
        --signal) signal=${2:?}; shift ;;
        --times) times=${2:?}; shift ;;
        --help | -h) usage; exit ;;
        *) misused "unknown argument: $1" ;;
    esac
    shift
done

undo() {
    network_on
}

require_running
undo_on_exit
for ((time = 1; time <= times; time++)); do
    before=$(main_pid)
    network_off
    # Answered at the end of the push, which this one does not reach.
    ctl push >/dev/null 2>&1 &
    until ctl status | grep -q '"pushing": *true'; do sleep 0.05; done
    systemctl kill --kill-whom=main --signal="$signal" "$unit"
    network_on
    say "killed process $before by $signal in a push"
    until is_relaunched "$before"; do sleep 0.1; done
    wait
    report
done
