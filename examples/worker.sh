#!/bin/sh
# A worker in shell: asks, measures, tells, and stops when every metric is decided.
#
#     mobai serve &
#     examples/worker.sh http://127.0.0.1:8321 sorting
set -eu
address=${1:-http://127.0.0.1:8321} name=${2:-sorting}

call() { # METHOD PATH BODY [KEY]: prints the answer; a refusal is shown and ends the worker
    answer=$(curl --silent --show-error --fail-with-body --retry 5 --retry-connrefused -X "$1" \
        "$address/api/v1/experiments$2" -H 'Content-Type: application/json' -H "Idempotency-Key: ${4:-none}" \
        ${MOBAI_TOKEN:+-H "Authorization: Bearer $MOBAI_TOKEN"} -d "$3") || { echo "$answer" >&2; exit 1; }
    echo "$answer"
}
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p"; }

measure() { # ARM NUMBER: prints seconds; this is where your own measurement goes
    case $1 in quick) mean=10 ;; *) mean=50 ;; esac
    awk -v mean="$mean" -v seed="$2" 'BEGIN { srand(seed); print mean + 4 * (rand() + rand() + rand() - 1.5) }'
}

# The same experiment again is fine: another worker may have created it.
call POST "" "{\"name\": \"$name\", \"arms\": [\"quick\", \"slow\"], \"objectives\": [\"seconds:min:unknown-variance\"]}"
answer=$(call POST "/$name/assignments" '{}' "$$-first")
while [ "$(echo "$answer" | field stopped)" = false ]; do
    number=$(echo "$answer" | field assignment) arm=$(echo "$answer" | field arm)
    report="{\"assignment\": $number, \"arm\": \"$arm\", \"metrics\": {\"seconds\": $(measure "$arm" "$number")}}"
    # One durable call: what was measured, and what is next. The key makes it safe to repeat.
    answer=$(call POST "/$name/reports" "{\"reports\": [$report], \"ask\": 1, \"if_decided\": \"stop\"}" "$$-$number")
done
echo "decided; see $address/api/v1/experiments/$name"
