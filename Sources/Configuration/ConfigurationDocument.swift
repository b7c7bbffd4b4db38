/// A kind of file with settings.
public protocol ConfigurationDocument {
    /// Reads and checks the text of a file.
    ///
    /// - Parameters:
    ///   - bytes: UTF-8; anything else is reported, too.
    ///   - file: The name to put before problems.
    ///   - asked: Gets the paths of the keys that reading has asked for.
    /// - Returns: What it says, with every default filled in.
    /// - Throws: `ConfigurationError` with everything that is wrong, in the order of the lines.
    static func parse(
        _ bytes: [UInt8],
        file: String,
        asked: inout Set<String>
    ) throws(ConfigurationError) -> Self
}

extension ConfigurationDocument {
    /// Reads and checks a file.
    ///
    /// - Parameter path: The file; at most 1 MiB.
    /// - Returns: What it says, with every default filled in.
    /// - Throws: `ConfigurationError` with everything that is wrong, in the order of the lines.
    public static func load(path: String) throws(ConfigurationError) -> Self {
        try parse(ConfigurationFile.read(path), file: path)
    }

    /// Reads and checks the text of a file.
    ///
    /// - Parameters:
    ///   - bytes: UTF-8; anything else is reported, too.
    ///   - file: The name to put before problems.
    /// - Returns: What it says, with every default filled in.
    /// - Throws: `ConfigurationError` with everything that is wrong, in the order of the lines.
    public static func parse(
        _ bytes: [UInt8],
        file: String
    ) throws(ConfigurationError) -> Self {
        var asked: Set<String> = []
        return try parse(bytes, file: file, asked: &asked)
    }
}
