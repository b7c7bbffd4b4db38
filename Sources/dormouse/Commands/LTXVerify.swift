import CommandLineKit
import DurableFiles
import LTXCodec
import Wire

extension Command {
    /// `dormouse ltx verify`: whether LTX files are whole.
    static let ltxVerify = Command(
        "ltx verify",
        summary: "check LTX files to the last byte",
        discussion: """
            Every page is unpacked, and index, checksums and the end of the file are checked. A
            file that is named like one of a bucket must hold the TXIDs of its name. Each file
            gets one line: ok, or the kind of fault and where it is.
            """,
        positionals: [Positional("FILE", .oneOrMore, help: "LTX files")],
        options: [CommonOptions.json],
        examples: [
            Example("ltx verify /var/backups/health/ltx/0/*.ltx", "check level 0 of a bucket")
        ],
        body: verifyFiles
    )

    private static let verifyFiles: Body = { arguments, console in
        var results: [JSONValue] = []
        var code = ExitCode.done
        for path in arguments.positionals {
            let fault = fault(of: path)
            if fault != nil { code = .failed }
            if arguments[CommonOptions.json] {
                results.append(fault?.json(for: path) ?? ["file": .string(path), "fault": nil])
            } else {
                let verdict = fault.map { "\($0)" } ?? "ok"
                try console.out.print(Printable.text("\(path): \(verdict)"))
            }
        }
        if arguments[CommonOptions.json] {
            try console.out.print(JSONValue.array(results).pretty)
        }
        return code
    }

    private static func fault(of path: String) -> LTXFiles.Fault? {
        do {
            let header = try readWhole(path)
            let name = LTXFileName(Path.name(of: path))
            if let name, name.minTXID != header.minTXID || name.maxTXID != header.maxTXID {
                return LTXFiles.Fault(
                    category: "file-name",
                    detail: "the header has TXIDs \(header.minTXID)-\(header.maxTXID)"
                )
            }
            return nil
        } catch {
            return LTXFiles.Fault(error)
        }
    }

    private static func readWhole(_ path: String) throws -> LTXHeader {
        let input = try LTXInput(path)
        var decoder = try LTXDecoder(read: input.readNext)
        let page = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Int(decoder.header.pageSize),
            alignment: 8
        )
        defer { page.deallocate() }
        while try decoder.nextPage(into: page) != nil {}
        _ = try decoder.finish()
        return decoder.header
    }
}
