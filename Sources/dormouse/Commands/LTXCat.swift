import CommandLineKit
import LTXCodec

extension Command {
    /// `dormouse ltx cat`: the bytes of one page.
    static let ltxCat = Command(
        "ltx cat",
        summary: "write one page of an LTX file, unpacked, to standard output",
        positionals: [Positional("FILE", help: "an LTX file")],
        required: [pageOption],
        examples: [
            Example(
                "ltx cat 0000000000000001-0000000000000001.ltx --page 1 | head -c 16",
                "the first words of a database"
            )
        ],
        body: writePage
    )

    private static let pageOption = Option<Pgno>(
        "page",
        short: "p",
        "N",
        in: 1...Pgno.max,
        help: "number of the page, from 1"
    )

    private static let writePage: Body = { arguments, console in
        let pgno = arguments.required(pageOption)
        guard !console.out.isTerminal else {
            throw CommandFailure(
                "a page is not text: send it to a file or a program, such as | xxd",
                code: .usage
            )
        }
        return try LTXFiles.each(arguments, console: console) { path in
            var reader = try LTXInput(path).pages()
            var page = [UInt8](repeating: 0, count: Int(reader.header.pageSize))
            let isThere = try page.withUnsafeMutableBytes { try reader.readPage(pgno, into: $0) }
            guard isThere else { throw CommandFailure("\(path) does not carry page \(pgno)") }
            try console.out.write(page)
        }
    }
}
