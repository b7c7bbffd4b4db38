internal import CYAML

/// Reads one YAML document into nodes, refusing what a settings file has no use for.
///
/// Anchors, aliases, tags and further documents are reported and reading goes on; a syntax
/// error or a nesting deeper than `depthLimit` ends it, since what follows would be guessed.
struct YAMLParser {
    static let depthLimit = 12

    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let input: UnsafeBufferPointer<UInt8>
    private let problems: ProblemList

    /// Reading cannot go on; the reason has been reported.
    private struct Stop: Error {}

    /// - Returns: The root, or `nil` when there is none or the syntax is broken.
    static func parse(_ bytes: [UInt8], problems: ProblemList) -> YAMLNode? {
        // On the heap, because libyaml keeps pointers into the parser itself.
        let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
        defer { parser.deallocate() }
        guard yaml_parser_initialize(parser) == 1 else {
            problems.add("out of memory", line: nil)
            return nil
        }
        defer { yaml_parser_delete(parser) }
        return bytes.withUnsafeBufferPointer { input in
            yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
            yaml_parser_set_input_string(parser, input.baseAddress, input.count)
            return try? YAMLParser(parser: parser, input: input, problems: problems).document()
        }
    }

    private func document() throws(Stop) -> YAMLNode? {
        var root: YAMLNode?
        while true {
            var event = try next()
            defer { yaml_event_delete(&event) }
            let line = Int(event.start_mark.line) + 1
            switch event.type {
            case YAML_STREAM_END_EVENT:
                return root
            case YAML_DOCUMENT_START_EVENT where root != nil:
                problems.add("a second document starts here: a file holds one", line: line)
                throw Stop()
            case YAML_STREAM_START_EVENT, YAML_DOCUMENT_START_EVENT, YAML_DOCUMENT_END_EVENT:
                break
            default:
                root = try node(from: event, depth: 0)
            }
        }
    }

    private func node(from event: yaml_event_t, depth: Int) throws(Stop) -> YAMLNode {
        let line = Int(event.start_mark.line) + 1
        guard depth <= Self.depthLimit else {
            problems.add("nested deeper than \(Self.depthLimit) levels", line: line)
            throw Stop()
        }
        switch event.type {
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            refuse(anchor: scalar.anchor, tag: scalar.tag, line: line)
            let bytes = UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            let text = String(decoding: bytes, as: UTF8.self)
            let isPlain = scalar.style == YAML_PLAIN_SCALAR_STYLE
            return YAMLNode(content: .scalar(YAMLScalar(text: text, isPlain: isPlain)), line: line)
        case YAML_SEQUENCE_START_EVENT:
            let start = event.data.sequence_start
            refuse(anchor: start.anchor, tag: start.tag, line: line)
            return YAMLNode(content: .sequence(try items(depth: depth + 1)), line: line)
        case YAML_MAPPING_START_EVENT:
            let start = event.data.mapping_start
            refuse(anchor: start.anchor, tag: start.tag, line: line)
            return YAMLNode(content: .mapping(try entries(depth: depth + 1)), line: line)
        default:
            problems.add("aliases (*name) are not supported: write the value out", line: line)
            return YAMLNode(content: .refused, line: line)
        }
    }

    private func items(depth: Int) throws(Stop) -> [YAMLNode] {
        var items: [YAMLNode] = []
        while true {
            var event = try next()
            defer { yaml_event_delete(&event) }
            if event.type == YAML_SEQUENCE_END_EVENT { return items }
            items.append(try node(from: event, depth: depth))
        }
    }

    private func entries(depth: Int) throws(Stop) -> [YAMLEntry] {
        var entries: [YAMLEntry] = []
        while true {
            var keyEvent = try next()
            defer { yaml_event_delete(&keyEvent) }
            if keyEvent.type == YAML_MAPPING_END_EVENT { return entries }
            let key = try node(from: keyEvent, depth: depth)
            var valueEvent = try next()
            defer { yaml_event_delete(&valueEvent) }
            let value = try node(from: valueEvent, depth: depth)
            switch key.content {
            case .scalar(let scalar):
                entries.append(YAMLEntry(key: scalar.text, line: key.line, value: value))
            case .sequence, .mapping:
                problems.add("a key must be a word", line: key.line)
            case .refused:
                break
            }
        }
    }

    private func refuse(
        anchor: UnsafeMutablePointer<UInt8>?,
        tag: UnsafeMutablePointer<UInt8>?,
        line: Int
    ) {
        if anchor != nil {
            problems.add("anchors (&name) are not supported: write the value out", line: line)
        }
        if tag != nil {
            problems.add("tags (!name) are not supported", line: line)
        }
    }

    private func next() throws(Stop) -> yaml_event_t {
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else {
            reportSyntaxError()
            throw Stop()
        }
        return event
    }

    private func reportSyntaxError() {
        let state = parser.pointee
        guard state.error != YAML_MEMORY_ERROR else {
            problems.add("out of memory", line: nil)
            return
        }
        let reason = state.problem.map { String(cString: $0) } ?? "malformed"
        guard state.error != YAML_READER_ERROR else {
            // The reader works ahead of the marks, so the line is counted from its byte offset.
            let offset = min(Int(clamping: state.problem_offset), input.count)
            let line = input[..<offset].count { $0 == UInt8(ascii: "\n") } + 1
            problems.add("not a text file: \(reason), byte \(offset)", line: line)
            return
        }
        let line = Int(clamping: state.problem_mark.line) + 1
        let context = state.context.map { " " + String(cString: $0) } ?? ""
        problems.add("not valid YAML: \(reason)\(context)", line: line)
    }
}
