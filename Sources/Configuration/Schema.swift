/// What is known about the keys of one kind of file beyond their own sections.
package struct Schema: Sendable {
    /// Whose file it is, such as `an agent`.
    package let program: String
    /// Every key, by its path; a test compares the list with what reading asks for.
    package let paths: [String]
    /// Settings that people who know other programs look for, and why they are not here.
    package let unsupported: [String: String]

    package init(program: String, paths: [String], unsupported: [String: String] = [:]) {
        self.program = program
        self.paths = paths
        self.unsupported = unsupported
    }

    /// The groups in which a key exists; the empty path is the top level.
    package func homes(of name: String) -> [String] {
        paths.compactMap { path in
            var parts = path.split(separator: ".")
            guard let last = parts.popLast(), last == name else { return nil }
            return parts.joined(separator: ".")
        }
    }
}
