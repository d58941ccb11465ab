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

# lives PID: a process that has ended stays listed until its parent asks for it, which may take long.
lives() { grep -q '^State:[[:space:]]*[^ZX]' "/proc/$1/status" 2>/dev/null; }

# runs NAME PROGRAM: its process is there and is that program, not another one that got its number.
runs() {
    pid="$(cat -- "$home/$1.pid" 2>/dev/null)" && [ -n "$pid" ] &&
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$2" ] && lives "$pid"
}

# stop PROGRAM NAME...: asks all to end, and waits until they have.
stop() {
    local program="$1" name ending=()
    shift
    for name in "$@"; do
        runs "$name" "$program" || continue
        kill "$pid"
        ending+=("$pid")
    done
    for pid in "${ending[@]}"; do
        for _ in $(seq 150); do
            lives "$pid" || continue 2
            sleep 0.1
        done
        say "$program did not end when asked to, and is killed"
        kill -9 "$pid" 2>/dev/null || true
        while lives "$pid"; do sleep 0.1; done
    done
}
