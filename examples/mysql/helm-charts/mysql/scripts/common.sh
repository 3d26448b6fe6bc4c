# shellcheck shell=sh
# How the server is reached, and what a backup is. The other scripts read it, and find these in the environment:
#
#   SERVER     by which the backups are told from those of others
#   HOST       where the server answers
#   PORT       at which port
#   DATABASE   what is backed up
#   RUN        the run of the procedure

say() { echo "$*" >&2; }

fail() {
    say "$*"
    exit 1
}

# Where the backups of this server are.
folder=/backups/${SERVER:-}

# options: a file of options, with the password of root between quotes
options() {
    password=$(sed 's/[\\"]/\\&/g' /run/secrets/mysql/root-password)
    printf '[client]\nhost=%s\nport=%s\nprotocol=tcp\nuser=root\npassword="%s"\n' "${HOST:-127.0.0.1}" "$PORT" "$password"
}

# client NAME ARGUMENTS…: a program of MySQL, such as `dump`, as root. In images of MariaDB it has another name. It reads the options
# from a pipe: what is an argument, in the environment or in a file can be seen by others.
client() {
    program=$(command -v "mysql$1" || command -v "mariadb${1:+-$1}")
    shift
    { options | "$program" --defaults-extra-file=/dev/fd/4 "$@" 4<&0 <&3 3<&-; } 3<&0
}

# A server that has just been made again is found a little later.
await_server() {
    tries=0
    until client admin --connect-timeout=5 --silent ping >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ "$tries" -lt 60 ] || fail "$HOST does not answer at $PORT"
        sleep 1
    done
}

# is_whole FILE: the last line of a dump says that nothing is missing
is_whole() {
    gzip -t "$1" && gzip -dc "$1" | tail -n 1 | grep -q '^-- Dump completed'
}

# back_up: another backup, whose name is in `backup` then
back_up() {
    backup=$(date -u +%Y%m%dT%H%M%SZ)-$(echo "$RUN" | cut -c 1-8)
    file=$folder/$backup.sql.gz
    mkdir -p "$folder"
    await_server
    # That of MySQL would say which transactions it has, and could be loaded by a server alone that has none of them.
    case $(client dump --version) in
        *MariaDB*) set -- ;;
        *) set -- --set-gtid-purged=OFF ;;
    esac
    # The database is made again when the dump is loaded: what is not in it goes.
    client dump --single-transaction --quick --routines --events --triggers --hex-blob "$@" --add-drop-database \
        --databases "$DATABASE" | gzip >"$file.new" &&
        is_whole "$file.new" && sync && mv "$file.new" "$file"
}

# load NAME: that backup in place of what there is
load() {
    await_server
    gzip -dc "$folder/$1.sql.gz" | client '' 2>/tmp/said && return
    # What is said of a statement may have rows in it, and is shown in the status of the run.
    sed -n 's/^\(ERROR [0-9]* ([0-9A-Z]*) at line [0-9]*\):.*/\1/; /^ERROR/p' /tmp/said >&2
    return 1
}
