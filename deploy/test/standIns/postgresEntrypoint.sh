#!/bin/bash
# What the official image documents for a container that runs as `postgres`: on an empty volume initdb, then a server on the
# socket alone that runs the init scripts, then the real one.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA"
  # shellcheck disable=SC2086
  initdb --username=postgres --pwfile=<(echo "${POSTGRES_PASSWORD:?}") ${POSTGRES_INITDB_ARGS:-}
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  pg_ctl --wait start --options "${*:2} -c listen_addresses=''"
  for file in /docker-entrypoint-initdb.d/*; do
    psql -v ON_ERROR_STOP=1 --no-psqlrc --username postgres --file "$file"
  done
  pg_ctl --wait --mode fast stop
fi
exec "$@"
