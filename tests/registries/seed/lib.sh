# What the seeding scripts share. They run in /bin/sh with curl and nothing else, here and in a container of docker-compose.yml,
# and can be run again at any time: what is there is left alone.
# shellcheck shell=sh

say() { printf 'seed/%s: %s\n' "${0##*/}" "$*" >&2; }
die() { say "$*"; exit 1; }

# begin URL DIR: the server, and the folder that the credentials are kept in, which only this user can read.
begin() {
    [ $# = 2 ] || die "usage: ${0##*/} URL CREDENTIALS_DIR"
    umask 077
    url="${1%/}"
    dir="$2"
    mkdir -p "$dir"
    # What a run that was broken off left here goes with the next one.
    scratch="$dir/.${0##*/}"
    rm -rf "$scratch"
    mkdir "$scratch"
    trap 'rm -rf "$scratch"' EXIT
    trap 'exit 1' HUP INT TERM
    : >"$scratch/headers"
    # How long the server may take to become ready, in seconds.
    patience="${SEED_PATIENCE:-120}"
}

# A secret of 160 bits. It has no character that JSON, a form or a URL would need to escape.
secret() { od -An -N20 -tx1 /dev/urandom | tr -d ' \n'; }

# keep NAME TEXT: in a file of the folder; whole or not at all.
keep() {
    printf '%s\n' "$2" >"$dir/.$1.$$"
    mv -f "$dir/.$1.$$" "$dir/$1"
}

# kept NAME: what was kept, or nothing.
kept() { cat "$dir/$1" 2>/dev/null || true; }

# login NAME USER: what is kept as USER:PASSWORD, made where there is nothing.
login() {
    [ -s "$dir/$1" ] || keep "$1" "$2:$(secret)"
    kept "$1"
}

# header TEXT: sent with every request from now on. Secrets travel in files and pipes, since all users see arguments.
header() { printf '%s\n' "$1" >"$scratch/headers"; }

# ask METHOD PATH [BODY [TYPE]]: sets `status`, 000 where nothing answered; the answer is read by `answer` and `field`.
ask() {
    status="$(
        printf '%s' "${3-}" |
            curl --silent --max-time 10 --noproxy '*' --request "$1" --header "@$scratch/headers" \
                --header "Content-Type: ${4:-application/json}" --data-binary @- \
                --output "$scratch/answer" --write-out '%{http_code}' "$url$2"
    )" || status=000
    [ "$status" != 000 ] || : >"$scratch/answer"
}

answer() { cat "$scratch/answer"; }

# field NAME: a text of the answer.
field() { sed -n 's/.*"'"$1"'" *: *"\([^"]*\)".*/\1/p' "$scratch/answer"; }

# says TEXT: whether the answer has it.
says() { grep -q -e "$1" "$scratch/answer"; }

# need WHAT: ends the script unless the last request was granted.
need() {
    case "$status" in
        2??) ;;
        # What a server says of a refusal has no secret in it.
        *) die "$1: status $status: $(answer)" ;;
    esac
}

# wait_for WHAT COMMAND...: until it succeeds.
wait_for() {
    what="$1"
    shift
    end=$(($(date +%s) + patience))
    until "$@"; do
        [ "$(date +%s)" -lt "$end" ] || die "$what: gave up after $patience s: status ${status-}: $(answer)"
        sleep 0.2
    done
}
