#!/bin/sh
# A worker in shell: asks, measures, tells, and stops when every metric is decided.
#
#     mobai serve &
#     mobai create sorting --arm quick --arm slow --objective seconds:min:unknown-variance
#     examples/worker.sh http://127.0.0.1:8321 sorting
set -eu
address=${1:-http://127.0.0.1:8321} name=${2:-sorting}
base="$address/api/v1/experiments/$name"

call() { # METHOD PATH BODY: the answer; fails with what the service says
    curl --silent --show-error --fail-with-body --retry 5 --retry-all-errors -X "$1" "$base$2" \
        -H 'Content-Type: application/json' ${MOBAI_TOKEN:+-H "Authorization: Bearer $MOBAI_TOKEN"} -d "$3"
}
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p"; }

measure() { # ARM: seconds; this is where your own measurement goes
    case $1 in quick) mean=10 ;; *) mean=50 ;; esac
    awk -v mean="$mean" -v seed="$2" 'BEGIN { srand(seed); print mean + 4 * (rand() + rand() + rand() - 1.5) }'
}

answer=$(call POST /assignments '{}')
while [ "$(echo "$answer" | field stopped)" = false ]; do
    number=$(echo "$answer" | field assignment) arm=$(echo "$answer" | field arm)
    report="{\"assignment\": $number, \"arm\": \"$arm\", \"metrics\": {\"seconds\": $(measure "$arm" "$number")}}"
    answer=$(call POST /reports "{\"reports\": [$report], \"ask\": 1}")
done
echo "decided; curl $base says for which arm"
