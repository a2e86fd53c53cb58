#!/bin/sh
# Runs the program with the C library that lies beside it: that of the system may be older than the one it was built with.
place=$(dirname -- "$(readlink -f -- "$0")")/../lib/octavo
for loader in "$place"/ld-linux*; do
  exec "$loader" --argv0 "$0" --library-path "$place" "$place/octavo" "$@"
done
