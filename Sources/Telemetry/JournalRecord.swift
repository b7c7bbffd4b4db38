/// One event, ready to be written: a fixed sentence and the fields that say what happened.
public struct JournalRecord: Hashable, Sendable {
    public struct Entry: Hashable, Sendable {
        public var field: Field
        public var value: FieldValue
    }

    public let kind: RecordKind
    public var priority: Priority
    /// The sentence; the same for every record made in one place, so that it can be searched.
    public let message: String
    /// In the order they were added; a field is there once.
    public private(set) var entries: [Entry] = []

    public var messageID: MessageID { kind.messageID }

    public init(
        _ kind: RecordKind,
        _ priority: Priority = .info,
        _ message: StaticString,
        _ fields: KeyValuePairs<Field, FieldValue> = [:]
    ) {
        self.kind = kind
        self.priority = priority
        self.message = message.description
        for (field, value) in fields { self[field] = value }
    }

    /// The value of a field; setting it again replaces it, and `nil` takes it out.
    public subscript(field: Field) -> FieldValue? {
        get {
            entries.first { $0.field == field }?.value
        }
        set {
            let index = entries.firstIndex { $0.field == field }
            switch (index, newValue) {
            case (let index?, let value?): entries[index].value = value
            case (let index?, nil): entries.remove(at: index)
            case (nil, let value?): entries.append(Entry(field: field, value: value))
            case (nil, nil): break
            }
        }
    }

    /// Puts the fields that every record of a journal carries behind the record's own.
    func adding(_ common: [Entry]) -> JournalRecord {
        var record = self
        for entry in common where record[entry.field] == nil {
            record.entries.append(entry)
        }
        return record
    }
}
