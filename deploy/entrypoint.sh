#!/bin/sh
# `salon`, with the database's password from a file: it stands in no image, no compose file and no process list.
set -eu
if [ -n "${SALON_DB_PASSWORD_FILE:-}" ]; then
    PGPASSWORD="$(cat "$SALON_DB_PASSWORD_FILE")"
    export PGPASSWORD
fi
exec salon "$@"
