# Runs chromedriver for the process at the other end of standard input.
#
# However that process ends, even by SIGKILL, its end of the pipe closes. Then chromedriver and Chromium, which are a group of
# processes of their own, are killed, and FOLDER is removed: nobody needs the profile.
#
# usage: sh own.sh CHROMEDRIVER PORT FOLDER
set -u
trap '' INT TERM HUP PIPE
setsid "$1" "--port=$2" </dev/null >"$3/log" 2>&1 &
driver=$!
read -r _
kill -s KILL -- "-$driver" "$driver"
wait "$driver"
# What is killed may be about to make a last file.
for _ in 1 2 3 4 5 6 7 8 9 10; do
    rm -rf "$3"
    sleep 0.05
    [ -e "$3" ] || break
done
