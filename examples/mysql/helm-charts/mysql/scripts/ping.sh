#!/bin/sh
# Whether the server in this pod answers. It does, too, where it does not take the password.
set -eu

# shellcheck source-path=SCRIPTDIR source=common.sh
. /scripts/common.sh

client admin --silent ping
