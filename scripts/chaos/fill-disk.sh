#!/usr/bin/env bash
# Fills the disk below a running service for some seconds.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: fill-disk.sh [--unit UNIT] [--leave BYTES] [--directory DIR] SECONDS

Puts a file beside the data of the service that takes all room but --leave (default 0), and
removes it after so long. Everything else on that file system is without room as well.
TEXT
}

# shellcheck source=scripts/chaos/lib.sh
. "$(dirname -- "$0")/lib.sh"
leave=0 directory='' seconds=
while (($#)); do
    case $1 in
        --unit) unit=${2:?}; shift ;;
        --leave) leave=${2:?}; shift ;;
        --directory) directory=${2:?}; shift ;;
        --help | -h) usage; exit ;;
        *) seconds=$1 ;;
    esac
    shift
done
[[ $seconds =~ ^[0-9]+(\.[0-9]+)?$ ]] || misused 'give the seconds'

require_running
if [[ -z $directory ]]; then
    state=$(systemctl show --property StateDirectory --value "$unit")
    [[ -n $state ]] || die "$unit has no StateDirectory=: give --directory"
    directory=/var/lib/${state%% *}
fi
[[ -d $directory ]] || die "there is no directory $directory"
filler=$directory/.dormouse-chaos-filler

undo() {
    rm -f -- "$filler"
}

# Bytes that are free.
free() {
    df --output=avail --block-size=1 -- "$directory" | tail -n 1 | tr -d ' '
}

undo_on_exit
free=$(free)
((free > leave)) || die "only $free bytes are free in $directory"
fallocate --length "$((free - leave))" -- "$filler" 2>/dev/null ||
    # What is left of a file system that cannot say beforehand.
    dd if=/dev/zero of="$filler" bs=1M status=none 2>/dev/null || true
say "filled $directory, $(free) bytes left"
sleep "$seconds"
undo
say 'there is room again'
report
