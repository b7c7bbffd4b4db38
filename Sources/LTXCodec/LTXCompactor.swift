/// Merges LTX files into one.
public enum LTXCompactor {
    /// Writes one file that does what the inputs do one after the other (see `LTXMerge`).
    ///
    /// If the result is a snapshot, it must have every page. `write` is not called before the
    /// headers of all inputs have been found good; after an error, what it has been given is to
    /// be thrown away.
    ///
    /// - Parameters:
    ///   - inputs: The files, in any order.
    ///   - write: Takes the next bytes of the result, all of them.
    /// - Returns: What was written.
    /// - Throws: `LTXMergeError` that names the input at fault; `LTXError.missingPage` for a
    ///   snapshot with a hole; whatever `write` throws.
    public static func compact(
        _ inputs: [LTXMergeInput],
        write: @escaping (UnsafeRawBufferPointer) throws -> Void
    ) throws -> LTXSummary {
        var merge = try LTXMerge(inputs)
        var encoder = try LTXEncoder(header: merge.header, write: write)
        let postApplyChecksum = try merge.forEachPage { pgno, page in
            try encoder.append(pgno: pgno, page: page)
        }
        return try encoder.finish(postApplyChecksum: postApplyChecksum)
    }
}
