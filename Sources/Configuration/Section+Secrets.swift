/// Values that name files, tokens and reserves.
extension Section {
    /// The token under `PREFIX-file` or `PREFIX-credential`.
    mutating func tokenSource(_ prefix: String) -> TokenSource? {
        let file = absolutePath("\(prefix)-file")
        let credential = text("\(prefix)-credential")
        if file != nil, let credential {
            problems.add(
                "is set beside \"\(prefix)-file\": one of them is enough",
                key: key("\(prefix)-credential"),
                line: credential.line
            )
            return nil
        }
        if let file { return .file(file.value) }
        guard let credential else { return nil }
        // As systemd.exec(5) has them: a name of a file, without a way out of its directory.
        let isName =
            credential.value.utf8.count <= 255 && credential.value != "."
            && credential.value != ".."
            && credential.value.utf8.allSatisfy {
                (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "/")
            }
        guard isName else {
            problems.add(
                "\"\(credential.excerpt)\" must be the name of a credential, without a slash",
                key: key("\(prefix)-credential"),
                line: credential.line
            )
            return nil
        }
        return .credential(credential.value)
    }

    /// An absolute path that can be a directory's; a slash at its end is not part of it.
    mutating func absoluteDirectory(
        _ name: String,
        required isRequired: Bool = false
    ) -> YAMLText? {
        guard var text = text(name, required: isRequired) else { return nil }
        guard text.value.hasPrefix("/") else {
            problems.add(
                "\"\(text.excerpt)\" must be an absolute path: \(schema.program) has no directory "
                    + "of its own",
                key: key(name),
                line: text.line
            )
            return nil
        }
        while text.value.utf8.count > 1, text.value.hasSuffix("/") { text.value.removeLast() }
        guard text.value != "/" else {
            problems.add("is the root of the file system", key: key(name), line: text.line)
            return nil
        }
        guard text.value.utf8.count < 3_072 else {
            problems.add("is longer than a path can be", key: key(name), line: text.line)
            return nil
        }
        return text
    }

    /// A size such as `1GiB`, or a share of the disk such as `5%` or `2.5%`.
    mutating func reserve(_ name: String) -> SinkConfig.Reserve? {
        guard let node = node(name) else { return nil }
        guard case .scalar(let scalar) = node.content, !scalar.isEmpty else {
            wrongType(node, key: key(name), wanted: "a size or a share such as 1GiB or 5%")
            return nil
        }
        do {
            return try SinkConfig.Reserve(parsing: scalar.text)
        } catch {
            problems.add("\"\(scalar.excerpt)\" \(error)", key: key(name), line: node.line)
            return nil
        }
    }
}
