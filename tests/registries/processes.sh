# What tests/registries/up and down share: their folder, and the processes in it.
# shellcheck shell=bash

me="registries/${0##*/}"
say() { printf '%s: %s\n' "$me" "$*" >&2; }
die() { say "$*"; exit 1; }

# enter DIR: the folder, if it is ours alone and nobody else is at work in it.
enter() {
    home="$1"
    [ -O "$home" ] || die "$home belongs to someone else"
    exec {lock}<"$home"
    flock --nonblock "$lock" || die "another up or down is at work in $home"
}

# runs NAME PROGRAM: its process is there and is that program, not another one that got its number.
runs() {
    pid="$(cat -- "$home/$1.pid" 2>/dev/null)" && [ -n "$pid" ] &&
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$2" ]
}

# stop NAME PROGRAM: by its end when it returns.
stop() {
    runs "$1" "$2" || return 0
    kill "$pid"
    for _ in $(seq 150); do
        [ -e "/proc/$pid" ] || return 0
        sleep 0.1
    done
    say "$1 did not end when asked to, and is killed"
    kill -9 "$pid" 2>/dev/null || true
    while [ -e "/proc/$pid" ]; do sleep 0.1; done
}
