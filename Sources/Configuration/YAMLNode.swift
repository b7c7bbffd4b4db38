/// A piece of a YAML document that knows where it stood.
package struct YAMLNode {
    package enum Content {
        case scalar(YAMLScalar)
        case sequence([YAMLNode])
        case mapping([YAMLEntry])
        /// Something that has been refused already, such as an alias; readers pass over it.
        case refused
    }

    package var content: Content
    /// From 1.
    package var line: Int

    package init(content: Content, line: Int) {
        self.content = content
        self.line = line
    }

    /// What it is, in words for a message.
    package var kind: String {
        switch content {
        case .scalar(let scalar) where scalar.isEmpty: "nothing"
        case .scalar(let scalar): scalar.isPlain ? "\"\(scalar.excerpt)\"" : "a quoted text"
        case .sequence: "a list"
        case .mapping: "a group of settings"
        case .refused: "something refused"
        }
    }
}

package struct YAMLScalar {
    package var text: String
    /// Written without quotes, and not as a block.
    package var isPlain: Bool

    package init(text: String, isPlain: Bool) {
        self.text = text
        self.isPlain = isPlain
    }

    /// Nothing at all after the colon, or one of YAML's words for it.
    package var isEmpty: Bool {
        isPlain && ["", "~", "null", "Null", "NULL"].contains(text)
    }

    /// Short and on one line, fit for a message.
    package var excerpt: String {
        let start = text.unicodeScalars.prefix(40)
            .map { $0.value < 0x20 || $0.value == 0x7F ? "?" : String($0) }
            .joined()
        return text.unicodeScalars.count > 40 ? start + "…" : start
    }
}

package struct YAMLEntry {
    package var key: String
    package var line: Int
    package var value: YAMLNode

    package init(key: String, line: Int, value: YAMLNode) {
        self.key = key
        self.line = line
        self.value = value
    }
}
