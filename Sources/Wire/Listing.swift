/// A level's listing: a line a file.
public enum Listing {
    /// No line is longer.
    static let lineLimit = 8192

    /// The lines that can be read, in the order they came; the others are left out, as a directory
    /// listing leaves stray files out.
    public static func lines(_ body: [UInt8]) -> [ListingLine] {
        body.split(separator: UInt8(ascii: "\n")).compactMap { line in
            guard line.count <= lineLimit else { return nil }
            return ListingLine(String(decoding: line, as: UTF8.self))
        }
    }
}
