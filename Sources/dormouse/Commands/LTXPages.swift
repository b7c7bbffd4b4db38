import CommandLineKit
import LTXCodec
import Wire

extension Command {
    /// `dormouse ltx pages`: where each page of LTX files stands.
    static let ltxPages = Command(
        "ltx pages",
        summary: "list the pages of LTX files, with offset and size",
        positionals: [Positional("FILE", .oneOrMore, help: "LTX files")],
        options: [CommonOptions.json],
        examples: [
            Example(
                "ltx pages 0000000000000002-0000000000000002.ltx",
                "which pages the second sync shipped"
            )
        ],
        body: listPages
    )

    private static let listPages: Body = { arguments, console in
        let out = console.out
        var isFirst = true
        guard !arguments[CommonOptions.json] else {
            try out.write("[")
            let code = try LTXFiles.each(arguments, console: console) { path in
                let index = try LTXInput(path).pages().index
                try out.write(isFirst ? "\n" : ",\n")
                isFirst = false
                try write(json: index, path: path, to: out)
            } faulty: { path, fault in
                try out.write((isFirst ? "\n" : ",\n") + fault.json(for: path).line)
                isFirst = false
            }
            try out.write("\n]\n")
            return code
        }
        return try LTXFiles.each(arguments, console: console) { path in
            let index = try LTXInput(path).pages().index
            if arguments.positionals.count > 1 {
                try out.write((isFirst ? "" : "\n") + Printable.text(path) + "\n")
                isFirst = false
            }
            try out.write(row("pgno", "offset", "bytes"))
            for entry in index {
                try out.write(row("\(entry.pgno)", "\(entry.offset)", "\(entry.size)"))
            }
        }
    }

    /// Fixed widths: a list of any length is written as it is read.
    private static func row(_ pgno: String, _ offset: String, _ size: String) -> String {
        func right(_ text: String, _ width: Int) -> String {
            String(repeating: " ", count: max(0, width - text.count)) + text
        }
        return right(pgno, 10) + right(offset, 14) + right(size, 8) + "\n"
    }

    private static func write(
        json index: LTXPageIndex,
        path: String,
        to output: Output
    ) throws(OutputError) {
        try output.write("{\"file\":\(JSONValue.string(path).line),\"pages\":[")
        var separator = "\n"
        for entry in index {
            let page: JSONValue = [
                "pgno": .number(entry.pgno), "offset": .integer(entry.offset),
                "bytes": .integer(entry.size),
            ]
            try output.write(separator + page.line)
            separator = ",\n"
        }
        try output.write("]}")
    }
}
