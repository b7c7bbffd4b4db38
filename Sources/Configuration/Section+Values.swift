/// Typed values. Each reports what is wrong with it and is `nil` then, or when it is not there.
extension Section {
    package mutating func text(_ name: String, required isRequired: Bool = false) -> YAMLText? {
        guard let node = isRequired ? required(name) : node(name) else { return nil }
        return text(node, key: key(name))
    }

    package func text(_ node: YAMLNode, key: String) -> YAMLText? {
        guard case .scalar(let scalar) = node.content, !scalar.isEmpty else {
            wrongType(node, key: key, wanted: "a text")
            return nil
        }
        guard !scalar.text.isEmpty else {
            problems.add("is empty", key: key, line: node.line)
            return nil
        }
        guard scalar.text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
            problems.add("contains a control character", key: key, line: node.line)
            return nil
        }
        return YAMLText(value: scalar.text, line: node.line)
    }

    package mutating func flag(_ name: String) -> Bool? {
        guard let node = node(name) else { return nil }
        guard case .scalar(let scalar) = node.content, scalar.isPlain,
            ["true", "false"].contains(scalar.text)
        else {
            wrongType(node, key: key(name), wanted: "true or false")
            return nil
        }
        return scalar.text == "true"
    }

    package mutating func integer<Value: FixedWidthInteger>(
        _ name: String,
        in range: ClosedRange<Value>
    ) -> Value? {
        guard let node = node(name) else { return nil }
        guard case .scalar(let scalar) = node.content, scalar.isPlain, !scalar.isEmpty,
            scalar.text.utf8.allSatisfy({ $0 == 0x2D || (0x30...0x39).contains($0) }),
            scalar.text.drop(while: { $0 == "-" }).contains(where: { $0.isNumber })
        else {
            wrongType(node, key: key(name), wanted: "a whole number")
            return nil
        }
        guard let value = Value(scalar.text), range.contains(value) else {
            outOfRange(scalar, "\(range.lowerBound) to \(range.upperBound)", name, node.line)
            return nil
        }
        return value
    }

    package mutating func speed(_ name: String, from minimum: Double = 0.001) -> Double? {
        guard let node = node(name) else { return nil }
        guard case .scalar(let scalar) = node.content, scalar.isPlain, !scalar.isEmpty,
            scalar.text.utf8.allSatisfy({ "0123456789.-".utf8.contains($0) }),
            let value = Double(scalar.text)
        else {
            wrongType(node, key: key(name), wanted: "a number such as 1, 0.5 or 21")
            return nil
        }
        guard value >= minimum, value <= 1_000_000 else {
            let low = minimum == 1 ? "1" : "\(minimum)"
            outOfRange(scalar, "\(low) to 1000000", name, node.line)
            return nil
        }
        return value
    }

    package mutating func duration(_ name: String, in range: ClosedRange<Duration>) -> Duration? {
        guard let node = node(name) else { return nil }
        guard case .scalar(let scalar) = node.content, !scalar.isEmpty else {
            wrongType(node, key: key(name), wanted: "a duration such as 30s")
            return nil
        }
        do {
            let value = try DurationText.parse(scalar.text)
            guard range.contains(value) else {
                let (low, high) = (range.lowerBound, range.upperBound)
                let allowed = "\(DurationText.text(low)) to \(DurationText.text(high))"
                outOfRange(scalar, allowed, name, node.line)
                return nil
            }
            return value
        } catch {
            problems.add("\"\(scalar.excerpt)\" \(error)", key: key(name), line: node.line)
            return nil
        }
    }

    package mutating func size(_ name: String, in range: ClosedRange<Int64>) -> Int64? {
        guard let node = node(name) else { return nil }
        guard case .scalar(let scalar) = node.content, !scalar.isEmpty else {
            wrongType(node, key: key(name), wanted: "a size such as 64MiB")
            return nil
        }
        do {
            let value = try ByteSize.parse(scalar.text)
            guard range.contains(value) else {
                let (low, high) = (range.lowerBound, range.upperBound)
                let allowed = "\(ByteSize.text(low)) to \(ByteSize.text(high))"
                outOfRange(scalar, allowed, name, node.line)
                return nil
            }
            return value
        } catch {
            problems.add("\"\(scalar.excerpt)\" \(error)", key: key(name), line: node.line)
            return nil
        }
    }

    package mutating func choice<Value>(_ name: String, _: Value.Type = Value.self) -> Value?
    where Value: RawRepresentable<String> & CaseIterable {
        node(name).flatMap { choice($0, key: key(name)) }
    }

    package func choice<Value>(_ node: YAMLNode, key: String, _: Value.Type = Value.self) -> Value?
    where Value: RawRepresentable<String> & CaseIterable {
        let words = Value.allCases.map(\.rawValue)
        let wanted = "one of " + words.joined(separator: ", ")
        guard case .scalar(let scalar) = node.content, !scalar.isEmpty else {
            wrongType(node, key: key, wanted: wanted)
            return nil
        }
        if let value = Value(rawValue: scalar.text) { return value }
        let hint = Spelling.nearest(to: scalar.text, among: words)
            .map { "did you mean \"\($0)\"?" }
        problems.add(
            "\"\(scalar.excerpt)\" is not known: " + (hint ?? "use \(wanted)"),
            key: key,
            line: node.line
        )
        return nil
    }

    /// An absolute path that can be a file's: what it names is looked at when it is used.
    package mutating func absolutePath(_ name: String, required isRequired: Bool = false)
        -> YAMLText?
    {
        guard let text = text(name, required: isRequired) else { return nil }
        guard text.value.hasPrefix("/") else {
            problems.add(
                "\"\(text.excerpt)\" must be an absolute path: \(schema.program) has no directory "
                    + "of its own",
                key: key(name),
                line: text.line
            )
            return nil
        }
        guard !text.value.hasSuffix("/") else {
            problems.add("\"\(text.excerpt)\" is a directory", key: key(name), line: text.line)
            return nil
        }
        guard text.value.utf8.count < 4_096 else {
            problems.add("is longer than a path can be", key: key(name), line: text.line)
            return nil
        }
        return text
    }

    package func wrongType(_ node: YAMLNode, key: String, wanted: String) {
        if case .refused = node.content { return }
        problems.add("must be \(wanted), not \(node.kind)", key: key, line: node.line)
    }

    private func outOfRange(_ scalar: YAMLScalar, _ allowed: String, _ name: String, _ line: Int) {
        problems.add(
            "\"\(scalar.excerpt)\" is out of range: \(allowed)",
            key: key(name),
            line: line
        )
    }
}

/// A text value and the line it is on.
package struct YAMLText {
    package var value: String
    package var line: Int

    package var excerpt: String {
        YAMLScalar(text: value, isPlain: true).excerpt
    }
}
