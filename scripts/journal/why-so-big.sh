#!/usr/bin/env bash
# Why was that upload so big: the push that shipped the most, and what led to it.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: why-so-big.sh [--push ID] [ARGUMENT OF journalctl]...

Takes the push that shipped the most bytes, or the one with that DORMOUSE_PUSH_ID, and says what
it consisted of and what had happened since the push before it that had worked.
TEXT
}

# shellcheck source=scripts/journal/lib.sh
. "$(dirname -- "$0")/lib.sh"
id=
if [[ ${1-} == --push ]]; then
    id=${2:?--push needs an id}
    shift 2
fi
take_arguments "$@"
# shellcheck disable=SC2016 # the variables are jq's
records "$kind_push" "$kind_snapshot" "$kind_lineage" "$kind_custody_lost" "$kind_backlog" \
    "$kind_start" | ask --slurp --arg id "$id" --arg push "$kind_push" '
    def is_push: .MESSAGE_ID == $push;
    def worked: is_push and (text("OUTCOME") | IN("pushed", "in-sync"));
    . as $all
    | [to_entries[] | select(.value | is_push and ($id == "" or .DORMOUSE_PUSH_ID == $id))]
    | if length == 0 then "there is no such push" else
        max_by(.value | number("BYTES")) as {key: $at, value: $it}
        | ([range($at) | select($all[.] | worked and text("DATABASE") == ($it | text("DATABASE")))]
            | last // -1) as $before
        | [$all[$before + 1:$at][] | select(text("DATABASE") == ($it | text("DATABASE")))] as $story
        | [$story[] | select(is_push)] as $failed
        | ($it
            | "\(time): \(number("BYTES") | size) in \(text("FILES")) files, \(text("OUTCOME")), "
                + "TXID \(text("TXID")), push \(text("PUSH_ID"))"),
          ($it | text("SYNC_KIND") as $kind
            | if $kind == "snapshot" then
                "  the whole database had to be shipped: \(text("SNAPSHOT_REASON"))"
              elif $kind == "rescan" then
                "  the place in the WAL was lost (\(text("EVIDENCE"))), so all pages were compared"
                    + " and \(text("PAGES")) that differ were shipped"
              else "  \(text("PAGES")) pages had changed" end),
          ($failed | if length > 0 then
                "  \(length) pushes before it had failed (\(map(text("REASON")) | unique
                    | join(", "))), so \(.[-1] | number("BACKLOG_FILES")) files with "
                    + "\(.[-1] | number("BACKLOG_BYTES") | size) were waiting"
            else empty end),
          (if $before >= 0 then $all[$before]
                | "  the last push that had worked was at \(time)"
            else "  no push before it had worked" end),
          ($story[] | select(is_push | not)
            | "  \(time): \(.MESSAGE) \([.DORMOUSE_REASON, .DORMOUSE_DETAIL, .DORMOUSE_EVIDENCE]
                | map(select(.)) | join(", "))")
      end'
