# Says what is being done, how far it is, and how long it took last time. The other scripts read this file.
#
# On a terminal it is one line that changes, elsewhere a line now and then. With STEERSMAN_PROGRESS=FILE the line goes into
# that file: whoever runs several scripts at once shows them on one line.
# shellcheck shell=bash

heartbeat_seconds=20
# What is over before is not worth a line.
quiet_seconds=2
durations="${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/steersman/durations"

# last_time NAME: " (last time 12 s)", or nothing when it was never done here; NAME has no spaces
last_time() {
    local seconds
    seconds=$(sed -n "s|^$1 ||p" "$durations" 2>/dev/null | tail -n 1) || true
    [ -z "$seconds" ] || echo " (last time $seconds s)"
}

# remember NAME SECONDS. What two scripts remember at the same moment may be lost: it is told, never relied on.
remember() {
    local next
    mkdir -p "${durations%/*}"
    next=$(mktemp "$durations.XXXXXX")
    {
        grep -v "^$1 " "$durations" 2>/dev/null || true
        echo "$1 $2"
    } >"$next"
    mv "$next" "$durations"
}

# erase_line: before something that stays is printed
erase_line() {
    [ ! -t 2 ] || printf '\r\033[K' >&2
}

# follow PROCESS FUNCTION…: until the process ends, shows the line that FUNCTION… prints when it gets the seconds so far
follow() {
    local process=$1 begun=$SECONDS next_line=$quiet_seconds elapsed text width=
    shift
    [ ! -t 2 ] || width=$(tput cols 2>/dev/null) || true
    while kill -0 "$process" 2>/dev/null; do
        elapsed=$((SECONDS - begun))
        text=$("$@" "$elapsed")
        if [ -n "${STEERSMAN_PROGRESS:-}" ]; then
            printf '%s\n' "$text" >"$STEERSMAN_PROGRESS"
        elif [ "$elapsed" -lt "$quiet_seconds" ]; then
            :
        elif [ -t 2 ]; then
            # A line that is wider than the terminal would be left behind.
            printf '\r\033[K%s' "${text:0:${width:-80}-1}" >&2
        elif [ "$elapsed" -ge "$next_line" ]; then
            printf '%s\n' "$text" >&2
            next_line=$((elapsed + heartbeat_seconds))
        fi
        sleep 0.5
    done
    erase_line
}

# alone_in FOLDER: makes it, and waits until no other script builds there; `clean_up` follows at the end, also of an interruption
alone_in() {
    mkdir -p "$1"
    trap clean_up EXIT
    trap 'exit 130' INT TERM HUP
    exec 9>"$1/.lock"
    if command -v flock >/dev/null && ! flock -n 9; then
        say "waiting for another build in $1"
        flock 9
    fi
}
