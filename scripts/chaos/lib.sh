# shellcheck shell=bash
# What the scripts beside this share. Sourced, never run.

unit=dormouse-agent.service

say() {
    printf '%s\n' "$*"
}

die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

misused() {
    printf 'error: %s\n\n' "$*" >&2
    usage >&2
    exit 2
}

# Every script undoes what it did, however it ends.
undo_on_exit() {
    trap undo EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

require_running() {
    ((EUID == 0)) || die 'run this as root'
    systemctl --quiet is-active "$unit" || die "$unit does not run"
}

main_pid() {
    systemctl show --property MainPID --value "$unit"
}

# Whether another process than this one runs as the service. Asked in one question: between two, a
# service that died is active in the first and has no process in the second.
is_relaunched() {
    local facts
    facts=$(systemctl show --property ActiveState --property MainPID "$unit")
    grep --quiet --line-regexp 'ActiveState=active' <<<"$facts" &&
        ! grep --quiet --line-regexp --extended-regexp "MainPID=(0|$1)" <<<"$facts"
}

# How the service stands, in a line.
report() {
    say "$unit: $(systemctl show --property ActiveState --value "$unit")," \
        "$(systemctl show --property NRestarts --value "$unit") restarts," \
        "$(systemctl show --property StatusText --value "$unit")"
}

# Asks the agent over its control socket.
ctl() {
    dormouse ctl --socket "/run/${unit%.service}/control" "$@"
}

# Takes the network away from the service, and from nothing else; connections stay open and stall.
network_off() {
    systemctl set-property --runtime "$unit" IPAddressDeny=any
}

network_on() {
    systemctl set-property --runtime "$unit" IPAddressDeny=
}
