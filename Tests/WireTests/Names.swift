import Wire

extension DatabaseName {
    /// A name that is known to be one.
    static func known(_ text: String) -> DatabaseName {
        guard let name = DatabaseName(text) else { preconditionFailure("\(text) is no name") }
        return name
    }
}

extension UploadID {
    /// An id that is known to be one.
    static func known(_ text: String) -> UploadID {
        guard let id = UploadID(text) else { preconditionFailure("\(text) is no id") }
        return id
    }
}
