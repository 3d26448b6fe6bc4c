#!/bin/sh
# Backs up the database into /backups, and lets go of those beyond the ones that are kept.
#
#   backup.sh KEEP
set -eu

# shellcheck source-path=SCRIPTDIR source=common.sh
. /scripts/common.sh

# What runs that were killed have left.
rm -f "$folder"/*.new
back_up || fail "$DATABASE can't be backed up"
size=$(wc -c <"$file")

# The name begins with the time.
set -- "$1" "$folder"/*.sql.gz
keep=$1
shift
while [ $# -gt "$keep" ]; do
    say "$1 goes"
    rm -f "$1"
    shift
done
printf '{"backup": "%s", "database": "%s", "sizeBytes": %d}' "$backup" "$DATABASE" "$size" >/dev/termination-log
