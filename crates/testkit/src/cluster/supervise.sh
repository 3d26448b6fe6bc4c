# Starts and stops the components of a control plane for the process at the other end of standard input.
#
# However that process ends, even by SIGKILL, its end of the pipe closes; then everything here is stopped in
# the reverse order of starting, and FOLDER is removed.
#
# usage: sh supervise.sh FOLDER
# standard input: lines "start NAME", "stop NAME" (in order) or "kill NAME" (at once); each is answered by a line.
# FOLDER/NAME.sh runs the component; NAME.pid and NAME.log appear beside it.
set -u
folder=$1
cd "$folder" || exit 1
exec 2>supervisor.log

patience_seconds=5
started=

# Where the kernel can do it, the components end with this process too, should somebody kill it.
if setpriv --pdeathsig KILL true 2>/dev/null; then
    export STEERSMAN_RUN='setpriv --pdeathsig KILL'
fi

start() {
    sh "./$1.sh" </dev/null >>"$1.log" 2>&1 &
    echo $! >"$1.pid"
    started="$1 $started"
}

# stop NAME SIGNAL: returns when the component has ended; one that does not heed the signal is killed
stop() {
    [ -f "$1.pid" ] || return 0
    process=$(cat "$1.pid")
    rm -f "$1.pid"
    kill -s "$2" "$process"
    (
        sleep "$patience_seconds" &
        sleeper=$!
        trap 'kill "$sleeper"; exit' TERM
        wait "$sleeper"
        kill -s KILL "$process"
    ) &
    impatience=$!
    wait "$process"
    kill "$impatience"
    wait "$impatience"
}

finish() {
    trap '' INT TERM HUP
    for name in $started; do
        stop "$name" TERM
    done
    cd / && rm -rf "$folder"
}

trap finish EXIT
trap exit INT TERM HUP
# The answer to a command may find nobody at the other end.
trap : PIPE

while read -r command name; do
    case $command in
        start) start "$name" ;;
        stop) stop "$name" TERM ;;
        kill) stop "$name" KILL ;;
    esac
    echo "$command $name"
done
