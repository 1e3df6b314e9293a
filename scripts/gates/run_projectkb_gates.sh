#!/bin/sh
# Runs all eighteen gates of the knowledge base on temporary data. Exit 1 when one fails.
exec node "$(dirname "$0")/../gates.mjs" all
