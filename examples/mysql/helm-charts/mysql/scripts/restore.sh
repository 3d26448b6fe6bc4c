#!/bin/sh
# Brings a database back from a backup in /backups, whole or not at all.
#
#   restore.sh check    the backup is there, and whole
#   restore.sh load     what there is becomes a backup of its own, and the one of BACKUP takes its place
#   restore.sh settle   where `load` was begun and not finished, what there was takes its place again
set -eu

# shellcheck source-path=SCRIPTDIR source=common.sh
. /scripts/common.sh

# shellcheck disable=SC2153 # it is no other one than `backup` of common.sh
case $BACKUP in
    */* | .* | '') fail "\"$BACKUP\" is no name of a backup" ;;
esac
# From before the first change until the last: the name of the backup with what there was.
mark=$folder/$RUN.restoring

check() {
    file=$folder/$BACKUP.sql.gz
    [ -e "$file" ] || fail "$SERVER has no backup $BACKUP: there are $(cd "$folder" 2>/dev/null && echo *.sql.gz)"
    is_whole "$file" || fail "the backup $BACKUP is damaged"
}

load_backup() {
    if [ ! -e "$mark" ]; then
        if back_up; then
            echo "$backup" >"$mark.new"
            mv "$mark.new" "$mark"
        else
            say "what there is can't be backed up: it is lost"
        fi
    fi
    load "$BACKUP"
    before=$(cat "$mark" 2>/dev/null || true)
    rm -f "$mark"
    printf '{"backup": "%s", "before": "%s"}' "$BACKUP" "$before" >/dev/termination-log
}

settle() {
    [ -e "$mark" ] || return 0
    before=$(cat "$mark")
    say "the database is what it was before, $before"
    load "$before"
    rm -f "$mark"
}

case $1 in
    check) check ;;
    load) load_backup ;;
    settle) settle ;;
esac
