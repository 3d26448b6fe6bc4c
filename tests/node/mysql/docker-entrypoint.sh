#!/bin/sh
# Starts the server of MariaDB as official images of MySQL and MariaDB do: by MYSQL_DATABASE, MYSQL_USER, MYSQL_PASSWORD_FILE and
# MYSQL_ROOT_PASSWORD_FILE, where there are no data yet. While these are made, nobody is answered by TCP.
set -eu

case ${1:-} in
    '' | -*) set -- mysqld "$@" ;;
esac
shift
data=/var/lib/mysql
set -- --no-defaults --datadir="$data" --socket=/var/run/mysqld/mysqld.sock --pid-file=/var/run/mysqld/mysqld.pid \
    --bind-address=0.0.0.0 --innodb-buffer-pool-size=16M --innodb-log-file-size=8M --performance-schema=OFF "$@"

# quoted FILE: as a text of SQL
quoted() { sed "s/[\\\\']/\\\\&/g; s/.*/'&'/" "$1"; }

# What the server is made by: a statement ends with its line.
first_statements() {
    cd "$(dirname /usr/share/*/maria_add_gis_sp_bootstrap.sql)"
    printf '%s\n' 'CREATE DATABASE mysql;' 'USE mysql;'
    # They are called after MySQL, or after MariaDB.
    cat m*_system_tables.sql m*_performance_tables.sql m*_system_tables_data.sql maria_add_gis_sp_bootstrap.sql
    cat <<SQL
FLUSH PRIVILEGES;
DELETE FROM mysql.global_priv WHERE User = '';
ALTER USER root@localhost IDENTIFIED BY $(quoted "$MYSQL_ROOT_PASSWORD_FILE");
CREATE USER root@'%' IDENTIFIED BY $(quoted "$MYSQL_ROOT_PASSWORD_FILE");
GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION;
CREATE DATABASE \`$MYSQL_DATABASE\`;
CREATE USER '$MYSQL_USER'@'%' IDENTIFIED BY $(quoted "$MYSQL_PASSWORD_FILE");
GRANT ALL ON \`$(echo "$MYSQL_DATABASE" | sed 's/_/\\_/g')\`.* TO '$MYSQL_USER'@'%';
SQL
}

if [ ! -e "$data/made" ]; then
    [ -z "$(ls "$data")" ] || { echo "$data has something that was not made here" >&2; exit 1; }
    first_statements | mariadbd "$@" --bootstrap --skip-networking
    touch "$data/made"
fi
exec mariadbd "$@"
