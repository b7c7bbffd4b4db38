extension Refusal {
    static let ofStreams = [
        Refusal(
            "streams without what they need",
            """
            streams:
              - { columns: [x] }
              - { name: pulse, source: simulated }
              - { name: pulse2, source: csv }
              - { name: pulse3, source: { kind: csv, file: /x } }
              - { name: pulse4, columns: [a], source: { kind: csv } }
              - { name: pulse5, source: {} }
            """,
            "a.yml:4: streams[0].name: is required and not set",
            "a.yml:4: streams[0].source: is required and not set",
            "a.yml:5: streams[1].source.signal: is required where the stream is not named after"
                + " one: heart_rate, rr_interval, gravity",
            "a.yml:6: streams[2].source: csv needs settings: write { kind: csv, file: /path/of.csv }",
            "a.yml:7: streams[3].source: the stream must name its columns, as the recording's"
                + " header does",
            "a.yml:8: streams[4].source.file: is required and not set",
            "a.yml:9: streams[5].source.kind: is required and not set"
        ),
        Refusal(
            "streams and columns with names that cannot be",
            """
            streams:
              - { name: Heart, source: { kind: simulated, signal: gravity } }
              - { name: sqlite_x, source: { kind: simulated, signal: gravity } }
              - { name: gravity, source: simulated }
              - { name: gravity, source: simulated }
              - { name: a, columns: [b, b, device_id, "", c-d], source: { kind: csv, file: /x } }
              - { name: c, columns: [], source: { kind: simulated, signal: gravity } }
            """,
            "a.yml:4: streams[0].name: \"Heart\" must be a-z, then up to 62 of a-z, 0-9 and _",
            "a.yml:5: streams[1].name: \"sqlite_x\" is reserved by SQLite",
            "a.yml:7: streams[3].name: \"gravity\" is the name of the stream on line 6 already",
            "a.yml:8: streams[4].columns[1]: \"b\" is there twice",
            "a.yml:8: streams[4].columns[2]: \"device_id\" is the name of a column that every"
                + " stream has",
            "a.yml:8: streams[4].columns[3]: is empty",
            "a.yml:8: streams[4].columns[4]: \"c-d\" must be a-z, then up to 62 of a-z, 0-9 and _",
            "a.yml:9: streams[5].columns: must be a list of columns with at least one"
        ),
        Refusal(
            "columns that a signal does not have",
            """
            streams:
              - { name: gravity, columns: [x, w], source: simulated }
              - { name: heart_rate, columns: [bpm], source: simulated }
            """,
            "a.yml:4: streams[0].source: gravity has no column w of type real; it has x (real),"
                + " y (real), z (real)",
            "a.yml:5: streams[1].source: heart_rate has no column bpm of type real; it has"
                + " bpm (integer)"
        ),
        Refusal(
            "settings of another kind of source",
            """
            streams:
              - { name: gravity, source: { kind: simulated, file: /x, history: 1h } }
              - { name: a, columns: [x], source: { kind: csv, file: /x, seed: 1 } }
              - { name: b, columns: [x], source: { kind: backfill, file: /x, seed: 1, history: 1h } }
              - { name: heart_rate, source: { kind: backfill, time-column: t } }
              - { name: rr_interval, source: { kind: backfil } }
            """,
            "a.yml:4: streams[0].source.file: is a setting of backfill, not of simulated",
            "a.yml:4: streams[0].source.history: is a setting of backfill, not of simulated",
            "a.yml:5: streams[1].source.seed: is a setting of backfill, not of csv",
            "a.yml:6: streams[2].source.seed: is not a setting of a recording",
            "a.yml:6: streams[2].source.history: is not a setting of a recording",
            "a.yml:7: streams[3].source.time-column: is not a setting of a strap; a recording has"
                + " a file",
            "a.yml:8: streams[4].source.kind: \"backfil\" is not known: did you mean \"backfill\"?"
        ),
        Refusal(
            "numbers of sources that are impossible or none",
            """
            streams:
              - { name: gravity, source: { kind: simulated, seed: -1 } }
              - { name: heart_rate, source: { kind: simulated, seed: 1.5 } }
              - name: rr_interval
                source: { kind: backfill, speed: 0.5, batch-rows: 99999999999999999999 }
            """,
            "a.yml:4: streams[0].source.seed: \"-1\" is out of range: 0 to 18446744073709551615",
            "a.yml:5: streams[1].source.seed: must be a whole number, not \"1.5\"",
            "a.yml:7: streams[2].source.speed: \"0.5\" is out of range: 1 to 1000000",
            "a.yml:7: streams[2].source.batch-rows: \"99999999999999999999\" is out of range:"
                + " 1 to 100000"
        ),
        Refusal(
            "no streams",
            "streams: []",
            "a.yml:3: streams: is empty: leave the key out to collect from the simulated strap"
        ),
    ]
}
