import CommandLineKit
import SQLiteBridge

extension Program {
    /// The version of this program, as `--version` and the start record say it.
    static let versionNumber = "0.1.0"

    /// What the program is and which verbs it has.
    static let dormouse = Program(
        name: "dormouse",
        version: "dormouse \(versionNumber), SQLite \(SQLiteLibrary.version)",
        summary: "page-level SQLite replication for processes that get put to sleep",
        commands: [
            .agent,
            .chaosRun,
            .chaosCheck,
            .chaosList,
            .configCheck,
            .ctl,
            .demo,
            .ltxInfo,
            .ltxPages,
            .ltxVerify,
            .ltxCat,
            .push,
            .replicate,
            .restore,
            .sink,
            .transfer,
            .verify,
            .status,
        ],
        exitCode: ExitCode.init(ending:)
    )
}
