#!/usr/bin/env bash
# Takes the network away from a running service and gives it back, again and again.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: flap-network.sh [--unit UNIT] [--times N] [--down SECONDS] [--up SECONDS] [--link NAME]

Without --link the packets of this one service are dropped (IPAddressDeny=any), so its connections
stall as they do where there is no reception. With --link that interface goes down in the network
namespace of the service, so they break; a service without a namespace of its own
(NetworkNamespacePath= or PrivateNetwork= in its unit) is refused. Default: 3 times 5 s down, 5 s up.
TEXT
}

# shellcheck source=scripts/chaos/lib.sh
. "$(dirname -- "$0")/lib.sh"
times=3 down=5 up=5 link=
while (($#)); do
    case $1 in
        --unit) unit=${2:?}; shift ;;
        --times) times=${2:?}; shift ;;
        --down) down=${2:?}; shift ;;
        --up) up=${2:?}; shift ;;
        --link) link=${2:?}; shift ;;
        --help | -h) usage; exit ;;
        *) misused "unknown argument: $1" ;;
    esac
    shift
done

require_running
if [[ -n $link ]]; then
    namespace=/proc/$(main_pid)/ns/net
    [[ ! $namespace -ef /proc/1/ns/net ]] ||
        die "$unit has no network namespace of its own: not taking down $link of this machine"
    # Held open, so that it can be set right after the service has died.
    exec {held}<"$namespace"
    set_link() {
        nsenter --net="/proc/$$/fd/$held" ip link set "$link" "$1"
    }
    off() { set_link down; }
    undo() { set_link up; }
else
    off() { network_off; }
    undo() { network_on; }
fi

undo_on_exit
for ((time = 1; time <= times; time++)); do
    off
    say "network off ($time of $times)"
    sleep "$down"
    undo
    say 'network on'
    sleep "$up"
    report
done
