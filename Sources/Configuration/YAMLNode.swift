/// A piece of a YAML document that knows where it stood.
struct YAMLNode {
    enum Content {
        case scalar(YAMLScalar)
        case sequence([YAMLNode])
        case mapping([YAMLEntry])
        /// Something that has been refused already, such as an alias; readers pass over it.
        case refused
    }

    var content: Content
    /// From 1.
    var line: Int

    /// What it is, in words for a message.
    var kind: String {
        switch content {
        case .scalar(let scalar) where scalar.isEmpty: "nothing"
        case .scalar(let scalar): scalar.isPlain ? "\"\(scalar.excerpt)\"" : "a quoted text"
        case .sequence: "a list"
        case .mapping: "a group of settings"
        case .refused: "something refused"
        }
    }
}

struct YAMLScalar {
    var text: String
    /// Written without quotes, and not as a block.
    var isPlain: Bool

    /// Nothing at all after the colon, or one of YAML's words for it.
    var isEmpty: Bool {
        isPlain && ["", "~", "null", "Null", "NULL"].contains(text)
    }

    /// Short and on one line, fit for a message.
    var excerpt: String {
        let start = text.unicodeScalars.prefix(40)
            .map { $0.value < 0x20 || $0.value == 0x7F ? "?" : String($0) }
            .joined()
        return text.unicodeScalars.count > 40 ? start + "…" : start
    }
}

struct YAMLEntry {
    var key: String
    var line: Int
    var value: YAMLNode
}
